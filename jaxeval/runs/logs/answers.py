"""Logs of answers in tables and JSON lines, of any program.

In JSON lines the keys are named as roles, the line's number stands for a missing item, and a list
under score, correct or predicted holds the runs.
"""

import dataclasses
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxeval.errors import DataError
from jaxeval.runs import columns as files
from jaxeval.runs import items, layout
from jaxeval.runs.columns import Columns
from jaxeval.runs.logs.records import Log, Text, plain
from jaxeval.runs.normal import Rows

TABLES = (".csv", ".tsv")
_ANSWERS = ("score", "correct", "predicted")


def read(log: Log) -> Rows:
    """Reads a table or JSON lines of answers or scores of items as a log.

    The label "name" is what a user calls a run, "place" its place in a list.

    Raises DataError: names row and column, or the missing column.
    """
    columns = {items.KEYS.get(role, role): name for role, name in log.layout.columns.items()}
    columns |= {"cluster": log.layout.cluster} if log.layout.cluster else {}
    wanted = {*items.ROLES, *items.KEYS, *_ANSWERS, "gold", *columns.values()}
    lines, label = log.path.suffix not in TABLES, "name"
    table = files.read(log.path, wanted)
    if lines:
        item = columns.get("item", "item")
        cells = table.values.get(item, [None] * len(table))
        named = [table.rows[k] if x in (None, "") else x for k, x in enumerate(cells)]
        table = dataclasses.replace(table, values={**table.values, item: named})
    table = items.by_role(table, columns, ("score", *items.PREDICTED), exact=lines)
    if lines:
        table, label = _split_lists(table)
    return items.to_rows(table, label=label, scored=columns.get("score", "score"))


def _split_lists(table: Columns) -> tuple[Columns, str]:
    """Returns JSON lines with one answer a row, and the label of `seed`: "name" or "place"."""
    answer = next(role for role in _ANSWERS if role in table.values)
    cells = [cell if isinstance(cell, list) else [cell] for cell in table[answer]]
    places = [k for k, cell in enumerate(cells) for _ in cell]
    values = {role: [column[k] for k in places] for role, column in table.values.items()}
    values[answer] = given = [x for cell in cells for x in cell]
    rows, lists = [table.rows[k] for k in places], any(len(cell) != 1 for cell in cells)
    if lists:
        values["seed"] = [str(k) for cell in cells for k, _ in enumerate(cell, 1)]
    if answer == "score":
        values[answer] = [float(x) if isinstance(x, bool) else x for x in given]
    elif answer == "predicted":
        for gold, predicted, row in zip(values["gold"], given, rows, strict=True):
            kinds = {type(gold), type(predicted)}
            if bool in kinds and kinds & {int, float}:  # 1 may mean true
                found = f"gold {json.dumps(gold)} and predicted {json.dumps(predicted)}"
                expected = "expected both true or false, or both numbers"
                raise DataError(f"{found}; {expected}", table.source, row)
        for role in ("gold", answer):
            values[role] = [None if x is None else _label_text(x) for x in values[role]]
    return Columns(table.source, values, rows), "place" if lists else "name"


def _label_text(value: Any) -> str:
    """Returns a label as text: 1, 1.0 and "1" are one, and so are objects with equal keys."""
    whole = isinstance(value, float) and value.is_integer()
    value = int(value) if whole else value
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def texts(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, Text]]:
    """Yields items of a log and their texts; columns without a role are part of the question."""
    if path.suffix in TABLES:
        table = files.read(path)
        cells = zip(*table.values.values(), strict=True)
        each = (dict(zip(table.values, of, strict=True)) for of in cells)
        lines: Iterable[tuple[int, Mapping]] = zip(table.rows, each, strict=True)
    else:
        lines = files.json_lines(path)
    for number, line in lines:
        roles = layout.item_roles(line)
        left = {*(roles.get(role) for role in ("item", "model", "seed", "gold", *_ANSWERS))}
        left |= {*items.ROLES, *items.KEYS, "prompt"}
        rest = [f"{k}: {plain(of)}" for k, of in line.items() if k not in left]
        gold, predicted = (plain(line.get(roles.get(k, k))) for k in ("gold", "predicted"))
        question = "\n".join(filter(None, [plain(line.get("prompt")), *rest]))
        item = line.get(roles.get("item", "item"))
        yield str(number if item in (None, "") else item), Text(question, gold, predicted)


def lacks_items(path: Path) -> bool:
    """True for a table without columns of items and answers, by its header."""
    if path.suffix not in TABLES:
        return False
    try:
        found = layout.item_roles(files.read_header(path))
    except DataError:  # another kind of file
        return True
    return "item" not in found or {*_ANSWERS}.isdisjoint(found)
