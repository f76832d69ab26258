"""Proposals that learn from no result: random draws, and points that fill the space evenly."""

import functools
import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from jaxeval.space import space as spaces
from jaxeval.space.distributions import Choices, Grid, Value
from jaxeval.space.space import Parameter, Space
from jaxeval.tuning import encoding
from jaxeval.tuning import history as histories
from jaxeval.tuning.history import History

_MOST_KNOWN = 1000  # points in a row: then what a finite space has left is counted out


def random(space: Space, history: History, count: int, seed: int) -> list[dict[str, Value]]:
    """Independent draws: those of a sweep of this seed.

    Args:
      count: of proposals.
      seed: from 0.

    Returns:
      settings, none twice and none that the history holds; fewer where the space has no more.
    """
    start = len(history.evaluations)
    points = (spaces.draw(space, seed, run) for run in itertools.count(start))
    return _new(space, points, history, count)


def sobol(space: Space, history: History, count: int, seed: int) -> list[dict[str, Value]]:
    """Points of a scrambled Sobol sequence (Owen 1998), a dimension each hyperparameter.

    Arguments and result as of `random`.
    """
    return _new(space, _sequence(space, seed, len(history.evaluations)), history, count)


def left(space: Space, known: Collection[str], count: int) -> list[dict[str, Value]]:
    """The first so many settings of a finite space that are not known, in the order of values.

    For what is left when sampling finds nothing new; none of a space with a continuous range.

    Args:
      known: identities of settings (`history.identity`).
    """
    if not all(encoding.choices(parameter.distribution) for parameter in space.parameters):
        return []
    by_name = {parameter.name: parameter for parameter in space.parameters}
    parents_first = [by_name[name] for name in encoding.parents_first(space)]
    each = (
        {name: values[name] for name in by_name if name in values}
        for values in _completed(parents_first, {})
    )
    new = (values for values in each if histories.identity(values) not in known)
    return [*itertools.islice(new, count)]


def _completed(
    parameters: Sequence[Parameter], values: dict[str, Value]
) -> Iterator[dict[str, Value]]:
    """All settings that begin with some values; further parameters, each after its parents."""
    if not parameters:
        yield values
        return
    first, *others = parameters
    if not all(values.get(name) in allowed for name, allowed in first.when):
        yield from _completed(others, values)
        return
    of = first.distribution
    assert isinstance(of, Choices | Grid)
    own: Iterable[Value]
    own = of.in_order if isinstance(of, Choices) else (of.value(k) for k in range(of.count))
    for value in own:
        yield from _completed(others, {**values, first.name: value})


def _new(
    space: Space, points: Iterable[dict[str, Value]], history: History, count: int
) -> list[dict[str, Value]]:
    """The first so many points that are not known, then what else is left of a finite space."""
    known = {histories.identity(evaluation.values) for evaluation in history.evaluations}
    chosen: list[dict[str, Value]] = []
    repeated = 0
    for values in points:
        if len(chosen) == count or repeated == _MOST_KNOWN:
            break
        identity = histories.identity(values)
        repeated = repeated + 1 if identity in known else 0
        if not repeated:
            chosen.append(values)
            known.add(identity)
    return chosen + left(space, known, count - len(chosen))


def _sequence(space: Space, seed: int, start: int) -> Iterator[dict[str, Value]]:
    """The points from number `start` on."""
    names = [parameter.name for parameter in space.parameters]
    for number in itertools.count(start):
        # whole powers of two, as the balance of the sequence asks for
        block = _block(len(names), seed, math.ceil(math.log2(number + 1)))
        yield spaces.at(space, dict(zip(names, map(float, block[number]), strict=True)))


@functools.lru_cache(maxsize=2)
def _block(dimensions: int, seed: int, exponent: int) -> np.ndarray:
    """[2^exponent, dimensions] in [0, 1): a longer block begins with a shorter one."""
    from scipy.stats import qmc

    points: np.ndarray = qmc.Sobol(dimensions, rng=seed).random_base2(exponent)
    return points
