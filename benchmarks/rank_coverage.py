"""Do the intervals of ranks hold, all models at once, and how wide are they?

Models answer the same items in one or more runs: normal scores (item and rest of sd 1, several
runs of sd .1) or right and wrong answers of the same latent scores. Two settings of the truth: all
models equal, so that no two may be set apart, and steps of half a standard deviation, of eight
models between pairs of equal ones. Prints the share of experiments in which every interval holds
the ranks that the truth leaves open, the mean number of ranks in an interval, and one JSON line.

    python benchmarks/rank_coverage.py --experiments 500
"""

import argparse
import itertools

import common
import numpy as np
import scipy

from jaxeval.runs.scores import Scores, from_arrays
from jaxeval.stats import study

_RUN = 0.1
_STEP = 0.5


def main() -> None:
    """Simulates, prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=500)
    parser.add_argument("--models", type=int, nargs="+", default=[2, 8])
    parser.add_argument("--items", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 3])
    args = parser.parse_args()
    rows = []
    print("| scores | models | items | runs | equal: all hold | steps: all hold | ranks in one |")
    print("|---|---|---|---|---|---|---|")
    cells = itertools.product(("normal", "right or wrong"), args.models, args.items, args.runs)
    for row, (kind, models, count, runs) in enumerate(cells):
        generator = np.random.default_rng(row)
        design = (kind == "normal", count, runs, args.experiments)
        equal, _ = _held(generator, np.zeros(models), *design)
        steps = -_STEP * (np.arange(models) // max(1, models // 4))
        held, width = _held(generator, steps, *design)
        print(f"| {kind} | {models} | {count} | {runs} | {equal:.3f} | {held:.3f} | {width:.2f} |")
        rows.append([kind, models, count, runs, equal, held, width])
    versions = {"numpy": np.__version__, "scipy": scipy.__version__}
    tree = {"benchmark": "rank_coverage", "experiments": args.experiments, "rows": rows}
    common.report(**tree, **versions)


def _held(
    generator: np.random.Generator,
    truth: np.ndarray,
    normal: bool,
    count: int,
    runs: int,
    experiments: int,
) -> tuple[float, float]:
    """Share of experiments in which all intervals hold, and the mean number of ranks in one."""
    first = [1 + int(np.sum(truth > level)) for level in truth]
    last = [int(np.sum(truth >= level)) for level in truth]
    held, widths = 0, []
    for _ in range(experiments):
        drawn = truth[:, None, None] + generator.normal(size=(1, count, 1))
        if runs > 1:  # of one run nothing is said of others
            drawn = drawn + _RUN * generator.normal(size=(len(truth), 1, runs))
        drawn = drawn + generator.normal(size=(len(truth), count, runs))
        scores = drawn if normal else (drawn > 0).astype(float)
        arrays = {str(k): each[..., np.newaxis] for k, each in enumerate(scores)}
        whole = Scores("drawn", tuple(arrays), (from_arrays(arrays, "t", "score"),))
        places = {int(row.model): row for row in study.study(whole).boards[0].rows}
        held += all(p.low <= first[k] and last[k] <= p.high for k, p in places.items())
        widths += [p.high - p.low + 1 for p in places.values()]
    return held / experiments, float(np.mean(widths))


if __name__ == "__main__":
    main()
