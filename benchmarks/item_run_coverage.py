"""Do the intervals of means and differences over items and runs hold the truth as often as 95 %?

Simulates right and wrong answers: of run r to item i right with probability Phi(m + a_i + b_r), a
and b normal (sd 1.5 and .1), m so that the mean is p; of two models half of a is common. Ours are
the functions of `stats.estimates`; beside them, on the same draws, what is common elsewhere.
Prints the tables of results/items_and_runs.md, then one JSON line.

    python benchmarks/item_run_coverage.py --experiments 2000
"""

import argparse
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import common
import common_intervals
import numpy as np
import scipy
from common_intervals import Limits
from scipy import special

from jaxeval import stats
from jaxeval.stats import crossed, variances
from jaxeval.stats.variances import Groups, Parts

ITEMS, RUNS, RIGHT = (10, 30, 100, 1000), (1, 3, 8), (0.5, 0.9, 0.99)
LESS = {0.5: 0.05, 0.9: 0.03, 0.99: 0.01}  # right answers of the worse model
OF_ITEM, OF_RUN = 1.5, 0.1  # sds, in the unit of a standard normal
SHARED = 0.5  # of the variance of items, between two models
OF_CLUSTER = 0.3  # of the variance of items, where they have clusters
CONFIDENCE = 0.95
CLUSTERS = (10, 30, 100)
AT_ONCE = 4_000_000  # answers
BOTH = stats.FACTORS
Row = dict[str, str | int | float]
Held = dict[str, np.ndarray]  # interval -> [E] whether it holds the truth


class Draw(NamedTuple):
    """Answers of one model in E experiments, and what is true of it.

    Attributes:
      answers: [E, I, R].
      items, runs: [E] the true mean over other items of these runs, over other runs of these
        items.
    """

    answers: np.ndarray
    items: np.ndarray
    runs: np.ndarray


