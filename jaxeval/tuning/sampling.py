"""Proposals that learn from no result: random draws, and points that fill the space evenly."""

import functools
import itertools
import math
from collections.abc import Iterable, Iterator

import numpy as np

from jaxeval.space import space as spaces
from jaxeval.space.distributions import Value
from jaxeval.space.space import Space
from jaxeval.tuning import history as histories
from jaxeval.tuning.history import History

_MOST_KNOWN = 1000  # known points in a row: the space has no others


def random(space: Space, history: History, count: int, seed: int) -> list[dict[str, Value]]:
    """Independent draws: those of a sweep of this seed.

    Args:
      count: of proposals.
      seed: from 0.

    Returns:
      settings, none twice and none that the history holds; fewer where the space has no more.
    """
    start = len(history.evaluations)
    return _new((spaces.draw(space, seed, run) for run in itertools.count(start)), history, count)


def sobol(space: Space, history: History, count: int, seed: int) -> list[dict[str, Value]]:
    """Points of a scrambled Sobol sequence (Owen 1998), a dimension each hyperparameter.

    Arguments and result as of `random`.
    """
    return _new(_sequence(space, seed, len(history.evaluations)), history, count)


def _new(
    points: Iterable[dict[str, Value]], history: History, count: int
) -> list[dict[str, Value]]:
    """The first so many points that are not known."""
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
    return chosen


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
