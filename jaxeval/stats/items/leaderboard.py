"""Models in order on each data set and over all: means, ranks, ties, what could be told apart."""

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.runs.scores import DataSetScores
from jaxeval.stats import multiple
from jaxeval.stats.items import completeness, differences
from jaxeval.stats.items.cells import Table
from jaxeval.stats.items.estimates import FACTORS, Estimate
from jaxeval.stats.pairs import Pair
from jaxeval.stats.power import t_test_power
from jaxeval.stats.results import Factor, Rules

POWER = 0.8
_FAR = 60.0  # standard errors: what is not shown there never is
_Tables = Mapping[str, Mapping[str, Table]]  # data set -> model -> its scores


class Row(NamedTuple):
    """A model on a board."""

    model: str
    mean: Estimate
    rank: int  # by its mean, 1 the best; models of equal means share it
    low: int  # ranks that are left open, for all models at once
    high: int
    groups: tuple[int, ...]  # numbers of its tie groups: of models that were not told apart
    beaten: bool  # another model was shown to be better


class Detectable(NamedTuple):
    """Differences that the design shows with a probability of `POWER`."""

    smallest: float | None  # that can be shown of a pair; None: of no pair
    largest: float | None  # that is needed for a pair; None: not known for all
    never: bool  # of a pair no difference is shown, however large: too few runs or items
    unknown: bool  # the error of a pair's difference is not known: it is always the same


class Board(NamedTuple):
    """Models by their mean, best first."""

    data_set: str | None  # None of the mean over data sets; "" where it has no name
    metric: str
    higher_is_better: bool
    rows: tuple[Row, ...]
    told_apart: tuple[tuple[str, str], ...]  # (better, worse), at the corrected level
    detectable: Detectable


def of(
    tasks: Sequence[DataSetScores],
    tables: _Tables,
    pairs: Sequence[Pair],
    overall: Sequence[Pair],
    rules: Rules,
    over: Collection[Factor],
    shared_runs: bool,
) -> tuple[Board | None, tuple[Board, ...]]:
    """The board of the mean over data sets, None without one, and that of each data set."""
    boards = []
    for task in tasks:
        compared = [pair for pair in pairs if pair.data_set == task.name]
        means = {m: of for pair in compared for m, of in zip(pair.names, pair.means, strict=True)}
        boards.append(_board([task], tables, means, compared, rules, len(pairs)))
    if not overall:
        return None, tuple(boards)
    means, clustered = {}, any(task.clusters is not None for task in tasks)
    for model in tasks[0].models:
        each = [tables[task.name][model] for task in tasks]
        runs = min(table.runs for table in each)
        factors = tuple(f for f in FACTORS if f in over and (f == "items" or runs > 1))
        how = factors or ("items",), shared_runs, rules.confidence, clustered
        means[model] = differences.mean_of_tasks(each, *how, completeness.from_0_to_1(tasks))
    return _board(tasks, tables, means, overall, rules, len(overall)), tuple(boards)


def _board(
    tasks: Sequence[DataSetScores],
    tables: _Tables,
    estimated: Mapping[str, Estimate],
    compared: Sequence[Pair],
    rules: Rules,
    tests: int,
) -> Board:
    """Of one data set, or over several; p-values are corrected over so many tests.

    A model's interval of ranks leaves out the places of those that were shown to be better, or
    worse. After Holm's correction all intervals hold at once (Mogstad et al. 2024).
    """
    models, higher = list(tasks[0].models), tasks[0].higher_is_better
    each = [[float(tables[task.name][m].cells.mean()) for m in models] for task in tasks]
    means = (1 if higher else -1) * np.mean(each, axis=0)
    apart = tuple(
        pair.names if pair.better > 0 else pair.names[::-1] for pair in compared if pair.better
    )
    order = [models[k] for k in np.argsort(-means, kind="stable").tolist()]
    tied = multiple.tie_groups(order, {*map(frozenset, apart)})
    rows = []
    for model in order:
        rank = 1 + int(np.sum(means > means[models.index(model)]))
        better, worse = (sum(pair[side] == model for pair in apart) for side in (1, 0))
        low, high = min(rank, 1 + better), max(rank, len(models) - worse)
        groups = tuple(k for k, group in enumerate(tied, 1) if model in group)
        rows.append(Row(model, estimated[model], rank, low, high, groups, better > 0))
    name = tasks[0].name if len(tasks) == 1 else None
    found = _detectable([of for pair in compared if (of := pair.difference)], rules.alpha / tests)
    return Board(name, tasks[0].metric, higher, tuple(rows), apart, found)


@functools.lru_cache(maxsize=1 << 12)
def shift(df: float, level: float) -> float:
    """The difference in standard errors that a test shows with `POWER`; infinity: none does."""
    from scipy import optimize

    if t_test_power(_FAR, df, level) < POWER:
        return math.inf
    return float(
        optimize.brentq(lambda s: t_test_power(s, df, level) - POWER, 0.0, _FAR, xtol=1e-6)
    )


def _detectable(compared: Sequence[Estimate], level: float) -> Detectable:
    """At the level of the first step of Holm's correction.

    Of pairs with more error and no more degrees of freedom than another none is the smallest.
    """
    known = [(of.error, of.df) for of in compared if not math.isnan(of.error)]
    every = len(known) == len(compared)
    if not known:
        return Detectable(None, None, False, True)
    ends = []
    for sign in (1, -1):
        beaten = (
            any(sign * x < sign * e and sign * y >= sign * d for x, y in known) for e, d in known
        )
        alone = [pair for pair, other in zip(known, beaten, strict=True) if not other]
        ends.append([shift(df, level) * error for error, df in alone])
    smallest, largest = min(ends[0]), max(ends[1])
    never = math.isinf(shift(min(df for _, df in known), level))
    return Detectable(
        None if math.isinf(smallest) else smallest,
        largest if every and not never else None,
        never,
        not every,
    )
