"""Models compared item by item on several tasks: everything that a report says of them."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from jaxeval.errors import ConfigError, DataError
from jaxeval.runs import metrics
from jaxeval.runs.item_scores import Paired, TaskScores
from jaxeval.stats import multiple
from jaxeval.stats.items import comparing, completeness, estimates, suites, task_means
from jaxeval.stats.items.results import FACTORS, Estimate, Factor
from jaxeval.stats.items.suites import Suite
from jaxeval.stats.items.task_means import Task
from jaxeval.stats.results import HypothesisTest, count, fraction

Outcome = Literal["better", "not shown", "worse"]
Over = tuple[Factor, ...]
MOST_TESTED = 12  # pairs on tasks of which tests are made beside their intervals
_MOST_RESAMPLES = 2000  # of joint bootstraps over all tasks


@dataclasses.dataclass(frozen=True)
class Rules:
    """How models are compared.

    Attributes:
      over: what is generalised over; None: items and, where all models have several, runs.
      alpha: level of the tests, after Holm's correction.
      margin: difference from which on A counts as better or worse, in the unit of the scores.
      resamples: of permutations and bootstraps.
      complete: whether nothing is shown where answers or tasks are missing (`completeness`).
    """

    over: Over | None = None
    alpha: float = 0.05
    margin: float = 0.0
    resamples: int = 9999
    seed: int = 0
    complete: bool = False

    def __post_init__(self) -> None:
        fraction(self.alpha, "alpha")
        count(self.resamples, "resamples")
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
      outcome: of A against B, by the margin, corrected alike.
      equivalent: whether the difference is shown to lie within the margin, corrected alike.
      estimates: the same difference over items, over runs and over both, as far as can be said.
      tests: function name -> test that treats items alone as random; p-values are not corrected.
    """

    task: TaskScores
    a: str
    b: str
    means: tuple[Estimate, Estimate]
    difference: Estimate
    p_adjusted: float
    outcome: Outcome
    equivalent: bool
    estimates: tuple[Estimate, ...]
    tests: Mapping[str, HypothesisTest]


@dataclasses.dataclass(frozen=True)
class ItemStudy:
    """All of it.

    Attributes:
      suite: means over tasks, ranks and tie groups.
      overall: outcome of each of `suite.overall`.
      warnings: what a reader of the scores should know.
      withheld: whether nothing is shown, since answers or tasks are missing (`Rules.complete`).
    """

    source: str
    models: tuple[str, ...]
    tasks: tuple[TaskScores, ...]
    pairs: tuple[TaskPair, ...]
    suite: Suite
    overall: tuple[Outcome, ...]
    rules: Rules
    warnings: tuple[str, ...]
    withheld: bool = False


def study(paired: Paired, rules: Rules | None = None, source: str = "scores") -> ItemStudy:
    """Compares all pairs of models, task by task and over all tasks.

    Raises:
      ConfigError: a margin of points where scores are fractions.
      DataError: one model; `over` runs where a model has one; clusters or items too few.
    """
    rules = rules or Rules()
    if len(paired.models) < 2:
        raise DataError(
            f"one model ({', '.join(paired.models)}); expected logs of two or more: --log "
            "NAME=PATH names those of a folder or file"
        )
    for task in paired.tasks:
        metrics.refuse_points("margin", rules.margin, task.stored_unit)
    suite = _suite(paired.tasks, rules)
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
        outcomes([pair.mean_over_tasks for pair in suite.overall], higher, rules),
        rules,
        warnings,
    )
    reasons = completeness.reasons(paired) if rules.complete else ()
    return _nothing_shown(compared, reasons) if reasons else compared


def _suite(tasks: Sequence[TaskScores], rules: Rules) -> Suite:
    """All pairs of models on each task and on average, without margins."""
    return suites.compare(
        [Task(of.task, of.metric, of.scores, of.clusters, of.higher_is_better) for of in tasks],
        over=rules.over,
        alpha=rules.alpha,
        resamples=min(rules.resamples, _MOST_RESAMPLES),
        seed=rules.seed,
    )


def outcomes(
    differences: Sequence[Estimate], higher_is_better: Sequence[bool], rules: Rules
) -> tuple[Outcome, ...]:
    """Whether A is shown to be better, or worse, by more than the margin.

    Each is a one-sided test at half the level, and so at a margin of 0 the two-sided test of the
    difference; p-values are corrected (Holm) over all differences.
    """
    p_better, p_worse = [], []
    for difference, higher in zip(differences, higher_is_better, strict=True):
        above = difference.p_above(rules.margin)
        below = 1 - difference.p_above(-rules.margin)
        p_better.append(above if higher else below)
        p_worse.append(below if higher else above)
    both = np.minimum(1.0, 2 * np.minimum(p_better, p_worse)) if differences else np.zeros(0)
    both = np.nan_to_num(both, nan=1.0)  # an unknown error shows nothing
    shown = multiple.adjust_p_values(both, "holm") <= rules.alpha
    return tuple(
        ("better" if better < worse else "worse") if is_shown else "not shown"
        for is_shown, better, worse in zip(shown, p_better, p_worse, strict=True)
    )


