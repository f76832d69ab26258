"""Predictions of other programs, a row for each item of each run: scores of runs, and items.

Columns are model, seed (or run; none where each model has one) and item, dataset where there are
several, and either correct (1 or 0) or gold and predicted (classes, any text); names such as
item_id and prediction mean the same. A column status says which runs failed: such have no score,
and need no answers. Notation: N items of a data set, Y classes.
"""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import counts, headers, imported, names, tables
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.tables import ScoreTable
from jaxeval.runs.trained import Run, TrainedModel

ROLES = ("model", "seed", "item", "dataset", "status", "correct", "gold", "predicted")
METRICS = ("accuracy", "macro_f1")
_PART = "the table"
_TRUTH = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}


class Counted(NamedTuple):
    """A run of a model on a data set.

    Attributes:
      counts: [N, names], the same items in the same order for all runs on a data set.
    """

    model: str
    dataset: str
    seed: str
    names: tuple[str, ...]
    counts: np.ndarray

    def score(self, metric: str) -> float:
        """Accuracy, or macro-F1: the mean of the F1 of the classes that are gold."""
        totals = self.counts.sum(axis=0)  # right, items, then three of each class
        score = counts.ratio(totals[:2]) if metric == "accuracy" else counts.macro_f1(totals[2:])
        return float(score)


def read(
    path: str | Path,
    models: Sequence[str] = (),
    metric: str | None = None,
    columns: Mapping[str, str] | None = None,
    rows: int | None = None,
) -> tuple[ScoreTable, list[TrainedModel]]:
    """The score of each run, and the items of each, by data set and in the order of the models.

    Args:
      models: only these.
      metric: accuracy (the default) or macro_f1, which needs gold and predicted.
      columns: role -> column, where that has another name.
      rows: only the first so many.

    Raises:
      DataError: naming file, row and column; runs on other items, or on items of another gold.
    """
    metric = metric or "accuracy"
    if metric not in METRICS:
        raise DataError(f"metric {metric!r}: items give {' or '.join(METRICS)}", path)
    whole = _named(imported.read(path, rows), columns or {})
    failed, finished = _ended(whole)
    runs = _counted(finished)
    if metric == "macro_f1" and runs[0].names[-1] == "items":
        raise DataError("macro_f1 needs columns gold and predicted", path)
    scores: dict[str, Sequence[object]] = {
        "model": [run.model for run in runs] + [model for model, _, _ in failed],
        "seed": [run.seed for run in runs] + [seed for _, _, seed in failed],
        "score": [run.score(metric) for run in runs] + [None] * len(failed),
        "metric": [metric] * (len(runs) + len(failed)),
    }
    if any(run.dataset for run in runs):
        scores["dataset"] = [run.dataset for run in runs] + [dataset for _, dataset, _ in failed]
    if failed:
        scores["status"] = ["finished"] * len(runs) + [*failed.values()]
    table = tables.of_columns(
        Columns(str(path), scores, range(1, len(runs) + len(failed) + 1)), Layout(models=models)
    )
    datasets = list(dict.fromkeys(run.dataset for run in runs))
    chosen = [run for run in runs if run.model in table.models]
    chosen.sort(key=lambda run: (datasets.index(run.dataset), table.models.index(run.model)))
    return table, [_trained(run, metric) for run in chosen]


def counted(
    path: str | Path, columns: Mapping[str, str] | None = None, rows: int | None = None
) -> list[Counted]:
    """The runs that finished, in the order of the table; arguments and errors as of `read`."""
    return _counted(_ended(_named(imported.read(path, rows), columns or {}))[1])


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
        if headers.is_failed(status)
    }
    keep = [k for k, run in enumerate(runs) if run not in failed]
    if not keep:
        raise DataError("all runs failed, by the column status: no items to compare", table.source)
    values = {name: [of[k] for k in keep] for name, of in table.values.items()}
    return failed, Columns(table.source, values, [table.rows[k] for k in keep])


