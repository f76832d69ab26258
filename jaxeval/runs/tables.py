"""Scores in tables of any program: a row a score, a column a model, or a table of runs of W&B."""

import dataclasses
import re
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import cross_validation, cube, metrics, normal, roles, texts
from jaxeval.runs.columns import Columns, listed, meant
from jaxeval.runs.layout import NESTED, PICKS, ROLES, Layout, is_run, role
from jaxeval.runs.normal import Rows, Unusable
from jaxeval.runs.scores import Scores, Status
from jaxeval.runs.texts import Coded, constant, encode

# columns of a table of runs: of Weights & Biases, of its API, of a tracker on this machine
_RUNS = ("Name State Created", "Name State Runtime", "name _runtime", "Name status")
_MEAN = r"(mean|average|avg|std|stdev|std[ .]*dev)\.?"
_PART = r"|train(ing)?|dev|val(id|idation)?|test|eval|evaluation"
_WHOLE = re.compile(r"(?:^|[-_./ ])(?:seed|run)[-_=]?(\d+)(?=$|[-_./ ])", re.IGNORECASE)
# of trackers: vit-s16 of another table is a model
_SEED = re.compile(r"(?:^|[-_./ ])(?:seed|sd|run|rep|s)[-_=]?(\d+)(?=$|[-_./ ])", re.IGNORECASE)


def from_table(table: Columns, layout: Layout) -> Scores:
    """Returns the scores of a table whose columns may have any names.

    Raises DataError: names the column or row.
    """
    own = [*table.values]
    exported: list[str] = []
    if name := _runs_column(table, layout):
        table, exported = _with_models(table, table.texts(name), layout)
    table, layout, notes = roles.complete(table, layout, own, name if exported else None)
    rows = _read_rows(table, layout, "the table says")
    rows = dataclasses.replace(rows, unread=[n for n in own if n not in table.values])
    del table  # its texts may take a gigabyte
    texts.release_memory()
    found = _build(rows, layout)
    return dataclasses.replace(found, warnings=(*exported, *notes, *found.warnings))


def from_columns(table: Columns, layout: Layout, who: str = "the table says") -> Scores:
    """Returns the scores of a tidy table (a row a score) or a wide one (a column a model).

    Raises DataError: names row and column.

    Args:
      who: begins a message on the recorded direction.
    """
    return _build(_read_rows(table, layout, who), layout)


def _build(rows: Rows, layout: Layout) -> Scores:
    for axis, of in {"dataset": rows.dataset, **rows.labels}.items():
        odd = re.compile(_MEAN + _PART * (axis == "split"), re.IGNORECASE)
        for name in filter(odd.fullmatch, of.names if of.names[1:] else ()):
            why = f"row {rows.number[of.among([name])][0]}: {axis} {name!r} looks like a mean"
            raise DataError(f"{why} or a part of the data; leave such rows out", rows.source)
    rows, folds, overlap = cross_validation.find(rows, layout)
    if rows.labels:
        _join_runs(rows, layout)
    return dataclasses.replace(cube.build(rows, layout), folds=folds, overlap=overlap)


def _read_rows(table: Columns, layout: Layout, who: str) -> Rows:
    there = roles.present(table, layout)
    if "number" in layout.columns.values() and not {"model", "number"} & {*there, *table.values}:
        counted = {"number": range(1, len(table) + 1), **table.values}
        return _read_rows(dataclasses.replace(table, values=counted), layout, who)
    table, scores = _choose(table, layout, there)
    values = {role: table[column] for role, column in there.items()}
    size, times, name = len(table), len(scores), layout.columns.get("score")

    def coded(role: str, otherwise: str = "") -> Coded:
        one = encode(values[role]) if role in values else constant(otherwise, size)
        return Coded(one.names, tiled(one.codes))

    def tiled(array: np.ndarray) -> np.ndarray:
        return array if times == 1 else np.tile(array, times)

    asked = layout.higher_is_better
    higher, says, _ = normal.column_direction(values, name, table.source, asked, who)
    metric = coded("metric", name or "")
    warnings = []
    if len(metric.names) > 1:
        mixed = f"data sets have different metrics ({listed(metric.names)}); a mean mixes them"
        warnings.append(mixed)
        metric = coded("none")
    runs = [axis for axis, column in there.items() if column != there.get("dataset")]
    ended = coded("status")
    failed = ended.among(filter(normal.is_failed, ended.names))
    score, unusable = _parse(table, scores, layout, failed)
    if "model" in there:
        model = coded("model")
    else:
        model = Coded(tuple(scores), np.repeat(np.arange(times, dtype=np.int32), size))
    return Rows(
        table.source,
        model=model,
        dataset=coded("dataset"),
        metric=metric,
        item=constant("", len(score)),
        run=np.arange(len(score), dtype=np.int32),
        score=score,
        status=np.where(failed, Status.FAILED, Status.SCORED).astype(np.uint8),
        number=tiled(np.asarray(table.rows, np.int32)),
        labels={axis: coded(axis) for axis in ("seed", "split") if axis in runs},
        dev=tiled(texts.to_floats(values["dev"])) if "dev" in values else None,
        direction=(higher, says),
        unit=next((str(unit) for unit in values.get("unit", ())), None),
        ended=ended,
        unusable=unusable,
        warnings=tuple(warnings),
    )


