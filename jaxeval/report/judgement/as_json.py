"""A judgement of word vectors as JSON."""

import json

from jaxeval.files import Json
from jaxeval.report.judgement import data
from jaxeval.report.judgement.data import Judged
from jaxeval.report.plain import plain, record
from jaxeval.stats import judgement
from jaxeval.stats.common_seeds import Failures
from jaxeval.stats.judgement import Judgement
from jaxeval.stats.study import RunStudy


def to_dict(of: Judged) -> dict[str, Json]:
    """Everything; scores are fractions, intervals have their method."""
    return {
        "vectors": plain(of.files),
        "metrics": plain(of.metrics),
        "coverage": [
            {"vectors": name, "task": task, "coverage": plain(coverage)}
            for (name, task), coverage in of.coverage.items()
        ],
        "modes": [_mode(mode) for mode in of.modes],
        "members": [
            {
                "mode": cell.mode,
                "task": cell.task,
                "vectors": cell.vectors,
                **{k: plain(getattr(row, k)) for k in _MEMBER},
            }
            for cell in of.cells
            for row in cell.members
        ],
        "cost_seconds": plain(of.cost),
        "rules": plain(of.rules),
        "same": [*of.same],
        "signature": data.signature(of),
    }


_MEMBER = ("experiment", "seed", "status", "epochs", "best_epoch", "dev", "test", "wall_seconds")


def write(of: Judged) -> str:
    """The same as text."""
    return json.dumps(to_dict(of), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _mode(of: Judgement) -> dict[str, Json]:
    named = [*of.reduced, "mean"]
    return {
        "mode": of.mode,
        "tasks": [*of.tasks],
        "seeds": [*of.seeds],
        "order": [*of.vectors],
        "scores": plain(of.scores),
        "failed": plain(of.failed),
        "baseline": of.baseline,
        "relative_error_reduction": {
            name: {task: plain(effect) for task, effect in zip(named, effects, strict=True)}
            for name, effects in of.reductions.items()
        },
        "tie_groups": {placed.task: [[*group] for group in placed.groups] for placed in of.placed},
        "detectable_difference": {placed.task: placed.detectable for placed in of.placed},
        "notes": [*of.notes],
        "comparison_of_means": None if of.overall is None else _compared(of.overall, of.failed),
        "comparison_by_task": None if of.by_task is None else _compared(of.by_task, of.failed),
    }


def _compared(study: RunStudy, failed: Failures) -> dict[str, Json]:
    """A study, without what the scores of files do not show whose other trainings failed."""
    told = record(study)
    if not failed:
        return told
    shown = told["pairs"]
    assert isinstance(shown, list)
    for pair, said in zip(study.pairs, shown, strict=True):
        if any(judgement.failed_of(pair, failed)):
            said |= {"shown": judgement.higher(pair, failed), "wider": 0}
    return told
