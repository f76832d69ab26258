"""Models compared item by item on several tasks: everything that a report says of them."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jaxeval.errors import ConfigError, DataError
from jaxeval.runs import metrics
from jaxeval.runs.item_scores import Paired, TaskScores
from jaxeval.stats import failures, multiple
from jaxeval.stats.failures import Failures
from jaxeval.stats.items import comparing, completeness, estimates, margins, suites, task_means
from jaxeval.stats.items.margins import ByMargin, Outcome
from jaxeval.stats.items.results import Estimate, Factor
from jaxeval.stats.items.suites import Suite
from jaxeval.stats.items.task_means import Task
from jaxeval.stats.results import HypothesisTest, count, fraction

Over = tuple[Factor, ...]
MOST_TESTED = 12  # pairs on tasks of which tests are made beside their intervals


@dataclasses.dataclass(frozen=True)
class Rules:
    """How models are compared.

    Attributes:
      over: what is generalised over; None: items and, where all models have several, runs.
      alpha: level of the tests, after Holm's correction.
      margin: difference from which on A counts as better or worse, in the unit of the scores.
      resamples: of permutations.
      complete: whether nothing is shown where answers or tasks are missing (`completeness`).
    """

    over: Over | None = None
    alpha: float = 0.05
    margin: float = 0.0
    resamples: int = 9999
    seed: int = 0
    complete: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", fraction(self.alpha, "alpha"))
        object.__setattr__(self, "resamples", count(self.resamples, "resamples"))
        if not isinstance(self.margin, int | float) or not 0 <= self.margin < math.inf:
            raise ConfigError(f"margin: expected a number from 0, got {self.margin!r}")

    @property
    def confidence(self) -> float:
        """Of all intervals."""
        return 1 - self.alpha


@dataclasses.dataclass(frozen=True)
class TaskPair:
    """Two models on a task.

    Attributes:
      means: of A and of B.
      difference: A - B, over what the verdict generalises over.
      p_adjusted: of the difference, Holm's over all pairs and tasks.
      by_margin: of A against B, corrected alike.
      estimates: the same difference over items, over runs and over both, as far as can be said.
      tests: function name -> test that treats items alone as random.
      adjusted: "items", "runs" or "items and runs", and function name -> p-value of the difference
        or test, Holm's over all pairs and tasks that have it.
    """

    task: TaskScores
    a: str
    b: str
    means: tuple[Estimate, Estimate]
    difference: Estimate
    p_adjusted: float
    by_margin: ByMargin
    estimates: tuple[Estimate, ...]
    tests: Mapping[str, HypothesisTest]
    adjusted: Mapping[str, float]

    @property
    def p_values(self) -> dict[str, float]:
        """Before the correction, of all that `adjusted` has."""
        of_tests = {name: test.p_value for name, test in self.tests.items()}
        differences = {" and ".join(of.over): of.p_value for of in self.estimates}
        return of_tests | {name: p for name, p in differences.items() if p is not None}


@dataclasses.dataclass(frozen=True)
class ItemStudy:
    """All of it.

    Attributes:
      suite: means over tasks, ranks and tie groups.
      overall: of each of `suite.overall`, by the margin.
      warnings: what a reader of the scores should know.
      failures: of items of which an answer ended in an error; None where none did.
      withheld: whether nothing is shown, since answers or tasks are missing (`Rules.complete`).
    """

    source: str
    models: tuple[str, ...]
    tasks: tuple[TaskScores, ...]
    pairs: tuple[TaskPair, ...]
    suite: Suite
    overall: tuple[ByMargin, ...]
    rules: Rules
    warnings: tuple[str, ...]
    withheld: bool = False
    failures: Failures | None = None


class Decision(NamedTuple):
    """What is said of the first model against the second.

    Attributes:
      on: the tasks that decide, None for the mean over tasks.
    """

    outcome: Outcome
    on: tuple[str | None, ...]


def study(
    paired: Paired,
    rules: Rules | None = None,
    source: str = "scores",
    progress: suites.Progress = lambda share: None,
) -> ItemStudy:
    """Compares all pairs of models, task by task and over all tasks.

    Args:
      progress: is called now and then with the share that is done.

    Raises:
      ConfigError: a margin of points where scores are fractions.
      DataError: one model; `over` runs where a model has one; clusters or items too few.
    """
    rules = rules or Rules()
    _check(paired, rules)
    suite = _suite(paired.tasks, rules, progress)
    higher = [paired.tasks[0].higher_is_better] * len(suite.overall)
    warnings = (
        *paired.notes,
        *itertools.chain.from_iterable(map(completeness.warnings, paired.tasks)),
    )
    compared = ItemStudy(
        source,
        paired.models,
        paired.tasks,
        _pairs(paired.tasks, suite, rules),
        suite,
        margins.by_margin(
            [pair.mean_over_tasks for pair in suite.overall], higher, rules.margin, rules.alpha
        ),
        rules,
        warnings,
        failures=_failures(paired.tasks, paired.models),
    )
    return decided(compared, paired) if rules.complete else compared


def _failures(tasks: Sequence[TaskScores], models: Sequence[str]) -> Failures | None:
    """Items of which an answer ended in an error; tests of all pairs on all tasks."""
    counts = {}
    for task, model in itertools.product(tasks, models):
        failed, items = task.failed_items.get(model, 0), len(task.items) + task.left_out
        counts[model, task.task] = failures.Counts(failed, items - failed)
    return failures.failures(counts)


def _check(paired: Paired, rules: Rules) -> None:
    if len(paired.models) < 2:
        raise DataError(
            f"one model ({', '.join(paired.models)}); expected logs of two or more: --log "
            "NAME=PATH names those of a folder or file"
        )
    for task in paired.tasks:
        metrics.refuse_points("margin", rules.margin, task.stored_unit)


def decided(study: ItemStudy, paired: Paired) -> ItemStudy:
    """The study as a gate has it: nothing is shown where answers or tasks are missing.

    Args:
      paired: what was studied.
    """
    reasons = () if study.withheld else completeness.reasons(paired)
    return _nothing_shown(study, reasons) if reasons else study


def _suite(tasks: Sequence[TaskScores], rules: Rules, progress: suites.Progress) -> Suite:
    """All pairs of models on each task and on average, without margins."""
    return suites.compare(
        [task_of(task) for task in tasks],
        over=rules.over,
        alpha=rules.alpha,
        progress=progress,
    )


def task_of(of: TaskScores) -> Task:
    """The scores of a task as means over tasks take them."""
    return Task(of.task, of.metric, of.scores, of.clusters, of.higher_is_better, of.runs)


def decision(study: ItemStudy) -> Decision:
    """What is said of the first model against the second, on all tasks together.

    Worse where it is on any task, or on their mean; better where it is on their mean or, of tasks
    that have none, on each; not shown otherwise.
    """
    first = study.models[:2]
    on_tasks: list[tuple[str | None, Outcome]] = [
        (pair.task.task, pair.by_margin.outcome)
        for pair in study.pairs
        if (pair.a, pair.b) == first
    ]
    together: list[tuple[str | None, Outcome]] = [
        (None, by_margin.outcome)
        for pair, by_margin in zip(study.suite.overall, study.overall, strict=True)
        if (pair.a, pair.b) == first and len(study.tasks) > 1
    ]
    worse = tuple(where for where, outcome in (*together, *on_tasks) if outcome == "worse")
    if worse:
        return Decision("worse", worse)
    decisive = together or on_tasks
    lacking = tuple(where for where, outcome in decisive if outcome != "better")
    if lacking:
        return Decision("not shown", lacking)
    return Decision("better", tuple(where for where, _ in decisive))


def _nothing_shown(study: ItemStudy, reasons: Sequence[str]) -> ItemStudy:
    """The same with all outcomes "not shown", and why."""
    accepted = "accepted with --missing drop or zero, in tests with missing="
    why = f"not shown: {'; '.join(reasons)} ({accepted})"
    return dataclasses.replace(
        study,
        pairs=tuple(
            dataclasses.replace(pair, by_margin=margins.nothing_shown(pair.by_margin))
            for pair in study.pairs
        ),
        overall=tuple(map(margins.nothing_shown, study.overall)),
        warnings=(why, *study.warnings),
        withheld=True,
    )


def _pairs(tasks: Sequence[TaskScores], suite: Suite, rules: Rules) -> tuple[TaskPair, ...]:
    by_name = {task.task: task for task in tasks}
    means = {
        (task.task, model): estimates.mean(
            scores,
            over=_possible(rules.over, scores.shape[1]),
            clusters=task.clusters,
            confidence=rules.confidence,
            from_0_to_1=from_0_to_1,
        )
        for task, from_0_to_1 in ((of, task_means.from_0_to_1(of.scores)) for of in tasks)
        for model, scores in task.scores.items()
    }
    shown = margins.by_margin(
        [pair.difference for pair in suite.pairs],
        [by_name[pair.task].higher_is_better for pair in suite.pairs],
        rules.margin,
        rules.alpha,
    )
    pairs = tuple(
        TaskPair(
            task=by_name[pair.task],
            a=pair.a,
            b=pair.b,
            means=(means[pair.task, pair.a], means[pair.task, pair.b]),
            difference=pair.difference,
            p_adjusted=pair.p_adjusted,
            by_margin=by_margin,
            estimates=pair.estimates,
            tests=_tests(by_name[pair.task], pair.a, pair.b, rules)
            if len(suite.pairs) <= MOST_TESTED
            else {},
            adjusted={},
        )
        for pair, by_margin in zip(suite.pairs, shown, strict=True)
    )
    adjusted = multiple.adjust_by_name([pair.p_values for pair in pairs])
    return tuple(
        dataclasses.replace(pair, adjusted=of) for pair, of in zip(pairs, adjusted, strict=True)
    )


def _possible(over: Over | None, runs: int) -> Over | None:
    """What one model's mean can generalise over, of what a difference does."""
    if over is None or runs > 1:
        return over
    return tuple(factor for factor in over if factor != "runs") or None


def _tests(task: TaskScores, a: str, b: str, rules: Rules) -> Mapping[str, HypothesisTest]:
    return comparing.paired_tests(
        task.scores[a],
        task.scores[b],
        clusters=task.clusters,
        permutations=rules.resamples,
        seed=rules.seed,
    )
