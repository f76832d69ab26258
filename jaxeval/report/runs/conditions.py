"""The same models scored under several conditions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxeval.report import scores
from jaxeval.report.document import Document, Table
from jaxeval.report.runs.document import FEW
from jaxeval.runs import metrics
from jaxeval.stats import describe

_HEAD = ("n", "mean", "sd", "min", "max", "against the first", "sd")


def document(rows: Sequence[Mapping[str, Any]]) -> Document:
    """A line a condition, and how it differs from the first, seed by seed.

    Args:
      rows: a score each, with `condition`, `seed`, `metric` and `score`.
    """
    by_condition: dict[str, dict[int, float]] = {}
    for row in rows:
        by_condition.setdefault(row["condition"], {})[row["seed"]] = row["score"]
    metric, first = rows[0]["metric"], next(iter(by_condition.values()))
    unit = metrics.unit_of(metric)
    cells = [
        (name, *_row(by_seed, None if by_seed is first else first, unit))
        for name, by_seed in by_condition.items()
    ]
    notes = [
        f"{name}: {lost} of {len(by_seed)} diverged and are left out"
        for name, by_seed in by_condition.items()
        if (lost := len(by_seed) - len(_finite(by_seed.values())))
    ]
    if len(first) < FEW:
        notes.append(f"fewer than {FEW} seeds: means and sd say little")
    table = Table((scores.label(metric, unit), *_HEAD), cells)
    answer = line(rows, next(iter(by_condition)))
    return Document((answer,), (table, *notes), title="Evaluation")


def line(rows: Sequence[Mapping[str, Any]], condition: str) -> str:
    """One condition in a line, as soon as it is known."""
    known = [row["score"] for row in rows if row["condition"] == condition]
    if not (finite := _finite(known)):
        return f"{condition}: all {len(known)} diverged"
    metric, described = rows[0]["metric"], describe.summarize(finite)
    unit = metrics.unit_of(metric)
    mean, sd = scores.shown(described.mean, unit), scores.shown(described.sd, unit)
    return f"{condition}: {scores.label(metric, unit)} {mean}, sd {sd}"


def _row(
    by_seed: Mapping[int, float], first: Mapping[int, float] | None, unit: str
) -> Sequence[str]:
    """A condition's number, mean, sd, range and gaps to the first; of what did not diverge."""
    if not (finite := _finite(by_seed.values())):
        return ("0",)
    d = describe.summarize(finite)
    cells = (str(d.n), *(scores.shown(value, unit) for value in (d.mean, d.sd, d.min, d.max)))
    if first is None:
        return cells
    gaps = _finite(by_seed[seed] - first[seed] for seed in by_seed)
    if not gaps:
        return cells
    gap = describe.summarize(gaps)
    sign = "+" if gap.mean >= 0 else ""
    return (*cells, sign + scores.shown(gap.mean, unit), scores.shown(gap.sd, unit))


def _finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if np.isfinite(value)]