def _join_runs(rows: Rows, layout: Layout) -> None:
    """Gives rows of one label one run; a run that failed may have been tried again."""
    run = texts.pair_codes(rows.model.codes, rows.dataset.codes)
    for label in rows.labels.values():
        run = texts.pair_codes(texts.dense(run), label.codes)
    counted = np.isfinite(rows.score) & (rows.status == Status.SCORED)
    places = np.flatnonzero(counted | (layout.missing == "zero"))
    rows.run[places] = places[texts.first_place(run[places])]


def _parse(
    table: Columns, scores: Sequence[str], layout: Layout, failed: np.ndarray
) -> tuple[np.ndarray, tuple[Unusable, ...]]:
    """Returns the scores of all columns, NaN for unusable ones, and the problems.

    `failed`: [rows]: the status explains a problem.
    """
    found: list[np.ndarray] = []
    unusable: list[Unusable] = []
    unexplained: list[Unusable] = []
    for name in scores:
        score, wrong = normal.parse_scores(table, name)
        found.append(np.where(np.isfinite(score), score, np.nan) if wrong else score)
        unusable += wrong.values()
        unexplained += [problem for place, problem in wrong.items() if not failed[place]]
    normal.refuse_unusable(unexplained, layout.missing, table.source)
    return np.concatenate(found) if len(found) > 1 else found[0], tuple(unusable)


def _choose(
    table: Columns, layout: Layout, there: Mapping[str, str]
) -> tuple[Columns, Sequence[str]]:
    """Returns the rows of the requested models and metric, and the columns of scores.

    `there`: role -> column; without "model" the table is wide: a column a model.
    """
    for asked, column in layout.columns.items():
        table[column]  # it must exist
        if asked not in ROLES:
            expected = f"of scores of runs, expected one of {', '.join((*ROLES, *PICKS))}"
            raise DataError(f"{argument('column', {asked: column})}: {expected}", table.source)
    score = layout.columns.get("score", "score")
    scores: Sequence[str] = [score]
    if "model" in there:
        raw = table[there["model"]]
        nameless = np.flatnonzero(encode(raw).among(["", "None", "nan", "<NA>"])).tolist()
        for k in (k for k in nameless if not isinstance(raw[k], str) or raw[k] == ""):
            place = f"row {table.rows[k]}, column {there['model']}"
            raise DataError(f"{place}: the model has no name", table.source)
        table[score]
        table = _only(table, "model", there["model"], layout.models)
    elif not ("score" in there and layout.single):
        scores = roles.score_columns(table, layout)
        if "score" in there:
            message = f"column {score} holds the scores, but there is no column model; "
            message += f"name it with {argument('column', {'model': 'NAME'})}"
        elif not scores:
            message = "expected columns model and score, or a column for each model"
        else:
            message = _doubt(scores, layout, there)
        if message:
            raise DataError(message, table.source)
    if layout.metric is None and "metric" in there:
        if len(known := encode(table[there["metric"]]).names) > 1 and not _has_own(table, there):
            advice = f"choose one with {argument('metric', 'NAME')}"
            raise DataError(f"several metrics ({listed(known)}); {advice}", table.source)
    elif layout.metric is not None:
        if "metric" not in there:
            expected = f"a column metric, or {argument('column', {'metric': 'NAME'})}"
            raise DataError(f"{argument('metric')}: expected {expected}", table.source)
        table = _only(table, "metric", there["metric"], [layout.metric])
    return table, scores


