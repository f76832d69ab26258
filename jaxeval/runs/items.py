"""Tables of answers of other programs, a row for each item of each run: scores of runs, of items.

Columns are model, seed (or run; none where each model has one) and item, dataset (or task) where
there are several, and score, or correct (1 or 0), or gold and predicted (classes, any text); names
such as item_id and prediction mean the same. Notation: N rows, C kinds of counts.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, counts, cube, imported, matching, names, tables
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs import records
from jaxeval.runs.rows import Coded, Rows, both_of, coded, constant
from jaxeval.runs.scores import DataSetScores, ModelScores, Scores, Status

METRICS = ("accuracy", "macro_f1")
TABLES = (".csv", ".tsv")
PART = "the table"
_TRUTH = {"1": 1.0, "1.0": 1.0, "true": 1.0, "0": 0.0, "0.0": 0.0, "false": 0.0}


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

    A column status says which runs failed: such have no score, and need no answers.

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
    table = _named(imported.read(path), columns or {}, ("correct", "gold", "predicted"))
    if metric == "macro_f1" and "gold" not in table.values:
        raise DataError("macro_f1 needs columns gold and predicted", path)
    failed, finished = _ended(table)
    whole = rows(finished, metric)
    lacking = np.flatnonzero(whole.status != Status.SCORED)
    if len(lacking):
        where = f"row {whole.number[lacking[0]]}"
        message = "an answer is empty; expected a word of its own for none, which counts as wrong"
        raise DataError(f"{where}: {message}", path)
    found = cube.scores(whole, Layout())
    items = dataclasses.replace(
        found, data_sets=tuple(_scored(of, path) for of in found.data_sets)
    )
    runs = tables.of_columns(_of_runs(items, failed), Layout(models=models))
    return Answers(runs, items.only(runs.models))


def of_log(path: str | Path, layout: Layout) -> Rows:
    """A table of answers or scores of items, in place of a log.

    Raises:
      DataError: naming row and column, or the columns where one is missing.
    """
    roles = {"task": "dataset", "run": "seed"}
    columns = {roles.get(role, role): name for role, name in layout.columns.items()}
    if layout.cluster:
        columns["cluster"] = layout.cluster
    table = _named(imported.read(path), columns, ("score", "correct", "gold", "predicted"))
    return rows(table, label="name")


def is_table(path: Path) -> bool:
    """Whether it is a table with columns of items and of answers to them, by its header."""
    try:
        found = names.of_items(imported.header(path)) if path.suffix in TABLES else {}
    except DataError:  # of another kind
        return False
    return "item" in found and not {"score", "correct", "predicted"}.isdisjoint(found)


def rows(table: Columns, metric: str = "", label: str = "seed") -> Rows:
    """A table whose columns have the names of their roles, in the normal form.

    Args:
      metric: of all rows; "": the column metric's, else accuracy or score.
      label: what `seed` is of a run: its "seed", or its "name".
    """
    size, known = len(table), table.values
    stem = Path(table.source).stem
    model = coded(known["model"]) if "model" in known else constant(stem, size)
    dataset = coded(known["dataset"]) if "dataset" in known else constant("", size)
    run = coded(known["seed"]) if "seed" in known else constant("1", size)
    gold = predicted = None
    if "gold" in known:
        both = coded([*known["gold"], *known["predicted"]])
        gold, predicted = (Coded(both.names, of) for of in np.split(both.codes, 2))
        empty = [code for code, name in enumerate(both.names) if name in ("", "None")]
        lost = np.isin(gold.codes, empty) | np.isin(predicted.codes, empty)
        score = np.where(lost, np.nan, gold.codes == predicted.codes)
    else:
        score = _numbers(table, "correct" if "correct" in known else "score")
    otherwise = "score" if "score" in known and gold is None else "accuracy"
    measured = constant(metric or otherwise, size)
    if "metric" in known and not metric:
        measured = coded(known["metric"])
    prompt = (
        coded([records.digest(str(of)) for of in known["prompt"]]) if "prompt" in known else None
    )
    if gold is not None:  # is part of what two logs must agree on
        prompt = both_of(prompt or constant("", size), gold)

    def count(where: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
        columns = {"right": score[where] == 1, "items": np.ones(len(where))}
        if gold is not None and predicted is not None:
            columns |= _by_class(gold, predicted, where)
        return tuple(columns), np.stack([*columns.values()], axis=1).astype(np.float32)

    return Rows(
        table.source,
        model,
        dataset,
        measured,
        _in_order(dataset, coded(known["item"])),
        matching.first(matching.pairs(matching.pairs(model.codes, dataset.codes), run.codes)),
        np.asarray(score, np.float64),
        np.where(np.isnan(score), Status.UNSCORED, Status.SCORED).astype(np.uint8),
        np.asarray(table.rows, np.int64),
        {label: run} if "seed" in known or label == "seed" else {},
        sample=checks.floats(known["sample"]).astype(int) if "sample" in known else None,
        cluster=coded(known["cluster"]) if "cluster" in known else None,
        prompt=prompt,
        count=count if metric else None,
    )


def _named(table: Columns, columns: Mapping[str, str], answers: Sequence[str]) -> Columns:
    """The columns of the roles, under their names.

    Args:
      answers: roles of which one must be there; predicted beside gold.

    Raises:
      DataError: one is missing, or a role is none.
    """
    known = {*names.ROLES, *answers, "sample", "cluster", "metric", "prompt"}
    wrong = [role for role in columns if role not in known]
    if wrong:
        asked = argument("column", {wrong[0]: columns[wrong[0]]})
        raise DataError(f"{asked}: of items, expected one of {', '.join(sorted(known))}")
    plain = {name: name for name in known if name in table.values}
    roles = {**names.of_items(table.values), **plain, **columns}
    both = {"gold", "predicted"} <= {*columns, *table.values}
    there = [role for role in answers if role in roles and not (both and role == "correct")]
    if not there:
        advice = argument("column", {"correct": "NAME"})
        found = f"no column {' or '.join(answers)}; the columns are {listed(table.values)}"
        raise DataError(f"{found}: {advice}", table.source)
    needed = ["item", *(["gold", "predicted"] if there[0] in ("gold", "predicted") else there[:1])]
    optional = {role for role in roles if role not in answers}
    every = dict.fromkeys([*needed, *(role for role in roles if role in optional)])
    return Columns(
        table.source, {role: table[roles.get(role, role)] for role in every}, table.rows
    )


def _numbers(table: Columns, role: str) -> np.ndarray:
    """Scores, or whether answers are right, as numbers; NaN where a cell is empty.

    Raises:
      DataError: naming row and column.
    """
    cells = table[role]
    if role == "correct":
        score = np.array([_TRUTH.get(checks.word(cell), np.nan) for cell in cells])
    else:
        score = checks.floats(cells)
    nans = np.flatnonzero(np.isnan(score)).tolist()
    wrong = [k for k in nans if checks.word(cells[k]) not in checks.MISSING]
    if wrong:
        expected = "1 or 0" if role == "correct" else "a number"
        found = f"row {table.rows[wrong[0]]}, column {role}: expected {expected}"
        raise DataError(f"{found}, found {cells[wrong[0]]!r:.40}", table.source)
    return score


def _in_order(dataset: Coded, item: Coded) -> Coded:
    """The items of each data set, coded in the order in which they stand there."""
    first = matching.first(matching.pairs(dataset.codes, item.codes))
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


def _of_runs(items: Scores, failed: Mapping[tuple[str, str, str], str]) -> Columns:
    """A row a run, in the order of the table; those that failed behind the others."""
    rows = [
        (model, data.name, str(seed), _score(data.metric, sums), "finished", int(number))
        for data in items.data_sets
        for model, of in data.models.items()
        for seed, sums, number in zip(of.labels["seed"], _sums(of), of.rows, strict=True)
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


def _sums(of: ModelScores) -> np.ndarray:
    """[R, C]"""
    assert of.counts is not None
    return np.asarray(of.counts.sum(0, np.float64))


def _score(metric: str, sums: np.ndarray) -> float:
    """Accuracy, or macro-F1 (mean F1 of the classes that are gold), of [C] summed counts."""
    of = counts.ratio(sums[:2]) if metric == "accuracy" else counts.macro_f1(sums[2:])
    return float(of)


def _scored(data: DataSetScores, path: str | Path) -> DataSetScores:
    """The same with the values of items whose mean is the metric of a run.

    Raises:
      DataError: a run lacks items of the others.
    """
    models = {}
    for model, of in data.models.items():
        lacking = np.argwhere(of.status[..., 0] == Status.ABSENT)
        if len(lacking):
            run = int(lacking[:, 1].min())
            absent = [data.items[k] for k in lacking[lacking[:, 1] == run, 0].tolist()]
            named = f"model {model}, seed {of.labels['seed'][run]}"
            named += f", dataset {data.name}" if data.name else ""
            found = f"no row for {len(absent)} of {len(data.items)} items ({listed(absent, 3)})"
            expected = "expected the same items of all runs on a data set"
            raise DataError(f"{named}: {found}; {expected}", path)
        assert of.counts is not None
        values = counts.values(of.counts, data.counts, data.metric)
        assert values is not None  # as all counts are there that the metric needs
        models[model] = dataclasses.replace(of, scores=values)
    return dataclasses.replace(data, models=models, part=PART)
