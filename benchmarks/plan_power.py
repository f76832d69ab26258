"""Does a design show a difference as often as `plan` says?

Normal scores whose variances are known: of the difference over items, of runs, of items x runs.
The difference is the one that `plan` says is shown with probability .8; experiments of two models
are drawn and compared over all that the design has. Beside the share that showed it stands what
the noncentral t distribution says with Satterthwaite's degrees of freedom of the design alone.
Prints a table and one JSON line.

    python benchmarks/plan_power.py
"""

import argparse
import time

import common
import numpy as np
import scipy
from scipy import optimize

from jaxeval import stats
from jaxeval.stats import estimates, pilots, planning
from jaxeval.stats.power import t_test_power

TARGET = 0.8
# variances of the difference: of items, of a run's mean, of items x runs
SPREADS = {
    "runs like items": pilots.Spread(1.0, 0.02, 1.0),
    "much between runs": pilots.Spread(0.2, 0.1, 0.5),
    "little between runs": pilots.Spread(1.0, 0.0005, 0.3),
}


def main() -> None:
    """Simulates and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=4_000)
    parser.add_argument("--items", type=int, nargs="+", default=[8, 30, 200])
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 2, 3, 5, 10])
    args = parser.parse_args()
    begin, rows = time.process_time(), []
    print("| spread | items | runs | planned | noncentral t | **reached** |\n" + "|---" * 6 + "|")
    for name, spread in SPREADS.items():
        for count in args.items:
            for runs in args.runs:
                size = pilots.Size(count, runs)
                row = {"spread": name, "items": count, "runs": runs}
                row |= _measured(spread, size, args.experiments)
                rows.append(row)
                cells = (f"{c:.3f}" if isinstance(c, float) else str(c) for c in row.values())
                print(f"| {' | '.join(cells)} |", flush=True)
    cpu = round(time.process_time() - begin, 1)
    tree = {"benchmark": "plan_power", **vars(args), "rows": rows, "cpu_seconds": cpu}
    versions = {"numpy": np.__version__, "scipy": scipy.__version__}
    common.report(**tree, **versions)


def _error(of: pilots.Spread, size: pilots.Size) -> tuple[float, float]:
    """Variance of the difference, and Satterthwaite's degrees of freedom of its estimate."""
    items, runs, samples = size
    crossed = (of.items_x_runs + of.samples / samples) / (items * runs)
    by_items, of_items = of.items / items + crossed, items - 1.0
    if runs == 1:
        return by_items, of_items
    df, between = runs - 1.0, of.runs / runs + crossed
    squares = by_items**2 / of_items + between**2 / (2 * df) + crossed**2 / (2 * df * of_items)
    variance = by_items + of.runs / runs
    return variance, variance**2 / squares


def _measured(spread: pilots.Spread, size: pilots.Size, experiments: int) -> dict[str, float]:
    def planned(difference: float) -> float:
        return planning._power(difference, spread, size)

    variance, df = _error(spread, size)
    error = np.sqrt(variance)
    difference = float(
        optimize.brentq(lambda d: planned(d) - TARGET, 0.1 * error, 200 * error, xtol=1e-4 * error)
    )
    generator = np.random.default_rng([int(1e6 * spread.runs), *size])
    detected = [_finds(generator, spread, size, difference) for _ in range(experiments)]
    return {
        "planned": planned(difference),
        "noncentral t": t_test_power(difference / error, df, 0.05),
        "reached": float(np.mean(detected)),
    }


def _finds(
    generator: np.random.Generator, spread: pilots.Spread, size: pilots.Size, difference: float
) -> bool:
    """Whether one experiment shows the difference."""
    shape = size.items, size.runs
    item = np.sqrt(spread.items) * generator.normal(size=(size.items, 1))
    a, b = (
        np.sqrt(spread.runs / 2) * generator.normal(size=(1, size.runs)) * (size.runs > 1)
        + np.sqrt(spread.items_x_runs / 2) * generator.normal(size=shape)
        for _ in range(2)
    )
    both = estimates.tables({"a": (a + item + difference)[..., None], "b": b[..., None]})
    over = stats.FACTORS if size.runs > 1 else ("items",)
    p_value = estimates.estimate([[*both.values()]], [over])[0].p_value
    return p_value is not None and p_value < 0.05


if __name__ == "__main__":
    main()
