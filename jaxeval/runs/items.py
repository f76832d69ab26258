"""Tables of answers of other programs, a row for each item of each run: scores of runs, of items.

Columns are model, seed (or run; none where each model has one) and item, dataset (or task) where
there are several, and score, or correct (1 or 0), or gold and predicted (classes, any text); names
such as item_id and prediction mean the same. In JSON lines the keys are model, run, task, item;
a list under score, correct or predicted holds the runs. Notation: N rows, C kinds of counts.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, counts, cube, imported, names
from jaxeval.runs import rows as normal
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs import predictions, records
from jaxeval.runs.rows import Coded, Rows, coded, constant
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
    Raises DataError: naming file, row and column; runs on other items or golds.

    Args:
      models: only these.
      metric: accuracy (the default) or macro_f1, which needs gold and predicted.
      columns: role -> column, where that has another name.
    """
    metric = metric or "accuracy"
    if metric not in METRICS:
        raise DataError(f"metric {metric!r}: items give {' or '.join(METRICS)}", path)
    table = _named(imported.read(path), columns or {}, ("correct", "gold", "predicted"))
    if metric == "macro_f1" and "gold" not in table.values:
        raise DataError("macro_f1 needs columns gold and predicted", path)
    whole, ended = rows(table, metric), table.values.get("status", [""] * len(table))
    failed = np.isin(whole.run, whole.run[[*map(checks.is_failed, ended)]])
    lacking = np.flatnonzero(np.isnan(whole.score) & ~failed)
    if len(lacking):
        message = "an answer is empty; expected a word of its own for none, which counts as wrong"
        raise DataError(f"row {whole.number[lacking[0]]}: {message}", path)
    if failed.all():
        raise DataError("all runs failed, by the column status: no items to compare", path)
    whole.status[failed], whole.score[failed] = Status.FAILED, np.nan
    found = cube.scores(whole, Layout(models=models))
    statuses: dict[str, Counter[str]] = {}
    for k in np.unique(whole.run).tolist() if failed.any() else ():  # the first row of each run
        how = str(ended[k]) if failed[k] else "finished"
        statuses.setdefault(whole.model.named(k), Counter())[how] += 1
    found = dataclasses.replace(found, statuses=statuses)
    slices = zip(*(_slices(data, path) for data in found.data_sets), strict=True)
    return Answers(*(dataclasses.replace(found, data_sets=of) for of in slices))


def _slices(data: DataSetScores, path: str | Path) -> tuple[DataSetScores, DataSetScores]:
    """The scores of whole runs, and of the items of those that finished."""
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
        how = counts.scoring(data.metric, data.counts)
        assert ended.counts is not None and how is not None  # `rows` counts all that it needs
        if ended.runs:
            values = counts.values(ended.counts, data.counts, data.metric)
            assert values is not None
            of_items[model] = dataclasses.replace(ended, scores=values)
        sums = ended.counts.sum(0, np.float64)[:, [data.counts.index(n) for n in how.columns]]
        scores = np.full((1, of.runs, 1), np.nan)
        scores[0, of.finished, 0] = how.score(sums)
        status = np.where(np.isnan(scores), Status.FAILED, Status.SCORED).astype(np.uint8)
        of_runs[model] = dataclasses.replace(of, scores=scores, status=status, counts=None)
    whole = dataclasses.replace(data, models=of_runs, items=("",), counts=())
    return whole, dataclasses.replace(data, models=of_items, part=PART)


def of_log(path: Path, layout: Layout, notes: Counter[str]) -> Rows:
    """A table or JSON lines of answers or scores of items, in place of a log.

    The label "name" is what a user calls a run; "place" is its place in a list.
    Raises DataError: naming row and column, or the columns where one is missing.
    """
    roles = {"task": "dataset", "run": "seed"}
    columns = {roles.get(role, role): name for role, name in layout.columns.items()}
    if layout.cluster:
        columns["cluster"] = layout.cluster
    scored = columns.get("score", "score")
    if path.suffix not in TABLES:
        table, label = predictions.table(path, columns, notes)
        return rows(table, label=label, scored=scored)
    table = _named(imported.read(path), columns, ("score", "correct", "gold", "predicted"))
    return rows(table, label="name", scored=scored)


def is_table(path: Path) -> bool:
    """Whether it is a table with columns of items and of answers to them, by its header."""
    try:
        found = names.of_items(imported.header(path)) if path.suffix in TABLES else {}
    except DataError:  # of another kind
        return False
    return "item" in found and not {*predictions.ANSWERS}.isdisjoint(found)


