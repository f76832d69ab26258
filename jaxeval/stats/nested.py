"""Scores nested in splits or seeds, and balanced tables of splits and seeds."""

import dataclasses
import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.results import Interval, Sample, fraction, no_interval, sample, varies

_FEWEST = 2  # splits, and seeds


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
    """Splits' and seeds' share of the spread, with any number of seeds per split.

    Args:
      scores: for each of at least two splits the scores of its seeds, two or more somewhere.

    Raises:
      DataError: fewer splits or seeds.
    """
    groups = [sample(group, f"split {k}") for k, group in enumerate(scores)]
    counts = np.array([len(group) for group in groups])
    n, splits = int(counts.sum()), len(groups)
    if splits < 2 or n == splits:
        raise DataError(f"nested scores: expected 2 splits and 2 seeds in one, found {counts}")
    means = np.array([group.mean() for group in groups])
    grand = float(np.concatenate(groups).mean())
    within = sum(squares_within(g) for g in groups) / (n - splits)
    between = float(np.sum(counts * (means - grand) ** 2)) / (splits - 1)
    size = (n - float(np.sum(counts**2)) / n) / (splits - 1)
    varying = varies(np.concatenate(groups))  # or means differ by rounding alone
    of_split = max(0.0, (between - within) / size) if varying else 0.0
    total = of_split + within
    return Components(
        splits,
        n,
        float(means.mean()),
        math.sqrt(of_split),
        math.sqrt(within),
        of_split / total if total else None,
    )


def squares_within(scores: np.ndarray) -> float:
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
    """Variance components of equally many runs of each seed, with intervals.

    The interval of the repeats is the chi-squared one, that of the seeds Williams' and Tukey's
    (Searle, Casella & McCulloch 1992, section 3.8), at least as wide as it says.

    Args:
      scores: [S][R], for each of S >= 2 seeds the scores of R >= 2 runs.

    Raises:
      DataError: fewer, or not equally many.
    """
    if len({len(row) for row in scores}) != 1 or len(scores) < 2 or len(scores[0]) < 2:
        sizes = [len(row) for row in scores]
        raise DataError(f"noise: expected 2 or more runs of 2 or more seeds each, found {sizes}")
    table = np.array(scores, float)
    components = variance_components(list(table))
    seeds, repeats = table.shape
    of_repeats, of_seeds = _sd_intervals(table, confidence)
    return Noise(
        seeds,
        repeats,
        components.mean,
        components.sd_seed,
        of_repeats,
        components.sd_split,
        of_seeds,
        math.hypot(components.sd_split, components.sd_seed),
    )


def _sd_intervals(table: np.ndarray, confidence: float) -> tuple[Interval, Interval]:
    """Of the repeats' standard deviation and of the seeds', from scores [S, R]."""
    from scipy import stats

    confidence = fraction(confidence, "confidence")
    seeds, repeats = table.shape
    between, within = seeds - 1, seeds * (repeats - 1)
    ssb = repeats * float(np.sum((table.mean(axis=1) - table.mean()) ** 2))
    ssw = sum(squares_within(row) for row in table)

    def of_repeats(tail: float) -> float:
        return math.sqrt(ssw / stats.chi2.ppf(tail, within))

    def of_seeds(tail: float) -> float:
        # F_tail times the mean square of repeats: what it would add to the seeds' sum of squares
        noise = between * stats.f.ppf(tail, between, within) * ssw / within
        return math.sqrt(max(0.0, ssb - noise) / (repeats * stats.chi2.ppf(tail, between)))

    low, high = (1 + confidence) / 2, (1 - confidence) / 2
    still = no_interval(confidence, "repeats of a seed do not vary")
    equal = no_interval(confidence, "the scores do not vary")
    return (
        Interval(of_repeats(low), of_repeats(high), confidence, "chi-squared") if ssw else still,
        Interval(of_seeds(low), of_seeds(high), confidence, "Williams-Tukey")
        if varies(table.ravel())
        else equal,
    )


class Balanced(NamedTuple):
    """A balanced table.

    Attributes:
      scores: [S, R, n]
      dropped: a line for each split and seed that was left out.
    """

    scores: np.ndarray
    splits: tuple[Hashable, ...]
    seeds: tuple[Hashable, ...]
    dropped: tuple[str, ...]


def balanced(
    splits: Sequence[Hashable], seeds: Sequence[Hashable], scores: Sequence[float | None]
) -> Balanced:
    """Runs in any order as a balanced table.

    While a cell has fewer scores than the fullest, the split or seed with the largest share of
    such cells is left out; of equals a seed, which is cheaper to replace. A run may have failed
    because of its split or seed: the table then says nothing of those, which is why it is said.

    Args:
      splits, seeds, scores: of each run; None: it has no score.

    Raises:
      DataError: fewer than two splits or two seeds are left.
    """
    rows, columns = list(dict.fromkeys(splits)), list(dict.fromkeys(seeds))
    cells: dict[tuple[Hashable, Hashable], list[float]] = {}
    for split, seed, score in zip(splits, seeds, scores, strict=True):
        cells.setdefault((split, seed), []).extend([] if score is None else [score])
    count = max(map(len, cells.values()), default=0)
    lacking = np.array(
        [[len(cells.get((row, column), ())) < max(1, count) for column in columns] for row in rows]
    ).reshape(len(rows), len(columns))
    keep_rows, keep_columns, dropped = _complete(lacking, rows, columns)
    if min(len(keep_rows), len(keep_columns)) < _FEWEST:
        _refuse_without_scores(scores)
        raise DataError(
            "crossed design: expected every seed on every split, 2 or more of both; found "
            f"{len(scores)} runs of {len(rows)} splits and {len(columns)} seeds, which have not "
            "2 x 2 in common"
        )
    kept = [[cells[rows[row], columns[column]] for column in keep_columns] for row in keep_rows]
    return Balanced(
        np.array(kept, np.float64),
        tuple(rows[k] for k in keep_rows),
        tuple(columns[k] for k in keep_columns),
        tuple(dropped),
    )


def _refuse_without_scores(scores: Sequence[float | None]) -> None:
    """Raises DataError where scores are what a design lacks, not runs."""
    lost = sum(score is None for score in scores)
    if lost:
        raise DataError(
            f"crossed design: {lost} of {len(scores)} runs ended without a score; the others are "
            "not every seed on every split, 2 or more of both"
        )


def _complete(
    lacking: np.ndarray, rows: Sequence[Hashable], columns: Sequence[Hashable]
) -> tuple[list[int], list[int], list[str]]:
    """The numbers of rows and columns without a lacking cell, and what was left out."""
    keep: tuple[list[int], list[int]] = list(range(len(rows))), list(range(len(columns)))
    dropped = []
    while (cells := lacking[np.ix_(*keep)]).any():
        shares = cells.mean(1), cells.mean(0)
        axis = int(shares[1].max() >= shares[0].max())
        worst = int(shares[axis].argmax())
        label = (rows, columns)[axis][keep[axis].pop(worst)]
        count = round(shares[axis][worst] * cells.shape[1 - axis])
        dropped.append(
            f"{('split', 'seed')[axis]} {label} is left out: no score of {count} of its "
            f"{cells.shape[1 - axis]} cells"
        )
    return *keep, dropped
