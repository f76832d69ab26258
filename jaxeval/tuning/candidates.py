"""Settings to propose: random draws, Sobol points, and the maximum of an acquisition function.

The maximum is sought among all settings of a small space; otherwise among Sobol points of the
whole space, then among mutations of the best ones with ever smaller steps. No gradients are used
(as in Golovin et al. 2017): numbers, grids, choices and conditions are treated alike.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from jaxeval import space as spaces
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.space import Space, distributions
from jaxeval.space.distributions import Choices, Distribution, Grid, Value
from jaxeval.tuning.encoding import Encoder, encoder
from jaxeval.tuning.history import History, identity

Acquisition = Callable[[np.ndarray], np.ndarray]  # places [m, P] -> [m]
_MOST_KNOWN = 1000  # known points in a row, after which a small space is enumerated
_GLOBAL = 1024
_PARENTS, _CHILDREN = 8, 16
_SAME = 1e-6  # settings whose places are all closer than this are one
_STEPS = (0.2, 0.1, 0.05, 0.025, 0.012, 0.006, 0.003, 0.0015)


def random(space: Space, history: History, count: int, seed: int) -> list[dict[str, Value]]:
    """Draws settings independently, as a sweep of this seed does.

    All differ from each other and from those of the history; fewer if the space has no more.
    """
    start = len(history.evaluations)
    drawn = (spaces.draw(space, seed, run) for run in itertools.count(start))
    return _new(space, drawn, history, count)


def sobol(space: Space, history: History, count: int, seed: int) -> list[dict[str, Value]]:
    """Returns points of a scrambled Sobol sequence (Owen 1998); see `random`."""
    names = [parameter.name for parameter in space.parameters]

    def point(number: int) -> dict[str, Value]:
        # whole powers of two keep the sequence balanced
        block = _block(len(names), seed, math.ceil(math.log2(number + 1)))
        return spaces.at(space, dict(zip(names, map(float, block[number]), strict=True)))

    return _new(space, map(point, itertools.count(len(history.evaluations))), history, count)


@functools.lru_cache(maxsize=2)
def _block(dimensions: int, seed: int, exponent: int) -> np.ndarray:
    from scipy.stats import qmc

    points: np.ndarray = qmc.Sobol(dimensions, rng=seed).random_base2(exponent)
    return points


def _new(
    space: Space, points: Iterable[dict[str, Value]], history: History, count: int
) -> list[dict[str, Value]]:
    """Returns the first points that are not known, then the rest of a small space."""
    known = history.identities
    chosen: list[dict[str, Value]] = []
    repeated = 0
    for values in points:
        if len(chosen) == count or repeated == _MOST_KNOWN:
            break
        repeated = repeated + 1 if identity(values) in known else 0
        if not repeated:
            chosen.append(values)
            known.add(identity(values))
    if len(chosen) == count or (rows := encoder(space).everything) is None:
        return chosen
    left = [v for v in encoder(space).settings(rows) if identity(v) not in known]
    return chosen + left[: count - len(chosen)]


def maximise(
    space: Space, acquisition: Acquisition, near: np.ndarray, taken: np.ndarray, seed: list[int]
) -> np.ndarray | None:
    """Returns the places [P] of the best setting that is not taken [t, P], or None.

    The surroundings of the settings `near` [k, P] are searched too.
    """
    from scipy.stats import qmc

    encode = encoder(space)
    if encode.everything is not None:
        free = encode.everything[~_is_taken(encode.everything, taken)]
        return free[int(np.argmax(acquisition(free)))] if len(free) else None
    generator = np.random.default_rng(seed)
    rows = encode.from_quantiles(qmc.Sobol(len(encode.axes), rng=generator).random(_GLOBAL))
    rows = rows[~_is_taken(rows, taken)]
    best, values = _top(rows, acquisition(rows), taken)
    for step in _STEPS:
        # near at every step: wide steps miss an improvement that is a narrow peak beside them
        children = _mutate(encode, np.concatenate([best, near]), step, generator)
        rows = np.concatenate([best, children])
        values = np.append(values, acquisition(children))
        best, values = _top(rows, values, taken)
    return best[0] if len(best) else None


def _mutate(
    encode: Encoder, parents: np.ndarray, step: float, generator: np.random.Generator
) -> np.ndarray:
    """Returns children [_CHILDREN k, P] of parents [k, P]: some hyperparameters move by a step.

    Grids move by a value or more, choices to any other; what becomes active is drawn uniformly.
    """
    rows = np.repeat(parents, _CHILDREN, axis=0)
    count, dimensions = rows.shape
    fresh = encode.unconditional(generator.random(rows.shape))
    share = generator.random((count, 1))
    normal = generator.normal(size=rows.shape)
    chance = generator.random(rows.shape)
    moves = generator.integers(dimensions, size=count)
    for k, axis in enumerate(encode.axes):
        # in late steps, when numbers move by little, grids and choices move one at a time
        often = share[:, 0] * (step / _STEPS[0] if axis.count else 1.0)
        moved = (chance[:, k] < often) | (moves == k)
        old = np.where(np.isnan(rows[:, k]), fresh[:, k], rows[:, k])
        if axis.categorical:
            further = generator.integers(1, max(2, axis.count), size=count)
            changed: np.ndarray = (old + further) % axis.count
        else:
            jump = step * normal[:, k]
            if axis.count > 1:
                jump = np.copysign(np.maximum(np.abs(jump), 1.0 / (axis.count - 1)), jump)
            changed = old + jump
        rows[:, k] = np.where(moved, changed, old)
    return encode.snap(rows)


def _top(rows: np.ndarray, values: np.ndarray, taken: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(-values, kind="stable")
    _, first = np.unique(np.nan_to_num(rows[order], nan=-1.0), axis=0, return_index=True)
    order = order[np.sort(first)]
    best: list[int] = []
    for part in np.array_split(order, max(1, len(order) // (4 * _PARENTS))):
        best += part[~_is_taken(rows[part], taken)].tolist()
        if len(best) >= _PARENTS:
            break
    return rows[best[:_PARENTS]], values[best[:_PARENTS]]


def setting(space: Space, values: Mapping[str, object]) -> dict[str, Value]:
    """Reads values as a setting of the space; ConfigError names the wrong hyperparameter."""
    where = argument("enqueue")
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where}: expected values by name, got {values!r:.60}")
    names = [parameter.name for parameter in space.parameters]
    for name in (name for name in values if name not in names):
        known = f"there are {', '.join(names)}"
        raise ConfigError(f"{where}: {name}: no such hyperparameter; {known}")
    found: dict[str, Value] = {}
    for parameter in encoder(space).parents_first:
        name, of = parameter.name, parameter.distribution
        active = all(found.get(other) in allowed for other, allowed in parameter.when)
        if active != (name in values):
            why = "is missing" if active else "is inactive beside these others; leave it out"
            raise ConfigError(f"{where}: {name} {why}")
        if active:
            found[name] = value = _plain(of, values[name])
            if not of.takes(value):
                expected = f"expected a value of {distributions.to_dict(of)}"
                raise ConfigError(f"{where}: {name}: {expected}, got {value!r:.60}")
    return {name: found[name] for name in names if name in found}


def _plain(distribution: Distribution, value: Any) -> Any:
    """Returns a value as the space has it: plain numbers; .1 + .2 is .3 on a grid of tenths."""
    value = value.item() if isinstance(value, np.generic) else value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if (
        not number
        or isinstance(distribution, Choices)
        or (isinstance(distribution, Grid) and distribution.whole)
    ):
        return value
    if isinstance(distribution, Grid) and math.isfinite(value):
        nearest = distribution.value(round((value - distribution.low) / distribution.step))
        return (
            nearest
            if math.isclose(nearest, value, abs_tol=1e-9 * distribution.step)
            else float(value)
        )
    return float(value)


def refuse_others(space: Space, history: History) -> None:
    """Raises DataError if an evaluation of a history is not a setting of the space."""
    for evaluation in history.evaluations:
        try:
            setting(space, evaluation.values)
        except ConfigError:
            raise DataError(
                f"history: evaluation {evaluation.number} is not a setting of the space: "
                f"{dict(evaluation.values)}"
            ) from None


def _is_taken(rows: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Returns whether each row of places is one of the taken [t, P], [n]."""
    if not len(taken):
        return np.zeros(len(rows), bool)
    mine, others = (np.nan_to_num(a, nan=-1.0) for a in (rows, taken))
    # compare first by the column with most values: most pairs differ there
    first = int(np.argmax([len(np.unique(column)) for column in others.T]))
    left, right = np.nonzero(np.abs(mine[:, first, None] - others[None, :, first]) <= _SAME)
    same = (np.abs(mine[left] - others[right]) <= _SAME).all(axis=1)
    return np.isin(np.arange(len(mine)), left[same])
