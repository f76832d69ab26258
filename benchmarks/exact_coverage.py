"""How near to .95 can an interval of right and wrong answers come? Exact, without simulation.

The answers are counts, so that the coverage of an interval at a true share p is the probability of
the counts whose interval holds p: a step function of p, of which only certain values exist. For n
independent answers this prints the coverage of six intervals at p and its mean over p between
p - .5 (1 - p) and p + .5 (1 - p), and the coverage nearest to .95 among *all* sets of neighbouring
counts, which no interval can better. Then the latter for the number of right answers of several
runs to the same items, drawn as in item_run_coverage.py. Then JSON.

    python benchmarks/exact_coverage.py
"""

import itertools

import common
import numpy as np
from scipy import optimize, special, stats

from jaxeval.stats import variances

CONFIDENCE = 0.95
ITEMS, SHARES = (10, 30, 100, 1000), (0.5, 0.9, 0.99)
METHODS = ("CLT", "Wilson", "Agresti-Coull", "Clopper-Pearson", "mid-p", "Beta(1, 1)", "Jeffreys")
HARDNESS = 1.5  # sd of items
_NEIGHBOURS = 201


def main() -> None:
    """Computes and prints."""
    print("| p | items | " + " | ".join(METHODS) + " | nearest to .95 of all |")
    print("|---" * (len(METHODS) + 3) + "|")
    rows = []
    for share, items in itertools.product(SHARES, ITEMS):
        limits = {name: intervals(name, items) for name in METHODS}
        around = share + 0.5 * (1 - share) * np.linspace(-1, 1, _NEIGHBOURS)
        at = {name: coverage(limits[name], items, share) for name in METHODS}
        mean = {
            name: float(np.mean([coverage(limits[name], items, p) for p in around]))
            for name in METHODS
        }
        best = nearest(items, share)
        rows.append({"p": share, "items": items, "at": at, "mean": mean, "nearest": best})
        cells = (f"{at[name]:.3f} ({mean[name]:.3f})" for name in METHODS)
        print(f"| {share} | {items} | {' | '.join(cells)} | {best:.3f} |")
    print("\n| p | items | runs | nearest to .95 of all |\n|---|---|---|---|")
    several = []
    for share, items, runs in itertools.product(SHARES, ITEMS, (3, 8)):
        best = _nearest(total(share, items, runs))
        several.append({"p": share, "items": items, "runs": runs, "nearest": best})
        print(f"| {share} | {items} | {runs} | {best:.3f} |")
    common.report(benchmark="exact_coverage", rows=rows, several_runs=several)


def intervals(method: str, items: int) -> tuple[np.ndarray, np.ndarray]:
    """[items + 1] ends of the interval of each count of right answers."""
    right, n = np.arange(items + 1.0), float(items)
    share, z = right / n, -float(special.ndtri((1 - CONFIDENCE) / 2))
    if method == "CLT":
        half = z * np.sqrt(share * (1 - share) / n)
        return share - half, share + half
    if method == "Agresti-Coull":
        middle, more = (right + z**2 / 2) / (n + z**2), n + z**2
        half = z * np.sqrt(middle * (1 - middle) / more)
        return middle - half, middle + half
    if method == "mid-p":
        high = np.array([_mid_p(count, items) for count in range(items + 1)])
        return 1 - high[::-1], high
    if method == "Wilson":
        half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
        middle, more = share + z**2 / (2 * n), 1 + z**2 / n
        return np.maximum((middle - half) / more, 0.0), np.minimum((middle + half) / more, 1.0)
    if method == "Jeffreys":
        return variances._jeffreys(share, np.full(items + 1, n), CONFIDENCE)
    below, above = (1.0, 1.0) if method == "Beta(1, 1)" else (0.0, 1.0)
    tail = (1 - CONFIDENCE) / 2
    low = special.betaincinv(np.maximum(right + below, 1e-300), n - right + above, tail)
    high = special.betaincinv(right + above, np.maximum(n - right + below, 1e-300), 1 - tail)
    return low, high


def _mid_p(count: int, items: int) -> float:
    """Upper end: P(X < count) + P(X = count) / 2 is 2.5 % there."""
    if count == items:
        return 1.0

    def tail(p: float) -> float:
        below, at = stats.binom.cdf(count - 1, items, p), stats.binom.pmf(count, items, p)
        return float(below + at / 2) - (1 - CONFIDENCE) / 2

    return float(optimize.brentq(tail, count / items, 1.0))


def coverage(limits: tuple[np.ndarray, np.ndarray], items: int, share: float) -> float:
    """Probability of the counts whose interval holds the true share."""
    low, high = limits
    held = (low <= share) & (share <= high)
    return float(stats.binom.pmf(np.flatnonzero(held), items, share).sum())


def nearest(items: int, share: float) -> float:
    """Of all sets of neighbouring counts the probability that is nearest to .95."""
    return _nearest(stats.binom.pmf(np.arange(items + 1), items, share))


def total(share: float, items: int, runs: int) -> np.ndarray:
    """[items x runs + 1] probabilities of so many right answers, of runs that are alike."""
    nodes, weights = special.roots_hermitenorm(60)
    weights = weights / weights.sum()
    right = special.ndtr(special.ndtri(share) * np.sqrt(1 + HARDNESS**2) + HARDNESS * nodes)
    of_item = stats.binom.pmf(np.arange(runs + 1)[:, np.newaxis], runs, right) @ weights
    size = items * runs + 1
    spectrum = np.fft.rfft(of_item, size) ** items
    return np.maximum(0.0, np.fft.irfft(spectrum, size))


def _nearest(probabilities: np.ndarray) -> float:
    cumulative = np.concatenate([[0.0], np.cumsum(probabilities)])
    inside = cumulative[np.newaxis] - cumulative[:, np.newaxis]
    return float(inside.ravel()[np.argmin(np.abs(inside - CONFIDENCE))])


if __name__ == "__main__":
    main()