def verdict(study: ItemStudy) -> Outcome:
    """What is said of the first model against the second, on all tasks together.

    Worse where it is on any task, or on their mean; better where it is on their mean or, of tasks
    that have none, on each; not shown otherwise.
    """
    a, b = study.models[:2]
    on_tasks = [pair.outcome for pair in study.pairs if (pair.a, pair.b) == (a, b)]
    together = [
        outcome
        for pair, outcome in zip(study.suite.overall, study.overall, strict=True)
        if (pair.a, pair.b) == (a, b) and len(study.tasks) > 1
    ]
    if "worse" in (*on_tasks, *together):
        return "worse"
    decisive = together or on_tasks
    return "better" if all(outcome == "better" for outcome in decisive) else "not shown"


def equivalents(differences: Sequence[Estimate], rules: Rules) -> tuple[bool, ...]:
    """Whether each difference is shown to lie within the margin, both ways (TOST).

    As in `outcomes`, each side is tested at half the level, so that a single difference is
    equivalent where its interval lies within the margin; Holm's correction is over all of them.
    """
    sides = [(1 - d.p_above(rules.margin), d.p_above(-rules.margin)) for d in differences]
    both = np.minimum(1.0, 2 * np.array(sides).reshape(-1, 2).max(1))
    shown = multiple.adjust_p_values(np.nan_to_num(both, nan=1.0), "holm") <= rules.alpha
    return tuple(bool(is_shown) and rules.margin > 0 for is_shown in shown)


def _nothing_shown(study: ItemStudy, reasons: Sequence[str]) -> ItemStudy:
    """The same with all outcomes "not shown", and why."""
    accepted = "accepted with --missing drop or zero, in tests with missing="
    why = f"not shown: {'; '.join(reasons)} ({accepted})"
    nothing: Outcome = "not shown"
    return dataclasses.replace(
        study,
        pairs=tuple(
            dataclasses.replace(pair, outcome="not shown", equivalent=False)
            for pair in study.pairs
        ),
        overall=(nothing,) * len(study.overall),
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
            from_0_to_1=task_means.from_0_to_1(task.scores),
        )
        for task in tasks
        for model, scores in task.scores.items()
    }
    shown = outcomes(
        [pair.difference for pair in suite.pairs],
        [by_name[pair.task].higher_is_better for pair in suite.pairs],
        rules,
    )
    alike = equivalents([pair.difference for pair in suite.pairs], rules)
    return tuple(
        TaskPair(
            by_name[pair.task],
            pair.a,
            pair.b,
            (means[pair.task, pair.a], means[pair.task, pair.b]),
            pair.difference,
            pair.p_adjusted,
            outcome,
            equivalent,
            _by_over(by_name[pair.task], pair, rules),
            _tests(by_name[pair.task], pair.a, pair.b, rules)
            if len(suite.pairs) <= MOST_TESTED
            else {},
        )
        for pair, outcome, equivalent in zip(suite.pairs, shown, alike, strict=True)
    )


def _possible(over: Over | None, runs: int) -> Over | None:
    """What one model's mean can generalise over, of what a difference does."""
    if over is None or runs > 1:
        return over
    return tuple(factor for factor in over if factor != "runs") or None


def _by_over(task: TaskScores, pair: suites.TaskPair, rules: Rules) -> tuple[Estimate, ...]:
    """The difference over items and, of several runs, over runs and over both."""
    several = min(task.scores[model].shape[1] for model in (pair.a, pair.b)) > 1
    every: list[Over] = [("items",), ("runs",), FACTORS] if several else [("items",)]
    return tuple(
        pair.difference
        if over == pair.difference.over
        else estimates.difference(
            task.scores[pair.a],
            task.scores[pair.b],
            over=over,
            clusters=task.clusters,
            confidence=rules.confidence,
        )
        for over in every
    )


def _tests(task: TaskScores, a: str, b: str, rules: Rules) -> Mapping[str, HypothesisTest]:
    return comparing.paired_tests(
        task.scores[a],
        task.scores[b],
        clusters=task.clusters,
        permutations=rules.resamples,
        seed=rules.seed,
    )
