"""Predictions of other programs, a row for each item of each run: scores of runs, and of items.

Columns are model, seed (or run; none where each model has one) and item, dataset where there are
several, and either correct (1 or 0) or gold and predicted (classes, any text); names such as
item_id and prediction mean the same. A column status says which runs failed: such have no score,
and need no answers. Notation: N rows, C kinds of counts, Y classes.
"""

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, counts, cube, imported, matching, names, tables
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.rows import Coded, Rows, coded, constant
from jaxeval.runs.scores import DataSetScores, ModelScores, Scores, Status

ROLES = ("model", "seed", "item", "dataset", "status", "correct", "gold", "predicted")
METRICS = ("accuracy", "macro_f1")
PART = "the table"
_TRUTH = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}


class Answers(NamedTuple):
    """Both slices of a table of predictions: scores of whole runs, and of their items."""

    runs: Scores
    items: Scores


@imported.collector_paused()
def read(
    path: str | Path,
    models: Sequence[str] = (),
    metric: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Answers:
    """The scores of all runs, and of the items of those that finished.

    Args:
      models: only these.
      metric: accuracy (the default) or macro_f1, which needs gold and predicted.
      columns: role -> column, where that has another name.

    Raises:
      DataError: naming file, row and column; runs on other items, or on items of another gold.
    """
    metric = metric or "accuracy"
    if metric not in METRICS:
        raise DataError(f"metric {metric!r}: items give {' or '.join(METRICS)}", path)
    table = _named(imported.read(path), columns or {})
    if metric == "macro_f1" and "gold" not in table.values:
        raise DataError("macro_f1 needs columns gold and predicted", path)
    failed, finished = _ended(table)
    found = cube.scores(_rows(finished, metric), Layout())
    for data in found.data_sets:
        _refuse_incomplete(data, found.source)
    items = dataclasses.replace(found, data_sets=tuple(_scored(data) for data in found.data_sets))
    whole = tables.of_columns(_of_runs(items, failed), Layout(models=models))
    return Answers(whole, items.only(whole.models))


def score(metric: str, sums: np.ndarray) -> np.ndarray:
    """Accuracy, or macro-F1 (mean F1 of the classes that are gold), of counts [..., C], summed."""
    if metric == "accuracy":
        return counts.ratio(sums[..., :2])
    return counts.macro_f1(sums[..., 2:])


def _of_runs(items: Scores, failed: Mapping[tuple[str, str, str], str]) -> Columns:
    """A row a run, in the order of the table; those that failed behind the others."""
    rows = [
        (model, data.name, str(seed), float(score(data.metric, sums)), "finished", int(number))
        for data in items.data_sets
        for model, of in data.models.items()
        for seed, sums, number in zip(
            of.labels["seed"], _counts(of).sum(0, np.float64), of.rows, strict=True
        )
    ]
    rows.sort(key=lambda row: row[-1])
    every: list[tuple[str, str, str, float | None, str]] = [row[:-1] for row in rows]
    every += [(model, name, seed, None, status) for (model, name, seed), status in failed.items()]
    model, dataset, seed, scores, status = zip(*every, strict=True)
    columns: dict[str, Sequence[object]] = {"model": model, "seed": seed, "score": scores}
    columns["metric"] = [items.metric] * len(every)
    columns |= {"dataset": dataset} if any(dataset) else {}
    columns |= {"status": status} if failed else {}
    return Columns(items.source, columns, range(1, len(every) + 1))


def _counts(of: ModelScores) -> np.ndarray:
    assert of.counts is not None
    return of.counts


def _scored(data: DataSetScores) -> DataSetScores:
    """The same with the values of items whose mean is the metric of a run."""
    models = {}
    for model, of in data.models.items():
        values = counts.values(_counts(of), data.counts, data.metric)
        assert values is not None  # as all counts are there that the metric needs
        models[model] = dataclasses.replace(of, scores=values)
    return dataclasses.replace(data, models=models, part=PART)


def _ended(table: Columns) -> tuple[dict[tuple[str, str, str], str], Columns]:
    """(model, data set, seed) -> status of the runs that failed, and the table without them.

    Raises:
      DataError: no run finished.
    """
    if "status" not in table.values:
        return {}, table
    datasets = table.texts("dataset") if "dataset" in table.values else [""] * len(table)
    runs = [*zip(table.texts("model"), datasets, table.texts("seed"), strict=True)]
    failed = {
        run: str(status)
        for run, status in zip(runs, table["status"], strict=True)
        if checks.is_failed(status)
    }
    keep = [k for k, run in enumerate(runs) if run not in failed]
    if not keep:
        raise DataError("all runs failed, by the column status: no items to compare", table.source)
    return failed, imported.pick(table, keep)


def _named(table: Columns, columns: Mapping[str, str]) -> Columns:
    """The columns of the roles, under their names.

    Raises:
      DataError: one is missing, or a role is none.
    """
    wrong = [role for role in columns if role not in ROLES]
    if wrong:
        asked = argument("column", {wrong[0]: columns[wrong[0]]})
        raise DataError(f"{asked}: of items, expected one of {', '.join(ROLES)}")
    named = {**names.of_items(table.values), **columns}
    truth = ["correct"] if "correct" in named else ["gold", "predicted"]
    if {"gold", "predicted"} <= {*columns, *table.values}:
        truth = ["gold", "predicted"]
    if not {"correct", "gold", "predicted"} & named.keys():
        near = [
            n for r in ("correct", *truth) for n in difflib.get_close_matches(r, table.values, 1)
        ]
        advice = argument("column", {"correct": near[0] if near else "NAME"})
        found = f"no column correct, or gold and predicted; the columns are {listed(table.values)}"
        raise DataError(f"{found}: {advice}", table.source)
    ended = table.values.get(named.get("status", ""))
    for role in truth:
        _refuse_empty(table, named.get(role, role), ended)
    values: dict[str, Sequence[object]] = {"seed": ["1"] * len(table)}  # unless there is one
    optional = [role for role in ("seed", "dataset", "status") if role in named]
    for role in ("model", "item", *truth, *columns, *optional):
        values[role] = table.texts(named.get(role, role))
    return Columns(table.source, values, table.rows)


def _refuse_empty(table: Columns, name: str, ended: Sequence[object] | None) -> None:
    """Raises DataError for a cell without a class: what it means only its author knows.

    Args:
      ended: statuses of runs; those that failed need no answers.
    """
    for k, value in enumerate(table[name]):
        empty = value is None or value == "" or value != value  # NaN
        if empty and (ended is None or not checks.is_failed(ended[k])):
            raise DataError(
                f"row {table.rows[k]}, column {name}: empty; expected a class (a word of its own "
                "for no answer, which counts as wrong)",
                table.source,
            )


def _rows(table: Columns, metric: str) -> Rows:
    """The table in the normal form; the score of a row is whether its answer is right."""
    size = len(table)
    model, seed, item = (coded(table[role]) for role in ("model", "seed", "item"))
    dataset = coded(table["dataset"]) if "dataset" in table.values else constant("", size)
    gold, predicted = None, None
    if "gold" in table.values:
        labels = coded([*table["gold"], *table["predicted"]])
        gold, predicted = (
            Coded(labels.names, labels.codes[part]) for part in (slice(size), slice(size, None))
        )
        right = gold.codes == predicted.codes
        _refuse_golds(table, matching.pairs(dataset.codes, item.codes), gold)
    else:
        right = np.array([_is_right(table, k) for k in range(size)])
    run = matching.pairs(matching.pairs(model.codes, dataset.codes), seed.codes)
    ones = np.ones(size, np.float32)

    def count(where: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
        columns = {"right": right[where], "items": ones[where]}
        if gold is not None and predicted is not None:
            columns |= _by_class(gold, predicted, where)
        return tuple(columns), np.stack([*columns.values()], axis=1).astype(np.float32)

    return Rows(
        table.source,
        model,
        dataset,
        constant(metric, size),
        _in_order(dataset, item),
        _first(run),
        right.astype(np.float64),
        np.full(size, Status.SCORED, np.uint8),
        np.asarray(table.rows, np.int64),
        {"seed": seed},
        count=count,
    )


def _first(keys: np.ndarray) -> np.ndarray:
    """[N] the first place of each key."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[inverse])


def _in_order(dataset: Coded, item: Coded) -> Coded:
    """The items of each data set, coded in the order in which they stand there."""
    first = _first(matching.pairs(dataset.codes, item.codes))
    places, codes = np.unique(first, return_inverse=True)
    return Coded(tuple(item.names[code] for code in item.codes[places].tolist()), codes)


def _by_class(gold: Coded, predicted: Coded, where: np.ndarray) -> dict[str, np.ndarray]:
    """Counts of each class that is gold in some rows: right, predicted and gold."""
    columns = {}
    present = [gold.names[code] for code in np.unique(gold.codes[where]).tolist()]
    for k, label in enumerate(sorted(present)):
        code = gold.names.index(label)
        is_gold, is_predicted = gold.codes[where] == code, predicted.codes[where] == code
        columns[f"right_{k}"] = is_gold & is_predicted
        columns[f"predicted_{k}"] = is_predicted
        columns[f"gold_{k}"] = is_gold
    return columns


def _is_right(table: Columns, k: int) -> bool:
    cell = str(table["correct"][k]).lower()
    if cell not in _TRUTH:
        found = f"row {table.rows[k]}, column correct: expected 1 or 0, found {cell!r:.40}"
        raise DataError(found, table.source)
    return _TRUTH[cell]


def _refuse_golds(table: Columns, keys: np.ndarray, gold: Coded) -> None:
    """Raises DataError where an item has two golds: keys [N] are equal where items are."""
    first = _first(keys)
    wrong = np.flatnonzero(gold.codes != gold.codes[first])
    if len(wrong):
        row, other = int(wrong[0]), int(first[wrong[0]])
        raise DataError(
            f"row {table.rows[row]}: gold {gold.named(row)!r:.40} of an item that is "
            f"{gold.named(other)!r:.40} in row {table.rows[other]}",
            table.source,
        )


def _refuse_incomplete(data: DataSetScores, source: str) -> None:
    """Raises DataError where a run lacks items of the others."""
    for model, of in data.models.items():
        lacking = np.argwhere(of.status[..., 0] == Status.ABSENT)
        if len(lacking):
            run = int(lacking[:, 1].min())
            absent = [data.items[k] for k in lacking[lacking[:, 1] == run, 0].tolist()]
            named = f"model {model}, seed {of.labels['seed'][run]}"
            named += f", dataset {data.name}" if data.name else ""
            raise DataError(
                f"{named}: no row for {len(absent)} of {len(data.items)} items "
                f"({listed(absent, 3)}); expected the same items of all runs on a data set",
                source,
            )
