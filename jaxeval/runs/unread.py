"""Columns of a tidy table that are not read: what they may say against comparing its rows.

A column of data sets or settings under a name of its own would otherwise make several samples one,
without a word.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

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
    cells = [compared.texts(roles[role]) for role in ("model", "dataset") if role in roles]
    dividing = [name for name in columns if _divides(compared.texts(name), cells)]
    if dividing:
        first = argument("column", {"dataset": dividing[0]})
        values = dict.fromkeys(compared.texts(dividing[0]))
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


def _divides(values: Sequence[str], cells: Sequence[Sequence[str]]) -> bool:
    """Whether a cell has several values, and each occurs in it again: so in every cell."""
    if 2 * len(set(values)) > len(values):
        return False
    counts = Counter(zip(zip(*cells, strict=True), values, strict=True))
    kinds = Counter(cell for cell, _ in counts)
    return min(kinds.values()) > 1 and min(counts.values()) > 1
