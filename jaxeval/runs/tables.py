"""Scores in tables of any program: a row a score, a column a model, or an export of W&B."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import columns, cube, metrics, roles, texts, wandb
from jaxeval.runs import layout as names
from jaxeval.runs import rows as normal
from jaxeval.runs.columns import Columns, listed
from jaxeval.runs.layout import PICKS, ROLES, Layout
from jaxeval.runs.metrics import Direction
from jaxeval.runs.rows import Rows, Unusable
from jaxeval.runs.scores import Scores, Status
from jaxeval.runs.texts import Coded, constant, encode


@columns.paused_collector()
def read(path: str, layout: Layout) -> Scores:
    """Reads the scores in a file; see `columns.read` for the formats."""
    return from_table(columns.read(path), layout)


def from_table(table: Columns, layout: Layout) -> Scores:
    """Returns the scores of a table whose columns may have any names.

    Raises DataError: names the column or row.
    """
    table, exported = wandb.of_export(table, layout)
    table, layout, notes = roles.complete(table, layout)
    read = _read_rows(table, layout, "the table says")
    del table  # its texts may take a gigabyte
    texts.release_memory()
    found = _build(read, layout)
    return dataclasses.replace(found, warnings=(*exported, *notes, *found.warnings))


def from_columns(table: Columns, layout: Layout, who: str = "the table says") -> Scores:
    """Returns the scores of a tidy table (a row a score) or a wide one (a column a model).

    Raises DataError: names row and column.

    Args:
      who: begins a message on the recorded direction.
    """
    return _build(_read_rows(table, layout, who), layout)


class _Read(NamedTuple):
    """The rows of a table, its unusable scores, and model -> status -> how many rows have it."""

    rows: Rows
    unusable: tuple[Unusable, ...]
    statuses: Mapping[str, Mapping[str, int]]


def _build(read: _Read, layout: Layout) -> Scores:
    found, split = cube.build(read.rows, layout), read.rows.labels.get("split")
    folds = split is not None and names.are_folds(layout.columns.get("split", ""), split.names)
    return dataclasses.replace(found, unusable=read.unusable, statuses=read.statuses, folds=folds)


def _read_rows(table: Columns, layout: Layout, who: str) -> _Read:
    tidy, column = _tidy(table, layout)
    values, size, model = tidy.values, len(tidy), encode(tidy["model"])
    columns = constant(column, size) if column else model
    score, wrong = normal.parse_scores(values["score"], columns, tidy.rows, table.source)
    finite, ended = np.isfinite(score), values.get("status", constant("", size))
    failed = normal.are_failed(ended)
    unexplained = [problem for k, problem in wrong.items() if not failed[k]]
    normal.refuse_unusable(unexplained, layout.missing, table.source)
    name = layout.columns.get("score")
    asked = layout.higher_is_better
    higher, recorded, _ = metrics.column_direction(values, name, table.source, asked, who)
    named: Direction = "assumed" if higher is None else "named"
    dataset = encode(values["dataset"]) if "dataset" in values else constant("", size)
    metric = encode(values["metric"]) if "metric" in values else constant(name or "", size)
    statuses, unfinished = _count_statuses(model, ended, finite)
    rows = Rows(
        *(table.source, model, dataset, metric, constant("", size)),
        run=np.arange(size, dtype=np.int32),
        score=score if finite.all() else np.where(finite, score, np.nan),
        status=np.where(failed, Status.FAILED, Status.SCORED).astype(np.uint8),
        number=np.asarray(tidy.rows, np.int32),
        labels={axis: encode(values[axis]) for axis in ("seed", "split") if axis in values},
        dev=texts.to_floats(values["dev"]) if "dev" in values else None,
        direction=(higher is not False, "recorded" if recorded else named),
        unit=next((str(unit) for unit in values.get("unit", ())), None),
        warnings=tuple(unfinished),
    )
    _join_runs(rows, (finite & ~failed) | (layout.missing == "zero"))
    return _Read(rows, tuple(wrong.values()), statuses)


def _join_runs(rows: Rows, counted: np.ndarray) -> None:
    """Gives rows of one label one run; a run that failed may have been tried again."""
    if rows.labels:
        run = normal.pair_codes(rows.model.codes, rows.dataset.codes)
        for label in rows.labels.values():
            run = normal.pair_codes(texts.dense(run), label.codes)
        places = np.flatnonzero(counted)
        rows.run[places] = places[normal.first_place(run[places])]


def _tidy(table: Columns, layout: Layout) -> tuple[Columns, str]:
    """Returns a tidy table with columns named by role, and its column of scores ("" if wide)."""
    there = roles.present(table, layout)
    if "number" in layout.columns.values() and not {"model", "number"} & {*there, *table.values}:
        counted = {"number": range(1, len(table) + 1), **table.values}
        return _tidy(dataclasses.replace(table, values=counted), layout)
    for role, column in layout.columns.items():
        table[column]  # it must exist
        if role not in ROLES:
            asked = argument("column", {role: column})
            message = f"{asked}: of scores of runs, expected one of {', '.join((*ROLES, *PICKS))}"
            raise DataError(message, table.source)
    if "model" not in there:
        return _melt(table, layout), ""
    score = layout.columns.get("score", "score")
    table[score]
    values = {role: table.values[column] for role, column in there.items()}
    every = encode(values["model"])
    for name in layout.models:
        if name not in every:
            message = f"no model {name!r}; expected one of {listed(every.names)}"
            raise DataError(message, table.source)
    nameless = [code for code, name in enumerate(every.names) if name in ("", "None")]
    for k in np.flatnonzero(np.isin(every.codes, nameless)).tolist():
        if values["model"][k] in (None, ""):
            raise DataError(f"row {table.rows[k]}: the model has no name", table.source)
    tidy = _only(Columns(table.source, values, table.rows), "model", layout.models)
    return _of_metric(tidy, layout), score


def _of_metric(tidy: Columns, layout: Layout) -> Columns:
    """Returns the rows of the requested metric; raises DataError for several without a request."""
    if "metric" not in tidy.values:
        if layout.metric is None:
            return tidy
        named = argument("column", {"metric": "NAME"})
        message = f"{argument('metric')}: expected a column metric, or {named}"
        raise DataError(message, tidy.source)
    known = encode(tidy["metric"]).names
    if layout.metric is None and len(known) > 1:
        advice = f"choose one with {argument('metric', 'NAME')}"
        raise DataError(f"several metrics ({listed(known)}); {advice}", tidy.source)
    if layout.metric not in (None, *known):
        message = f"no metric {layout.metric!r}; expected one of {listed(known)}"
        raise DataError(message, tidy.source)
    return _only(tidy, "metric", [layout.metric] if layout.metric else [])


def _only(table: Columns, column: str, names: Sequence[str]) -> Columns:
    """Returns the rows with one of these texts; all rows for none."""
    if not names:
        return table
    coded = encode(table[column])
    wanted = [code for code, name in enumerate(coded.names) if name in names]
    return table.select(np.flatnonzero(np.isin(coded.codes, wanted)))


def _melt(table: Columns, layout: Layout) -> Columns:
    """Returns a wide table as a tidy one."""
    there, wide = roles.present(table, layout), roles.score_columns(table, layout)
    if "score" in there:
        named = argument("column", {"model": "NAME"})
        found = f"column {there['score']} holds the scores, but there is no column model"
        raise DataError(f"{found}; name it with {named}", table.source)
    if not wide:
        message = "expected columns model and score, or a column for each model"
        raise DataError(message, table.source)
    values: dict[str, Sequence[object]] = {
        **{role: texts.join([table[column]] * len(wide)) for role, column in there.items()},
        "model": texts.repeat(wide, len(table)),
        "score": texts.join([table[name] for name in wide]),
    }
    return Columns(table.source, values, np.tile(table.rows, len(wide)))


def _count_statuses(
    model: Coded, ended: Sequence[object], finite: np.ndarray
) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Returns model -> status -> count, and warnings of scores of runs that did not finish."""
    counts, warnings = dict[str, dict[str, int]](), list[str]()
    each = encode(ended)
    width, pairs = len(each.names), normal.pair_codes(model.codes, each.codes)
    every = np.bincount(pairs).tolist()
    of_scored = np.bincount(pairs[finite], minlength=len(every)).tolist()
    for pair in sorted(
        np.unique(pairs).tolist(), key=lambda pair: (pair // width, each.names[pair % width])
    ):
        name, status, scored = (
            model.names[pair // width],
            each.names[pair % width],
            of_scored[pair],
        )
        if status not in ("", "None"):
            counts.setdefault(name, {})[status] = every[pair]
        rule = "they count, unless the table leaves them empty"
        if normal.is_failed(status):
            rule = "these runs failed; without the column of statuses the scores count"
        if scored and normal.word(status) in (*normal.FAILED, *normal.UNFINISHED):
            found = f"{name}: {scored} of its scores are of runs that are {status}"
            warnings.append(f"{found}; {rule}")
    return counts, warnings
