"""Models in order on each task and over all: means, ranks, ties, and what could be told apart."""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.stats import multiple
from jaxeval.stats.items import model_means, places, results, run_names
from jaxeval.stats.items import study as studies
from jaxeval.stats.items.places import Compared, Place
from jaxeval.stats.items.results import Estimate, Factor
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.items.task_means import Task
from jaxeval.stats.power import t_test_power

POWER = 0.8
_STEP = 1.2  # between degrees of freedom
_CLOSE = 1e-4  # more than what searches err by
_FAR = 60.0  # standard errors: what is not shown there never is


class Row(NamedTuple):
    """A model on a board.

    Attributes:
      groups: numbers, from 1, of its tie groups: models that share one were not told apart.
      beaten: whether another model was shown to be better.
    """

    model: str
    mean: Estimate
    place: Place
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
      task: None of the mean over tasks; "" where it has no name.
      told_apart: (better, worse) pairs that were shown to differ, at the corrected level; none
        where too many answers are missing.
    """

    task: str | None
    metric: str
    higher_is_better: bool
    rows: tuple[Row, ...]
    told_apart: tuple[tuple[str, str], ...]
    detectable: Detectable


class Leaderboard(NamedTuple):
    """All boards.

    Attributes:
      overall: by the mean over tasks; None of a single task, and of tasks that are not averaged.
    """

    overall: Board | None
    tasks: tuple[Board, ...]


def of(study: ItemStudy) -> Leaderboard:
    """The boards of a study."""
    tasks = run_names.aligned([studies.task_of(task) for task in study.tasks])
    boards = []
    for task in tasks:
        compared, means = [], dict[str, Estimate]()
        for pair in study.pairs:
            if pair.task.task == task.name:
                means |= zip((pair.a, pair.b), pair.means, strict=True)
                compared.append(Compared(pair.a, pair.b, pair.difference, pair.p_adjusted))
        boards.append(_board(study, [task], means, compared, len(study.pairs)))
    if len(tasks) == 1 or not study.suite.overall:
        return Leaderboard(None, tuple(boards))
    compared = [
        Compared(pair.a, pair.b, pair.mean_over_tasks, pair.p_adjusted)
        for pair in study.suite.overall
    ]
    means = _means(study, tasks, study.pairs[0].difference.over)
    overall = _board(study, tasks, means, compared, len(compared))
    return Leaderboard(overall, tuple(boards))


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


def _means(study: ItemStudy, tasks: Sequence[Task], over: tuple[str, ...]) -> dict[str, Estimate]:
    """Over all tasks, of each model; of one run what can be said of it."""
    means, from_0_to_1 = {}, model_means.from_0_to_1(tasks)
    for model in study.models:
        runs = min(task.scores[model].shape[1] for task in study.tasks)
        factors: tuple[Factor, ...] = tuple(
            f for f in results.FACTORS if f in over and (f == "items" or runs > 1)
        )
        means[model] = model_means.of_tasks(
            tasks,
            model,
            factors or ("items",),
            study.suite.shared_runs,
            study.rules.confidence,
            from_0_to_1,
        )
    return means


def _board(
    study: ItemStudy,
    tasks: Sequence[Task],
    means: Mapping[str, Estimate],
    compared: Sequence[Compared],
    tests: int,
) -> Board:
    """Of one task, or over several.

    Args:
      tests: over which p-values are corrected.
    """
    rules, higher = study.rules, tasks[0].higher_is_better
    apart = () if study.withheld else places.told_apart(compared, rules.alpha, higher)
    ranked = places.places(tasks, apart)
    tied = multiple.tie_groups([place.model for place in ranked], {*map(frozenset, apart)})
    beaten = {worse for _, worse in apart}
    rows = (
        Row(
            place.model,
            means[place.model],
            place,
            tuple(k for k, group in enumerate(tied, 1) if place.model in group),
            place.model in beaten,
        )
        for place in ranked
    )
    return Board(
        tasks[0].name if len(tasks) == 1 else None,
        tasks[0].metric,
        higher,
        tuple(rows),
        apart,
        _detectable(compared, rules.alpha / tests),
    )


def _detectable(compared: Sequence[Compared], level: float) -> Detectable:
    """At the level of the first step of Holm's correction.

    A pair's difference is found only where it may be the smallest or the largest, which takes a
    search each: more degrees of freedom never make it larger, so that rounded ones bound it.
    """
    errors = np.array([_error(pair.difference) for pair in compared])
    known = np.flatnonzero(~np.isnan(errors))
    every = len(known) == len(errors)
    if not len(known):
        return Detectable(None, None, False, True)
    low, high = (
        np.array([_shift(_rounded(compared[k].difference.df, up), level) for k in known.tolist()])
        * errors[known]
        for up in (True, False)
    )
    never = bool(np.isinf(low).any())
    near = low * (1 - _CLOSE) <= high.min()
    if not never:
        near |= high * (1 + _CLOSE) >= low.max()
    least = [detectable(compared[k].difference, level) for k in known[near].tolist()]
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
