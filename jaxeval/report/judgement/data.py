"""What is told of a judgement of word vectors."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.report import scores, text
from jaxeval.report.comparison import run_claims, words
from jaxeval.report.scores import ScoreFormat
from jaxeval.runs.records import MemberRow
from jaxeval.stats import judgement
from jaxeval.stats.judgement import Judgement
from jaxeval.stats.pairs import Pair
from jaxeval.stats.results import Effect
from jaxeval.stats.rules import Rules

MODES = {"fixed": "vectors fixed", "tuned": "vectors fine-tuned"}
_SCALE = ScoreFormat("fraction", 2)
_FAR = -9999  # percent: what is further is no number to read
Coverage = Mapping[str, Mapping[str, float]]  # part -> fraction of tokens, of types


class Cell(NamedTuple):
    """Members of one file on one task in one mode."""

    mode: str
    task: str
    vectors: str
    members: tuple[MemberRow, ...]


class Cost(NamedTuple):
    """Seconds.

    Attributes:
      members: sum over members of their part of the time of their epochs, whenever trained.
      wall, cpu: of this command.
    """

    members: float
    wall: float
    cpu: float


class Judged(NamedTuple):
    """A judgement.

    Attributes:
      files: name of the vectors -> their file.
      modes: one judgement a mode.
      metrics: task -> metric.
      coverage: (vectors, task) -> how many of the words have a vector.
      same: lines on files that are the same on a task.
    """

    files: Mapping[str, str]
    modes: Sequence[Judgement]
    cells: Sequence[Cell]
    metrics: Mapping[str, str]
    coverage: Mapping[tuple[str, str], Coverage]
    cost: Cost
    rules: Rules
    same: Sequence[str]


def percent(value: float) -> str:
    """A fraction in percent."""
    return scores.shown(value, "fraction")


def reduction(effect: Effect) -> str:
    """A relative error reduction with its interval, in percent; - for an interval without ends."""
    if not has_interval(effect):
        return f"{100 * effect.estimate:.1f} -"
    low, high = (100 * end for end in effect.interval[:2])
    begin = f"{low:.1f}" if low > _FAR else f"below {_FAR}"
    return f"{100 * effect.estimate:.1f} [{begin}, {high:.1f}]"


def has_interval(effect: Effect) -> bool:
    """False where the seeds leave none: they are too few, or their scores do not vary."""
    return not math.isnan(effect.interval.low)


def reduction_head(of: Judgement) -> list[str]:
    """Head of the table of relative error reductions."""
    return ["vectors", *of.reduced, "mean"]


def score_head(of: Judgement, metrics: Mapping[str, str]) -> list[str]:
    """Head of the table of scores."""
    return ["vectors", *(f"{task} ({metrics[task]})" for task in of.tasks), "mean", "tied"]


def score_rows(of: Judgement) -> Iterator[list[str]]:
    """A row a file, best mean first: mean (sd) of each task in percent, their mean, tie groups."""
    groups = numbers(of, judgement.MEAN)
    for name in of.vectors:
        scored = of.scores[name]
        tasks = [f"{percent(float(row.mean()))} ({_sd(row)})" for row in scored]
        means = scored.mean(axis=0)
        yield [name, *tasks, f"{percent(float(means.mean()))} ({_sd(means)})", groups[name]]


def _sd(values: np.ndarray) -> str:
    return f"{100 * float(np.std(values, ddof=1)):.2f}" if len(values) > 1 else "-"


def numbers(of: Judgement, task: str) -> dict[str, str]:
    """The tie groups of each file by number; files that share one were not told apart."""
    each = next((placed.groups for placed in of.placed if placed.task == task), ())
    return {
        name: ",".join(str(n) for n, group in enumerate(each, 1) if name in group) or "-"
        for name in of.vectors
    }


def reduction_rows(of: Judgement) -> Iterator[list[str]]:
    """A row a file: relative error reduction of each task and their mean."""
    for name, effects in of.reductions.items():
        yield [name, *map(reduction, effects)]


def sentences(of: Judgement, rules: Rules) -> Iterator[str]:
    """What the seeds show of the files in one mode, and what they could have shown."""
    yield from of.notes
    if not of.placed:
        if len(of.vectors) > 1:
            yield "One seed says nothing about a distribution: no difference can be shown."
        return
    first = of.placed[0]
    for group in first.groups:
        if len(group) > 1:
            yield f"Not told apart by the mean of tasks: {text.listed(group)}."
    for pair, direction in judgement.shown_better(of):
        better, worse = judgement.ordered(pair, direction)
        yield f"{better} is better than {worse} by the mean of tasks: {_measured(pair)}."
    for higher, lower, others in judgement.disagreeing(of):
        said = run_claims.disagree(_test(of), higher, lower, others)
        yield f"Mean of tasks: {said}."
    yield from _spreads(of)
    for placed in of.placed:
        seeds = text.counted(len(of.seeds), "seed")
        if placed.detectable is None:
            yield f"{placed.task}: with {seeds} no difference, however large, could be shown."
        else:
            yield (
                f"{placed.task}: with {seeds} a difference of {percent(placed.detectable)} points "
                f"is detected between any two files with a power of {100 * rules.power:g} %"
                ", a smaller one less often."
            )


def _test(of: Judgement) -> str:
    """The test of location of the mean of tasks."""
    tests = () if of.overall is None else of.overall.primary.tests
    return " or ".join(words.TESTS[name] for name in tests)


def _primary(modes: Sequence[Judgement]) -> Iterator[str]:
    """The tests of location of the mean of tasks, and of single tasks: the same in all modes."""
    for of in modes[:1]:
        for name, study in ((judgement.MEAN, of.overall), ("single tasks", of.by_task)):
            if study is not None:
                yield f"{name}: {words.primary(study.primary)}"


def _measured(pair: Pair) -> str:
    """What `compare` says of a pair; why its interval may hold 0."""
    held = pair.scores and pair.scores.by_ranks and not pair.excludes_zero
    ranks = ", which is of ranks: the CI of the difference of means does not exclude 0"
    return f"{run_claims.measured(pair, _SCALE)}{ranks if held else ''}"


def _spreads(of: Judgement) -> Iterator[str]:
    """Which files' scores were shown to be spread wider over seeds: a sentence a pair and task."""
    for task in (judgement.MEAN, *of.tasks):
        for pair in judgement.pairs(of, task):
            if judgement.wider(pair, of.failed) and of.overall:
                yield f"{task}: {run_claims.spread(pair, of.overall.rules, _SCALE)}"


