"""Scores in tables of any program: a row a score, or a column a model."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs import checks, cube, directions, imported, matching, metrics, names, roles
from jaxeval.runs import layout as layouts
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.rows import Coded, Rows, coded, constant
from jaxeval.runs.scores import Scores, Status


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

    Args:
      who: has recorded what the table says of its metric, in a message.

    Raises:
      DataError: naming row and column.
    """
    tidy = layouts.tidied(table, layout)
    columns, numbers = tidy.values, np.asarray(tidy.rows, np.int64)
    _refuse_names(tidy, table, layout)
    score, wrong = checks.numbers(columns["score"], tidy["column"], tidy.rows, table.source)
    finite, ended = np.isfinite(score), columns.get("status")
    failed = np.array([*map(checks.is_failed, ended or ())] or np.zeros(len(score)), bool)
    unexplained = [wrong[k] for k in sorted(wrong) if not failed[k]]
    checks.refuse(unexplained, layout.missing, table.source)
    known = finite & ~failed
    checks.refuse_sizes(score[known], numbers[known], table.source)
    rows = _rows(tidy, layout, np.where(finite, score, np.nan), failed)
    if rows.labels:  # runs that have failed may have been tried again
        keys = matching.pairs(rows.model.codes, rows.dataset.codes)
        for of in rows.labels.values():
            keys = matching.pairs(np.unique(keys, return_inverse=True)[1], of.codes)
        places = np.flatnonzero(known | (layout.missing == "zero"))
        rows.run[places] = places[matching.first(keys[places])]
    found = cube.scores(dataclasses.replace(rows, who=who), layout)
    if found.higher_is_better:
        of_models = {model: found.scores_of(model) for model in found.models}
        metrics.refuse_scales(of_models, found.metric, found.unit, table.source)
    split = rows.labels.get("split")
    named = names.is_fold(layout.columns.get("split", ""))
    return dataclasses.replace(
        found,
        unusable=tuple(wrong[k] for k in sorted(wrong)),
        statuses=_counted(rows.model, ended),
        warnings=(*found.warnings, *_unlike(found), *_unfinished(rows.model, ended, finite)),
        folds=named or (split is not None and names.are_folds(split.names)),
    )


def _rows(tidy: Columns, layout: Layout, score: np.ndarray, failed: np.ndarray) -> Rows:
    """A table in the normal form; every row is a run."""
    columns, size, source = tidy.values, len(score), tidy.source
    name = layout.columns.get("score")
    metric = columns.get("metric")
    said = directions.recorded(columns, source)
    named = directions.named_by(columns, name, source, layout.higher_is_better)
    unit = next((str(unit) for unit in columns.get("unit", ())), None)
    dataset = coded(columns["dataset"]) if "dataset" in columns else constant("", size)
    measured = coded(metric) if metric is not None else constant(name or "", size)
    keys = [(data, of) for data in dataset.names for of in measured.names]
    return Rows(
        source,
        coded(columns["model"]),
        dataset,
        measured,
        constant("", size),
        run=np.arange(size),
        score=score,
        status=np.where(failed, Status.FAILED, Status.SCORED).astype(np.uint8),
        number=np.asarray(tidy.rows, np.int64),
        labels={axis: coded(columns[axis]) for axis in ("seed", "split") if axis in columns},
        dev=checks.floats(columns["dev"]) if "dev" in columns else None,
        recorded={} if said is None else dict.fromkeys(keys, said),
        named=named,
        unit=unit,
    )


def _refuse_names(tidy: Columns, table: Columns, layout: Layout) -> None:
    """Refuses rows that do not say whose score they are, and models without a row."""
    models = tidy["model"]
    for k, name in enumerate(models):
        if name is None or name == "":
            raise DataError(f"row {tidy.rows[k]}: the model has no name", table.source)
    known = {str(name) for name in models}
    for name in known:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise DataError(f"model {name!a}: not valid Unicode", table.source) from None
    absent = [name for name in layout.models if name not in known]
    if absent:
        every = dict.fromkeys(table.texts(layout.columns.get("model", "model")))
        raise DataError(f"no model {absent[0]!r}; expected one of {listed(every)}", table.source)


def _counted(model: Coded, ended: Sequence[object] | None) -> dict[str, dict[str, int]]:
    """Model -> how its runs ended -> how many."""
    counts: dict[str, dict[str, int]] = {}
    pairs = Counter(zip(model.codes.tolist(), map(str, ended), strict=True)) if ended else {}
    for (code, status), count in sorted(pairs.items()):
        if status not in ("", "None"):
            counts.setdefault(model.names[code], {})[status] = count
    return counts


def _unlike(found: Scores) -> Iterator[str]:
    """Fractions and percent in one table."""
    of_models = {model: found.scores_of(model) for model in found.models}
    sizes = {model: float(np.median(np.abs(of))) for model, of in of_models.items() if len(of)}
    low = [model for model, size in sizes.items() if size <= 1]
    high = [model for model, size in sizes.items() if size > 10]
    if low and high:
        yield f"{listed(low)}: looks like fractions, {listed(high)} like percent; same unit?"
        return
    for model, of in of_models.items():
        inside = int(np.sum((of > 0) & (of <= 1)))
        if inside and np.all(of >= 0) and np.any(of > 10):
            yield f"{model}: {inside} of {len(of)} scores look like fractions, others percent"
            return


def _unfinished(model: Coded, ended: Sequence[object] | None, finite: np.ndarray) -> Iterator[str]:
    """Scores of runs that failed, which do not count, and of runs that go on, which do.

    Args:
      finite: [N] whether the file has a score.
    """
    counts = Counter(
        (code, str(status))
        for code, status, known in zip(
            model.codes.tolist(), ended or (), finite.tolist(), strict=False
        )
        if known and checks.word(status) in (*checks.FAILED, *checks.UNFINISHED)
    )
    for (code, status), count in counts.items():
        rule = "they count, unless the table leaves them empty"
        if checks.is_failed(status):
            rule = "these runs count as failed; without the column of statuses the scores count"
        said = f"{count} of its scores are of runs whose status is {status}"
        yield f"{model.names[code]}: {said}; {rule}"
