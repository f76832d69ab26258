"""Do the tests keep their level, the intervals their confidence and the plans their power?

Simulates each with the functions that `compare` and `sensitivity` call and prints the tables of
results/tests_and_intervals.md, then one JSON line. The ratio is that of the type I error
rate of Brunner-Munzel's test to its level, at its worst; a minute on one idle core.

    python benchmarks/interval_coverage.py --experiments 2000
"""

import argparse
from collections.abc import Callable, Sequence

import common
import numpy as np
import scipy
from scipy import stats as reference

from jaxeval.sensitivity.analysis import analyze
from jaxeval.stats import describe, power, ranks

DESIGNS = ((5, 5), (8, 8), (10, 10), (20, 20), (5, 10), (10, 5), (10, 40), (40, 10))
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
POPULATIONS: dict[str, tuple[Draw, float]] = {  # name -> draws, true mean
    "normal": (lambda g, s: g.normal(size=s), 0.0),
    "skewed (exponential)": (lambda g, s: -g.exponential(size=s), -1.0),
    "t, 3 degrees of freedom": (lambda g, s: g.standard_t(3, size=s), 0.0),
    "1 of 10 fails (-6 sd)": (lambda g, s: g.normal(size=s) - 6 * (g.random(s) < 0.1), -0.6),
}


def main() -> None:
    """Prints all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=2000)
    count = parser.parse_args().experiments
    levels = _levels(10 * count)
    tables = {
        "level": levels,
        "power": _power(count),
        "mean": _means(count),
        "probability": _probabilities(count // 2),
        "sensitivity": _sensitivity(count // 10),
    }
    worst = max(row["Brunner-Munzel"] for row in levels) / 0.05
    versions = {"numpy": np.__version__, "scipy": scipy.__version__}
    common.report(
        benchmark="interval_coverage",
        worst_level_over_nominal=round(worst, 3),
        experiments=count,
        seed=0,
        **tables,
        **versions,
    )


def _table(title: str, rows: Sequence[dict]) -> list[dict]:
    print(f"\n{title}\n\n| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        cells = [f"{v:.3f}" if isinstance(v, float) else str(v) for v in row.values()]
        print("| " + " | ".join(cells) + " |", flush=True)
    return list(rows)


def _p_values(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Of Brunner-Munzel's test for rows of scores without ties: [R, n], [R, m]."""
    n, m = first.shape[1], second.shape[1]
    labels = np.argsort(np.concatenate([first, second], axis=1), axis=1) < n
    return ranks.p_values(ranks.studentized(labels), n, m)[0]


def _levels(count: int) -> list[dict]:
    """Models that differ in nothing, or in spread alone."""
    generator, rows = np.random.default_rng(0), []
    for n, m in DESIGNS:
        for sd in (1, 4):
            a, b = generator.normal(0, sd, (count, n)), generator.normal(0, 1, (count, m))
            u = reference.mannwhitneyu(a, b, axis=1, method="asymptotic").pvalue
            t = reference.ttest_ind(a, b, axis=1, equal_var=False).pvalue
            p = {"Brunner-Munzel": _p_values(a, b), "Mann-Whitney": u, "Welch": t}
            shares = {name: float(np.mean(values <= 0.05)) for name, values in p.items()}
            rows.append({"n of A, B": f"{n}, {m}", "sd of A / B": sd, **shares})
    return _table("Type I error rate at level .05, P(A > B) = .5, normal scores", rows)


def _power(count: int) -> list[dict]:
    """Seen at the difference that is promised to be seen four times in five."""
    generator, rows = np.random.default_rng(1), []
    for n, m in ((5, 5), (6, 6), (8, 8), (10, 10), (10, 40), (60, 60)):
        gaps = {
            f"power at that of {name}": power.TestDesign(
                1.0, comparisons=2, test=test
            ).detectable_difference(n, m)
            for name, test in (("Brunner-Munzel", "brunner_munzel"), ("Welch", "t"))
        }
        powers = {
            name: float(
                np.mean(
                    _p_values(
                        generator.normal(gap, 1, (2 * count, n)),
                        generator.normal(0, 1, (2 * count, m)),
                    )
                    <= 0.025
                )
            )
            for name, gap in gaps.items()
        }
        rows.append({"n of A, B": f"{n}, {m}", **powers})
    return _table("Power of Brunner-Munzel at level .025 at the difference promised .8", rows)


