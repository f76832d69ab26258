"""Models in order on each data set and over all: means, ranks, ties, what could be told apart."""

import functools
import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.runs.scores import DataSetScores
from jaxeval.stats import multiple
from jaxeval.stats.items import cells, task_means
from jaxeval.stats.items.estimates import FACTORS, Estimate
from jaxeval.stats.pairs import Pair
from jaxeval.stats.power import t_test_power
from jaxeval.stats.rules import Factor, Rules

POWER = 0.8
_STEP = 1.2  # between degrees of freedom
_CLOSE = 1e-4  # more than what searches err by
_FAR = 60.0  # standard errors: what is not shown there never is


class Row(NamedTuple):
    """A model on a board.

    Attributes:
      rank: by its mean, 1 the best; models of equal means share it.
      low, high: ranks that are left open, for all models at once.
      groups: numbers, from 1, of its tie groups: models that share one were not told apart.
      beaten: whether another model was shown to be better.
    """

    model: str
    mean: Estimate
    rank: int
    low: int
    high: int
    groups: tuple[int, ...]
    beaten: bool


class Detectable(NamedTuple):
    """Differences that the design shows with a probability of `POWER`.

    Of the pair of models of which the smallest can be shown, and of that of which the largest is
    needed; None: of no pair or, the second, not of all.

    Attributes:
      never: whether of a pair no difference is shown, however large: too few runs or items.
      unknown: whether the error of a pair's difference is not known: it is always the same.
    """

    smallest: float | None
    largest: float | None
    never: bool
    unknown: bool


class Board(NamedTuple):
    """Models by their mean, best first.

    Attributes:
      data_set: None of the mean over data sets; "" where it has no name.
      told_apart: (better, worse) pairs that were shown to differ, at the corrected level; none
        where too many answers are missing.
    """

    data_set: str | None
    metric: str
    higher_is_better: bool
    rows: tuple[Row, ...]
    told_apart: tuple[tuple[str, str], ...]
    detectable: Detectable


def of(
    tasks: Sequence[DataSetScores],
    pairs: Sequence[Pair],
    overall: Sequence[Pair],
    rules: Rules,
    over: Collection[Factor],
    shared_runs: bool,
) -> tuple[Board | None, tuple[Board, ...]]:
    """The board of the mean over data sets, None without one, and that of each data set."""
    boards = []
    for task in tasks:
        compared, means = [], dict[str, Estimate]()
        for pair in pairs:
            if pair.data_set == task.name:
                means |= zip(pair.names, pair.means, strict=True)
                compared.append(pair)
        boards.append(_board([task], means, compared, rules, len(pairs)))
    if not overall:
        return None, tuple(boards)
    means, from_0_to_1 = {}, task_means.from_0_to_1(tasks)
    for model in tasks[0].models:
        runs = min(task.models[model].runs for task in tasks)
        factors = tuple(f for f in FACTORS if f in over and (f == "items" or runs > 1))
        means[model] = task_means.mean_of_model(
            *(tasks, model, factors or ("items",), shared_runs, rules.confidence, from_0_to_1)
        )
    return _board(tasks, means, overall, rules, len(overall)), tuple(boards)


def detectable(difference: Estimate, level: float) -> float | None:
    """The true difference that a design shows with a probability of `POWER`.

    Args:
      difference: as the design knows it.
      level: of the two-sided test.

    Returns:
      None where its error is not known; infinity where none is shown with so few runs or items.
    """
    error = _error(difference)
    return None if math.isnan(error) else _shift(difference.df, level) * error


def _error(difference: Estimate) -> float:
    """The standard error of which the interval is made; NaN where it is not known."""
    from scipy import special

    low, high, confidence, _ = difference.interval
    return (high - low) / 2 / -float(special.stdtrit(difference.df, (1 - confidence) / 2))


@functools.lru_cache(maxsize=1 << 12)
def _shift(df: float, level: float) -> float:
    """The difference in standard errors; infinity: none is far enough."""
    from scipy import optimize

    if t_test_power(_FAR, df, level) < POWER:
        return math.inf
    return float(
        optimize.brentq(lambda s: t_test_power(s, df, level) - POWER, 0.0, _FAR, xtol=1e-6)
    )


def _board(
    tasks: Sequence[DataSetScores],
    estimated: dict[str, Estimate],
    compared: Sequence[Pair],
    rules: Rules,
    tests: int,
) -> Board:
    """Of one data set, or over several.

    A model's interval of ranks leaves out the places of those that were shown to be better, or
    worse, than it, and holds its own rank (with items that only some models have, pairs may
    contradict it). Where the tests of all pairs are wrong on none in 1 - alpha of experiments, as
    after Holm's correction, all intervals hold in as many (Mogstad et al. 2024).

    Args:
      tests: over which p-values are corrected.
    """
    models, higher = list(tasks[0].models), tasks[0].higher_is_better
    means = (1 if higher else -1) * np.mean([_means(task) for task in tasks], axis=0)
    apart = tuple(
        pair.names if pair.better > 0 else pair.names[::-1] for pair in compared if pair.better
    )
    order = [models[k] for k in np.argsort(-means, kind="stable").tolist()]
    tied = multiple.tie_groups(order, {*map(frozenset, apart)})
    rows = []
    for model in order:
        rank = 1 + int(np.sum(means > means[models.index(model)]))
        better, worse = (sum(pair[side] == model for pair in apart) for side in (1, 0))
        rows.append(
            Row(
                *(model, estimated[model], rank),
                low=min(rank, 1 + better),
                high=max(rank, len(models) - worse),
                groups=tuple(k for k, group in enumerate(tied, 1) if model in group),
                beaten=better > 0,
            )
        )
    return Board(
        tasks[0].name if len(tasks) == 1 else None,
        tasks[0].metric,
        higher,
        tuple(rows),
        apart,
        _detectable(compared, rules.alpha / tests),
    )


def _means(task: DataSetScores) -> list[float]:
    """Of every model, over the items, which all have."""
    return [float(cells.table(of.scores, m).cells.mean()) for m, of in task.models.items()]


def _needed(pair: Pair) -> Estimate:
    assert pair.difference is not None
    return pair.difference


def _detectable(compared: Sequence[Pair], level: float) -> Detectable:
    """At the level of the first step of Holm's correction.

    A pair's difference is found only where it may be the smallest or the largest, which takes a
    search each: more degrees of freedom never make it larger, so that rounded ones bound it.
    """
    errors = np.array([_error(_needed(pair)) for pair in compared])
    known = np.flatnonzero(~np.isnan(errors))
    every = len(known) == len(errors)
    if not len(known):
        return Detectable(None, None, False, True)
    low, high = (
        np.array([_shift(_rounded(_needed(compared[k]).df, up), level) for k in known.tolist()])
        * errors[known]
        for up in (True, False)
    )
    never = bool(np.isinf(low).any())
    near = low * (1 - _CLOSE) <= high.min()
    if not never:
        near |= high * (1 + _CLOSE) >= low.max()
    least = [detectable(_needed(compared[k]), level) for k in known[near].tolist()]
    finite = [of for of in least if of is not None and of < math.inf]
    never = never or len(finite) < len(least)
    largest = max(finite) if every and not never else None
    return Detectable(min(finite, default=None), largest, never, not every)


def _rounded(df: float, up: bool) -> float:
    """Degrees of freedom up, or down, to a power of a number a little above 1."""
    if math.isinf(df):
        return df
    power = math.log(df) / math.log(_STEP)
    return _STEP ** (math.floor(power) + (1 if up else 0))
