"""Scores of items in tables of answers, a row for each item of each run.

Columns are model, seed (or run; none if each model has one), item, dataset (or task) if there are
several, and score, or correct (1 or 0), or gold and predicted (any text). Synonyms such as item_id
and prediction are known.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import columns as files
from jaxeval.runs import cube, metrics, normal, texts
from jaxeval.runs.columns import Columns, listed
from jaxeval.runs.layout import Layout, item_roles
from jaxeval.runs.normal import Rows
from jaxeval.runs.scores import DataSetScores, Scores, Status
from jaxeval.runs.texts import Coded, constant, encode

PREDICTED = ("correct", "gold", "predicted")
ROLES = ("model", "seed", "item", "dataset", "status", "sample", "cluster", "metric")
KEYS = {"task": "dataset", "run": "seed"}
_TRUTH = {"1": 1.0, "1.0": 1.0, "true": 1.0, "0": 0.0, "0.0": 0.0, "false": 0.0}


def read(
    path: str | Path,
    models: Sequence[str] = (),
    metric: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> tuple[Scores, Scores]:
    """Returns the scores of whole runs, and of the items of those that finished.

    A column status says which runs failed; they need no answers.

    Raises DataError: names file, row and column; runs have other items or golds.

    Args:
      models: only these.
      metric: accuracy (the default) or macro_f1, which needs gold and predicted.
      columns: role -> column with another name.
    """
    metric = metric or "accuracy"
    if metric not in ("accuracy", "macro_f1"):
        raise DataError(f"metric {metric!r}: items give accuracy or macro_f1", path)
    table = by_role(files.read(path), columns or {}, PREDICTED)
    if metric == "macro_f1" and "gold" not in table.values:
        raise DataError("macro_f1 needs columns gold and predicted", path)
    rows = to_rows(table, metric)
    ended = encode(table.values.get("status", constant("", len(table))))
    failed = ended.among(filter(normal.is_failed, ended.names))
    failed = np.isin(rows.run, rows.run[failed])
    lacking = np.flatnonzero(np.isnan(rows.score) & ~failed)
    if len(lacking):
        message = "an answer is empty; expected a word of its own for none, which counts as wrong"
        raise DataError(f"row {rows.number[lacking[0]]}: {message}", path)
    if failed.all():
        raise DataError("all runs failed, by the column status: no items to compare", path)
    if failed.any():
        rows.status[failed], rows.score[failed] = Status.FAILED, np.nan
        how = Coded((*ended.names, "finished"), np.where(failed, ended.codes, len(ended.names)))
        rows = dataclasses.replace(rows, ended=how)
    found = cube.build(rows, Layout(models=models))
    of_runs, of_items = zip(*(_split(data, path) for data in found.data_sets), strict=True)
    runs = dataclasses.replace(found, data_sets=of_runs)
    return runs, dataclasses.replace(found, data_sets=of_items)


def _split(data: DataSetScores, path: str | Path) -> tuple[DataSetScores, DataSetScores]:
    """Returns the scores of whole runs, and of the items of those that finished."""
    of_runs, of_items = {}, {}
    how = metrics.scoring(data.metric, data.counts)
    for model, m in data.models.items():
        ended = m.chosen(m.finished)
        for run, lacks in enumerate((ended.status[..., 0] == Status.ABSENT).T):
            if lacks.any():
                absent = [data.items[k] for k in np.flatnonzero(lacks).tolist()]
                named = f"model {model}, seed {ended.labels['seed'][run]}"
                named += f", dataset {data.name}" if data.name else ""
                found = f"no row for {len(absent)} of {len(data.items)} items"
                expected = "expected the same items of all runs on a data set"
                raise DataError(f"{named}: {found} ({listed(absent, 3)}); {expected}", path)
        # `to_rows` counts what the metric needs
        assert ended.counts is not None and how is not None
        if ended.runs:
            values = metrics.item_values(ended.counts, data.counts, data.metric)
            of_items[model] = dataclasses.replace(ended, scores=values)
        sums = ended.counts.sum(0, np.float64)[:, [data.counts.index(n) for n in how.columns]]
        known = np.full((1, m.runs, 1), np.nan)
        known[0, m.finished, 0] = how.score(sums)
        status = np.where(np.isnan(known), Status.FAILED, Status.SCORED).astype(np.uint8)
        of_runs[model] = dataclasses.replace(m, scores=known, status=status, counts=None)
    runs = dataclasses.replace(data, models=of_runs, items=("",), counts=())
    return runs, dataclasses.replace(data, models=of_items, part="the table")


def by_role(
    table: Columns, columns: Mapping[str, str], answers: Sequence[str], exact: bool = False
) -> Columns:
    """Returns the columns of the roles, named by role; synonyms count unless `exact`."""
    known = {*ROLES, *answers}
    for role in sorted({*columns} - known):
        expected = f"of items, expected one of {', '.join(sorted(known))}"
        raise DataError(f"{argument('column', {role: columns[role]})}: {expected}", table.source)
    plain = {KEYS.get(n, n): n for n in table.values if KEYS.get(n, n) in known}
    roles = {**({} if exact else item_roles(table.values)), **plain, **columns}
    both = {"gold", "predicted"} <= {*columns, *table.values}
    there = [role for role in answers if role in roles and not (both and role == "correct")]
    if not there:
        meant = {of: name for of, name in item_roles(table.values).items() if of in answers}
        advice = argument("column", meant or {answers[0]: "NAME"})
        if "score" not in answers:
            advice += "; jaxeval compare logs reads scores of items, with a column score"
        found = f"no column {' or '.join(answers)}; the columns are {listed(table.values)}"
        raise DataError(f"{found}: {advice}", table.source)
    needed = ["gold", "predicted"] if there[0] in ("gold", "predicted") else there[:1]
    every = dict.fromkeys(["item", *needed, *(role for role in roles if role not in answers)])
    values = {role: table[roles.get(role, role)] for role in every}
    return Columns(table.source, values, table.rows)


def to_rows(table: Columns, metric: str = "", label: str = "seed", scored: str = "score") -> Rows:
    """Returns a table whose columns are named by role in the normal form.

    Args:
      metric: of all rows; "": that of the column metric, else accuracy, or `scored` of scores.
      label: what kind of label the column seed holds.
    """
    size = len(table)
    known = table.values

    def column(role: str, otherwise: str = "") -> Coded:
        cells = known.get(role, constant(otherwise, size))
        if isinstance(cells, list) and None in cells:
            cells = [otherwise if cell is None else cell for cell in cells]
        return encode(cells)

    model = column("model", Path(table.source).stem)
    dataset = column("dataset")
    run = column("seed", "1")
    score, empty, gold, predicted = _parse_answers(table)
    default = scored if "score" in known else "accuracy"
    measured = constant(metric, size) if metric else column("metric")
    item = encode(known["item"])
    # in the order of each data set
    first, codes = texts.appearance(texts.pair_codes(dataset.codes, item.codes))
    of_model = texts.pair_codes(model.codes, dataset.codes)
    return Rows(
        table.source,
        model=model,
        dataset=dataset,
        metric=Coded(tuple(name or default for name in measured.names), measured.codes),
        item=Coded(tuple(item.names[code] for code in item.codes[first].tolist()), codes),
        run=texts.first_place(texts.pair_codes(of_model, run.codes)),
        score=score,
        status=np.where(empty, Status.UNSCORED, Status.SCORED).astype(np.uint8),
        number=np.asarray(table.rows, np.int64),
        labels={label: run} if "seed" in known or label == "seed" else {},
        sample=_parse_samples(table) if "sample" in known else None,
        cluster=column("cluster") if "cluster" in known else None,
        content=column("content") if "content" in known else gold,
        count=functools.partial(_count, score, gold, predicted) if metric else None,
    )


def _parse_samples(table: Columns) -> np.ndarray:
    cells = [1 if cell in (None, "") else cell for cell in table["sample"]]
    sample = texts.to_floats(cells)
    for k in np.flatnonzero(~((sample >= 0) & (sample < 1 << 31) & (sample % 1 == 0))).tolist():
        found = f"row {table.rows[k]}, column sample: expected a whole number of an answer"
        raise DataError(f"{found}, found {cells[k]!r:.40}", table.source)
    return sample.astype(int)


def _parse_answers(table: Columns) -> tuple[np.ndarray, np.ndarray, Coded | None, Coded | None]:
    """Returns [N] scores (NaN for none), [N] whether the answer is empty, golds, predictions."""
    if "gold" in table.values:
        both = texts.join([encode(table["gold"]), encode(table["predicted"])])
        gold, predicted = (Coded(both.names, codes) for codes in np.split(both.codes, 2))
        lost = gold.among(["", "None"]) | predicted.among(["", "None"])
        return np.where(lost, np.nan, gold.codes == predicted.codes), lost, gold, predicted
    role = "correct" if "correct" in table.values else "score"
    cells = table[role]
    if role == "score":
        score = texts.to_floats(cells)
    else:
        known = encode(cells)
        score = np.array([_TRUTH.get(normal.word(n), np.nan) for n in known.names])[known.codes]
    empty = np.isnan(score)
    for k in np.flatnonzero(empty).tolist():
        if normal.word(cells[k]) not in normal.MISSING:
            expected = "1 or 0" if role == "correct" else "a number"
            found = f"row {table.rows[k]}, column {role}: expected {expected}"
            raise DataError(f"{found}, found {cells[k]!r:.40}", table.source)
        empty[k] = cells[k] in (None, "")
    return score, empty, None, None


def _count(
    score: np.ndarray, gold: Coded | None, predicted: Coded | None, where: np.ndarray
) -> tuple[tuple[str, ...], np.ndarray]:
    """Returns names and counts [n, names] of some rows: of all, and of each class that is gold."""
    columns = {"right": score[where] == 1, "items": np.ones(len(where))}
    if gold is not None and predicted is not None:
        present = np.unique(gold.codes[where]).tolist()
        for k, code in enumerate(sorted(present, key=gold.names.__getitem__)):
            is_gold, is_predicted = gold.codes[where] == code, predicted.codes[where] == code
            columns |= {f"right_{k}": is_gold & is_predicted, f"predicted_{k}": is_predicted}
            columns[f"gold_{k}"] = is_gold
    return tuple(columns), np.stack([*columns.values()], axis=1).astype(np.float32)
