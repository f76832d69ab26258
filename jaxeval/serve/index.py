"""The first page: a row for each experiment."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval import tuning
from jaxeval.errors import JaxevalError
from jaxeval.report import Badge, Document, Link, Table, scores, text
from jaxeval.report.runs.experiments import ExperimentSummary
from jaxeval.runs.following import Followed, Following
from jaxeval.sensitivity import trials
from jaxeval.serve.app import Page

_ABOUT = ("id", "experiment", "task", "state", "part", "metric", "unit")
_COUNTS = ("n", "ended", "training", "failed")
_NUMBERS = (*_ABOUT, "median", "q1", "q3", *_COUNTS, "seconds_left")
_COLUMNS = ("experiment", "task", "state", "score", "median (quartiles)", *_COUNTS, "time left")


def page(rows: Sequence[Mapping[str, Any]], signature: str, **context: object) -> Page:
    """Returns the page of experiments that `row` described."""
    said = text.counted(len(rows), "experiment")
    said += f": {text.statuses(Counter(row['state'] for row in rows))}" if rows else ""
    table = [Table(_COLUMNS, [*map(_cells, rows)], words=4)] if rows else ()
    document = Document((said,), table, title="Experiments", signature=signature)
    lines = [_NUMBERS, *([*row.values()] for row in rows)]
    more = {"compare": "/compare", "most_rows": None, **context}
    return Page(document, {"experiments": rows}, lines, more)


def row(
    known: Followed, found: ExperimentSummary | None, state: str, left: float | None
) -> dict[str, Any]:
    """Returns what is known of an experiment, by the names of _NUMBERS.

    Args:
      found: of the members that have ended; None: of none.
      left: seconds that it still trains.
    """
    failed = known.statuses["failed"] + known.statuses["diverged"]
    counts = known.statuses.total(), len(known.training), failed
    part, of = [*found.parts.items()][-1] if found else ("dev", None)
    about = known.id, known.name, known.task, state, part, known.metric, known.unit
    scored = (of.median, of.q1, of.q3, of.n) if of else (None, None, None, 0)
    return dict(zip(_NUMBERS, (*about, *scored, *counts, left), strict=True))


def state(known: Followed, followed: Following, folder: Path) -> str:
    """Returns the state of an experiment in a word."""
    found = known.state(time.time(), followed.begun, followed.trained)
    if found == "ended" and _goes_on(known, folder):
        return "begun" if followed.trained else "stalled"
    return found


def _goes_on(known: Followed, folder: Path) -> bool:
    """Returns whether runs of a sweep, or settings of a search, have not ended."""
    if (trials.planned_runs(str(folder), known.id) or 0) > known.statuses.total():
        return True
    search = folder / "tunings" / f"{known.id}.json"
    try:
        return search.is_file() and bool(tuning.read(search).history.pending)
    except JaxevalError:  # its own page says what is wrong with the file
        return False


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the cells of _COLUMNS."""
    middle, low, high = (scores.shown(row[name], row["unit"]) for name in ("median", "q1", "q3"))
    left = row["seconds_left"]
    return (
        *(Link(row["experiment"], f"/e/{row['id']}", "e"), row["task"], Badge(row["state"])),
        f"{row['part']} {scores.label(row['metric'], row['unit'])}",
        "-" if row["median"] is None else f"{middle} ({low} to {high})",
        *(str(row[name]) for name in _COUNTS),
        "-" if left is None else f"about {text.duration(left)}",
    )
