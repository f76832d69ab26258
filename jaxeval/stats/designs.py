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
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import crossed

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
    """The cheapest design of each kind that gives a precision, cheapest first.

    All designs of up to `MOST` runs are tried: widths need not fall with every run. Kinds that
    need more are absent. Of equal costs the narrowest interval is first.

    Args:
      half_width: of the mean's interval, at most; in the unit of the scores.
      split_cost: of a new split, beside its runs, in runs.
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
