"""Word vectors judged by tasks: scores of many seeds, differences that were shown, error reduced.

Notation: T tasks, S seeds that all vectors and tasks have scores of.

Each mode (vectors fixed, vectors fine-tuned) is judged apart. The order is that of the mean over
tasks without weights; which vectors differ is said by the verdict of `comparison` on those means,
corrected over all pairs, and once more task by task, corrected over all pairs and tasks.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs import imported, tables
from jaxeval.runs.layout import Layout
from jaxeval.stats import common_seeds, multiple, relative_error, study
from jaxeval.stats.common_seeds import Failures, Scores
from jaxeval.stats.pairs import Pair
from jaxeval.stats.results import Effect
from jaxeval.stats.rules import Rules
from jaxeval.stats.study import RunStudy

MEAN = "mean of tasks"


@dataclasses.dataclass(frozen=True)
class Placed:
    """What was found for one task, or for the mean of all.

    Attributes:
      groups: sets of vectors that were not told apart (`multiple.tie_groups`), best first; vectors
        by mean score.
      detectable: the largest difference, over pairs of vectors, that this design detects with the
        power asked for; None where it detects none.
    """

    task: str
    groups: tuple[tuple[str, ...], ...]
    detectable: float | None


@dataclasses.dataclass(frozen=True)
class Judgement:
    """Vectors in one mode.

    Attributes:
      vectors: best mean over tasks first.
      scores: vectors -> [T, S].
      failed: vectors that failed somewhere are not called better there, nor by the mean of tasks:
        the seeds with which they did not are no fair sample of them.
      reduced: tasks in which the baseline makes errors; empty without a baseline.
      reductions: vectors -> a relative error reduction for each of `reduced`, then their mean;
        empty where there is none.
      placed: the mean of tasks first, then each task; empty for one file.
      overall, by_task: studies of the means, and of the scores of tasks; None for one file.
      notes: what to know of the scores.
    """

    mode: str
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    vectors: tuple[str, ...]
    scores: Mapping[str, np.ndarray]
    failed: Failures
    baseline: str | None
    reduced: tuple[str, ...]
    reductions: Mapping[str, tuple[Effect, ...]]
    placed: tuple[Placed, ...]
    overall: RunStudy | None
    by_task: RunStudy | None
    notes: tuple[str, ...]


def judge(mode: str, scores: Scores, rules: Rules, baseline: str | None = None) -> Judgement:
    """Compares vectors by their scores, fractions of which higher is better.

    Args:
      scores: equal tasks for all vectors; seeds of which one is lacking are left out everywhere.
      baseline: against which errors are reduced; one of the vectors.

    Raises:
      DataError: no such baseline, or no seed that all vectors and tasks have.
    """
    if baseline is not None and baseline not in scores:
        raise DataError(f"no baseline {baseline!r} among {', '.join(scores)}")
    tasks = tuple(next(iter(scores.values())))
    seeds, failed, notes = common_seeds.common(scores)
    arrays = {
        name: np.array([[of[task][seed] for seed in seeds] for task in tasks], np.float64)
        for name, of in scores.items()
    }
    arrays = dict(sorted(arrays.items(), key=lambda item: -float(item[1].mean())))
    reduced = _with_errors(arrays, tasks, baseline)
    reductions = _reductions(arrays, baseline, [tasks.index(task) for task in reduced], rules)
    overall = by_task = None
    if len(arrays) > 1 and len(seeds) > 1:
        means = {name: of.mean(axis=0)[None] for name, of in arrays.items()}
        overall = _study(means, [MEAN], seeds, rules)
        by_task = _study(arrays, tasks, seeds, rules)
    return Judgement(
        mode=mode,
        tasks=tasks,
        seeds=seeds,
        vectors=tuple(arrays),
        scores=arrays,
        failed=failed,
        baseline=baseline,
        reduced=reduced,
        reductions=reductions,
        placed=tuple(_placed(overall, arrays, failed) + _placed(by_task, arrays, failed)),
        overall=overall,
        by_task=by_task,
        notes=(*notes, *_notes_on_reductions(tasks, reduced, baseline, reductions)),
    )


def _with_errors(
    arrays: Mapping[str, np.ndarray], tasks: Sequence[str], baseline: str | None
) -> tuple[str, ...]:
    """Tasks in which the baseline makes errors."""
    if baseline is None:
        return ()
    means = arrays[baseline].mean(axis=1)
    return tuple(task for task, mean in zip(tasks, means, strict=True) if mean < 1)


def _reductions(
    arrays: Mapping[str, np.ndarray], baseline: str | None, places: Sequence[int], rules: Rules
) -> dict[str, tuple[Effect, ...]]:
    """Of all vectors but the baseline, on the tasks at these places."""
    if baseline is None or not places:
        return {}
    reductions = {}
    for name, of in arrays.items():
        if name != baseline:
            each, together = relative_error.reductions(
                of[places], arrays[baseline][places], confidence=rules.confidence
            )
            assert together is not None
            reductions[name] = (*each, together)
    return reductions


def _notes_on_reductions(
    tasks: Sequence[str],
    reduced: Sequence[str],
    baseline: str | None,
    reductions: Mapping[str, tuple[Effect, ...]],
) -> Iterator[str]:
    """Which tasks have no reduction, and why there is no interval."""
    if baseline is None:
        return
    perfect = [task for task in tasks if task not in reduced]
    if perfect:
        others = f"; means of reductions are over {', '.join(reduced)}" if reduced else ""
        yield (
            f"{baseline} makes no error in {', '.join(perfect)}: there is none to reduce{others}"
        )
    without: dict[str, list[str]] = {}
    for name, effects in reductions.items():
        for task, effect in zip((*reduced, "mean"), effects, strict=True):
            if why := effect.interval.absent:
                without.setdefault(why, []).append(f"{name} ({task})")
    for why, named in without.items():
        every = len(named) == sum(map(len, reductions.values()))
        of = "s" if every else f" of {imported.listed(named)}"
        yield f"{why}: no interval of the error reduction{of}"


def _study(
    arrays: Mapping[str, np.ndarray], tasks: Sequence[str], seeds: Sequence[int], rules: Rules
) -> RunStudy:
    """The study of scores [T, S] of each of the vectors."""
    rows = [
        (name, task, seed, float(score))
        for name, of in arrays.items()
        for task, by_seed in zip(tasks, of, strict=True)
        for seed, score in zip(seeds, by_seed, strict=True)
    ]
    names = ("model", "dataset", "seed", "score")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    columns["unit"] = ("fraction",) * len(rows)
    whole = imported.Columns("judgement", columns, range(1, len(rows) + 1))
    return study.study(tables.of_columns(whole, Layout()), rules, "seed")


def _placed(
    of: RunStudy | None, arrays: Mapping[str, np.ndarray], failed: Failures
) -> list[Placed]:
    if of is None:
        return []
    placed = []
    for dataset in of.samples.data_sets:
        pairs = [pair for pair in of.pairs if pair.data_set == dataset]
        means = {name: s.scores.mean() for name, s in of.samples.by_data_set[dataset].items()}
        order = sorted(arrays, key=lambda name: -float(means[name]))
        apart = {frozenset(pair.names) for pair in pairs if _better(pair, failed)}
        detectable = [pair.plan.detectable_difference for pair in pairs if pair.plan]
        known = [d for d in detectable if d is not None]
        largest = max(known) if known and None not in detectable else None
        groups = tuple(multiple.tie_groups(order, apart))
        placed.append(Placed(dataset, groups, largest))
    return placed


def _better(pair: Pair, failed: Failures) -> int:
    """1: A was shown to be better, -1: B; 0 also where measures of location point elsewhere, and
    where the better one has failed."""
    return 0 if pair.against else higher(pair, failed)


def higher(pair: Pair, failed: Failures) -> int:
    """1: A's scores were shown to be higher, -1: B's, 0 also where the higher one has failed."""
    shown = pair.shown
    of_a, of_b = failed_of(pair, failed)
    return 0 if (of_a if shown > 0 else of_b) else shown


def wider(pair: Pair, failed: Failures) -> int:
    """1: A's scores were shown to be spread wider, -1: B's, 0 also where either has failed: the
    scores that are lacking may have widened it."""
    return 0 if any(failed_of(pair, failed)) else pair.wider


def failed_of(pair: Pair, failed: Failures) -> tuple[bool, bool]:
    """Whether A and B lack a score of the task, or of any where the pair's are means of tasks."""
    task, each = pair.data_set, pair.names
    of_a, of_b = (failed.get(name, {}) for name in each)
    return (bool(of_a), bool(of_b)) if task == MEAN else (task in of_a, task in of_b)


