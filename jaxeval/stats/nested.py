"""Scores nested in splits or seeds, and balanced tables of splits and seeds."""

import dataclasses
import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import crossed
from jaxeval.stats.results import Interval, Sample, fraction, no_interval, sample, varies


@dataclasses.dataclass(frozen=True)
class Components:
    """Where the variance of scores comes from (one-way random effects, method of moments)."""

    splits: int
    n: int  # all scores
    mean: float  # of the split means
    sd_split: float  # between splits, the share of seeds taken out
    sd_seed: float  # between seeds of one split
    share_split: float | None  # intraclass correlation; None without any spread


def variance_components(scores: Sequence[Sample]) -> Components:
    """Splits' and seeds' share of the spread, of the scores of the seeds of each split."""
    groups = [sample(group, f"split {k}") for k, group in enumerate(scores)]
    counts = np.array([len(group) for group in groups])
    n, splits = int(counts.sum()), len(groups)
    if splits < 2 or n == splits:
        raise DataError(f"nested scores: expected 2 splits and 2 seeds in one, found {counts}")
    means = np.array([group.mean() for group in groups])
    grand = float(np.concatenate(groups).mean())
    within = sum(_squares_within(g) for g in groups) / (n - splits)
    between = float(np.sum(counts * (means - grand) ** 2)) / (splits - 1)
    size = (n - float(np.sum(counts**2)) / n) / (splits - 1)
    varying = varies(np.concatenate(groups))  # or means differ by rounding alone
    of_split = max(0.0, (between - within) / size) if varying else 0.0
    total = of_split + within
    sds, share = (math.sqrt(of_split), math.sqrt(within)), of_split / total if total else None
    return Components(splits, n, float(means.mean()), *sds, share)


def _squares_within(scores: np.ndarray) -> float:
    """Sum of squared deviations of [n] from the mean; exactly 0 for equal scores of any size."""
    apart = scores - scores[0]
    return float(np.sum((apart - apart.mean()) ** 2))


@dataclasses.dataclass(frozen=True)
class Noise:
    """Where the spread of scores comes from; intervals hold for normal scores.

    Of what does not vary, such as runs repeated on a CPU, there is no interval.
    """

    seeds: int
    repeats: int
    mean: float
    sd_repeat: float  # of runs with the same seed
    sd_repeat_interval: Interval
    sd_seed: float  # between seeds, the share of repeats taken out
    sd_seed_interval: Interval
    sd: float  # of one run with any seed


def noise(scores: Sequence[Sequence[float]], confidence: float = 0.95) -> Noise:
    """Variance components of equally many runs of each seed, scores [S][R], with intervals.

    The interval of the repeats is the chi-squared one, that of the seeds Williams' and Tukey's
    (Searle, Casella & McCulloch 1992, section 3.8), at least as wide as it says.
    """
    from scipy import stats

    if len({len(row) for row in scores}) != 1 or len(scores) < 2 or len(scores[0]) < 2:
        sizes = [len(row) for row in scores]
        raise DataError(f"noise: expected 2 or more runs of 2 or more seeds each, found {sizes}")
    confidence = fraction(confidence, "confidence")
    table = np.array(scores, float)
    found, (seeds, repeats) = variance_components(list(table)), table.shape
    between, within = seeds - 1, seeds * (repeats - 1)
    ssb = repeats * float(np.sum((table.mean(axis=1) - table.mean()) ** 2))
    ssw = sum(_squares_within(row) for row in table)

    def of_seeds(tail: float) -> float:
        # F_tail times the mean square of repeats: what it would add to the seeds' sum of squares
        noise = between * stats.f.ppf(tail, between, within) * ssw / within
        return math.sqrt(max(0.0, ssb - noise) / (repeats * stats.chi2.ppf(tail, between)))

    tails = (1 + confidence) / 2, (1 - confidence) / 2
    of_repeat = no_interval(confidence, "repeats of a seed do not vary")
    of_seed = no_interval(confidence, "the scores do not vary")
    if ssw:
        low, high = (math.sqrt(ssw / stats.chi2.ppf(tail, within)) for tail in tails)
        of_repeat = Interval(low, high, confidence, "chi-squared")
    if varies(table.ravel()):
        low, high = map(of_seeds, tails)
        of_seed = Interval(low, high, confidence, "Williams-Tukey")
    sd = math.hypot(found.sd_split, found.sd_seed)
    both = found.sd_seed, of_repeat, found.sd_split, of_seed
    return Noise(seeds, repeats, found.mean, *both, sd)


class Balanced(NamedTuple):
    """A table [S, R, n] of splits and seeds, and a line for each of these that was left out."""

    scores: np.ndarray
    splits: tuple[Hashable, ...]
    seeds: tuple[Hashable, ...]
    dropped: tuple[str, ...]


