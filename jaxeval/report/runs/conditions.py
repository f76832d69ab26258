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
    """A row a condition, and how it differs from the first, seed by seed.

    `rows`: a score each, with `condition`, `seed`, `metric` and `score`.
    """
    by_condition: dict[str, dict[int, float]] = {}
    for row in rows:
        by_condition.setdefault(row["condition"], {})[row["seed"]] = row["score"]
    metric, first = rows[0]["metric"], next(iter(by_condition.values()))
    unit = metrics.unit_of(metric)
    cells, notes = [], []
    for name, by_seed in by_condition.items():
        finite = _finite(by_seed.values())
        cells.append([name, str(len(finite))])
        if len(finite) < len(by_seed):
            lost = len(by_seed) - len(finite)
            notes.append(f"{name}: {lost} of {len(by_seed)} diverged and are left out")
        if finite:
            d = describe.summarize(finite)
            cells[-1] += [scores.shown(value, unit) for value in (d.mean, d.sd, d.min, d.max)]
        if by_seed is not first and (gaps := _finite(by_seed[k] - first[k] for k in by_seed)):
            gap = describe.summarize(gaps)
            mean = ("+" if gap.mean >= 0 else "") + scores.shown(gap.mean, unit)
            cells[-1] += [mean, scores.shown(gap.sd, unit)]
    if len(first) < FEW:
        notes.append(f"fewer than {FEW} seeds: means and sd say little")
    table = Table((scores.label(metric, unit), *_HEAD), cells)
    return Document((line(rows, next(iter(by_condition))),), (table, *notes), title="Evaluation")


def line(rows: Sequence[Mapping[str, Any]], condition: str) -> str:
    """One condition in a line, as soon as it is known."""
    known = [row["score"] for row in rows if row["condition"] == condition]
    if not (finite := _finite(known)):
        return f"{condition}: all {len(known)} diverged"
    metric, described = rows[0]["metric"], describe.summarize(finite)
    unit = metrics.unit_of(metric)
    mean, sd = scores.shown(described.mean, unit), scores.shown(described.sd, unit)
    return f"{condition}: {scores.label(metric, unit)} {mean}, sd {sd}"


def _finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if np.isfinite(value)]
