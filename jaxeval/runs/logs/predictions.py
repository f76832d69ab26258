"""Predictions or scores of items in JSON lines, as a table: a line is an item, or one of a run.

Keys by role (`--column ROLE=KEY` names others):

    item        what identifies it; without it the line's number
    score       a number, or `correct` (true, false), or `gold` and `predicted` (any label)
    model, task, run, sample, cluster, metric, prompt     where they are known

A list under score, correct or predicted holds the runs.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxeval.errors import DataError, argument
from jaxeval.files import Json
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.logs import files, records

ANSWERS = ("score", "correct", "predicted")
_NAMES = ("model", "dataset", "seed", "item", "metric", "cluster")
_ROLES = (*_NAMES, "sample", "prompt", "gold")
_KEYS = {"dataset": "task", "seed": "run"}


def table(path: Path, columns: Mapping[str, str], notes: Counter[str]) -> tuple[Columns, str]:
    """The columns, named by roles; and what `seed` is of a run: its "name", or "place" in a list.

    Only what has a role is read into memory. A line without an answer is left out with a note.
    Raises DataError: naming the line, or a role that is none.
    """
    keys = {role: columns.get(role, _KEYS.get(role, role)) for role in (*_ROLES, *ANSWERS)}
    if wrong := [role for role in columns if role not in keys]:
        expected = ", ".join(_KEYS.get(role, role) for role in keys)
        asked = argument("column", {wrong[0]: columns[wrong[0]]})
        raise DataError(f"{asked}: of logs, expected one of {expected}", path)
    answer, lists, numbers = "", False, list[int]()
    values: dict[str, list[object]] = {role: [] for role in keys}
    for number, line in files.lines(path):
        answer = answer or next((role for role in ANSWERS if keys[role] in line), "")
        if not answer:
            asked = argument("column", {"ROLE": "KEY"})
            said = f"expected a key {', '.join(ANSWERS)} ({asked} names another)"
            raise DataError(f"{said}; its keys are {listed(line) or 'none'}", path, number)
        if keys[answer] not in line:
            notes[f"{path.name}: a line without {keys[answer]} is left out"] += 1
            continue
        found = _line(line, keys, "cluster" in columns, path, number)
        given = found[answer]
        runs: Sequence[Json] = given if isinstance(given, list) else [given]
        if not runs:
            raise DataError(f"{answer}: expected one or more runs, found none", path, number)
        lists = lists or len(runs) > 1
        for place, value in enumerate(runs, 1):
            of: dict[str, Json] = {"seed": str(place)} if len(runs) > 1 else {}
            of[answer] = float(value) if answer == "score" and isinstance(value, bool) else value
            if answer == "predicted":
                of |= _labels(found["gold"], value, path, number)
            for role, cell in (found | of).items():
                values[role].append(cell)
            numbers.append(number)
    golds = ("gold",) if answer == "predicted" else ()
    there = [role for role in _ROLES if any(values[role]) and role != "gold"]
    whole = {role: values[role] for role in (*there, answer, *golds)}
    return Columns(str(path), whole, numbers), "place" if lists else "name"


def _line(
    line: Mapping[str, Json], keys: Mapping[str, str], clustered: bool, path: Path, number: int
) -> dict[str, Json]:
    """The values of a line by role: names as text, "" for none."""
    found = {role: line.get(key) for role, key in keys.items()}
    for role in _NAMES:
        known = found[role] is not None and found[role] != ""
        found[role] = records.label(found[role], keys[role], path, number) if known else ""
    found["item"] = found["item"] or str(number)
    if clustered and not found["cluster"]:
        said = f"item {found['item']}: no {keys['cluster']!r} to cluster it by"
        raise DataError(f"{said}; its keys are {listed(line)}", path, number)
    found["model"] = found["model"] or path.stem
    found["prompt"] = records.digest(found["prompt"]) if found["prompt"] else ""
    return found


def _labels(gold: Json, predicted: Json, path: Path, number: int) -> dict[str, Json]:
    """Both as text: 1, 1.0 and "1" are one label; an object's keys in order."""
    if gold is None:
        raise DataError(
            "predicted without gold; expected both, or correct, or score", path, number
        )
    kinds = {type(value) for value in (gold, predicted)}
    if bool in kinds and kinds & {int, float}:  # what 1 means is not known
        found = f"gold {json.dumps(gold)} and predicted {json.dumps(predicted)}"
        raise DataError(f"{found}; expected both true or false, or both numbers", path, number)
    texts = [of if isinstance(of, str) else json.dumps(_plain(of)) for of in (gold, predicted)]
    return {"gold": texts[0], "predicted": None if predicted is None else texts[1]}


def _plain(value: Json) -> Json:
    """1.0 as 1, and the keys of objects in order."""
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [*map(_plain, value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value
