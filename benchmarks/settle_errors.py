"""How often does `settle` claim a difference of two equal means, looked at after every seed?

Scores of ten shapes, 3 to 100 seeds each. Prints a table, then one JSON line; columns:

    g .5 .. 4      two samples, scale of the prior; any wrong claim at alpha .05, as in all columns
    pairs          differences within pairs, default g
    known 3 .. 30  so many scores of the base stood before; the worse of both orders
    known 3000     the same in a tenth of the repetitions
    pooled, Welch  known 30 with another error of t than settle's
    alpha .01      two samples, default g, at a smaller level
    wins           the sign test; in the last three rows one model does win more often
    betting        bets on the mean of scores from 0 to 1, a tenth of the repetitions
    peeking        Welch's p < .05 at any look
    cover          confidence sequences (.95) that hold the difference at a random look
    warned         wrong claims that stand beside a warning of skewed differences at their look
    warned at 100  experiments with this warning after 100 seeds each

Then normal scores of which those with one seed correlate by r: two samples, pairs, and the form
chosen at each look by the sign of the correlation seen.

Then `compare --ledger`, first looked at after 3, 5 or 10 seeds each, then after every seed up to
30: Welch's p < .05 at the first look, or the anytime p at a later one.

Last, nights of ten equal candidates that share a base's scores: those in which the merged evidence
of "any is better" has p < .05 after one of them, and those with a false claim, at .05 each.

    python benchmarks/settle_errors.py
"""

import argparse
import time
from collections.abc import Callable, Mapping

import common
import numpy as np
import scipy

from jaxeval.stats import anytime, sequential

