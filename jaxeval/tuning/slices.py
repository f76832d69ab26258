"""What the process says of a setting when one of its hyperparameters changes."""

import math
from typing import NamedTuple

import numpy as np

from jaxeval.space.distributions import Value
from jaxeval.space.space import Space
from jaxeval.tuning import encoding, gp, posterior, warping
from jaxeval.tuning.history import History, Setting

_POINTS = 41
_TWO_SIDED = 1.959964  # standard deviations on either side of 95 % of a normal distribution
TOLD_APART = 0.95  # posterior probability


class Slice(NamedTuple):
    """The posterior of the noise-free objective, in the metric's unit.

    Attributes:
      values: of the hyperparameter, ascending where they are numbers.
      median, low, high: of the objective at each, and the ends of its 95 % interval.
      worse: posterior probability that the objective there is worse than at the setting itself, by
        more than a margin.
    """

    values: list[Value]
    median: np.ndarray
    low: np.ndarray
    high: np.ndarray
    worse: np.ndarray


def slices(
    space: Space, history: History, setting: Setting, margin: float = 0.0, seed: int = 0
) -> dict[str, Slice]:
    """By name, of all hyperparameters that are active in a setting.

    All others keep their values. Where a value makes another hyperparameter active, that one is in
    the middle of its range. Of what is far below the median score the process knows ranks: it is
    between the scores that have these ranks, and never below the worst.

    Args:
      margin: a difference that does not matter, in the metric's unit, from 0.
    """
    fitted = gp.fit(space, history)
    if fitted.model is None or fitted.targets is None:
        return {}
    own = encoding.places(space, [setting.values])
    at, row = encoding.features(space, own), _everywhere(space, own[0])
    drawn, by_name = posterior.processes(fitted, seed), {}
    for k, parameter in enumerate(space.parameters):
        if parameter.name not in setting.values:
            continue
        rows = encoding.distinct(encoding.snap(space, _varied(space, row, k)))
        values = [values[parameter.name] for values in encoding.settings(space, rows)]
        features = encoding.features(space, rows)
        mean, sd = posterior.moments(drawn, features)
        ends = mean + _TWO_SIDED * sd * np.array([[0.0], [-1.0], [1.0]])
        median, low, high = warping.in_metric(fitted.targets, ends)
        if not history.higher_is_better:
            low, high = high, low
        worse = posterior.worse(drawn, features, at, fitted.targets, margin)
        by_name[parameter.name] = Slice(values, median, low, high, worse)
    return by_name


def alike(of: Slice, value: Value) -> list[Value]:
    """Values that are not told apart from a setting's own: worse with a probability below .95.

    Of numbers those around its own, up to the first that is worse.
    """
    kept = of.worse < TOLD_APART
    if not isinstance(value, int | float) or isinstance(value, bool):
        return [v for v, k in zip(of.values, kept, strict=True) if k]
    numbers = np.array([float(v) for v in of.values if not isinstance(v, str)])
    own = int(np.abs(numbers - float(value)).argmin())
    apart = np.flatnonzero(~kept)
    low = max((k + 1 for k in apart if k < own), default=0)
    high = min((k for k in apart if k > own), default=len(kept))
    return of.values[low:high]


def _everywhere(space: Space, row: np.ndarray) -> np.ndarray:
    """Places [P] with a number for inactive hyperparameters too."""
    kinds = [parameter.distribution for parameter in space.parameters]
    middle = np.array([0.0 if encoding.is_categorical(kind) else 0.5 for kind in kinds])
    whole: np.ndarray = np.where(np.isnan(row), middle, row)
    return whole


def _varied(space: Space, row: np.ndarray, k: int) -> np.ndarray:
    """[n, P]: the row with each value of hyperparameter k, or its own and some of a long range."""
    kind = space.parameters[k].distribution
    count = encoding.choices(kind)
    if encoding.is_categorical(kind):
        column = np.arange(count, dtype=np.float64)
    elif 0 < count <= _POINTS:
        column = encoding.of_indices(kind, np.arange(count))
    else:
        column = np.union1d(np.linspace(0.0, math.nextafter(1.0, 0.0), _POINTS), row[k])
    rows = np.tile(row, (len(column), 1))
    rows[:, k] = column
    return rows
