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
from typing import Any, NamedTuple

from jaxeval.errors import DataError, argument
from jaxeval.files import Json
from jaxeval.runs import imported, names
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs import files, records
from jaxeval.runs.logs.records import Notes, Record, Source
from jaxeval.runs.scores import Status

TABLES = (".csv", ".tsv")
ANSWERS = ("score", "correct", "predicted")
ROLES = (
    *("item", "score", "correct", "gold", "predicted", "model", "task", "run", "sample"),
    *("cluster", "metric", "prompt"),
)


class _Line(NamedTuple):
    """A line of predictions, and how its keys are named."""

    source: Source
    columns: Mapping[str, str]
    number: int
    tree: Mapping[str, Json]

    def get(self, role: str) -> Json:
        """What it holds for a role; None for nothing."""
        return self.tree.get(self.columns.get(role, role))

    def text(self, role: str, otherwise: str) -> str:
        """The same as text."""
        value = self.get(role)
        if value is None:
            return otherwise
        if isinstance(value, str) and value:
            return value
        return records.label(value, self.columns.get(role, role), self.source, self.number)

    def error(self, message: str) -> DataError:
        """What is wrong in it."""
        return DataError(message, self.source.path, self.number)

    def answers(self) -> Iterator[tuple[str, str, Json]]:
        """Model ("" where the key does not say), role and value of what it answers."""
        for role in ANSWERS:
            key = self.columns.get(role, role)
            if key.endswith("*"):
                for name, value in self.tree.items():
                    if name.startswith(key[:-1]) and name != key[:-1]:
                        yield name.removeprefix(key[:-1]), role, value
            elif key in self.tree:
                yield "", role, self.tree[key]
                return


def read(source: Source, layout: Layout, notes: Notes) -> Iterator[Record]:
    """The scores in a file.

    Raises:
      DataError: naming the line, or a role that is none.
    """
    wrong = [role for role in layout.columns if role not in ROLES]
    if wrong:
        asked = argument("column", {wrong[0]: layout.columns[wrong[0]]})
        raise DataError(f"{asked}: of logs, expected one of {', '.join(ROLES)}", source.path)
    any_answer = False
    for line in _lines(source, layout):
        answered = False
        for model, role, value in line.answers():
            answered = True
            yield from _of_model(line, model, role, value, layout)
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
    """Whether it is a table with columns of items and of answers to them, by its header."""
    try:
        header = imported.header(path) if path.suffix in TABLES else ()
    except DataError:  # of another kind
        return False
    columns = {*names.of_items(header), *header}
    return "item" in columns and not columns.isdisjoint(ANSWERS)


def _lines(source: Source, layout: Layout) -> Iterator[_Line]:
    """The lines of a file, or the rows of a table.

    Raises:
      DataError: a table without a column of items, or as `imported.read`.
    """
    if source.path.suffix not in TABLES:
        for number, tree in files.lines(source.path):
            yield _Line(source, layout.columns, number, tree)
        return
    table = imported.read(source.path)
    known = names.of_items(table.values)
    for role, axis in (("run", "seed"), ("task", "dataset")):
        if axis in known and role not in table.values:
            known[role] = known[axis]
    columns = {**known, **layout.columns}
    if columns.get("item") not in table.values:
        named = argument("column", {"item": "NAME"})
        message = f"no column item ({named} names another); scores of runs are no log"
        raise DataError(message, source.path)
    numbers = {columns.get(role, role) for role in ("score", "correct")}
    for number, *cells in zip(table.rows, *table.values.values(), strict=True):
        tree = {
            name: _cell(cell) if name in numbers else None if cell == "" else cell
            for name, cell in zip(table.values, cells, strict=True)
        }
        yield _Line(source, columns, number, tree)


def _cell(cell: Any) -> Json:
    """A cell as JSON would have it: None where it is empty, true and false of any case."""
    if cell == "" or not isinstance(cell, str):
        return None if cell == "" else cell
    try:
        return json.loads(cell.lower())
    except (ValueError, RecursionError):
        return cell


def _of_model(line: _Line, model: str, role: str, value: Json, layout: Layout) -> Iterator[Record]:
    gold = line.get("gold")
    if role == "predicted" and gold is None:
        raise line.error("predicted without gold; expected both, or correct, or score")
    several = role == "predicted" and isinstance(gold, list)
    runs = value if isinstance(value, list) and _depth(value, 2 if several else 1) else [value]
    if not runs:
        raise line.error(f"{role}: expected one or more runs, found an empty list")
    # where no key metric says it: the key of the score, nll of nll_*
    key = line.columns.get("score", "score").rstrip("*_.-/ ") or "score"
    base = Record(
        line.text("model", "") or model or line.source.path.stem,
        line.text("task", ""),
        line.text("metric", key if role == "score" else "accuracy"),
        "" if several else line.text("item", str(line.number)),
        math.nan,
        sample=records.sample(line.get("sample"), line.source, line.number),
        cluster=_cluster(line, layout),
        prompt=records.digest(line.get("prompt")) if line.get("prompt") else "",
        file=line.source.name if model or line.get("model") else "",
    )
    named = len(runs) == 1 and line.get("run") is not None
    for k, answer in enumerate(runs, 1):
        run = line.text("run", str(k)) if named else str(k)
        of_run = base._replace(run=run, run_id=run if named else "", name=run if named else "")
        if not several:
            yield _scored(line, of_run, role, gold, answer)
            continue
        for item, truth, label in _items(line, gold, answer):
            yield _scored(line, of_run._replace(item=item), "predicted", truth, label)


def _depth(value: Json, depth: int) -> bool:
    """Whether lists are nested at least so deep."""
    while depth and isinstance(value, list):
        value, depth = (value[0] if value else None), depth - 1
    return not depth


def _cluster(line: _Line, layout: Layout) -> str:
    """By the key that is asked for; by the role where the line has it."""
    if layout.cluster:
        item = line.tree.get(line.columns.get("item", "item"))
        return records.cluster_of(line.tree, layout, line.source, str(item), line.number)
    return line.text("cluster", "")


def _items(line: _Line, gold: Json, answer: Json) -> Iterator[tuple[str, Json, Json]]:
    """Name, gold and prediction of the items of a line that holds several."""
    assert isinstance(gold, list)
    item = line.get("item")
    numbered = [f"{line.number if item is None else item}:{k}" for k in range(len(gold))]
    named = item if isinstance(item, list) else numbered
    if not isinstance(answer, list) or not len(answer) == len(gold) == len(named):
        raise line.error(f"expected {len(gold)} predictions in each run, as many as gold labels")
    labels = (records.label(name, "item", line.source, line.number) for name in named)
    yield from zip(labels, gold, answer, strict=True)


def _scored(line: _Line, base: Record, role: str, gold: Json, answer: Json) -> Record:
    if answer is None:  # why is not known
        return base._replace(status=Status.UNSCORED)
    if role == "predicted":
        _refuse_kinds(line, gold, answer)
        plain = not any(isinstance(value, list | Mapping) for value in (answer, gold))
        right = _as_text(answer) == _as_text(gold) if plain else answer == gold
        # gold is part of what two logs must agree on
        return base._replace(score=float(right), prompt=f"{base.prompt} {_as_text(gold)}")
    score = records.number(answer)
    if score is None or (role == "correct" and score not in (0.0, 1.0)):
        expected = "a number" if role == "score" else "true or false"
        raise line.error(f"{role}: expected {expected}, found {str(answer)[:40]!r}")
    return base._replace(score=score)


def _refuse_kinds(line: _Line, gold: Json, answer: Json) -> None:
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