def shown_better(of: Judgement, task: str = MEAN) -> Iterator[tuple[Pair, int]]:
    """Pairs that were shown to differ in a task, in one direction by all measures of location,
    and which is the better one (1: A, -1: B)."""
    for pair in pairs(of, task):
        if direction := _better(pair, of.failed):
            yield pair, direction


def told_apart(of: Judgement, task: str = MEAN) -> list[tuple[str, str]]:
    """Their names, (better, worse)."""
    return [ordered(pair, direction) for pair, direction in shown_better(of, task)]


def ordered(pair: Pair, direction: int) -> tuple[str, str]:
    """Names of a pair, the second one first where the direction is -1."""
    return pair.names if direction > 0 else pair.names[::-1]


def disagreeing(of: Judgement) -> list[tuple[str, str, tuple[str, ...]]]:
    """Pairs (higher, lower by the test) of the mean of tasks, and the measures that disagree."""
    found = []
    for pair in pairs(of, MEAN):
        if pair.against:
            found.append((*ordered(pair, pair.shown), pair.against))
    return found


def pairs(of: Judgement, task: str) -> Iterator[Pair]:
    """Those of a task, or of the mean of tasks."""
    whole = of.overall if task == MEAN else of.by_task
    if whole is not None:
        yield from (pair for pair in whole.pairs if pair.data_set == task)