def balanced(
    splits: Sequence[Hashable], seeds: Sequence[Hashable], scores: Sequence[float | None]
) -> Balanced:
    """Runs in any order as a balanced table; a score of None: the run has none.

    While a cell has fewer scores than the fullest, the split or seed with the largest share of
    such cells is left out, which is said; of equals a seed, which is cheaper to replace.
    """
    names = list(dict.fromkeys(splits)), list(dict.fromkeys(seeds))
    cells: dict[tuple[Hashable, Hashable], list[float]] = {}
    for split, seed, score in zip(splits, seeds, scores, strict=True):
        cells.setdefault((split, seed), []).extend([] if score is None else [score])
    count = max(map(len, cells.values()), default=0)
    lacking = np.array(
        [[len(cells.get((s, r), ())) < max(1, count) for r in names[1]] for s in names[0]]
    ).reshape(*map(len, names))
    dropped, keep = [], [list(range(len(of))) for of in names]
    while (lost := lacking[np.ix_(*keep)]).any():
        shares = lost.mean(1), lost.mean(0)
        axis = int(shares[1].max() >= shares[0].max())
        worst, cells_of = int(shares[axis].argmax()), lost.shape[1 - axis]
        label = names[axis][keep[axis].pop(worst)]
        dropped.append(
            f"{('split', 'seed')[axis]} {label} is left out: no score of "
            f"{round(shares[axis][worst] * cells_of)} of its {cells_of} cells"
        )
    if min(map(len, keep)) < 2:
        failed = sum(score is None for score in scores)
        raise DataError(
            "crossed design: expected every seed on every split, 2 or more of both; found "
            f"{len(scores)} runs ({failed} without a score) of {len(names[0])} splits and "
            f"{len(names[1])} seeds, which have not 2 x 2 in common"
        )
    kept = [tuple(names[axis][k] for k in keep[axis]) for axis in (0, 1)]
    table = [[cells[split, seed] for seed in kept[1]] for split in kept[0]]
    return Balanced(np.array(table, np.float64), kept[0], kept[1], tuple(dropped))


MOST = 10_000  # runs of a design


class Variances(NamedTuple):
    """Of one run's score, or of the difference of two models' scores; rest: what is neither."""

    split: float
    seed: float
    rest: float


@dataclasses.dataclass(frozen=True)
class TrainingDesign:
    """What to train."""

    kind: str
    splits: int
    seeds: int  # distinct ones
    runs: int
    cost: float  # in runs
    half_width: float  # of the mean's interval, expected


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """What to train for a precision, on the word of a study."""

    precision: float  # half-width of the mean's interval, at most
    split_cost: float  # of a new split, beside its runs, in runs
    designs: tuple[TrainingDesign, ...]  # the cheapest of each kind, cheapest first
    cautious_runs: int | None  # independent ones, at the upper end of the total variance


def variances(of: crossed.Crossed) -> Variances:
    """The estimates of a study, of one run a cell."""
    squares = {name: part.sd**2 for name, part in of.components.items()}
    rest = squares["interaction"] + squares.get("error", 0.0)
    return Variances(squares["split"], squares["seed"], rest)


def plan(of: crossed.Crossed, precision: float, split_cost: float = 0.0) -> TrainingPlan:
    """What to train next for a precision of the mean, by scores that vary; as `cheapest`."""
    how = precision, split_cost, of.mean_interval.confidence
    largest = Variances(0.0, 0.0, of.total.sd_interval.high**2)
    cautious = {design.kind: design.runs for design in cheapest(largest, *how)}
    designs = tuple(cheapest(variances(of), *how))
    return TrainingPlan(precision, split_cost, designs, cautious.get("independent"))


def cheapest(
    of: Variances, half_width: float, split_cost: float = 0.0, confidence: float = 0.95
) -> list[TrainingDesign]:
    """The cheapest design of each kind that gives a half-width of the mean, cheapest first.

    Of S splits, R seeds and N runs the variance of the mean is crossed v_split / S + v_seed / R +
    v_rest / N, nested v_split / S + (v_seed + v_rest) / N, independent (as in FIESTA, Moss et al.
    2019) their sum / N. All designs of up to `MOST` runs are tried; a new split costs, beside its
    runs, `split_cost` runs.
    """
    if not (half_width > 0 and split_cost >= 0 and min(of) >= 0):
        raise DataError(
            "design: expected a half-width above 0 and no negative cost or variance, found "
            f"{half_width:g}, {split_cost:g} and {', '.join(f'{v:g}' for v in of)}"
        )
    numbers = np.arange(2, MOST // 2 + 1)
    splits = np.repeat(numbers, MOST // numbers - 1)
    each = np.concatenate([np.arange(2, MOST // number + 1) for number in numbers])
    total, single = splits * each, np.arange(2, MOST + 1)
    expected = of.rest + each * of.split, of.rest + splits * of.seed, np.full(len(total), of.rest)
    nested = of.split / splits + (of.seed + of.rest) / total
    grids = (  # kind, splits, seeds, runs, variance of the mean and its degrees of freedom
        ("crossed", splits, each, total, *crossed.mean_variance(*expected, (splits, each, 1))),
        ("nested", splits, total, total, nested, splits - 1),
        ("independent", single, single, single, sum(of) / single, single - 1),
    )
    designs = []
    for kind, *columns, variance, df in grids:
        width = np.sqrt(variance) * crossed.t_quantile(df, confidence)
        cost = np.where(width <= half_width, columns[2] + split_cost * columns[0], np.inf)
        best = int(np.lexsort((width, cost))[0])
        if np.isfinite(cost[best]):
            sizes = (int(columns[0][best]), int(columns[1][best]), int(columns[2][best]))
            price = float(cost[best]), float(width[best])
            designs.append(TrainingDesign(kind, *sizes, *price))
    return sorted(designs, key=lambda design: (design.cost, design.half_width))