def _means(count: int) -> list[dict]:
    """Coverage of intervals of a mean; the bootstrap for comparison."""
    generator, rows = np.random.default_rng(2), []
    for n in (5, 8, 10, 20, 30):
        for name, (draw, mean) in POPULATIONS.items():
            scores = draw(generator, (count, n))
            intervals_by_kind = {
                "t (used)": [describe.summarize(row).mean_interval for row in scores],
                "BCa bootstrap": [
                    reference.bootstrap(
                        (row,), np.mean, n_resamples=999, rng=np.random.default_rng(0)
                    ).confidence_interval
                    for row in scores[: count // 10]
                ],
            }
            shares = {
                kind: float(np.mean([i.low <= mean <= i.high for i in intervals]))
                for kind, intervals in intervals_by_kind.items()
            }
            rows.append({"n": n, "scores": name, **shares})
    return _table("Coverage of 95 % intervals of a mean", rows)


def _probabilities(count: int) -> list[dict]:
    """Coverage of the interval of the probability of improvement."""
    generator, rows = np.random.default_rng(3), []
    for n, m in ((5, 5), (8, 8), (5, 20), (10, 40), (40, 10)):
        for sd in (1, 4):
            for truth in (0.5, 0.76, 0.92):
                shift = reference.norm.ppf(truth) * np.hypot(sd, 1)
                hits = 0
                for _ in range(count):
                    a, b = generator.normal(shift, sd, n), generator.normal(0, 1, m)
                    interval = describe.probability_of_improvement(a, b).interval
                    hits += interval.low <= truth <= interval.high
                row = {"n of A, B": f"{n}, {m}", "sd of A / B": sd, "P(A > B)": truth}
                rows.append({**row, "coverage": hits / count})
    return _table("Coverage of 95 % intervals of P(A > B), unpaired", rows)


def _sensitivity(count: int) -> list[dict]:
    """Coverage of metrics relative to the best run, as published (percentiles) and as used."""
    generator, rows = np.random.default_rng(4), []
    outstanding = np.append(np.full(30, 0.96), generator.beta(30, 3, 170))
    outstanding[:2] = 0.999, 0.99
    draws: dict[str, Callable[[tuple[int, ...]], np.ndarray]] = {
        "beta(4, 1)": lambda s: generator.beta(4, 1, s),
        "beta(30, 3), 3 of 10 fail": lambda s: (
            generator.beta(30, 3, s) * (generator.random(s) > 0.3)
        ),
        "few settings stand out": lambda s: generator.choice(outstanding, s),
    }
    for name, draw in draws.items():
        for n in (50, 200):
            truth = np.mean([_relative(draw((n,))) for _ in range(3000)], axis=0)
            hits = np.zeros((2, 3))
            for trial in range(count):
                analysis = analyze(draw((n,)), {}, ks=(25,), resamples=200, seed=trial)
                for k, path in enumerate(_RELATIVE):
                    tails = np.quantile(analysis.draws[path], [0.025, 0.975])
                    hits[0, k] += tails[0] <= truth[k] <= tails[1]
                    interval = analysis.metrics[path].interval
                    hits[1, k] += interval.low <= truth[k] <= interval.high
            shares = dict(
                zip(_RELATIVE, (f"{p:.2f} / {u:.2f}" for p, u in hits.T / count), strict=True)
            )
            rows.append({"scores": name, "runs": n, **shares})
    return _table("Coverage of sensitivity's 95 % intervals: percentiles / as used", rows)


_RELATIVE = ("rel_at_k.25", "mean_at_k.25", "best_equivalent")


def _relative(scores: np.ndarray) -> list[float]:
    values = analyze(scores, {}, ks=(25,), resamples=0).values
    return [values[path] for path in _RELATIVE]


if __name__ == "__main__":
    main()