ALPHA, MOST, MANY = 0.05, 100, 3000
Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def _exponential(draw: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return draw.exponential(size=size) - 1


def _right(share: float) -> Draw:
    return lambda draw, size: (draw.random(size) < share).astype(float)


def _times(factor: float, of: Draw) -> Draw:
    return lambda draw, size: factor * of(draw, size)


def _steps(draw: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return np.round(1.5 * draw.normal(size=size))


def _normal(draw: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return draw.normal(size=size)


def _t3(draw: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return draw.standard_t(3, size=size)


def _lognormal(draw: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return draw.lognormal(size=size)


def _beta(a: float, b: float) -> Draw:
    return lambda draw, size: draw.beta(a, b, size)


KINDS: Mapping[str, tuple[Draw, Draw]] = {
    "normal": (_normal, _normal),
    "normal, sd 3:1": (_times(3, _normal), _normal),
    "t, 3 df": (_t3, _t3),
    "lognormal": (_lognormal, _lognormal),
    "exponential": (_exponential, _exponential),
    "1.5 steps a sd": (_steps, _steps),
    "right or wrong, .3": (_right(0.3), _right(0.3)),
    "right or wrong, .03": (_right(0.03), _right(0.03)),
    "beta 2, 5 and .4, 1": (_beta(2, 5), _beta(0.4, 1)),
    "exponential, sd 3:1": (_times(3, _exponential), _exponential),
    "exponential, skewed apart": (_exponential, _times(-1, _exponential)),
}


def main() -> None:
    """Simulates and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=10_000)
    args = parser.parse_args()
    begin, rows = time.process_time(), {}
    for kind, draws in KINDS.items():
        rows[kind] = _row(draws, args.repetitions)
        print(kind, " | ".join(f"{name} {value:.4f}" for name, value in rows[kind].items()))
    correlated = {f"r {r:g}": _correlated(r, args.repetitions) for r in (-0.5, 0.0, 0.5, 0.8)}
    ledger = {f"from {n}": _ledger(n, args.repetitions) for n in (3, 5, 10)}
    print("compare --ledger", ledger)
    night = _nights(args.repetitions)
    print("night of ten", night)
    common.report(
        benchmark="settle_errors",
        **vars(args),
        alpha=ALPHA,
        most=MOST,
        rows=rows,
        correlated=correlated,
        ledger=ledger,
        night=night,
        milliseconds_a_look=_milliseconds(),
        cpu_seconds=round(time.process_time() - begin, 1),
        numpy=np.__version__,
        scipy=scipy.__version__,
    )


def _row(draws: tuple[Draw, Draw], repetitions: int) -> dict[str, float]:
    generator = np.random.default_rng(1)
    a, b = (draw(generator, (repetitions, MOST)) for draw in draws)
    seen = sequential.looks(a, b)
    low, high = sequential.confidence_sequence(seen, alpha=ALPHA)
    stop, every = generator.integers(low.shape[-1], size=repetitions), np.arange(repetitions)
    held = (low <= 0) & (high >= 0)
    p_values = 2 * scipy.stats.t.sf(np.abs(np.nan_to_num(seen.estimate / seen.error)), seen.df)
    row = {f"g {g:g}": _wrong(seen, g=g) for g in (0.5, 1.0, 2.0, 4.0)}
    row["pairs"] = _wrong(sequential.looks(a - b))
    for known in (3, 10, 30):
        both = (sequential.looks(*pair, known) for pair in ((a, b), (b, a)))
        row[f"known {known}"] = max(map(_wrong, both))
    row[f"known {MANY}"] = max(_known(*pair, repetitions // 10) for pair in (draws, draws[::-1]))
    for name in ("pooled", "Welch"):
        row[name] = max(_wrong(_other(*pair, name)) for pair in ((a, b), (b, a)))
    row["alpha .01"] = _wrong(seen, alpha=0.01)
    row["wins"] = _wins(a - b)
    if np.min([a, b]) >= 0 and np.max([a, b]) <= 1:
        few = (a - b)[: repetitions // 10]
        found = [anytime.settle(d, statistic="betting").verdict for d in few]
        row["betting"] = np.mean([verdict != "undecided" for verdict in found])
    row["peeking"] = (p_values < ALPHA).any(-1).mean()
    row["cover"] = held[every, stop].mean()
    ends = [int(np.argmin(of)) for of in held]
    warned = [_warns(x[: k + 3], y[: k + 3]) for x, y, k in zip(a, b, ends, strict=True) if k]
    row["warned"] = float(np.mean(warned)) if warned else float("nan")
    row["warned at 100"] = np.mean([_warns(*pair) for pair in zip(a[:500], b[:500], strict=True)])
    return {name: round(float(value), 4) for name, value in row.items()}


def _nights(repetitions: int, candidates: int = 10, most: int = 30) -> dict[str, float]:
    draw = np.random.default_rng(2)
    base, every = draw.normal(size=(repetitions, most)), np.arange(repetitions)
    e_values, merged, claims_made = np.zeros((repetitions, 0)), [], []
    for _ in range(candidates):
        seen = sequential.looks(draw.normal(size=base.shape), base)
        better, worse = (sequential.e_process(seen, alternative=s) for s in ("greater", "less"))
        hit = np.maximum(better, worse) >= np.log(2 / ALPHA)
        last = np.where(hit.any(-1), hit.argmax(-1), hit.shape[-1] - 1)
        e_values = np.column_stack([e_values, better[every, last]])
        merged.append([sequential.merge(dict(enumerate(of, 1))) for of in e_values])
        claims_made.append(hit.any(-1))
    wrong = np.max(merged, axis=0) >= np.log(1 / ALPHA)
    found = {"merged": wrong.mean(), "a claim": np.any(claims_made, axis=0).mean()}
    return {name: round(float(value), 4) for name, value in found.items()}


def _ledger(first: int, repetitions: int, most: int = 30) -> float:
    a, b = np.random.default_rng(6).normal(size=(2, repetitions, most))
    at_first = scipy.stats.ttest_ind(a[:, :first], b[:, :first], axis=1, equal_var=False).pvalue
    later = sequential.p_values(sequential.looks(a, b))[:, first - 2 :]
    return round(float(np.mean((at_first < ALPHA) | (later < ALPHA).any(-1))), 4)


def _wrong(
    seen: sequential.Looks, *, g: float = sequential._PRIOR_VARIANCE, alpha: float = ALPHA
) -> float:
    """Share of experiments in which one model is ever claimed to be better."""
    sides = [sequential.e_process(seen, g=g, alternative=side) for side in ("greater", "less")]
    return float((np.maximum(*sides) >= np.log(2 / alpha)).any(-1).mean())


def _known(candidate: Draw, base: Draw, repetitions: int) -> float:
    """Wrong claims beside many known scores of the base."""
    draw = np.random.default_rng(3)
    pair = candidate(draw, (repetitions, MOST)), base(draw, (repetitions, MANY))
    return _wrong(sequential.looks(*pair, known=MANY))


def _wins(differences: np.ndarray) -> float:
    won, lost = (np.cumsum(sign * differences > 0, axis=-1) for sign in (1, -1))
    sides = [anytime._log_e_wins(won, lost, side) for side in ("greater", "less")]
    return float((np.maximum(*sides) >= np.log(2 / ALPHA)).any(-1).mean())


def _correlated(r: float, repetitions: int) -> dict[str, float]:
    a, b = np.random.default_rng(5).normal(size=(2, repetitions, MOST))
    b = r * a + np.sqrt(1 - r**2) * b
    two, pairs = (
        np.maximum(*(sequential.e_process(seen, alternative=side) for side in ("greater", "less")))
        for seen in (sequential.looks(a, b), sequential.looks(a - b))
    )
    count = np.arange(3, MOST + 1)
    sums = (np.cumsum(x, axis=-1)[:, 2:] for x in (a * b, a, b))
    product, of_a, of_b = sums
    chosen = np.where(product > of_a * of_b / count, pairs, two)
    forms = {"two samples": two, "pairs": pairs, "chosen": chosen}
    wrong = {name: (log_e >= np.log(2 / ALPHA)).any(-1).mean() for name, log_e in forms.items()}
    return {name: round(float(value), 4) for name, value in wrong.items()}


def _other(a: np.ndarray, b: np.ndarray, error: str) -> sequential.Looks:
    """Looks with 30 known scores of B whose error is pooled, or Welch's."""
    seen = sequential.looks(a, b, 30)
    n, m = seen.scores, np.maximum(seen.scores, 30)
    of_a, of_b = (_variances(x)[:, k - 1] for x, k in ((a, n), (b, m)))
    squared = ((n - 1) * of_a + (m - 1) * of_b) / (n + m - 2) * (1 / n + 1 / m)
    if error == "pooled":
        seen = seen._replace(df=n + m - 2.0)
    else:
        squared = of_a / n + of_b / m
    return seen._replace(error=np.sqrt(np.where(squared > 0, squared, np.nan)))


def _variances(x: np.ndarray) -> np.ndarray:
    """[R, n] variances of the first 1, 2, .. n scores; 0 of one."""
    count = np.arange(1, x.shape[-1] + 1)
    squares = np.cumsum(x**2, axis=-1) - np.cumsum(x, axis=-1) ** 2 / count
    return np.where(squares > 1e-9, squares, 0) / np.maximum(count - 1, 1)


def _warns(a: np.ndarray, b: np.ndarray) -> bool:
    return any("skewed" in warning for warning in anytime.settle(a, b).warnings)


def _milliseconds() -> float:
    """Processor time of one look at 100 scores of each model, median of 100."""
    a, b = np.random.default_rng(0).normal(size=(2, MOST))
    took = []
    for _ in range(100):
        begin = time.process_time()
        anytime.settle(a, b)
        took.append(1000 * (time.process_time() - begin))
    return round(float(np.median(took)), 2)


if __name__ == "__main__":
    main()
