"""Predictions or scores of items, with one or several runs in a line: JSON lines, or a table.

A line is an item, or an item of a run. Keys by role (`--column ROLE=KEY` names others):

    item        what identifies it; without it the line's number
    score       a number, or `correct` (true, false), or `gold` and `predicted` (any label)
    model, task, run, sample, cluster, metric, prompt     where they are known

A list under score, correct or predicted holds the runs. Where `gold` is a list, a line holds
several items (the targets of a text): `item` may be a list too, and predictions are lists of it,
one a run. A key that ends in `*` gives the predictions of all models, named by what it stands for.

In a table (CSV, TSV) the columns are the keys; it must name its items, so that scores of runs are
never taken for scores of items.
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxeval.errors import DataError, argument
from jaxeval.files import Json
from jaxeval.runs import imported, names
from jaxeval.runs.logs import records, streaming
from jaxeval.runs.logs.prediction_lines import ANSWERS, ROLES, Line
from jaxeval.runs.logs.records import Keys, Notes, Record, Source

TABLES = (".csv", ".tsv")


def read(source: Source, keys: Keys, notes: Notes) -> Iterator[Record]:
    """The scores in a file.

    Raises:
      DataError: naming the line, or a role that is none.
    """
    wrong = [role for role in keys.columns if role not in ROLES]
    if wrong:
        expected = ", ".join(ROLES)
        raise DataError(f"--column {wrong[0]}: of logs, expected one of {expected}", source.path)
    any_answer = False
    lines: Iterator[Line]
    if source.path.suffix in TABLES:
        lines = _of_table(source, keys)
    else:
        lines = (Line(source, keys.columns, *line) for line in streaming.objects(source.path))
    for line in lines:
        answered = False
        for model, role, value in line.answers():
            answered = True
            yield from _of_model(line, model, role, value, keys)
        if any_answer and not answered:  # such as what a program writes of all items together
            notes[f"{source.path.name}: a line without {', '.join(ANSWERS)} is left out"] += 1
        elif not answered:
            named = argument("column", {"ROLE": "KEY"})
            raise line.error(
                f"expected a key {', '.join(ANSWERS)} ({named} names another); its keys are "
                f"{', '.join([*line.tree][:12]) or 'none'}"
            )
        any_answer = any_answer or answered


def is_table(path: Path) -> bool:
    """Whether it is a table with columns of items and of answers to them, by their names."""
    try:
        table = imported.read(path, 1).values if path.suffix in TABLES else {}
    except DataError:  # of another kind
        return False
    columns = {*names.of_items(table), *table}
    return "item" in columns and not columns.isdisjoint(ANSWERS)


def _of_table(source: Source, keys: Keys) -> Iterator[Line]:
    """The rows of a table.

    Raises:
      DataError: no column of items, or as `imported.read`.
    """
    table = imported.read(source.path)
    known = names.of_items(table.values)
    for role, axis in (("run", "seed"), ("task", "dataset")):
        if axis in known:
            known.setdefault(role, known[axis])
    columns = {**known, **keys.columns}
    if columns.get("item") not in table.values:
        named = argument("column", {"item": "NAME"})
        raise DataError(
            f"no column item ({named} names another); of scores of runs: --table {source.path}",
            source.path,
        )
    numbers = {columns.get(role, role) for role in ("score", "correct")}
    for number, *cells in zip(table.rows, *table.values.values(), strict=True):
        tree = {
            name: _cell(cell, name in numbers)
            for name, cell in zip(table.values, cells, strict=True)
        }
        yield Line(source, columns, number, tree)


def _cell(cell: Any, is_number: bool) -> Json:
    """A cell as JSON would have it: None where it is empty, true and false of any case."""
    if cell == "" or not is_number:
        return None if cell == "" else cell
    try:
        return json.loads(cell.lower())
    except ValueError:
        return cell


def _of_model(line: Line, model: str, role: str, value: Json, keys: Keys) -> Iterator[Record]:
    gold = line.get("gold")
    if role == "predicted" and gold is None:
        raise line.error("predicted without gold; expected both, or correct, or score")
    several = role == "predicted" and isinstance(gold, list)
    depth = 2 if several else 1
    runs = value if isinstance(value, list) and _depth(value, depth) else [value]
    if not runs:
        raise line.error(f"{role}: expected one or more runs, found an empty list")
    metric = line.text("metric", _metric(line) if role == "score" else "accuracy")
    base = Record(
        line.text("model", "") or model or line.source.path.stem,
        line.text("task", ""),
        metric,
        line.text("item", str(line.number)) if not several else "",
        math.nan,
        sample=records.sample(line.get("sample"), line.source, line.number),
        cluster=_cluster(line, keys),
        prompt=records.digest(line.get("prompt")) if line.get("prompt") else "",
        file=line.source.name if model or line.get("model") else "",
    )
    for k, answer in enumerate(runs, 1):
        run = line.text("run", str(k)) if len(runs) == 1 else str(k)
        named = len(runs) == 1 and line.get("run") is not None
        of_run = base._replace(run=run)
        if named:
            of_run = of_run._replace(run_id=run, run_name=run)
        if several:
            yield from _of_items(line, of_run, gold, answer)
        else:
            yield _scored(line, of_run, role, gold, answer)


def _metric(line: Line) -> str:
    """What scores are named where no key metric says it: as their own key, nll of nll_*."""
    return line.columns.get("score", "score").rstrip("*_.-/ ") or "score"


def _depth(value: Json, depth: int) -> bool:
    """Whether lists are nested at least so deep."""
    while depth and isinstance(value, list):
        value, depth = (value[0] if value else None), depth - 1
    return not depth


def _cluster(line: Line, keys: Keys) -> str:
    """By --cluster KEY; by the role where the line has it."""
    if keys.cluster:
        item = line.tree.get(line.columns.get("item", "item"))
        return records.cluster_of(line.tree, keys, line.source, str(item), line.number)
    return line.text("cluster", "")


def _of_items(line: Line, base: Record, gold: Json, answer: Json) -> Iterator[Record]:
    """The items of a line that holds several."""
    assert isinstance(gold, list)
    item = line.get("item")
    numbered = [f"{line.number if item is None else item}:{k}" for k in range(len(gold))]
    names = item if isinstance(item, list) else numbered
    if not isinstance(answer, list) or not len(answer) == len(gold) == len(names):
        raise line.error(f"expected {len(gold)} predictions in each run, as many as gold labels")
    for name, truth, label in zip(names, gold, answer, strict=True):
        of = base._replace(item=records.label(name, "item", line.source, line.number))
        yield _scored(line, of, "predicted", truth, label)


def _scored(line: Line, base: Record, role: str, gold: Json, answer: Json) -> Record:
    if answer is None:  # why is not known
        return base._replace(status="unscored")
    if role == "predicted":
        _refuse_kinds(line, gold, answer)
        right = _as_text(answer) == _as_text(gold) if _plain(answer, gold) else answer == gold
        # gold is part of what two logs must agree on
        return base._replace(score=float(right), prompt=f"{base.prompt} {_as_text(gold)}")
    score = records.number(answer)
    if score is None or (role == "correct" and score not in (0.0, 1.0)):
        expected = "a number" if role == "score" else "true or false"
        raise line.error(f"{role}: expected {expected}, found {str(answer)[:40]!r}")
    return base._replace(score=score)


def _plain(*values: Json) -> bool:
    """Whether all are texts, numbers, true or false."""
    return not any(isinstance(value, list | Mapping) for value in values)


def _refuse_kinds(line: Line, gold: Json, answer: Json) -> None:
    """Refuses true or false beside a number: what 1 means is not known."""
    kinds = [isinstance(value, bool) for value in (gold, answer)]
    if any(kinds) and not all(kinds) and all(isinstance(v, int | float) for v in (gold, answer)):
        found = f"gold {json.dumps(gold)} and predicted {json.dumps(answer)}"
        raise line.error(f"{found}; expected both as true or false, or both as numbers")


def _as_text(value: Json) -> str:
    """A label as text: 1, 1.0 and "1" are one; an object's keys in order."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)