def _counted(table: Columns) -> list[Counted]:
    datasets, dataset = tables.coded(table.values.get("dataset", [""] * len(table)))
    models, model = tables.coded(table["model"])
    seeds, seed = tables.coded(table["seed"])
    runs: dict[int, Counted] = {}  # by the first row
    for code, name in enumerate(datasets):
        inside = np.flatnonzero(dataset == code)
        names, counts = _counts(table, inside)
        items, item = tables.coded([table["item"][k] for k in inside.tolist()])
        run = model[inside] * len(seeds) + seed[inside]
        first = inside[np.unique(item, return_index=True)[1]]
        for number in dict.fromkeys(run.tolist()):
            of_run = np.flatnonzero(run == number)
            where = models[number // len(seeds)], name, seeds[number % len(seeds)]
            rows_of_run = inside[of_run]
            order = _ordered(table, rows_of_run, item[of_run], items, where)
            _same_gold(table, rows_of_run[order], first)
            runs[int(rows_of_run[0])] = Counted(*where, names, counts[of_run][order])
    return [runs[row] for row in sorted(runs)]


def _trained(run: Counted, metric: str) -> TrainedModel:
    # on a data set all runs have the same items: they are checked
    of = Run(run.seed, 0, metric, "", run.dataset)
    chosen = "its model's first run"
    return TrainedModel(run.model, run.dataset, of, _PART, run.names, run.counts, chosen)


def _named(table: Columns, columns: Mapping[str, str]) -> Columns:
    """The columns of the roles, under their names.

    Raises:
      DataError: one is missing, or a role is none.
    """
    wrong = [role for role in columns if role not in ROLES]
    if wrong:
        raise DataError(f"--column {wrong[0]}: of items, expected one of {', '.join(ROLES)}")
    named = {**names.of_items(table.values), **columns}
    truth = ["correct"] if "correct" in named else ["gold", "predicted"]
    if {"gold", "predicted"} <= {*columns, *table.values}:
        truth = ["gold", "predicted"]
    if not {"correct", "gold", "predicted"} & named.keys():
        raise DataError(f"no column correct, or gold and predicted; {_near(table)}", table.source)
    status = next((name for name in table.values if names.is_status(name)), None)
    if status is not None:
        named.setdefault("status", status)
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
    for k, (value, row) in enumerate(zip(table[name], table.rows, strict=True)):
        if ended is not None and headers.is_failed(ended[k]):
            continue
        if value is None or value == "" or value != value:  # NaN
            raise DataError(
                f"row {row}, column {name}: empty; expected a class (a word of its own for no "
                "answer, which counts as wrong)",
                table.source,
            )


def _near(table: Columns) -> str:
    """The column that may be meant as one of the answers, or all there are."""
    for role in ("correct", "gold", "predicted"):
        for name in difflib.get_close_matches(role, table.values, 1):
            return f"{argument('column', {role: name})} reads {name!r} as {role}"
    return f"its columns are {listed([*table.values])}"


def _counts(table: Columns, rows: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """Names and counts [rows, names]: right, items; with gold also those of each class."""
    ones = np.ones(len(rows))
    if "gold" not in table.values:
        right = np.array([_is_correct(table, int(row)) for row in rows], float)
        return ("right", "items"), np.stack([right, ones], axis=1)
    gold, predicted = (
        np.array([table[role][row] for row in rows], object) for role in ("gold", "predicted")
    )
    right = gold == predicted
    columns = {"right": right, "items": ones}
    for k, label in enumerate(sorted(set(gold.tolist()))):
        of_class = gold == label
        columns |= {
            f"right_{k}": right & of_class,
            f"predicted_{k}": predicted == label,
            f"gold_{k}": of_class,
        }
    return tuple(columns), np.stack([*columns.values()], axis=1).astype(np.float64)


def _is_correct(table: Columns, row: int) -> bool:
    cell = str(table["correct"][row]).lower()
    if cell not in _TRUTH:
        raise DataError(
            f"row {table.rows[row]}, column correct: expected 1 or 0, found {cell!r:.40}",
            table.source,
        )
    return _TRUTH[cell]


def _ordered(
    table: Columns,
    rows: np.ndarray,
    item: np.ndarray,
    items: Sequence[str],
    where: tuple[str, str, str],
) -> np.ndarray:
    """The positions of a run's items in the order of the data set's.

    Raises:
      DataError: an item is there twice, or lacks.
    """
    order = np.argsort(item, kind="stable")
    twice = np.flatnonzero(np.diff(item[order]) == 0)
    model, dataset, seed = where
    run = f"model {model}, seed {seed}" + (f", dataset {dataset}" if dataset else "")
    if len(twice):
        former, latter = (table.rows[rows[order[twice[0] + k]]] for k in (0, 1))
        raise DataError(
            f"rows {former} and {latter} are both {run}, item {items[item[order[twice[0]]]]}",
            table.source,
        )
    if len(item) < len(items):
        absent = [items[k] for k in sorted({*range(len(items))} - {*item.tolist()})]
        raise DataError(
            f"{run}: no row for {len(absent)} of {len(items)} items ({listed(absent, 3)}); "
            "expected the same items of all runs on a data set",
            table.source,
        )
    return order


def _same_gold(table: Columns, rows: np.ndarray, first: np.ndarray) -> None:
    """Raises DataError where the gold of a run's items [N] is not that of their `first` rows."""
    if "gold" not in table.values:
        return
    gold = table["gold"]
    for row, other in zip(rows.tolist(), first.tolist(), strict=True):
        if gold[row] != gold[other]:
            raise DataError(
                f"row {table.rows[row]}: gold {gold[row]!r:.40} of an item that is "
                f"{gold[other]!r:.40} in row {table.rows[other]}",
                table.source,
            )