def told_rows(of: Judgement) -> Iterator[list[str]]:
    """A row a pair: on which tasks the first was shown to be better, on which the second."""
    by_task = {task: {*judgement.told_apart(of, task)} for task in (judgement.MEAN, *of.tasks)}
    for rank, first in enumerate(of.vectors):
        for second in of.vectors[rank + 1 :]:
            signs = [
                ">" if (first, second) in shown else "<" if (second, first) in shown else "="
                for shown in by_task.values()
            ]
            yield [first, second, *signs]


def coverage_rows(of: Judged) -> Iterator[list[str]]:
    """A row a file: of each task, tokens of test (types) with a vector."""
    for name in of.files:
        yield [name, *(_covered(of.coverage[name, task]) for task in of.metrics)]


def _covered(coverage: Coverage) -> str:
    return f"{coverage['test']['tokens']:.1%} ({coverage['test']['types']:.1%})"


def cost(of: Judged) -> str:
    """What it took."""
    trained = {
        (row.experiment, row.seed, row.split, row.repeat, row.hparams)
        for cell in of.cells
        for row in cell.members
    }  # two files may be one experiment
    members, wall, cpu = map(text.duration, of.cost)
    return (
        f"{text.counted(len(trained), 'training')}, {members} of members; this command took "
        f"{wall} ({cpu} of processor)"
    )


def signature(of: Judged) -> str:
    """Everything that fixes the numbers."""
    rules = of.rules
    return " | ".join(
        [
            text.versions(),
            "test scores at the scored epoch, mean (sd) over seeds",
            "means over tasks have no weights",
            *_primary(of.modes),
            f"CIs of {100 * rules.confidence:g} %",
            f"{rules.resamples} resamples, seed {rules.seed}",
        ]
    )