def rows(table: Columns, metric: str = "", label: str = "seed", scored: str = "score") -> Rows:
    """A table whose columns have the names of their roles, in the normal form.

    Args:
      metric: of all rows; "": the column metric's, else accuracy, or `scored` where it has scores.
      label: what `seed` is of a run, such as its "seed" or its "name".
    """
    size, known = len(table), table.values

    def column(role: str, otherwise: str) -> Coded:
        return coded(known[role]) if role in known else constant(otherwise, size)

    model, dataset = column("model", Path(table.source).stem), column("dataset", "")
    run, score, empty, gold, predicted = column("seed", "1"), *_answers(table)
    prompt = gold  # which is part of what two logs must agree on
    if "prompt" in known:
        hashes = [records.digest(str(of)) if of else "" for of in known["prompt"]]
        golds = [""] * size if gold is None else [gold.named(k) for k in range(size)]
        prompt = coded([f"{a} {b}".strip() for a, b in zip(hashes, golds, strict=True)])
    has_scores = "score" in known and gold is None and "correct" not in known
    default = scored if has_scores else "accuracy"
    measured = constant(metric, size) if metric else column("metric", "")
    measured = Coded(tuple(name or default for name in measured.names), measured.codes)
    return Rows(
        *(table.source, model, dataset, measured),
        _in_order(dataset, coded(known["item"])),
        normal.first_place(normal.pairs(normal.pairs(model.codes, dataset.codes), run.codes)),
        score,
        np.where(empty, Status.UNSCORED, Status.SCORED).astype(np.uint8),
        np.asarray(table.rows, np.int64),
        {label: run} if "seed" in known or label == "seed" else {},
        sample=_samples(table) if "sample" in known else None,
        cluster=coded(known["cluster"]) if "cluster" in known else None,
        prompt=prompt,
        count=functools.partial(_counted, score, gold, predicted) if metric else None,
    )


def _samples(table: Columns) -> np.ndarray:
    """[N] which of a run's answers to an item each is."""
    cells = [1 if of in (None, "") else of for of in table["sample"]]
    sample = checks.floats(cells)
    for k in np.flatnonzero(
        ~((sample >= 0) & (sample < 1 << 31) & (np.floor(sample) == sample))
    ).tolist():
        found = f"row {table.rows[k]}, column sample: expected a whole number of an answer"
        raise DataError(f"{found}, found {cells[k]!r:.40}", table.source)
    return sample.astype(int)


def _answers(table: Columns) -> tuple[np.ndarray, np.ndarray, Coded | None, Coded | None]:
    """[N] scores, NaN where there is none; [N] whether the answer is empty; the classes that are
    gold and predicted, if known.
    """
    if "gold" in table.values:
        both = coded([*table["gold"], *table["predicted"]])
        gold, predicted = (Coded(both.names, of) for of in np.split(both.codes, 2))
        none = [code for code, name in enumerate(both.names) if name in ("", "None")]
        lost = np.isin(gold.codes, none) | np.isin(predicted.codes, none)
        return np.where(lost, np.nan, gold.codes == predicted.codes), lost, gold, predicted
    role = "correct" if "correct" in table.values else "score"
    cells = table[role]
    if role == "correct":
        score = np.array([_TRUTH.get(checks.word(cell), np.nan) for cell in cells])
    else:
        score = checks.floats(cells)
    empty = np.isnan(score)
    for k in np.flatnonzero(empty).tolist():
        if checks.word(cells[k]) not in checks.MISSING:
            expected = "1 or 0" if role == "correct" else "a number"
            found = f"row {table.rows[k]}, column {role}: expected {expected}"
            raise DataError(f"{found}, found {cells[k]!r:.40}", table.source)
        empty[k] = cells[k] in (None, "")
    return score, empty, None, None


def _counted(
    score: np.ndarray, gold: Coded | None, predicted: Coded | None, where: np.ndarray
) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of counts of some rows, and [n, C] counts: of all, and of each class that is gold."""
    columns = {"right": score[where] == 1, "items": np.ones(len(where))}
    if gold is not None and predicted is not None:
        present = [gold.names[code] for code in np.unique(gold.codes[where]).tolist()]
        for k, label in enumerate(sorted(present)):
            code = gold.names.index(label)
            is_gold, is_predicted = gold.codes[where] == code, predicted.codes[where] == code
            columns |= {f"right_{k}": is_gold & is_predicted, f"predicted_{k}": is_predicted}
            columns[f"gold_{k}"] = is_gold
    return tuple(columns), np.stack([*columns.values()], axis=1).astype(np.float32)


def _named(table: Columns, columns: Mapping[str, str], answers: Sequence[str]) -> Columns:
    """The columns of the roles, under their names."""
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


def _in_order(dataset: Coded, item: Coded) -> Coded:
    """The items of each data set, coded in the order in which they stand there."""
    first = normal.first_place(normal.pairs(dataset.codes, item.codes))
    places, codes = np.unique(first, return_inverse=True)
    return Coded(tuple(item.names[code] for code in item.codes[places].tolist()), codes)
