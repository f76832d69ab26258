"""Which items of several logs are the same, and to which clusters they belong.

Items are the same if their ids are, unless two logs mean different things by one id (shuffled or
other data): then equal content makes them the same. What else two logs must agree on, such as the
prompt, is compared after that. Notation: N scores of a data set; -1 where a code is not known.
"""

from collections.abc import Callable

import numpy as np

from jaxeval.errors import DataError


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


def clusters(
    item: np.ndarray, codes: np.ndarray, named: Callable[[str, int], str], head: str
) -> np.ndarray | None:
    """[I] the cluster of each item, by code; None where no log has one.

    Args:
      item: [N] from 0 to I - 1.
      codes: [N] clusters; a log without labels says nothing against one that has them.
      named: kind and place of a row -> its name in a message.
      head: of messages.

    Raises:
      DataError: an item in two clusters; one without, beside others.
    """
    known = codes >= 0
    if not known.any():
        return None
    torn = np.flatnonzero(several(item, codes) & known)
    if len(torn):
        of_item = np.flatnonzero((item == item[torn[0]]) & known)
        other = of_item[codes[of_item] != codes[of_item[0]]][0]
        said = " and ".join(
            f"{named('cluster', k)} ({named('model', k)})" for k in (int(of_item[0]), int(other))
        )
        found = f"{head}item {named('item', int(other))} is in two clusters, {said}"
        raise DataError(f"{found}; expected one label in all logs")
    of_item = np.full(int(item.max()) + 1, -1)
    of_item[item[known]] = codes[known]
    alone = np.flatnonzero(of_item[item] < 0)
    if len(alone):
        name = named("item", int(alone[0]))
        raise DataError(f"{head}item {name} is in no cluster; expected all to be, or none")
    return of_item


def apart(present: np.ndarray) -> bool:
    """Whether one of several runs, [I, R] by item, has no item in common with any other."""
    answers = present[:, present.any(0)].astype(np.float64)
    shared = answers.T @ answers
    np.fill_diagonal(shared, 0)
    return len(shared) > 1 and not bool(shared.any(0).all())
