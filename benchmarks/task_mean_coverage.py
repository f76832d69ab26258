"""How often does the interval of a model's mean over tasks hold the truth, with rare failures?

Right and wrong answers, one to each of so many items of three tasks, with the same probability p.
Prints coverage of 95 % intervals by p, then one JSON line.

    python benchmarks/task_mean_coverage.py --experiments 4000
"""

import argparse
import functools

import common
import numpy as np

from jaxeval.stats import estimates

SHARES = (0.9, 0.95, 0.97, 0.975, 0.98, 0.985, 0.99)
TASKS = 3


def main() -> None:
    """Simulates and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=4000)
    parser.add_argument("--items", type=int, default=100, help="of a task")
    args = parser.parse_args()
    random, rows = np.random.default_rng(0), {}
    for share in SHARES:
        counts = np.sort(
            random.binomial(args.items, share, size=(args.experiments, TASKS)), axis=1
        )
        ends = np.array([limits(args.items, *map(int, np.sort(right))) for right in counts])
        rows[share] = round(float(np.mean((ends[:, 0] <= share) & (share <= ends[:, 1]))), 4)
        print(f"{share} {rows[share]:.3f}", flush=True)
    common.report(benchmark="task_mean_coverage", **vars(args), tasks=TASKS, coverage=rows)


@functools.cache
def limits(count: int, *right: int) -> tuple[float, float]:
    """Ends of the interval where so many of `count` answers to each task are right."""
    answers = [np.repeat([1.0, 0.0], [one, count - one]) for one in right]
    tasks = [[*estimates.tables({"": of[:, None, None]}).values()] for of in answers]
    interval = estimates.estimate(tasks, [("items",)])[0].interval
    return interval.low, interval.high


if __name__ == "__main__":
    main()
