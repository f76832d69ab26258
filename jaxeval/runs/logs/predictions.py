"""Predictions or scores of items in JSON lines: a line is an item, or an item of a run.

Keys by role (`--column ROLE=KEY` names others):

    item        what identifies it; without it the line's number
    score       a number, or `correct` (true, false), or `gold` and `predicted` (any label)
    model, task, run, sample, cluster, metric, prompt     where they are known

A list under score, correct or predicted holds the runs.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from jaxeval.errors import DataError, argument
from jaxeval.files import Json
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs import files, records
from jaxeval.runs.logs.records import Notes, Record, Source
from jaxeval.runs.scores import Status

ANSWERS = ("score", "correct", "predicted")
ROLES = (*ANSWERS, "item", "gold", "model", "task", "run", "sample", "cluster", "metric", "prompt")


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
        if value is None or (isinstance(value, str) and value):
            return otherwise if value is None else value
        return records.label(value, self.columns.get(role, role), self.source, self.number)

    def error(self, message: str) -> DataError:
        """What is wrong in it."""
        return DataError(message, self.source.path, self.number)


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
    for number, tree in files.lines(source.path):
        line = _Line(source, layout.columns, number, tree)
        role = next((role for role in ANSWERS if layout.columns.get(role, role) in tree), None)
        if role is not None:
            any_answer = True
            yield from _answers(line, role, layout)
        elif any_answer:  # such as what a program writes of all items together
            notes[f"{source.path.name}: a line without {', '.join(ANSWERS)} is left out"] += 1
        else:
            named = argument("column", {"ROLE": "KEY"})
            raise line.error(
                f"expected a key {', '.join(ANSWERS)} ({named} names another); its keys are "
                f"{', '.join([*tree][:12]) or 'none'}"
            )


def _answers(line: _Line, role: str, layout: Layout) -> Iterator[Record]:
    """A record a run."""
    gold, value = line.get("gold"), line.get(role)
    if role == "predicted" and gold is None:
        raise line.error("predicted without gold; expected both, or correct, or score")
    runs = value if isinstance(value, list) else [value]
    if not runs:
        raise line.error(f"{role}: expected one or more runs, found an empty list")
    cluster = line.text("cluster", "")
    item = line.text("item", str(line.number))
    if layout.cluster:
        cluster = records.cluster_of(line.tree, layout, line.source, item, line.number)
    prompt = [records.digest(line.get("prompt"))] if line.get("prompt") else []
    if role == "predicted":  # gold is part of what two logs must agree on
        prompt.append(_as_text(gold))
    metric = line.columns.get("score", "score") if role == "score" else "accuracy"
    base = Record(
        line.text("model", line.source.path.stem),
        line.text("task", ""),
        line.text("metric", metric),
        item,
        math.nan,
        sample=records.sample(line.get("sample"), line.source, line.number),
        cluster=cluster,
        prompt=" ".join(prompt),
        unplaced=line.get("model") is not None and line.get("task") is line.get("run") is None,
    )
    if line.get("run") is not None and len(runs) == 1:
        run = line.text("run", "")
        base = base._replace(run=run, run_id=run, name=run)
    elif len(runs) > 1:
        for k, answer in enumerate(runs, 1):
            yield _scored(line, base._replace(run=str(k)), role, gold, answer)
        return
    yield _scored(line, base, role, gold, runs[0])


def _scored(line: _Line, base: Record, role: str, gold: Json, answer: Json) -> Record:
    if answer is None:  # why is not known
        return base._replace(status=Status.UNSCORED)
    if role == "predicted":
        kinds = {type(value) for value in (gold, answer)}
        if bool in kinds and kinds & {int, float}:  # what 1 means is not known
            found = f"gold {json.dumps(gold)} and predicted {json.dumps(answer)}"
            raise line.error(f"{found}; expected both as true or false, or both as numbers")
        right = answer == gold or _as_text(answer) == _as_text(gold)
        return base._replace(score=float(right))
    score = records.number(answer)
    if score is None or (role == "correct" and score not in (0.0, 1.0)):
        expected = "a number" if role == "score" else "true or false"
        raise line.error(f"{role}: expected {expected}, found {str(answer)[:40]!r}")
    return base._replace(score=score)


def _as_text(value: Json) -> str:
    """A label as text: 1, 1.0 and "1" are one; an object's keys in order."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)
