"""Clusters of items, as logs name them."""

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs.logs import matching
from jaxeval.runs.logs.tables import LogTable


def of_items(table: LogTable, rows: np.ndarray, item: np.ndarray, head: str) -> np.ndarray | None:
    """[I] the cluster of each item; None where no log has one.

    Args:
      rows: [N] of a task's scores in the table.
      item: [N] numbers of their items, from 0 to I - 1.
      head: of messages.

    Raises:
      DataError: an item in two clusters; one without, beside others.
    """
    codes, names = table.cluster[rows], table.names["cluster"]
    if not any(names[code] for code in {*codes.tolist()}):
        return None
    unnamed = names.index("") if "" in names else -1
    known = codes != unnamed  # a log without labels says nothing against one that has them
    torn = matching.several(item, np.where(known, codes, -1)) & known
    if torn.any():
        said = _in_two(table, rows[item == item[np.argmax(torn)]], unnamed)
        raise DataError(f"{head}{said}")
    of_item = np.full(int(item.max()) + 1, -1)
    of_item[item[known]] = codes[known]
    if (alone := of_item[item] < 0).any():
        name = _name(table, "item", int(rows[np.argmax(alone)]))
        raise DataError(f"{head}item {name} is in no cluster; expected all to be, or none")
    return np.array(names, object)[of_item]


def _in_two(table: LogTable, rows: np.ndarray, unnamed: int) -> str:
    """An item's clusters, the first two, and whose logs say so.

    Args:
      rows: of the item's scores.
    """
    rows = rows[table.cluster[rows] != unnamed]
    other = rows[table.cluster[rows] != table.cluster[rows[0]]][0]
    said = " and ".join(
        f"{_name(table, 'cluster', row)} ({_name(table, 'model', row)})"
        for row in (int(rows[0]), int(other))
    )
    item = _name(table, "item", int(other))
    return f"item {item} is in two clusters, {said}; expected one label in all logs"


def _name(table: LogTable, what: str, row: int) -> str:
    return f"{table.names[what][int(getattr(table, what)[row])]:.60}"
