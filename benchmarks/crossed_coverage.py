"""Do the intervals of `noise --by split,seed` hold the truth as often as they say?

Simulates normal scores of every seed on every split with the functions that the verb calls, prints
the table of results/tests_and_intervals.md (coverage of 95 % intervals), then one JSON line. The
ratio is that of misses to 5 % at its worst; seconds on one core.

    python benchmarks/crossed_coverage.py --experiments 20000
"""

import argparse
import math
from collections.abc import Iterator

import common
import numpy as np
import scipy

from jaxeval import stats
from jaxeval.stats import crossed

SHAPES = ((3, 3, 1), (6, 6, 1), (10, 3, 1), (10, 10, 1), (6, 6, 2))
EFFECTS = ("split", "seed", "interaction", "error")
VARIANCES = ((1, 1, 1, 1), (4, 0.5, 1, 0.5), (0.1, 0.1, 0.5, 0.5), (4, 4, 0.05, 0.05))
CONFIDENCE = 0.95


def main() -> None:
    """Prints the table and the JSON line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=20_000)
    count = parser.parse_args().experiments
    rows = list(_rows(count))
    print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        cells = (f"{v:.3f}" if isinstance(v, float) else str(v) for v in row.values())
        print("| " + " | ".join(cells) + " |")
    worst = max(1 - v for row in rows for v in row.values() if isinstance(v, float))
    common.report(
        benchmark="crossed_coverage",
        worst_misses_over_nominal=round(worst / (1 - CONFIDENCE), 3),
        experiments=count,
        seed=0,
        rows=rows,
        numpy=np.__version__,
        scipy=scipy.__version__,
    )


def _rows(count: int) -> Iterator[dict[str, str | float]]:
    generator = np.random.default_rng(0)
    for shape in SHAPES:
        for variances in VARIANCES:
            truth = dict(zip(EFFECTS, map(float, variances), strict=True))
            tables = _tables(generator, (count, *shape), truth)
            if shape[2] == 1:
                truth["interaction"] += truth.pop("error")
            yield {
                "splits x seeds x runs": " x ".join(map(str, shape)),
                "variances": ", ".join(f"{v:g}" for v in truth.values()),
                **_covered(tables, truth),
            }


def _tables(
    generator: np.random.Generator, shape: tuple[int, ...], variances: dict[str, float]
) -> np.ndarray:
    """[count, S, R, n] of mean 0."""
    count, splits, seeds, _ = shape
    sizes = ((count, splits, 1, 1), (count, 1, seeds, 1), (count, splits, seeds, 1), shape)
    scores = np.zeros(shape)
    for size, variance in zip(sizes, variances.values(), strict=True):
        scores += math.sqrt(variance) * generator.normal(size=size)
    return scores


def _covered(tables: np.ndarray, truth: dict[str, float]) -> dict[str, float | str]:
    """The share of tables whose interval holds the truth, by what it is of."""
    squares = crossed._MeanSquares.from_tables(tables)
    true = {**truth, "any run": sum(truth.values())}
    covered: dict[str, float | str] = dict.fromkeys((*EFFECTS, "any run"), "-")
    for name, part in squares.components.items():
        low, high = part.limits(CONFIDENCE)
        covered[name] = float(np.mean((low <= true[name]) & (true[name] <= high)))
    variance, df = squares.of_mean
    half = np.sqrt(variance) * stats.t_quantile(df, CONFIDENCE)
    return {**covered, "mean": float(np.mean(np.abs(tables.mean((1, 2, 3))) <= half))}


if __name__ == "__main__":
    main()
