"""Runs nested in seeds, and what to train for a precision of the mean."""

import dataclasses
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import scipy

from jaxeval.errors import DataError
from jaxeval.stats import crossed
from jaxeval.stats.crossed import Crossed, MeanSquare, MeanSquares
from jaxeval.stats.results import Interval, varies


@dataclasses.dataclass(frozen=True)
class Noise:
    """Variance components of repeated runs of each seed; intervals hold for normal scores.

    There is no interval for a part that does not vary, such as runs repeated on a CPU.
    """

    seeds: int
    repeats: int
    mean: float
    sd_repeat: float  # of runs with the same seed
    sd_repeat_interval: Interval
    sd_seed: float  # between seeds, without the share of repeats
    sd_seed_interval: Interval
    sd: float  # of one run with any seed


def noise(scores: Sequence[Sequence[float]], confidence: float = 0.95) -> Noise:
    """Computes the spread of seeds and of repeated runs from scores [S][R], with intervals.

    The interval of the repeats is chi-squared, that of the seeds Williams' and Tukey's (Searle,
    Casella & McCulloch 1992, section 3.8), which covers at least as often as it says.
    """
    if len({len(row) for row in scores}) != 1 or len(scores) < 2 or len(scores[0]) < 2:
        sizes = [len(row) for row in scores]
        raise DataError(f"noise: expected 2 or more runs of 2 or more seeds each, found {sizes}")
    table = np.array(scores, float)
    (seeds, repeats), varying = table.shape, varies(table.ravel())
    between, within = seeds - 1, seeds * (repeats - 1)
    means, apart = table.mean(axis=1), table - table[:, :1]  # apart: exactly 0 of equal scores
    ssb = repeats * float(np.sum((means - table.mean()) ** 2))
    ssw = sum(float(np.sum((row - row.mean()) ** 2)) for row in apart)
    of_means = float(np.sum(repeats * (means - table.mean()) ** 2)) / between
    variance = max(0.0, (of_means - ssw / within) / repeats) if varying else 0.0

    def of_seeds(tail: float) -> float:
        # F_tail times the mean square of repeats: what it would add to the seeds' sum of squares
        noise = between * scipy.stats.f.ppf(tail, between, within) * ssw / within
        return math.sqrt(max(0.0, ssb - noise) / (repeats * scipy.stats.chi2.ppf(tail, between)))

    tails = (1 + confidence) / 2, (1 - confidence) / 2
    of_repeat = Interval.none(confidence, "repeats of a seed do not vary")
    of_seed = Interval.none(confidence, "the scores do not vary")
    if ssw:
        low, high = (math.sqrt(ssw / scipy.stats.chi2.ppf(tail, within)) for tail in tails)
        of_repeat = Interval(low, high, confidence, "chi-squared")
    if varying:
        low, high = map(of_seeds, tails)
        of_seed = Interval(low, high, confidence, "Williams-Tukey")
    sd_repeat, sd_seed = math.sqrt(ssw / within), math.sqrt(variance)
    both, whole = (sd_repeat, of_repeat, sd_seed, of_seed), math.hypot(sd_seed, sd_repeat)
    return Noise(seeds, repeats, float(means.mean()), *both, whole)


@dataclasses.dataclass(frozen=True)
class TrainingDesign:
    """A design of one kind: the numbers of splits and seeds to train."""

    kind: str
    splits: int
    seeds: int  # distinct ones
    runs: int
    half_width: float  # of the mean's interval, expected


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """Designs to train for a precision of the mean, from the components of a study."""

    precision: float  # half-width of the mean's interval, at most
    designs: tuple[TrainingDesign, ...]  # the one of each kind with fewest runs, fewest first
    cautious_runs: int | None  # independent ones, at the upper end of the total variance
    MOST: ClassVar[int] = 10_000  # runs of a design


def plan(of: Crossed, precision: float) -> TrainingPlan:
    """Plans what to train next for a precision of the mean, from scores that vary."""
    squares = {name: part.sd**2 for name, part in of.components.items()}
    rest, how = squares["interaction"] + squares.get("error", 0.0), of.mean_interval.confidence
    total = of.total.sd_interval.high**2
    cautious = {d.kind: d.runs for d in _smallest((0.0, 0.0, total), precision, how)}
    designs = _smallest((squares["split"], squares["seed"], rest), precision, how)
    return TrainingPlan(precision, tuple(designs), cautious.get("independent"))


def _smallest(
    of: tuple[float, float, float], half_width: float, confidence: float = 0.95
) -> list[TrainingDesign]:
    """Finds the design of each kind with fewest runs that gives a half-width, fewest first.

    With S splits, R seeds and N runs the variance of the mean is, if crossed, v_split / S + v_seed
    / R + v_rest / N; if nested, v_split / S + (v_seed + v_rest) / N; if independent (as in FIESTA,
    Moss et al. 2019), their sum / N. All designs of up to 10,000 runs are tried.

    Args:
      of: variances of one run's score: v_split, v_seed, v_rest.
    """
    v_split, v_seed, v_rest = of
    most = TrainingPlan.MOST
    numbers = np.arange(2, most // 2 + 1)
    splits = np.repeat(numbers, most // numbers - 1)
    each = np.concatenate([np.arange(2, most // number + 1) for number in numbers])
    total, single = splits * each, np.arange(2, most + 1)
    expected = MeanSquares(
        MeanSquare(v_rest + each * v_split, splits - 1),
        MeanSquare(v_rest + splits * v_seed, each - 1),
        MeanSquare(np.full(len(total), v_rest), (splits - 1) * (each - 1)),
        None,
        (splits, each, 1),
    )
    nested = v_split / splits + (v_seed + v_rest) / total
    grids = (  # kind, splits, seeds, runs, variance of the mean and its degrees of freedom
        ("crossed", splits, each, total, *expected.of_mean),
        ("nested", splits, total, total, nested, splits - 1),
        ("independent", single, single, single, sum(of) / single, single - 1),
    )
    designs = []
    for kind, *columns, variance, df in grids:
        width = np.sqrt(variance) * crossed.t_quantile(df, confidence)
        runs = np.where(width <= half_width, columns[2], np.inf)
        best = int(np.lexsort((width, runs))[0])
        if np.isfinite(runs[best]):
            sizes = int(columns[0][best]), int(columns[1][best]), int(columns[2][best])
            designs.append(TrainingDesign(kind, *sizes, float(width[best])))
    return sorted(designs, key=lambda design: (design.runs, design.half_width))
