"""Runs as a balanced table of splits and seeds; what is incomplete is left out whole, and said."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError

_FEWEST = 2  # splits, and seeds


class Table(NamedTuple):
    """A balanced table.

    Attributes:
      scores: [S, R, n]
      dropped: a line for each split and seed that was left out.
    """

    scores: np.ndarray
    splits: tuple[Hashable, ...]
    seeds: tuple[Hashable, ...]
    dropped: tuple[str, ...]


def table(
    splits: Sequence[Hashable], seeds: Sequence[Hashable], scores: Sequence[float | None]
) -> Table:
    """Runs in any order as a balanced table.

    While a cell has fewer scores than the fullest, the split or seed with the largest share of
    such cells is left out; of equals a seed, which is cheaper to replace. A run may have failed
    because of its split or seed: the table then says nothing of those, which is why it is said.

    Args:
      splits, seeds, scores: of each run; None: it has no score.

    Raises:
      DataError: fewer than two splits or two seeds are left.
    """
    rows, columns = list(dict.fromkeys(splits)), list(dict.fromkeys(seeds))
    cells: dict[tuple[Hashable, Hashable], list[float]] = {}
    for split, seed, score in zip(splits, seeds, scores, strict=True):
        cells.setdefault((split, seed), []).extend([] if score is None else [score])
    count = max(map(len, cells.values()), default=0)
    lacking = np.array(
        [[len(cells.get((row, column), ())) < max(1, count) for column in columns] for row in rows]
    ).reshape(len(rows), len(columns))
    keep_rows, keep_columns, dropped = _complete(lacking, rows, columns)
    if min(len(keep_rows), len(keep_columns)) < _FEWEST:
        _refuse_without_scores(scores)
        raise DataError(
            "crossed design: expected every seed on every split, 2 or more of both; found "
            f"{len(scores)} runs of {len(rows)} splits and {len(columns)} seeds, which have not "
            "2 x 2 in common"
        )
    kept = [[cells[rows[row], columns[column]] for column in keep_columns] for row in keep_rows]
    return Table(
        np.array(kept, np.float64),
        tuple(rows[k] for k in keep_rows),
        tuple(columns[k] for k in keep_columns),
        tuple(dropped),
    )


def _refuse_without_scores(scores: Sequence[float | None]) -> None:
    """Raises DataError where scores are what a design lacks, not runs."""
    lost = sum(score is None for score in scores)
    if lost:
        raise DataError(
            f"crossed design: {lost} of {len(scores)} runs ended without a score; the others are "
            "not every seed on every split, 2 or more of both"
        )


def _complete(
    lacking: np.ndarray, rows: Sequence[Hashable], columns: Sequence[Hashable]
) -> tuple[list[int], list[int], list[str]]:
    """The numbers of rows and columns without a lacking cell, and what was left out."""
    keep: tuple[list[int], list[int]] = list(range(len(rows))), list(range(len(columns)))
    dropped = []
    while (cells := lacking[np.ix_(*keep)]).any():
        shares = cells.mean(1), cells.mean(0)
        axis = int(shares[1].max() >= shares[0].max())
        worst = int(shares[axis].argmax())
        label = (rows, columns)[axis][keep[axis].pop(worst)]
        count = round(shares[axis][worst] * cells.shape[1 - axis])
        dropped.append(
            f"{('split', 'seed')[axis]} {label} is left out: no score of {count} of its "
            f"{cells.shape[1 - axis]} cells"
        )
    return *keep, dropped
