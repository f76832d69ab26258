"""Columns of a tidy table that are not read: what they may say against comparing its rows.

A column of data sets or settings under a name of its own would otherwise make several samples one,
without a word. Notation: N rows.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxeval.errors import argument
from jaxeval.runs import layout as layouts
from jaxeval.runs.imported import Columns, listed, pick
from jaxeval.runs.layout import Layout

_MOST_NAMED = 4


def notes(table: Columns, layout: Layout) -> Iterator[str]:
    """Which columns are not read, and which of them divide the scores of each model."""
    roles = layouts.present(table, layout)
    if not layouts.is_tidy(table, layout):
        return
    columns = [name for name in table.values if name and name not in roles.values()]
    if not columns:
        return
    yield f"not read: {listed(columns)}"
    compared = _compared(table, layout)
    cell = _cells(compared, roles)
    dividing = [name for name in columns if _divides(compared, name, cell)]
    if dividing:
        first = argument("column", {"dataset": dividing[0]})
        values = dict.fromkeys(compared.texts(dividing[0]))  # in the order of the table
        yield (
            f"{listed(dividing, _MOST_NAMED)}: a few values, each of several scores of every "
            f"model ({dividing[0]}: {listed(list(values), _MOST_NAMED)}): if these are data sets "
            f"or settings, the scores are not one sample; {first} (or split, seed), a model for "
            "each setting, or a table of one of them"
        )


def _compared(table: Columns, layout: Layout) -> Columns:
    """The rows of the models and of the metric that are compared."""
    roles = layouts.present(table, layout)
    keep: Sequence[int] = range(len(table))
    for role, wanted in (("model", set(layout.models)), ("metric", {layout.metric} - {None})):
        if wanted and role in roles:
            texts = table.texts(roles[role])
            keep = [k for k in keep if texts[k] in wanted]
    return table if len(keep) == len(table) else pick(table, keep)


class _Values(NamedTuple):
    """A column as numbers: [N] codes from 0, equal where its values are, and how many differ."""

    codes: np.ndarray
    distinct: int


def _values(table: Columns, name: str, most: float = math.inf) -> _Values | None:
    """The values of a column; None: more than so many differ."""
    column: Sequence[Any] = table[name]
    try:
        distinct = set(column)
    except TypeError:  # lists, as JSON may have them
        column = table.texts(name)
        distinct = set(column)
    if len(distinct) > most:
        return None
    places = {value: k for k, value in enumerate(distinct)}
    codes = np.fromiter(map(places.__getitem__, column), np.int64, len(column))
    return _Values(codes, len(distinct))


def _cells(table: Columns, roles: Mapping[str, str]) -> np.ndarray:
    """[N] the model, on its data set, that a row is of."""
    models = _values(table, roles["model"])
    datasets = _values(table, roles["dataset"]) if "dataset" in roles else None
    assert models is not None
    if datasets is None:
        return models.codes
    return np.unique(models.codes * datasets.distinct + datasets.codes, return_inverse=True)[1]


def _divides(table: Columns, name: str, cell: np.ndarray) -> bool:
    """Whether every cell has several values of a column, each of them in two rows or more.

    Args:
      cell: [N] what is compared within itself, from 0.
    """
    values = _values(table, name, len(cell) / 2)
    if values is None or values.distinct < 2:
        return False
    pairs, rows = np.unique(cell * values.distinct + values.codes, return_counts=True)
    _, of_cell = np.unique(pairs // values.distinct, return_counts=True)
    return bool(rows.min() > 1 and of_cell.min() > 1)
