"""What the pages of a sweep and of a search show: the results of `sensitivity` and of `tune`."""

import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval.errors import RunError
from jaxeval.report import text
from jaxeval.report.sensitivity import Sensitivity
from jaxeval.runs import records
from jaxeval.runs.following import Followed
from jaxeval.runs.records import MemberRow
from jaxeval.sensitivity import analysis, trials
from jaxeval.space import space as spaces

if TYPE_CHECKING:
    from jaxeval.report.tuning import Tuned


def search_file(known: Followed, location: str) -> Path:
    """Returns where `tune` keeps the state of a search."""
    return Path(location) / "tunings" / f"{known.id}.json"


def sweep(known: Followed, members: Sequence[MemberRow], location: str) -> Sensitivity:
    """Returns what `jaxeval sensitivity --missing drop` says of one sweep.

    Raises:
      JaxevalError: it is no sweep, or too few of its runs have ended.
    """
    if not members:
        raise RunError(f"{known.name}: no run has ended")
    names = records.dataset_names(members)
    (found,) = trials.read_runs(location, members, names, trials.Request(missing="drop"))
    analysed = analysis.analyze(found.scores, found.axes, name=found.name)
    return Sensitivity([analysed], {}, "", [], [], [found])


def tune(
    known: Followed,
    members: Sequence[MemberRow],
    every: Iterable[Sequence[MemberRow]],
    location: str,
) -> "Tuned":
    """Returns what `jaxeval tune` would say of a search if it ended now.

    Args:
      members: of the search.
      every: members of each experiment, among which are those of the best setting.

    Raises:
      JaxevalError: there is no search, or its file cannot be read.
    """
    from jaxeval.report import tuning
    from jaxeval.tuning import running as searches

    path = search_file(known, location)
    if not path.is_file():
        raise RunError(f"{known.name}: expected a search")
    search, state = searches.read(path)
    best, rows = search.best(state.history), list[MemberRow]()
    if best is not None and members:
        set_keys = dict(spaces.changes(search.space, best.values))
        name = f"{json.loads(known.config)['name']}_tuned"
        for first, *others in every:
            keys = dict(records.leaves(json.loads(first.config)))
            same = all(keys.get(key) == value for key, value in set_keys.items())
            if same and first.name == name and first.data_hash == members[0].data_hash:
                rows += [row for row in (first, *others) if row.seed >= searches.fresh_seeds(1)[0]]
    fresh, failures = tuning.fresh_scores(rows)
    scale = known.metric, known.unit, known.margin
    found = tuning.result(search, state, *scale, fresh if rows else None, failures)
    running = len(state.history.pending)
    reason = f"{text.counted(running, 'setting')} not ended" if running else state.reason
    return dataclasses.replace(found, reason=reason)