def _doubt(names: Sequence[str], layout: Layout, there: Mapping[str, str]) -> str:
    """Says what is doubtful about columns that end in a metric, "" if nothing is.

    The names may also be those of models: dice_loss and focal_loss.
    """
    if layout.single:  # nothing is compared
        return ""
    ends = metrics.after_models(names)
    if ends[1:] and not layout.models:
        return f"columns end in several metrics ({listed(ends)}): name the models of one"
    known = {metrics.higher_is_better(name) for name in names}
    if known != {False} or layout.higher_is_better is not None or "metric" in there:
        return ""
    lower, higher = (argument("lower_is_better", lower) for lower in (True, False))
    return f"columns end in {listed(ends)}: expected {lower}, or {higher} if models are named so"


def _has_own(table: Columns, there: Mapping[str, str]) -> bool:
    """True if each data set has one metric, as the tasks of GLUE."""
    if "dataset" not in there:
        return False
    data_sets, metric = (encode(table[there[role]]).codes for role in ("dataset", "metric"))
    pairs = texts.dense(texts.pair_codes(data_sets, metric))
    return bool(pairs.max() == texts.dense(data_sets).max())


def _only(table: Columns, role: str, column: str, names: Sequence[str]) -> Columns:
    """Returns the rows with one of these texts, all rows for none; refuses a text of no row."""
    if not names:
        return table
    coded = encode(table[column])
    for name in names:
        if name not in coded:
            raise DataError(f"no {role} {name!r}; {meant(name, coded.names)}", table.source)
    return table.select(np.flatnonzero(coded.among(names)))


def _runs_column(table: Columns, layout: Layout) -> str | None:
    """Returns the column of runs' names: a tracker's, or one of names like gru-seed1 alone."""
    if _is_tracked(table):
        return "Name" if "Name" in table.values else "name"
    for name in filter(is_run, table.values):
        asked = name in layout.columns.values() or {*layout.models} & table.values.keys()
        if not asked and all(
            (_parted(run, _WHOLE) or [""])[0] for run in encode(table[name]).names
        ):
            return name
    return None


def _is_tracked(table: Columns) -> bool:
    """True for a table of runs of a tracker."""
    return any({*of.split()} <= table.values.keys() for of in _RUNS)


def _parted(run: str, pattern: re.Pattern[str]) -> tuple[str, str] | None:
    """Returns the model, which may be "", and the seed of a run's name; None without a seed."""
    seed = pattern.search(run)
    return (pattern.sub("", run, count=1).strip("-_./ "), seed[1]) if seed else None


def _with_models(table: Columns, runs: Sequence[str], layout: Layout) -> tuple[Columns, list[str]]:
    """Returns a table with columns model and seed by the names of its rows' runs, and notes.

    Names are as lstm-seed1 and seed_1/lstm, or begin with those of the requested models. A table
    that names its models stays as it is; of config.model, or params.model, only if names do not.

    Raises DataError: the names do not tell models and seeds; a column may.
    """
    keys = [name for name in table.values if role(name) == "model"]
    if "model" in layout.columns or not all(map(NESTED.match, keys)):
        return table, []
    parted = {
        run: (max(mine, key=len), run)
        for run in runs
        if (mine := [m for m in layout.models if re.match(rf"{re.escape(m)}(?![A-Za-z0-9])", run)])
    }
    if not layout.models or {model for model, _ in parted.values()} != {*layout.models}:
        pattern = _SEED if _is_tracked(table) else _WHOLE
        found = {run: _parted(run, pattern) for run in runs}
        parted = {run: (of[0] or "model", of[1]) for run, of in found.items() if of}
        if keys and len(parted) < len({*runs}):
            return table, []
        if len(parted) < len({*runs}):
            known = listed(name for name in table.values if name not in (*ROLES, "Name"))
            named = f"{argument('column', {'model': 'NAME'})} names one{': ' * bool(known)}{known}"
            raise DataError(
                f"names of runs ({listed(runs, 3)}) that say neither model nor seed; expected "
                "MODEL-seed1, the names of models (all runs whose names begin so), or the table "
                f"of runs with its config columns, of which {named}",
                table.source,
            )
    there = table.select(np.flatnonzero([run in parted for run in runs]))
    models, seeds = zip(*(parted[run] for run in runs if run in parted), strict=True)
    notes = [f"models and seeds are read from the names of runs ({runs[0]} ...)"]
    if left := [run for run in runs if run not in parted]:
        notes.append(f"not read: runs of other models ({listed(left, 4)})")
    return dataclasses.replace(
        there, values={"model": models, "seed": seeds, **there.values}
    ), notes
