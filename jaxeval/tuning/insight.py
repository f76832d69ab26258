"""What the process says of hyperparameters, and of settings beside the one that is taken.

All of it is averaged over draws of the process's hyperparameters (Snoek et al. 2012, section 3.2).
Those of the posterior mode alone are taken for known, and what is said is then too sure: see
docs/method.md.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from jaxeval.space.distributions import Value
from jaxeval.space.space import Space
from jaxeval.tuning import draws, encoding, gp, process, targets
from jaxeval.tuning.gp import Fitted
from jaxeval.tuning.history import History, Setting
from jaxeval.tuning.process import Model

_PROCESSES = 16  # draws of hyperparameters
# of importance, and functions for each: nearly all of the time is a kernel's
_OF_IMPORTANCE, _FUNCTIONS = 32, 4
_EXPONENT = 10  # 2^10 points of the base sample
_STREAM, _OF_FUNCTIONS, _OF_POINTS, _OF_MODELS = 14, 30, 31, 32  # streams of random numbers
_QUANTILES = special.ndtri((np.arange(64) + 0.5) / 64)  # of the objective at a setting
_SPREAD = (0.025, 0.975)
_ALONG = 41  # values of a long range
_TWO_SIDED = 1.959964  # standard deviations on either side of 95 % of a normal distribution
_TOLD_APART = 0.95  # posterior probability


class Spread(NamedTuple):
    """The 2.5 and 97.5 % quantiles over draws of the posterior."""

    low: float
    high: float


class Importance(NamedTuple):
    """Sobol indices of a hyperparameter, from 0 to 1: posterior means, and their spread."""

    name: str
    first: float
    first_spread: Spread
    total: float
    total_spread: Spread


class Slice(NamedTuple):
    """The posterior of the objective along a hyperparameter of the setting that is taken.

    Attributes:
      alike: values that are not told apart from that of the setting: worse by more than a margin
        with a probability below .95. Of numbers those around it, up to the first that is worse.
      values: ascending where they are numbers.
      median, low, high: at each value, in the metric's unit, and the ends of its 95 % interval.
      worse: posterior probability that the objective there is worse by more than the margin.
    """

    name: str
    value: Value
    alike: list[Value]
    values: list[Value]
    median: np.ndarray
    low: np.ndarray
    high: np.ndarray
    worse: np.ndarray


class Insight(NamedTuple):
    """What the process says in the end.

    Attributes:
      margin: a difference that does not matter, in the metric's unit.
      noise_known: whether several seeds of good settings tell the noise, with 4 degrees of freedom
        or more; if not, it is told from the objective by a prior on both.
      importance: the largest total index first.
      alike: numbers of the settings that can be taken and are not told apart from the best.
    """

    margin: float
    noise_known: bool
    importance: list[Importance]
    alike: list[int]
    slices: list[Slice]


def insight(
    space: Space,
    known: History,
    best: Setting,
    margin: float = 0.0,
    seed: int = 0,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Insight | None:
    """What a history says of the setting that is taken; None before scores differ.

    The objective is that of the process: good scores as they are, bad ones by rank (`targets`).

    Args:
      margin: in the metric's unit, from 0.
      limits: between which scores lie, of which the process knows nothing.
    """
    fitted = gp.fit(space, known)
    if fitted.model is None or fitted.targets is None or not fitted.targets.values.any():
        return None
    data = gp.fitted_to(fitted.model.data)
    drawn = draws.models(fitted.model, data, _PROCESSES, [seed, _STREAM])
    able = gp.ranked(fitted)
    below = worse(fitted, drawn, fitted.features, fitted.features[able[:1]], margin)
    means = moments(drawn, fitted.features)[0]
    order = [able[0], *sorted(able[1:], key=lambda k: -means[k])]
    scores = [setting.scores for setting in fitted.settings]
    return Insight(
        margin,
        targets.targets(scores, known.higher_is_better).seed > 0,
        importance(space, fitted, seed),
        [fitted.settings[k].numbers[0] for k in order if below[k] < _TOLD_APART],
        _slices(space, fitted, drawn, best, margin, limits),
    )


def moments(drawn: Sequence[Model], features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation [m] of the objective at features [m, D], in targets."""
    predictions = [process.predict(model, features) for model in drawn]
    means = np.array([prediction.mean for prediction in predictions])
    variances = np.array([prediction.variance for prediction in predictions])
    return means.mean(axis=0), np.sqrt(variances.mean(axis=0) + means.var(axis=0))


def worse(
    fitted: Fitted, drawn: Sequence[Model], features: np.ndarray, own: np.ndarray, margin: float
) -> np.ndarray:
    """[m]: posterior probability that the objective at features [m, D] is worse than elsewhere.

    Compared in the metric: a margin is another difference of targets where the warp bends.

    Args:
      own: [1, D] where that is.
      margin: by more than this, in the metric's unit.
    """
    assert fitted.targets is not None
    each = []
    for model in drawn:
        others, at_own = process.predict(model, features), process.predict(model, own)
        off = np.sqrt(at_own.variance) * _QUANTILES
        shared = process.between(model, others, at_own)
        slope = shared / at_own.variance  # [m, 1]
        mean = others.mean[:, None] + slope * off
        sd = np.sqrt(np.maximum(others.variance[:, None] - slope * shared, 1e-12))
        least = fitted.targets.lowered(at_own.mean + off, margin)
        each.append(special.ndtr((least - mean) / sd).mean(axis=1))
    return np.asarray(np.mean(each, axis=0))


