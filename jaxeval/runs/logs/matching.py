"""Which items of logs are the same.

Items of a task are the same if their ids are, unless two logs mean different things by one id
(shuffled or other data): then equal content makes them the same. What else two logs must agree on,
such as the prompt, is compared after that. Notation: N scores of a task.
"""

from typing import NamedTuple

import numpy as np


class Matched(NamedTuple):
    """Items by key.

    Attributes:
      keys: [N] equal where items are the same.
      wrong: [N] whether logs mean different things by an item.
    """

    keys: np.ndarray
    wrong: np.ndarray


def matched(
    ids: np.ndarray, content: np.ndarray, prompt: np.ndarray, model: np.ndarray, log: np.ndarray
) -> Matched:
    """Keys of items, by what is known of each score: whole numbers from 0, -1 unknown.

    Args:
      ids, content, prompt, model: [N] of its item and model.
      log: [N] in which run of which model it is.
    """
    models = len(np.unique(model))
    conflicts = several(ids, content)
    unsure = conflicts.any() or not np.any(_distinct(ids, model) == models)
    if not (unsure and np.all(content >= 0)):
        return Matched(ids, conflicts | several(ids, prompt))
    # an id that logs use for different items is harmless where each is found by its content
    alone = _distinct(content, model) < models
    copies = several(_pairs(log, content), ids)
    return Matched(content, (conflicts & alone) | copies | several(content, prompt))


def several(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """[N] whether a row's key has several known values (those from 0)."""
    known = values >= 0
    pairs = np.unique(_pairs(keys[known], values[known]), return_index=True)[1]
    of_key, counts = np.unique(keys[known][pairs], return_counts=True)
    return np.isin(keys, of_key[counts > 1])


def _distinct(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """[N] how many values a row's key has."""
    pairs = np.unique(_pairs(keys, values), return_index=True)[1]
    of_key, counts = np.unique(keys[pairs], return_counts=True)
    return np.asarray(counts[np.searchsorted(of_key, keys)])


def _pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """[N] a number of each distinct pair of whole numbers from 0."""
    return first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second