def main() -> None:
    """Prints the tables and the JSON line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=4_000)
    count = parser.parse_args().experiments
    sizes = [*itertools.product(RIGHT, ITEMS, RUNS)]
    blocks = {
        "one model": [*_rows(count, sizes, "items", _of_mean)],
        "two models": [*_rows(count, sizes, "items", _of_difference)],
        "clusters": [
            *_rows(count, [*itertools.product(RIGHT, CLUSTERS, (1, 3))], "clusters", _of_clusters)
        ],
    }
    for name, rows in blocks.items():
        print(f"\n{name}\n\n| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
        for row in rows:
            cells = (f"{v:.3f}" if isinstance(v, float) else str(v) for v in row.values())
            print("| " + " | ".join(cells) + " |")
    common.report(
        benchmark="item_run_coverage",
        experiments=count,
        seed=0,
        **blocks,
        numpy=np.__version__,
        scipy=scipy.__version__,
    )


def _rows(
    count: int,
    sizes: list[tuple[float, int, int]],
    unit: str,
    draw: Callable[[np.random.Generator, int, int, int, float], Held],
) -> Iterator[Row]:
    """The shares of experiments whose intervals hold the truth, for all sizes."""
    generator = np.random.default_rng(0)
    for right, units, runs in sizes:
        once = max(1, min(count, AT_ONCE // (units * runs)))
        starts = range(0, count, once)
        draws = [draw(generator, min(once, count - k), units, runs, right) for k in starts]
        shares = {
            name: float(np.mean(np.concatenate([part[name] for part in draws])))
            if len(draws[0][name])
            else "-"
            for name in draws[0]
        }
        yield {"p": f"{right:g}", unit: units, "runs": runs, **shares}


def _draw(generator: np.random.Generator, items: np.ndarray, runs: int, right: float) -> Draw:
    """Answers to items [E, I], normal of standard deviation `OF_ITEM`."""
    middle = special.ndtri(right) * np.sqrt(1 + OF_ITEM**2 + OF_RUN**2)
    of_run = OF_RUN * generator.normal(size=(len(items), 1, runs))
    chance = special.ndtr(middle + items[..., np.newaxis] + of_run)
    return Draw(
        (generator.random(chance.shape) < chance).astype(np.float64),
        special.ndtr((middle + of_run[:, 0]) / np.sqrt(1 + OF_ITEM**2)).mean(-1),
        special.ndtr((middle + items) / np.sqrt(1 + OF_RUN**2)).mean(-1),
    )


def _of_mean(
    generator: np.random.Generator, count: int, items: int, runs: int, right: float
) -> Held:
    draw = _draw(generator, OF_ITEM * generator.normal(size=(count, items)), runs, right)
    answers = draw.answers
    share, of_item = answers.mean((1, 2)), answers.mean(-1)
    ours = _binary(answers, _alone(items))
    normal = common_intervals.normal(share, of_item.var(-1, ddof=1) / items)
    return {
        "items: ours": _held(ours["items"], draw.items),
        "CLT": _held(normal, draw.items),
        "bootstrap": _held(common_intervals.bootstrap(generator, of_item, runs), draw.items),
        "Beta of all answers": _held(_beta(share, float(items * runs)), draw.items),
        "runs: ours": _held(ours["runs"], draw.runs),
        "t of run means": _held(common_intervals.t_of_runs(answers), draw.runs),
        "both: ours": _held(ours["both"], right),
        "CLT over items": _held(normal if runs > 1 else None, right),
        "CLT over runs": _held(common_intervals.normal_of_runs(answers), right),
    }


def _of_difference(
    generator: np.random.Generator, count: int, items: int, runs: int, right: float
) -> Held:
    common, *own = OF_ITEM * generator.normal(size=(3, count, items))
    abilities = [np.sqrt(SHARED) * common + np.sqrt(1 - SHARED) * each for each in own]
    less = LESS[right]
    a, b = (
        _draw(generator, ability, runs, p)
        for ability, p in zip(abilities, (right, right - less), strict=True)
    )
    gaps = a.answers.mean(-1) - b.answers.mean(-1)
    gap, truth = gaps.mean(-1), a.items - b.items
    ours, both = (_difference(a.answers, b.answers, over) for over in (("items",), BOTH))
    normal = common_intervals.normal(gap, gaps.var(-1, ddof=1) / items)
    apart = sum(x.answers.mean(-1).var(-1, ddof=1) / items for x in (a, b))
    return {
        "items: ours": _held(ours, truth),
        "paired CLT": _held(normal, truth),
        "unpaired CLT": _held(common_intervals.normal(gap, apart), truth),
        "bootstrap": _held(common_intervals.bootstrap(generator, gaps, runs), truth),
        "both: ours": _held(both, less),
        "paired CLT over items": _held(normal if runs > 1 else None, less),
    }


def _of_clusters(
    generator: np.random.Generator, count: int, clusters: int, runs: int, right: float
) -> Held:
    """Clusters of 1 to 9 items, and one of 25."""
    sizes = np.array([25, *(1 + np.arange(clusters - 1) % 9)])
    groups = Groups(np.arange(sizes.sum()), np.cumsum(sizes) - sizes, sizes)
    of_cluster = np.repeat(generator.normal(size=(count, clusters)), sizes, axis=-1)
    own = generator.normal(size=(count, int(sizes.sum())))
    items = np.sqrt(OF_CLUSTER) * of_cluster + np.sqrt(1 - OF_CLUSTER) * own
    draw = _draw(generator, OF_ITEM * items, runs, right)
    share, of_item = draw.answers.mean((1, 2)), draw.answers.mean(-1)
    ours = _binary(draw.answers, groups)
    part = variances.items_part(of_item, groups)
    sums = groups.sums((of_item - share[:, np.newaxis])[..., np.newaxis])[..., 0]
    equal = crossed.Variance(
        np.sum(sums**2, -1) / sizes.sum() ** 2 * clusters / (clusters - 1), clusters - 1
    )
    return {
        "items: ours": _held(ours["items"], draw.items),
        "t, same error": _held(_t_limits(share, part, CONFIDENCE), draw.items),
        "t, C - 1": _held(_t_limits(share, equal, CONFIDENCE), draw.items),
        "Miller": _held(
            common_intervals.normal(share, equal.value * (clusters - 1) / clusters), draw.items
        ),
        "CLT": _held(
            common_intervals.normal(share, of_item.var(-1, ddof=1) / sizes.sum()), draw.items
        ),
        "both: ours": _held(ours["both"], right),
    }


def _beta(share: np.ndarray, n: float) -> Limits:
    """Limits of the posterior of n answers under a uniform prior."""
    ends = np.array([[(1 - CONFIDENCE) / 2], [(1 + CONFIDENCE) / 2]])
    low, high = special.betaincinv(share * n + 1, (1 - share) * n + 1, ends)
    return low, high


def _t_limits(middle: np.ndarray, part: crossed.Variance, confidence: float) -> Limits:
    half = np.sqrt(part.value) * stats.t_quantile(part.df, confidence)
    return middle - half, middle + half


def _alone(items: int) -> Groups:
    """Every item its own cluster."""
    return Groups(np.arange(items), np.arange(items), np.ones(items, int))


def _binary(answers: np.ndarray, groups: Groups) -> dict[str, Limits | None]:
    """Our limits of the mean; None over runs where there is one."""
    items, runs = answers.shape[1:]
    counts = items, len(groups.sizes), items * runs
    parts = _parts([answers], answers.mean(-1), groups)
    limits: dict[str, Limits | None] = {}
    for name, over in (("items", ("items",)), ("runs", ("runs",)), ("both", BOTH)):
        limits[name] = None
        if runs > 1 or name == "items":
            share = answers.mean((1, 2))
            limits[name] = variances.jeffreys_limits([share], [parts], [counts], over, CONFIDENCE)
    return limits


def _difference(a: np.ndarray, b: np.ndarray, over: tuple[str, ...]) -> Limits | None:
    """Our limits of the difference."""
    if a.shape[2] == 1 and "runs" in over:
        return None
    gaps = a.mean(-1) - b.mean(-1)
    parts = _parts([a, b], gaps, _alone(a.shape[1]))
    middle, more = variances.add_two_items(gaps, parts)
    return _t_limits(middle, variances.total(more, over), CONFIDENCE)


def _parts(tables: list[np.ndarray], means: np.ndarray, groups: Groups) -> Parts:
    runs = [variances.run_parts(of, groups) for of in tables if of.shape[-1] > 1]
    return Parts(variances.items_part(means, groups), *zip(*runs, strict=True))


def _held(limits: Limits | None, truth: np.ndarray | float) -> np.ndarray:
    if limits is None:
        return np.zeros(0)
    low, high = limits
    truth = np.broadcast_to(truth, np.shape(low)) if np.ndim(truth) == 0 else truth[: len(low)]
    return (low <= truth + 1e-12) & (truth - 1e-12 <= high)


if __name__ == "__main__":
    main()