def _slices(
    space: Space,
    fitted: Fitted,
    drawn: Sequence[Model],
    best: Setting,
    margin: float,
    limits: tuple[float, float],
) -> list[Slice]:
    """Along each hyperparameter that is active in the best setting; all others keep their values.

    Where a value makes another hyperparameter active, that one is in the middle of its range.
    """
    assert fitted.targets is not None
    own = encoding.places(space, [best.values])
    middle = [0.0 if axis.categorical else 0.5 for axis in encoding.axes(space)]
    row, found = np.where(np.isnan(own[0]), middle, own[0]), []
    for k, parameter in enumerate(space.parameters):
        if parameter.name not in best.values:
            continue
        rows = encoding.distinct(encoding.snap(space, _varied(space, row, k)))
        features = encoding.features(space, rows)
        mean, sd = moments(drawn, features)
        ends = mean + _TWO_SIDED * sd * np.array([[0.0], [-1.0], [1.0]])
        median, low, high = np.clip(fitted.targets.in_metric(ends), *limits)
        if fitted.targets.unit < 0:
            low, high = high, low
        values = [values[parameter.name] for values in encoding.settings(space, rows)]
        below = worse(fitted, drawn, features, encoding.features(space, own), margin)
        value = best.values[parameter.name]
        alike = _alike(values, below, value)
        found.append(Slice(parameter.name, value, alike, values, median, low, high, below))
    return found


def _alike(values: list[Value], below: np.ndarray, value: Value) -> list[Value]:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return [other for other, p in zip(values, below, strict=True) if p < _TOLD_APART]
    numbers = np.array([float(number) for number in values])
    own, apart = int(np.abs(numbers - value).argmin()), np.flatnonzero(below >= _TOLD_APART)
    low = max((k + 1 for k in apart if k < own), default=0)
    return values[low : min((k for k in apart if k > own), default=len(values))]


def _varied(space: Space, row: np.ndarray, k: int) -> np.ndarray:
    """[n, P]: the row with each value of hyperparameter k, or its own and some of a long range."""
    axis = encoding.axes(space)[k]
    if 0 < axis.count <= _ALONG or axis.categorical:
        column = axis.numbered(np.arange(axis.count))
    else:
        column = np.union1d(np.linspace(0.0, math.nextafter(1.0, 0.0), _ALONG), row[k])
    rows = np.tile(row, (len(column), 1))
    rows[:, k] = column
    return rows


def importance(space: Space, fitted: Fitted, seed: int = 0) -> list[Importance]:
    """How much of the objective's variance over the space each hyperparameter explains.

    Sobol indices of the process's posterior (functional ANOVA; Hutter et al. 2014 do so with a
    forest): first-order by itself, total with all its interactions. Each draw of the posterior has
    indices of its own (Marrel et al. 2009; Le Gratiet et al. 2014). Their spread is no confidence
    interval: the process expects interactions, and of few scores total indices come out too high
    (docs/method.md).
    """
    assert fitted.model is not None
    data = gp.fitted_to(fitted.model.data)
    models = draws.models(fitted.model, data, _OF_IMPORTANCE, [seed, _OF_MODELS])
    streams = [[seed, _OF_FUNCTIONS, k] for k in range(len(models))]
    drawn = [draws.functions(m, _FUNCTIONS, s) for m, s in zip(models, streams, strict=True)]

    def objective(quantiles: np.ndarray) -> np.ndarray:
        features = encoding.features(space, encoding.from_quantiles(space, quantiles))
        return np.concatenate([function(features) for function in drawn], axis=1)

    first, total = sobol_indices(objective, len(space.parameters), [seed, _OF_POINTS])
    each = [
        Importance(parameter.name, *_described(f), *_described(t))
        for parameter, f, t in zip(space.parameters, first, total, strict=True)
    ]
    return sorted(each, key=lambda of: -of.total)


def _described(indices: np.ndarray) -> tuple[float, Spread]:
    low, high = np.quantile(indices, _SPREAD)
    return float(indices.mean()), Spread(float(low), float(high))


def sobol_indices(
    function: Callable[[np.ndarray], np.ndarray],
    count: int,
    seed: list[int],
    exponent: int = _EXPONENT,
) -> tuple[np.ndarray, np.ndarray]:
    """First-order and total Sobol indices [d, S] of functions [m, d] in [0, 1) -> [m, S].

    Two quasi-random samples A and B of 2^exponent points, and for each number A with that column
    of B (Saltelli et al. 2010); both indices by Jansen's (1999) estimators, cut to [0, 1]. A
    function that is constant has indices of 0.
    """
    engine = stats.qmc.Sobol(2 * count, rng=np.random.default_rng(seed))
    a, b = np.split(engine.random_base2(exponent), 2, axis=1)
    of_a, of_b = function(a), function(b)
    variance = np.concatenate([of_a, of_b]).var(axis=0)
    scale = np.where(variance > 0, 2 * variance, np.inf)
    first, total = [], []
    for column in range(count):
        mixed = a.copy()
        mixed[:, column] = b[:, column]
        of_mixed = function(mixed)
        first.append(np.where(variance > 0, 1 - np.mean((of_b - of_mixed) ** 2, 0) / scale, 0.0))
        total.append(np.mean((of_a - of_mixed) ** 2, axis=0) / scale)
    return np.clip(first, 0.0, 1.0), np.clip(total, 0.0, 1.0)
