"""Columns of a tidy table that are not read: what they may say against comparing its rows.

A column of data sets or settings under a name of its own would otherwise make several samples one,
without a word. Notation: N rows.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxeval.errors import argument
from jaxeval.runs import checks, names
from jaxeval.runs import layout as layouts
from jaxeval.runs.imported import Columns, listed, pick
from jaxeval.runs.layout import Layout

_MOST_NAMED = 4
_MOST_ROWS = 0.75  # of a table; the rest may be odd ones, as a misspelt value is
_BOOLEANS = {"true", "false", "yes", "no"}


def notes(table: Columns, layout: Layout) -> Iterator[str]:
    """Which columns are not read, and which of them divide the scores of each model."""
    roles = layouts.present(table, layout)
    if not layouts.is_tidy(table, layout):
        return
    read = {*roles.values(), *table.counted}
    columns = [name for name in table.values if name and name not in read]
    if not columns:
        return
    yield f"not read: {listed(columns)}"
    compared = _compared(table, layout)
    asked = [name for name in columns if not (names.is_status(name) or names.is_step(name))]
    shared = any(_is_shared(compared, roles, axis) for axis in ("seed", "split"))
    dividing: list[str] = []
    # a seed numbers the rows of each model: with a data set in between, numbers would be twice
    if "seed" not in roles and not shared:
        cell = _cells(compared, roles)
        dividing = [name for name in asked if _divides(compared, name, cell)]
    if dividing:
        yield _said_of_dividing(compared, dividing)
    if not shared:
        rest = [name for name in asked if name not in dividing]
        apart = [said for name in rest if (said := _apart(compared, name, roles["model"]))]
        if apart:
            yield (
                f"{'; '.join(apart[:_MOST_NAMED])}: if these are data sets or settings, the "
                "difference may be theirs, not that of the models"
            )


def _said_of_dividing(table: Columns, dividing: Sequence[str]) -> str:
    first = argument("column", {"dataset": dividing[0]})
    values = dict.fromkeys(table.texts(dividing[0]))  # in the order of the table
    return (
        f"{listed(dividing, _MOST_NAMED)}: a few values, each of several scores of a model "
        f"({dividing[0]}: {listed(list(values), _MOST_NAMED)}): if these are data sets "
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
    """Whether most rows are of a cell that has several values of a column, in two rows or more.

    Args:
      cell: [N] what is compared within itself, from 0.
    """
    values = _values(table, name, len(cell) / 2)
    if values is None or values.distinct < 2:
        return False
    pairs, rows = np.unique(cell * values.distinct + values.codes, return_counts=True)
    pairs, rows = pairs[rows > 1], rows[rows > 1]
    _, place, several = np.unique(
        pairs // values.distinct, return_inverse=True, return_counts=True
    )
    return bool(rows[several[place] > 1].sum() >= _MOST_ROWS * len(cell))


def _is_shared(table: Columns, roles: Mapping[str, str], axis: str) -> bool:
    """Whether all models have a value of an axis in common, where the table has this axis."""
    if axis not in roles:
        return False
    models, values = _values(table, roles["model"]), _values(table, roles[axis])
    assert models is not None and values is not None
    pairs = np.unique(values.codes * models.distinct + models.codes)
    return bool(np.any(np.bincount(pairs // models.distinct) == models.distinct))


def _by_model(table: Columns, name: str, models: str) -> dict[str, dict[str, None]]:
    """Model -> its texts of a column, in the order of the table, without empty ones."""
    of_model: dict[str, dict[str, None]] = {}
    for model, value in dict.fromkeys(zip(table.texts(models), table.texts(name), strict=True)):
        known = of_model.setdefault(model, {})
        if value.strip().lower() not in checks.MISSING:
            known[value] = None
    return of_model


def _apart(table: Columns, name: str, models: str) -> str:
    """Which texts of a column each model has, where they are few and not the same; "" else."""
    if _values(table, name, len(table) / 2) is None:
        return ""
    of_model = {model: known for model, known in _by_model(table, name, models).items() if known}
    texts = {text for known in of_model.values() for text in known}
    if np.isfinite(checks.floats([*texts])).any() or {t.lower() for t in texts} <= _BOOLEANS:
        return ""
    same = len({frozenset(known) for known in of_model.values()}) == 1
    if same or all([*known] == [model] for model, known in of_model.items()):
        return ""
    shown = [f"{model} has {listed([*known], _MOST_NAMED)}" for model, known in of_model.items()]
    return f"{name}: {listed(shown, _MOST_NAMED)}"
