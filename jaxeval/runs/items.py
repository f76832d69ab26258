"""Tables of answers of other programs, a row for each item of each run: scores of runs, of items.

Columns are model, seed (or run; none where each model has one) and item, dataset (or task) where
there are several, and score, or correct (1 or 0), or gold and predicted (classes, any text); names
such as item_id and prediction mean the same. Notation: N rows, C kinds of counts.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, counts, cube, imported, matching, names
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs import records
from jaxeval.runs.rows import Coded, Rows, both_of, coded, constant
from jaxeval.runs.scores import DataSetScores, Scores, Status

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
    whole, ended = rows(table, metric), table.values.get("status", [""] * len(table))
    failed = np.isin(whole.run, whole.run[[*map(checks.is_failed, ended)]])
    lacking = np.flatnonzero((whole.status != Status.SCORED) & ~failed)
    if len(lacking):
        message = "an answer is empty; expected a word of its own for none, which counts as wrong"
        raise DataError(f"row {whole.number[lacking[0]]}: {message}", path)
    if failed.all():
        raise DataError("all runs failed, by the column status: no items to compare", path)
    whole.status[failed], whole.score[failed] = Status.FAILED, np.nan
    found = cube.scores(whole, Layout(models=models))
    found = dataclasses.replace(found, statuses=_statuses(whole, ended) if failed.any() else {})
    slices = [_slices(data, path) for data in found.data_sets]
    runs, items = (tuple(of) for of in zip(*slices, strict=True))
    return Answers(
        dataclasses.replace(found, data_sets=runs), dataclasses.replace(found, data_sets=items)
    )


def _statuses(whole: Rows, ended: Sequence[object]) -> dict[str, dict[str, int]]:
    """Model -> how its runs ended -> how many."""
    counts: dict[str, dict[str, int]] = {}
    for k in np.unique(whole.run).tolist():  # the first row of each run
        of = counts.setdefault(whole.model.named(k), {})
        word = str(ended[k]) if whole.status[k] == Status.FAILED else "finished"
        of[word] = of.get(word, 0) + 1
    return counts


def _slices(data: DataSetScores, path: str | Path) -> tuple[DataSetScores, DataSetScores]:
    """The scores of whole runs, and of the items of those that finished.

    Raises:
      DataError: a run lacks items of the others.
    """
    of_runs, of_items = {}, {}
    for model, of in data.models.items():
        ended = of.chosen(of.finished)
        for run, lacks in enumerate((ended.status[..., 0] == Status.ABSENT).T):
            if lacks.any():
                absent = [data.items[k] for k in np.flatnonzero(lacks).tolist()]
                named = f"model {model}, seed {ended.labels['seed'][run]}"
                named += f", dataset {data.name}" if data.name else ""
                found = f"no row for {len(absent)} of {len(data.items)} items"
                expected = "expected the same items of all runs on a data set"
                raise DataError(f"{named}: {found} ({listed(absent, 3)}); {expected}", path)
        assert ended.counts is not None
        values = counts.values(ended.counts, data.counts, data.metric)
        how = counts.scoring(data.metric, data.counts)
        assert values is not None and how is not None  # all counts are there that it needs
        if ended.runs:
            of_items[model] = dataclasses.replace(ended, scores=values)
        sums = ended.counts.sum(0, np.float64)[:, [data.counts.index(n) for n in how.columns]]
        scores = np.full((1, of.runs, 1), np.nan)
        scores[0, of.finished, 0] = how.score(sums)
        status = np.where(np.isnan(scores), Status.FAILED, Status.SCORED).astype(np.uint8)
        of_runs[model] = dataclasses.replace(of, scores=scores, status=status, counts=None)
    whole = dataclasses.replace(data, models=of_runs, items=("",), counts=())
    return whole, dataclasses.replace(data, models=of_items, part=PART)


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
    return rows(table, label="name", scored=columns.get("score", "score"))


def is_table(path: Path) -> bool:
    """Whether it is a table with columns of items and of answers to them, by its header."""
    try:
        found = names.of_items(imported.header(path)) if path.suffix in TABLES else {}
    except DataError:  # of another kind
        return False
    return "item" in found and not {"score", "correct", "predicted"}.isdisjoint(found)


def rows(table: Columns, metric: str = "", label: str = "seed", scored: str = "score") -> Rows:
    """A table whose columns have the names of their roles, in the normal form.

    Args:
      metric: of all rows; "": the column metric's, else accuracy, or `scored` where it has scores.
      label: what `seed` is of a run: its "seed", or its "name".
    """
    size, known = len(table), table.values

    def column(role: str, otherwise: str) -> Coded:
        return coded(known[role]) if role in known else constant(otherwise, size)

    model, dataset = column("model", Path(table.source).stem), column("dataset", "")
    run, score, gold, predicted = column("seed", "1"), *_answers(table)
    prompt = None
    if "prompt" in known:
        prompt = coded([records.digest(str(of)) for of in known["prompt"]])
    if gold is not None:  # is part of what two logs must agree on
        prompt = both_of(prompt or constant("", size), gold)
    has_scores = "score" in known and gold is None and "correct" not in known
    measured = column("metric", scored if has_scores else "accuracy")
    return Rows(
        table.source,
        model,
        dataset,
        constant(metric, size) if metric else measured,
        _in_order(dataset, coded(known["item"])),
        matching.first(matching.pairs(matching.pairs(model.codes, dataset.codes), run.codes)),
        score,
        np.where(np.isnan(score), Status.UNSCORED, Status.SCORED).astype(np.uint8),
        np.asarray(table.rows, np.int64),
        {label: run} if "seed" in known or label == "seed" else {},
        sample=checks.floats(known["sample"]).astype(int) if "sample" in known else None,
        cluster=coded(known["cluster"]) if "cluster" in known else None,
        prompt=prompt,
        count=functools.partial(_counted, score, gold, predicted) if metric else None,
    )


def _answers(table: Columns) -> tuple[np.ndarray, Coded | None, Coded | None]:
    """[N] scores, NaN where there is none; the classes that are gold and predicted, if known."""
    if "gold" not in table.values:
        return _numbers(table, "correct" if "correct" in table.values else "score"), None, None
    both = coded([*table["gold"], *table["predicted"]])
    gold, predicted = (Coded(both.names, of) for of in np.split(both.codes, 2))
    empty = [code for code, name in enumerate(both.names) if name in ("", "None")]
    lost = np.isin(gold.codes, empty) | np.isin(predicted.codes, empty)
    return np.where(lost, np.nan, gold.codes == predicted.codes), gold, predicted


def _counted(
    score: np.ndarray, gold: Coded | None, predicted: Coded | None, where: np.ndarray
) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of counts of some rows, and [n, C] counts."""
    columns = {"right": score[where] == 1, "items": np.ones(len(where))}
    if gold is not None and predicted is not None:
        columns |= _by_class(gold, predicted, where)
    return tuple(columns), np.stack([*columns.values()], axis=1).astype(np.float32)


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
