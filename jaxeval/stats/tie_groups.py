"""Which of several models were not told apart: groups instead of ranks.

A group is a set of models no two of which were shown to differ, to which no other can be added; a
model may be in several (A like B and B like C, though A and C differ), as in compact letter
displays (Piepho 2004). Two models share a group where, and only where, they were not told apart.
There may be exponentially many such sets: those that are given cover all pairs, few by few.
"""

from collections.abc import Collection, Sequence

import numpy as np


def groups(models: Sequence[str], apart: Collection[frozenset[str]]) -> list[tuple[str, ...]]:
    """Groups that hold every pair that was not told apart, those of the first models first.

    Args:
      models: best first.
      apart: pairs of models that were shown to differ.

    Returns:
      Each model is in at least one; none holds another.
    """
    places = {name: rank for rank, name in enumerate(models)}
    alike = ~np.eye(len(models), dtype=bool)
    for pair in apart:
        first, second = (places[name] for name in pair)
        alike[first, second] = alike[second, first] = False
    lacking = alike.copy()  # pairs that no group holds
    found = [[alone] for alone in np.flatnonzero(~alike.any(axis=1)).tolist()]
    for first in range(len(models)):
        while lacking[first].any():
            group = _grown([first, int(np.argmax(lacking[first]))], alike, lacking)
            lacking[np.ix_(group, group)] = False
            found.append(sorted(group))
    return [tuple(models[place] for place in group) for group in sorted(found)]


def _grown(pair: list[int], alike: np.ndarray, lacking: np.ndarray) -> list[int]:
    """A group that holds a pair; next comes who brings most pairs that are lacking [M, M]."""
    group, brings = list(pair), lacking[pair].sum(axis=0)
    candidates = alike[pair].all(axis=0)
    while candidates.any():
        chosen = int(np.argmax(np.where(candidates, brings, -1)))
        group.append(chosen)
        candidates &= alike[chosen]
        brings = brings + lacking[chosen]
    return group
