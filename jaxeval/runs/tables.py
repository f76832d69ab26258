"""Scores in tables of any program: a row a score, or a column a model."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, cube, directions, imported, metrics, names, roles
from jaxeval.runs import rows as normal
from jaxeval.runs.imported import Columns, listed, pick
from jaxeval.runs.layout import PICKS, ROLES, Layout
from jaxeval.runs.rows import Coded, Rows, coded, constant
from jaxeval.runs.scores import Scores, Status


@imported.collector_paused()
def read(path: str, layout: Layout) -> Scores:
    """The scores in a file; see `imported.read` for the formats."""
    return of_program(imported.read(path), layout)


def of_program(table: Columns, layout: Layout) -> Scores:
    """The same of a table whose columns may have any names."""
    table, whole, notes = roles.completed(table, layout)
    found = of_columns(table, whole)
    return dataclasses.replace(found, warnings=(*notes, *found.warnings))


@imported.collector_paused()
def of_columns(table: Columns, layout: Layout, who: str = "the table says") -> Scores:
    """The scores of a tidy table (one row per score) or a wide one (one column per model).

    Raises DataError: naming row and column.

    Args:
      who: has recorded what the table says of its metric, in a message.
    """
    tidy = _tidied(table, layout)
    columns, numbers = tidy.values, np.asarray(tidy.rows, np.int64)
    _refuse_names(tidy, table, layout)
    score, wrong = checks.numbers(columns["score"], tidy["column"], tidy.rows, table.source)
    finite, ended = np.isfinite(score), columns.get("status")
    failed = np.array([*map(checks.is_failed, ended or ())] or np.zeros(len(score)), bool)
    unexplained = [of for k, of in wrong.items() if not failed[k]]
    checks.refuse(unexplained, layout.missing, table.source)
    known = finite & ~failed
    checks.refuse_sizes(score[known], numbers[known], table.source)
    rows = _rows(tidy, layout, np.where(finite, score, np.nan), failed, numbers, who)
    if rows.labels:  # runs that have failed may have been tried again
        keys = normal.pairs(rows.model.codes, rows.dataset.codes)
        for of in rows.labels.values():
            keys = normal.pairs(np.unique(keys, return_inverse=True)[1], of.codes)
        places = np.flatnonzero(known | (layout.missing == "zero"))
        rows.run[places] = places[normal.first_place(keys[places])]
    found = cube.scores(rows, layout)
    if found.higher_is_better:
        of_models = {model: found.scores_of(model) for model in found.models}
        metrics.refuse_scales(of_models, found.metric, found.unit, table.source)
    split = rows.labels.get("split")
    statuses, unfinished = _ended(rows.model, ended, finite)
    return dataclasses.replace(
        found,
        unusable=tuple(wrong.values()),
        statuses=statuses,
        warnings=(*found.warnings, *_unlike(found), *unfinished),
        folds=split is not None and names.are_folds(layout.columns.get("split", ""), split.names),
    )


def _tidied(table: Columns, layout: Layout) -> Columns:
    """A table with a row a score; columns have the names of roles, `column` is of the score."""
    there = roles.present(table, layout)
    if "number" in layout.columns.values() and not {"model", "number"} & {*there, *table.values}:
        counted = {"number": range(1, len(table) + 1), **table.values}
        return _tidied(dataclasses.replace(table, values=counted), layout)
    for role, column in layout.columns.items():
        table[column]  # one that was named must exist
        if role not in ROLES:
            asked = argument("column", {role: column})
            message = f"{asked}: of scores of runs, expected one of {', '.join((*ROLES, *PICKS))}"
            raise DataError(message, table.source)
    if "model" not in there:
        return _melted(table, layout)
    score = layout.columns.get("score", "score")
    table[score]
    values = {role: table.values[column] for role, column in there.items()}
    found = Columns(table.source, {**values, "column": [score] * len(table)}, table.rows)
    if layout.models:
        models = set(layout.models)
        found = pick(found, [k for k, of in enumerate(found.texts("model")) if of in models])
    metric = layout.metric
    if "metric" not in there:
        if metric is None:
            return found
        named = argument("column", {"metric": "NAME"})
        message = f"{argument('metric')}: expected a column metric, or {named}"
        raise DataError(message, table.source)
    measured = found.texts("metric")
    known = dict.fromkeys(measured)
    if metric is None and len(known) > 1:
        advice = f"choose one with {argument('metric', 'NAME')}"
        raise DataError(f"several metrics ({listed(known)}); {advice}", table.source)
    if metric is not None and known and metric not in known:
        raise DataError(f"no metric {metric!r}; expected one of {listed(known)}", table.source)
    return pick(found, [k for k, of in enumerate(measured) if metric in (None, of)])


def _melted(table: Columns, layout: Layout) -> Columns:
    """A wide table as a tidy one."""
    there, columns = roles.present(table, layout), roles.score_columns(table, layout)
    if "score" in there:
        named = argument("column", {"model": "NAME"})
        found = f"column {there['score']} holds the scores, but there is no column model"
        raise DataError(f"{found}; name it with {named}", table.source)
    if not columns:
        message = "expected columns model and score, or a column for each model"
        raise DataError(message, table.source)
    models = [name for name in columns for _ in range(len(table))]
    values: dict[str, Sequence[object]] = {
        **{role: [*table.values[column]] * len(columns) for role, column in there.items()},
        "model": models,
        "column": models,
        "score": [value for name in columns for value in table[name]],
    }
    return Columns(table.source, values, [*table.rows] * len(columns))


def _rows(
    tidy: Columns,
    layout: Layout,
    score: np.ndarray,
    failed: np.ndarray,
    numbers: np.ndarray,
    who: str,
) -> Rows:
    """A table in the normal form; every row is a run."""
    columns, size, source = tidy.values, len(score), tidy.source
    name = layout.columns.get("score")
    said, named = directions.known(columns, name, source, layout.higher_is_better)
    dataset = coded(columns["dataset"]) if "dataset" in columns else constant("", size)
    metric = columns.get("metric")
    measured = coded(metric) if metric is not None else constant(name or "", size)
    keys = [(data, of) for data in dataset.names for of in measured.names]
    return Rows(
        *(source, coded(columns["model"]), dataset, measured, constant("", size)),
        run=np.arange(size),
        score=score,
        status=np.where(failed, Status.FAILED, Status.SCORED).astype(np.uint8),
        number=numbers,
        labels={axis: coded(columns[axis]) for axis in ("seed", "split") if axis in columns},
        dev=checks.floats(columns["dev"]) if "dev" in columns else None,
        recorded={} if said is None else dict.fromkeys(keys, said),
        named=named,
        who=who,
        unit=next((str(unit) for unit in columns.get("unit", ())), None),
    )


def _refuse_names(tidy: Columns, table: Columns, layout: Layout) -> None:
    """Refuses rows that do not say whose score they are, and models without a row."""
    models = tidy["model"]
    for name in (None, ""):
        if name in models:
            row = tidy.rows[models.index(name)]
            raise DataError(f"row {row}: the model has no name", table.source)
    known = {*map(str, models)}
    absent = [name for name in layout.models if name not in known]
    if absent:
        every = dict.fromkeys(table.texts(layout.columns.get("model", "model")))
        raise DataError(f"no model {absent[0]!r}; expected one of {listed(every)}", table.source)


def _ended(
    model: Coded, ended: Sequence[object] | None, finite: np.ndarray
) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Model -> how its runs ended -> how many; and warnings of scores of runs that did not end."""
    counts: dict[str, dict[str, int]] = {}
    said = list[str]()
    if ended is None:
        return counts, said
    every = Counter(zip(model.codes.tolist(), map(str, ended), finite.tolist(), strict=True))
    for code, status in sorted({(code, status) for code, status, _ in every}):
        name, scored = model.names[code], every[code, status, True]
        if status not in ("", "None"):
            counts.setdefault(name, {})[status] = scored + every[code, status, False]
        if scored and checks.word(status) in (*checks.FAILED, *checks.UNFINISHED):
            rule = "they count, unless the table leaves them empty"
            if checks.is_failed(status):
                rule = "these runs failed; without the column of statuses the scores count"
            said.append(f"{name}: {scored} of its scores are of runs that are {status}; {rule}")
    return counts, said


def _unlike(found: Scores) -> Iterator[str]:
    """Fractions and percent in one table."""
    low, high = [], []
    for model in found.models:
        of = found.scores_of(model)
        inside, size = int(np.sum((of > 0) & (of <= 1))), np.median(np.abs(of)) if len(of) else 5.0
        if inside and np.all(of >= 0) and np.any(of > 10):
            yield f"{model}: {inside} of {len(of)} scores look like fractions, others percent"
        low += [model] if size <= 1 else []
        high += [model] if size > 10 else []
    if low and high:
        yield f"{listed(low)}: looks like fractions, {listed(high)} like percent; same unit?"
