"""How many splits and seeds to buy, so that the mean score is known well enough.

Every design generalises over splits and seeds. With S splits, N runs and the variances of one run,
the variance of the mean is

    crossed      v_split / S + v_seed / R + v_rest / N    R seeds, each on every split: N = S R
    nested       v_split / S + (v_seed + v_rest) / N      m seeds of its own a split: N = S m
    independent  (v_split + v_seed + v_rest) / N          m = 1, as in FIESTA (Moss et al. 2019)

where the rest is interaction and error. With as many runs, crossed >= nested >= independent: a
crossed design is bought to learn the variances, not the mean. Fewer splits can pay where a split
has a cost of its own c (in runs): the best nested m is near sqrt(c (v_seed + v_rest) / v_split),
as in two-stage sampling (Cochran 1977, section 10.6).
"""

import dataclasses
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import crossed
from jaxeval.stats.results import fraction

MOST = 10_000  # runs of a design
Kind = Literal["crossed", "nested", "independent"]


class Variances(NamedTuple):
    """Of one run's score, or of the difference of two models' scores on one split with one seed.

    Attributes:
      rest: interaction and error.
    """

    split: float
    seed: float
    rest: float


@dataclasses.dataclass(frozen=True)
class TrainingDesign:
    """What to train.

    Attributes:
      seeds: distinct ones.
      cost: in runs.
      half_width: of the mean's interval, expected.
    """

    kind: Kind
    splits: int
    seeds: int
    runs: int
    cost: float
    half_width: float


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """What to train for a precision, on the word of a study.

    Attributes:
      precision: half-width of the mean's interval, at most.
      split_cost: of a new split, beside its runs, in runs.
      designs: the cheapest of each kind, cheapest first.
      cautious_runs: of the independent design, if the total variance is at the upper end of its
        interval; None: over 10,000.
    """

    precision: float
    split_cost: float
    designs: tuple[TrainingDesign, ...]
    cautious_runs: int | None


class _Grid(NamedTuple):
    """Designs of one kind: all arrays [designs]."""

    kind: Kind
    splits: np.ndarray
    seeds: np.ndarray
    runs: np.ndarray
    half_width: np.ndarray


def variances(of: crossed.Crossed) -> Variances:
    """The estimates of a study, of one run a cell."""
    squares = {name: part.sd**2 for name, part in of.components.items()}
    rest = squares["interaction"] + squares.get("error", 0.0)
    return Variances(squares["split"], squares["seed"], rest)


def plan(of: crossed.Crossed, precision: float, split_cost: float = 0.0) -> TrainingPlan:
    """What to train next for a precision of the mean, by scores that vary; as `cheapest`."""
    confidence = of.mean_interval.confidence
    costs = {"split_cost": split_cost, "confidence": confidence}
    largest = Variances(0.0, 0.0, of.total.sd_interval.high**2)
    cautious = {design.kind: design.runs for design in cheapest(largest, precision, **costs)}
    designs = cheapest(variances(of), precision, **costs)
    return TrainingPlan(precision, split_cost, tuple(designs), cautious.get("independent"))


def cheapest(
    of: Variances, half_width: float, *, split_cost: float = 0.0, confidence: float = 0.95
) -> list[TrainingDesign]:
    """The cheapest design of each kind that gives a precision, cheapest first.

    Args:
      half_width: of the mean's interval, at most; in the unit of the scores.
      split_cost: of a new split, beside its runs, in runs.

    Returns:
      Kinds that need over 10,000 runs are absent. Of equal costs the narrowest interval is first.

    Raises:
      DataError: a precision that is not above 0, or a negative cost or variance.
    """
    confidence = fraction(confidence, "confidence")
    if not (half_width > 0 and split_cost >= 0 and min(of) >= 0):
        raise DataError(
            "design: expected a half-width above 0 and no negative cost or variance, found "
            f"{half_width:g}, {split_cost:g} and {', '.join(f'{v:g}' for v in of)}"
        )
    designs = []
    for grid in _grids(of, confidence):
        cost = grid.runs + split_cost * grid.splits
        cost = np.where(grid.half_width <= half_width, cost, np.inf)
        best = int(np.lexsort((grid.half_width, cost))[0])
        if np.isfinite(cost[best]):
            designs.append(_design(grid, best, float(cost[best])))
    return sorted(designs, key=lambda design: (design.cost, design.half_width))


def _design(grid: _Grid, number: int, cost: float) -> TrainingDesign:
    splits, seeds, runs = (int(column[number]) for column in (grid.splits, grid.seeds, grid.runs))
    return TrainingDesign(grid.kind, splits, seeds, runs, cost, float(grid.half_width[number]))


def _grids(of: Variances, confidence: float) -> Iterator[_Grid]:
    """All designs of up to `MOST` runs, tried one by one: widths need not fall with every run."""
    numbers = np.arange(2, MOST // 2 + 1)
    splits = np.repeat(numbers, MOST // numbers - 1)
    each = np.concatenate([np.arange(2, MOST // number + 1) for number in numbers])
    runs = splits * each
    expected = of.rest + each * of.split, of.rest + splits * of.seed, np.full(len(runs), of.rest)
    variance, df = crossed.mean_variance(*expected, (splits, each, 1))
    yield _Grid("crossed", splits, each, runs, _half_width(variance, df, confidence))
    variance = of.split / splits + (of.seed + of.rest) / runs
    yield _Grid("nested", splits, runs, runs, _half_width(variance, splits - 1, confidence))
    runs = np.arange(2, MOST + 1)
    yield _Grid("independent", runs, runs, runs, _half_width(sum(of) / runs, runs - 1, confidence))


def _half_width(variance: np.ndarray, df: np.ndarray, confidence: float) -> np.ndarray:
    return np.sqrt(variance) * crossed.t_quantile(df, confidence)
