"""Which items of several logs are the same.

Items are the same if their ids are, unless two logs mean different things by one id (shuffled or
other data): then equal content makes them the same. What else two logs must agree on, such as the
prompt, is compared after that. Notation: N scores of a data set; -1 where a code is not known.
"""

import numpy as np


def matched(
    ids: np.ndarray, content: np.ndarray, prompt: np.ndarray, model: np.ndarray, run: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """[N] keys, equal where items are the same, and whether logs mean different things by one.

    Args:
      ids, content, prompt, model: [N] codes of the item, of hashes, and of the model.
      run: [N] code of the run of the model.
    """
    models = len(np.unique(model))
    conflicts = several(ids, content)
    unsure = conflicts.any() or not np.any(_distinct(ids, model) == models)
    if not (unsure and np.all(content >= 0)):
        return ids, conflicts | several(ids, prompt)
    # an id that logs use for different items is harmless where each is found by its content
    alone = _distinct(content, model) < models
    copies = several(pairs(run, content), ids)
    return content, (conflicts & alone) | copies | several(content, prompt)


def several(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """[N] whether a row's key has several known values."""
    known = values >= 0
    first = np.unique(pairs(keys[known], values[known]), return_index=True)[1]
    of_key, counts = np.unique(keys[known][first], return_counts=True)
    return np.isin(keys, of_key[counts > 1])


def _distinct(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """[N] how many values a row's key has."""
    first = np.unique(pairs(keys, values), return_index=True)[1]
    of_key, counts = np.unique(keys[first], return_counts=True)
    return np.asarray(counts[np.searchsorted(of_key, keys)])


def pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """[N] a number of each distinct pair of whole numbers from 0."""
    return first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second


def first(keys: np.ndarray) -> np.ndarray:
    """[N] the first place of each key."""
    _, places, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(places[inverse])


def apart(present: np.ndarray) -> bool:
    """Whether one of several runs, [I, R] by item, has no item in common with any other."""
    answers = present[:, present.any(0)].astype(np.float64)
    shared = answers.T @ answers
    np.fill_diagonal(shared, 0)
    return len(shared) > 1 and not bool(shared.any(0).all())
