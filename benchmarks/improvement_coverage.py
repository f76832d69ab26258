"""How often do intervals of the average probability of improvement hold the truth?

Simulates normal scores of two models on some data sets, as `compare` sees them, and counts how
often the 95 % interval holds the average probability that a run of A is better: equal models, a
gap that is the same or another on every data set, unequal spreads, A better in nearly every pair.
Prints one JSON line; a minute on one idle core.

    python benchmarks/improvement_coverage.py --experiments 1000
"""

import argparse
import math

import common
import numpy as np
from scipy import stats as reference

from jaxeval.stats import describe

DESIGNS = ((2, 3), (2, 5), (5, 5), (10, 3), (10, 8), (30, 1), (30, 3), (57, 2))  # data sets, runs
# gap of the means, its spread over data sets, sd of B (A has 1)
CASES = {
    "equal": (0.0, 0.0, 1.0),
    "gap of .5": (0.5, 0.0, 1.0),
    "gaps normal": (0.0, 1.0, 1.0),
    "B three times as wide": (0.0, 0.0, 3.0),
    "nearly always better": (2.5, 0.0, 0.5),
}


def main() -> None:
    """Prints the coverage of each case and design."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=1000)
    count = parser.parse_args().experiments
    result = {
        name: {
            f"{sets} x {runs}": _coverage(sets, runs, *case, count=count) for sets, runs in DESIGNS
        }
        for name, case in CASES.items()
    }
    common.report(benchmark="improvement_coverage", experiments=count, **result)


def _coverage(sets: int, runs: int, gap: float, between: float, sd: float, *, count: int) -> float:
    random, held = np.random.default_rng(0), []
    for _ in range(count):
        gaps = gap + between * random.normal(size=(sets, 1))
        a = gaps + random.normal(size=(sets, runs))
        b = sd * random.normal(size=(sets, runs))
        true = float(reference.norm.cdf(gaps / math.hypot(1, sd)).mean())
        interval = describe.average_probability_of_improvement(list(a), list(b)).interval
        held.append(interval.low <= true <= interval.high)
    return round(float(np.mean(held)), 3)


if __name__ == "__main__":
    main()
