"""The first page: a row for each experiment."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from jaxeval.report import Badge, Document, Link, Table, scores, text
from jaxeval.report.runs.experiments import ExperimentSummary
from jaxeval.runs.following import Followed
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


def row(known: Followed, found: ExperimentSummary | None, state: str) -> dict[str, Any]:
    """Returns what is known of an experiment, by the names of _NUMBERS.

    Args:
      found: of the members that have ended; None: of none.
    """
    failed = known.statuses["failed"] + known.statuses["diverged"]
    counts = known.statuses.total(), len(known.training), failed
    part, of = [*found.parts.items()][-1] if found else ("dev", None)
    about = known.id, known.name, known.task, state, part, known.metric, known.unit
    left = known.seconds_left() if state == "training" else None
    scored = (of.median, of.q1, of.q3, of.n) if of else (None, None, None, 0)
    return dict(zip(_NUMBERS, (*about, *scored, *counts, left), strict=True))


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the cells of _COLUMNS."""
    middle, low, high = (scores.shown(row[name], row["unit"]) for name in ("median", "q1", "q3"))
    left = row["seconds_left"]
    return (
        Link(row["experiment"], f"/e/{row['id']}", "e"),
        row["task"],
        Badge(row["state"]),
        f"{row['part']} {scores.label(row['metric'], row['unit'])}",
        "-" if row["median"] is None else f"{middle} ({low} to {high})",
        *(str(row[name]) for name in _COUNTS),
        "-" if left is None else f"about {text.duration(left)}",
    )
