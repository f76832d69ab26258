"""Searches of a runs folder: where `tune` keeps them, and what it would say of one now."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxeval import space as spaces
from jaxeval import tuning
from jaxeval.errors import RunError
from jaxeval.report import text
from jaxeval.runs import records
from jaxeval.runs.following import Followed, Following
from jaxeval.runs.records import MemberRow

if TYPE_CHECKING:
    from jaxeval.report.tuning import Tuned


def path(folder: str, experiment: str) -> Path:
    """Returns where `tune` keeps the state of a search."""
    return Path(folder) / "tunings" / f"{experiment}.json"


def result(followed: Following, folder: str, known: Followed) -> "Tuned":
    """Returns what `jaxeval tune` would say of a search if it ended now.

    Raises JaxevalError: there is no search, or its file cannot be read.
    """
    from jaxeval.report import tuning as reports

    file = path(folder, known.id)
    members = followed.members(known.id)
    if not file.is_file():
        raise RunError(f"{known.name}: expected a search")
    state = tuning.read(file)
    best = state.best()
    rows: list[MemberRow] = []
    if best is not None and members:
        rows = _retrained(followed, members[0], spaces.changes(state.search.space, best.values))
    fresh, failures = reports.fresh_scores(rows)
    retrained = fresh if rows else None
    found = reports.result(state, known.metric, known.unit, retrained, failures)
    left = len(state.history.pending)
    reason = f"{text.counted(left, 'setting')} not ended" if left else state.reason
    return dataclasses.replace(found, reason=reason)


def _retrained(followed: Following, member: MemberRow, changes: Any) -> list[MemberRow]:
    """Returns members with fresh seeds and the best setting of a member's search."""
    name = f"{json.loads(member.config)['name']}_tuned"
    keys = dict(changes)
    rows: list[MemberRow] = []
    for of in followed.experiments.values():
        config = dict(records.leaves(json.loads(of.config))) if of.name == name else {}
        if config and keys.items() <= config.items():
            rows += followed.members(of.id)
    first = tuning.fresh_seeds(1)[0]
    return [row for row in rows if row.seed >= first and row.data_hash == member.data_hash]
