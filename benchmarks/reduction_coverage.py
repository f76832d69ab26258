"""How often do intervals of relative error reductions hold the truth?

Simulates scores of a file and of its baseline, on one task or six, and counts how often the 95 %
intervals of `vectors judge` hold the reduction of the expected scores: normal and skewed scores,
and right answers counted among few items, down to less than one error a seed. Prints one JSON
line; ten seconds on one core.

    python benchmarks/reduction_coverage.py --experiments 2000
"""

import argparse
from collections.abc import Callable, Mapping

import common
import numpy as np

from jaxeval.stats import judgement

SEEDS = (5, 8, 16)
# of six tasks: expected scores of the file and of the baseline, sd over seeds
SCORES = np.array([[0.9], [0.93], [0.8], [0.75], [0.85], [0.7]])
BASELINE = np.array([[0.8], [0.9], [0.7], [0.7], [0.8], [0.6]])
SPREAD = np.array([[0.004], [0.003], [0.01], [0.02], [0.02], [0.01]])
ONE = slice(4, 5)
Draw = Callable[[np.random.Generator, int], np.ndarray]  # seeds -> deviations [T, S], sd 1


def main() -> None:
    """Prints the coverage of each case and number of seeds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=2000)
    count = parser.parse_args().experiments
    cases = {
        "six tasks, normal": _spread(slice(None), lambda g, n: g.normal(size=(6, n))),
        "one task, normal": _spread(ONE, lambda g, n: g.normal(size=(1, n))),
        "one task, skewed (exponential)": _spread(
            ONE, lambda g, n: 1 - g.exponential(size=(1, n))
        ),
        "the same, sd .4 of the error, that of the baseline .05": _spread(
            ONE, lambda g, n: 3 * (1 - g.exponential(size=(1, n))), of_baseline=1 / 6
        ),
        "500 items, error .02": _counted(500, 0.02),
        "50 items, error .02": _counted(50, 0.02),
        "50 items, error .004": _counted(50, 0.004),
    }
    result = {name: _coverage(case, count) for name, case in cases.items()}
    common.report(benchmark="reduction_coverage", experiments=count, **result)


Case = tuple[Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]], float]


def _spread(tasks: slice, deviations: Draw, of_baseline: float = 1.0) -> Case:
    """Scores about their expectation, those of the baseline too, and the true mean reduction."""
    means = SCORES[tasks], BASELINE[tasks]
    spreads = SPREAD[tasks], of_baseline * SPREAD[tasks]
    true = float(((means[0] - means[1]) / (1 - means[1])).mean())

    def draw(random: np.random.Generator, seeds: int) -> tuple[np.ndarray, np.ndarray]:
        model, baseline = (
            mean + spread * deviations(random, seeds)
            for mean, spread in zip(means, spreads, strict=True)
        )
        return model, baseline

    return draw, true


def _counted(items: int, error: float, baseline: float = 0.23) -> Case:
    """Shares of right answers, of one task."""

    def draw(random: np.random.Generator, seeds: int) -> tuple[np.ndarray, np.ndarray]:
        model, other = (
            1 - random.binomial(items, p, (1, seeds)) / items for p in (error, baseline)
        )
        return model, other

    return draw, 1 - error / baseline


def _coverage(case: Case, count: int) -> Mapping[str, Mapping[str, float]]:
    """Seeds -> share of the intervals that hold the truth, and of draws that have one."""
    draw, true = case
    random, shares = np.random.default_rng(0), {}
    for seeds in SEEDS:
        held = []
        for _ in range(count):
            *_, mean = judgement.reductions(*draw(random, seeds))
            if not mean.interval.absent:
                held.append(mean.interval.low <= true <= mean.interval.high)
        shares[f"{seeds} seeds"] = {
            "covered": round(float(np.mean(held)), 3),
            "with_interval": round(len(held) / count, 3),
        }
    return shares


if __name__ == "__main__":
    main()
