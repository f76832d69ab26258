"""A comparison over items as JSON; docs/evaluation_logs.md describes it."""

from jaxeval.files import Json
from jaxeval.report.items import answer, verdict
from jaxeval.report.plain import plain, record
from jaxeval.report.scores import ScoreFormat
from jaxeval.runs.item_scores import TaskScores
from jaxeval.stats.items import leaderboard
from jaxeval.stats.items import study as studies
from jaxeval.stats.items.margins import ByMargin
from jaxeval.stats.items.study import ItemStudy, TaskPair


def to_dict(study: ItemStudy, gated: ItemStudy | None = None) -> dict[str, Json]:
    """Estimates as they are stored; scores in the logs' own unit.

    Args:
      gated: as a gate has it, where that may be another.
    """
    gated = gated or study
    suite, by_task, board = study.suite, verdict.scales(study), leaderboard.of(study)
    two = len(study.models) == 2  # which alone a gate judges
    return {
        "source": study.source,
        "signature": verdict.signature(study),
        "models": list(study.models),
        "rules": plain(study.rules),
        "warnings": list(study.warnings),
        "tasks": [_task(task) for task in study.tasks],
        "pairs": [_pair(pair, study, by_task[pair.task.task]) for pair in study.pairs],
        "overall": [
            record(pair) | _by_margin(by_margin)
            for pair, by_margin in zip(suite.overall, study.overall, strict=True)
        ],
        "places": plain(suite.places),
        "tie_groups": plain(suite.tie_groups),
        "notes": list(suite.notes),
        "leaderboard": plain(board),
        "outcome": studies.decision(gated).outcome if two else None,
        "outcome_text": verdict.outcome(gated) if two else None,
        "failures": plain(study.failures and study.failures.tests),
        "answer": answer.sentences(study, board),
        "headline": verdict.headline(study),
        "verdict": verdict.of_study(study),
    }


def _task(task: TaskScores) -> dict[str, Json]:
    return {
        "task": task.task,
        "metric": task.metric,
        "higher_is_better": task.higher_is_better,
        "direction_assumed": task.direction_assumed,
        "items": len(task.items),
        "runs": {model: cube.shape[1] for model, cube in task.scores.items()},
        "left_out": task.left_out,
        "failed": dict(task.failed),
        "failed_items": dict(task.failed_items),
        "unscored": dict(task.unscored),
        "lacking": {model: list(items) for model, items in task.lacking.items()},
    }


def _by_margin(of: ByMargin) -> dict[str, Json]:
    return dict(of._asdict())


def _pair(pair: TaskPair, study: ItemStudy, scale: ScoreFormat) -> dict[str, Json]:
    return {
        "task": pair.task.task,
        "metric": pair.task.metric,
        "a": pair.a,
        "b": pair.b,
        "means": plain(pair.means),
        "difference": plain(pair.difference),
        "p_adjusted": pair.p_adjusted,
        **_by_margin(pair.by_margin),
        "over": {
            (over := " and ".join(estimate.over)): record(estimate)
            | {"p_adjusted": plain(pair.adjusted.get(over))}
            for estimate in pair.estimates
        },
        "tests": {
            name: record(test) | {"p_adjusted": plain(pair.adjusted[name])}
            for name, test in pair.tests.items()
        },
        "text": " ".join(verdict.of_pair(pair, study, scale)),
    }
