"""Length buckets: few padded widths, chosen so that compiling and padding together cost least.

Every width is one more compiled branch of the training step, every padded position is work for
nothing. The widths are found exactly, by dynamic programming over the lengths that occur.
"""

from collections.abc import Sequence

import numpy as np

SHAPE_COST = 3000.0  # a compiled width costs about as much as training so many padded positions...
EPOCHS = 10.0  # ... in each of so many epochs


def choose_widths(
    lengths: Sequence[int],
    batch_size: int,
    most: int = 12,
    shape_cost: float = SHAPE_COST,
) -> list[int]:
    """Padded widths, ascending; the last one is the longest length.

    A bucket of n rows and width w costs ceil(n / batch_size) * batch_size * w positions (its last
    batch is padded with empty rows) plus `shape_cost`.

    Args:
      lengths: of the rows, each >= 1.
      batch_size: rows a step.
      most: widths at most.
      shape_cost: of one more width, in positions an epoch.
    """
    values, counts = np.unique(np.asarray(lengths), return_counts=True)
    upto = np.concatenate([[0], np.cumsum(counts)])
    # best[k][j]: least cost of the j shortest lengths in k buckets; cut: where the last one begins
    best = np.full((most + 1, len(values) + 1), np.inf)
    best[0, 0] = 0.0
    cut = np.zeros((most + 1, len(values) + 1), int)
    for k in range(1, most + 1):
        for j in range(1, len(values) + 1):
            steps = -(-(upto[j] - upto[:j]) // batch_size)
            cost = best[k - 1, :j] + steps * batch_size * values[j - 1] + shape_cost
            cut[k, j] = int(np.argmin(cost))
            best[k, j] = cost[cut[k, j]]
    k, j = int(np.argmin(best[:, -1])), len(values)
    widths = []
    while j:
        widths.append(int(values[j - 1]))
        j, k = cut[k, j], k - 1
    return widths[::-1]


def assign(lengths: Sequence[int], widths: Sequence[int]) -> list[np.ndarray]:
    """Row numbers of each bucket: the rows that fit its width and no smaller one, in order."""
    bucket = np.searchsorted(np.asarray(widths), np.asarray(lengths))
    return [np.flatnonzero(bucket == b) for b in range(len(widths))]
