"""Our own runs as a score table."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from jaxeval.errors import RunError
from jaxeval.runs import foreign, store, tables
from jaxeval.runs.layout import Layout
from jaxeval.runs.records import MemberRow


def columns(location: str) -> foreign.Columns:
    """One row a member: the columns of `jaxeval.runs export`, its hyperparameters, and `model`.

    A model is an experiment, named by its name, by its id too where two share a name, and by the
    hyperparameters in which its members differ from the config.
    """
    rows = store.load(location)
    place = store.place(location)
    if not rows:
        raise RunError(f"{place}: no member has ended")
    values: dict[str, Sequence[Any]] = {
        name: [getattr(row, name) for row in rows] for name in MemberRow._fields
    }
    ids: dict[str, set[str]] = {}
    for row in rows:
        ids.setdefault(row.name, set()).add(row.experiment)
    changed = [json.loads(row.hparams) for row in rows]
    for name in dict.fromkeys(key for one in changed for key in one):
        values.setdefault(name, [one.get(name, "") for one in changed])
    values["model"] = [_model(row, len(ids[row.name]) > 1) for row in rows]
    if not any(row.split for row in rows):
        del values["split"]  # all members trained on the given split
    return foreign.Columns(place, values, range(1, len(rows) + 1))


def _model(row: MemberRow, ambiguous: bool) -> str:
    name = f"{row.name} ({row.experiment[:8]})" if ambiguous else row.name
    return name if row.hparams == "{}" else f"{name} {row.hparams}"


def score_table(location: str, layout: Layout, rows: int | None = None) -> tables.ScoreTable:
    """The score table of a runs folder or database; its metric says whether higher is better.

    Raises:
      RunError: no member has ended.
      DataError: the experiments chosen have several metrics, or there is no such model.
    """
    found = foreign.head(columns(location), rows)
    named = dataclasses.replace(layout, columns={"score": "test", **layout.columns})
    table = tables.of_columns(found, named)
    higher = dict(zip(found["metric"], found["higher_is_better"], strict=True))
    return tables.directed(table, higher[table.metric])
