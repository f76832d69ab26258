"""Corrects p-values for several comparisons, and groups models that were not told apart."""

import functools
import itertools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from jaxeval.stats import Method, Sample

_Compared = tuple[str, str, str]  # a group, such as a data set, and two of its members
_MOST_PARTITIONED = 8  # members of a group whose 4,140 partitions are enumerated
_MOST_LOGICAL = 2000  # pairs


def adjust_p_values(p_values: Sample, method: Method = "holm") -> np.ndarray:
    """Returns adjusted p-values [m] in the given order, to be compared with the level itself.

    "bonferroni" and "holm" (Holm 1979, uniformly better) bound the probability of any false
    rejection, "benjamini_hochberg" (1995) the expected share of false ones. NaN counts as 1 and
    stays NaN.
    """
    unknown = np.isnan(np.asarray(p_values, np.float64))
    values = np.where(unknown, 1.0, p_values)
    order = np.argsort(values, kind="stable")
    count = len(values)
    ordered = values[order]
    rank = np.arange(1, len(values) + 1)
    if method == "bonferroni":
        adjusted = ordered * count
    elif method == "holm":
        adjusted = np.maximum.accumulate(ordered * (count - rank + 1))
    elif method == "benjamini_hochberg":
        adjusted = np.minimum.accumulate((ordered * count / rank)[::-1])[::-1]
    else:
        raise ValueError(f"unknown method of correction: {method!r}")
    result = np.empty(count)
    result[order] = np.minimum(adjusted, 1.0)
    return np.where(unknown, np.nan, result)


def adjust_by_name(
    p_values: Sequence[Mapping[str, float]], method: Method = "holm"
) -> list[dict[str, float]]:
    """Adjusts the p-values of each test (by its name) over all comparisons that have it."""
    adjusted: list[dict[str, float]] = [{} for _ in p_values]
    for name in dict.fromkeys(name for of in p_values for name in of):
        which = [k for k, of in enumerate(p_values) if name in of]
        corrected = adjust_p_values([p_values[k][name] for k in which], method)
        for k, p in zip(which, corrected.tolist(), strict=True):
            adjusted[k][name] = p
    return adjusted


def logical(pairs: Sequence[_Compared]) -> bool:
    """True if some hypotheses follow from others, so that `adjust_equalities` is sharper."""
    groups = _groups(pairs).values() if len(pairs) <= _MOST_LOGICAL else ()
    return any(_true_together(tuple(of.values())) is not None for of in groups)


def adjust_equalities(p_values: Sample, pairs: Sequence[_Compared]) -> np.ndarray:
    """Bergmann & Hommel's procedure (1988): Holm's, sharpened by what equalities imply.

    If A = B and B = C, then A = C: the hypotheses that are true together partition the members of
    each group. p is the largest |I| min p_j over the sets I of such hypotheses that hold the pair,
    each a Bonferroni test (closed testing). Groups of more than eight members, or of which not all
    pairs are compared, count as in Holm's procedure.

    Args:
      p_values: [m], one for each of `pairs` (group and two members).
    """
    known = np.asarray(p_values, np.float64)
    values = np.where(np.isnan(known), 1.0, known)
    bounds = np.unique(values)
    largest = {}
    holding = np.zeros((len(values), len(bounds)), int)
    for name, places in _groups(pairs).items():
        own = values[list(places)]
        sets = _true_together(tuple(places.values()))
        if sets is None:
            largest[name] = np.sum(own[:, None] >= bounds, axis=0)
            holding[list(places)] = np.where(own[:, None] >= bounds, largest[name], 0)
            continue
        least = np.where(sets, own, np.inf).min(axis=1, initial=np.inf)
        largest[name] = _largest(sets.sum(axis=1), least, bounds)
        for column, place in enumerate(places):
            having = sets[:, column]
            holding[place] = _largest(sets.sum(axis=1)[having], least[having], bounds)
    total = np.sum(list(largest.values()), axis=0)
    others = np.array([total - largest[pair[0]] for pair in pairs])
    adjusted = np.where(holding > 0, bounds * (holding + others), 0.0).max(axis=1, initial=0.0)
    return np.where(np.isnan(known), np.nan, np.minimum(adjusted, 1.0))


def _groups(pairs: Sequence[_Compared]) -> dict[str, dict[int, tuple[str, str]]]:
    groups: dict[str, dict[int, tuple[str, str]]] = {}
    for place, (group, a, b) in enumerate(pairs):
        groups.setdefault(group, {})[place] = (a, b)
    return groups


def _true_together(pairs: tuple[tuple[str, str], ...]) -> np.ndarray | None:
    """Sets [sets, pairs] of pairs of a group that can be equal together; None: any set."""
    members = list(dict.fromkeys(itertools.chain.from_iterable(pairs)))
    count = len(members)
    if not 2 < count <= _MOST_PARTITIONED or 2 * len(pairs) != count * (count - 1):
        return None
    block = _partitions(count)
    a, b = ([members.index(pair[side]) for pair in pairs] for side in (0, 1))
    return np.asarray(block[:, a] == block[:, b])


@functools.cache
def _partitions(count: int) -> np.ndarray:
    """The block [partitions, count] of each member."""
    begun: list[tuple[int, ...]] = [(0,)]
    for _ in range(count - 1):
        begun = [(*of, block) for of in begun for block in range(max(of) + 2)]
    return np.array(begun)


def _largest(sizes: np.ndarray, least: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Returns the size [B] of the largest set whose least p-value reaches each bound."""
    order = np.argsort(-least)
    reached = np.maximum.accumulate(np.concatenate([[0], sizes[order]]))
    return np.asarray(reached[np.searchsorted(-least[order], -bounds, "right")])


def tie_groups(models: Sequence[str], apart: Collection[frozenset[str]]) -> list[tuple[str, ...]]:
    """Groups models, best first, so that every pair that was not told apart shares a group.

    Each model is in at least one group, and no group holds another.
    """
    alike = ~np.eye(len(models), dtype=bool)
    for pair in apart:
        first, second = map(models.index, pair)
        alike[first, second] = alike[second, first] = False
    lacking = alike.copy()  # pairs that share no group yet
    found = [[alone] for alone in np.flatnonzero(~alike.any(axis=1)).tolist()]
    for first in range(len(models)):
        while lacking[first].any():
            group = [first, int(np.argmax(lacking[first]))]
            brings, candidates = lacking[group].sum(axis=0), alike[group].all(axis=0)
            while candidates.any():  # add the model with most pairs that share no group yet
                chosen = int(np.argmax(np.where(candidates, brings, -1)))
                group.append(chosen)
                candidates &= alike[chosen]
                brings = brings + lacking[chosen]
            lacking[np.ix_(group, group)] = False
            found.append(sorted(group))
    return [tuple(models[place] for place in group) for group in sorted(found)]


def places(
    means: Mapping[str, float], apart: Collection[tuple[str, str]]
) -> dict[str, tuple[int, int, int, tuple[int, ...]]]:
    """Ranks models, best first: the rank, the ends of its interval and the numbers of tie groups.

    A model's interval of ranks leaves out the places of models shown to be better or worse. After
    Holm's correction all intervals hold at once (Mogstad et al. 2024).

    Args:
      means: of each model; higher is better.
      apart: the pairs (better, worse).
    """
    order = sorted(means, key=lambda model: -means[model])
    tied = tie_groups(order, {*map(frozenset, apart)})
    beaten, won = (Counter(pair[side] for pair in apart) for side in (1, 0))
    found = {}
    for model in order:
        rank = 1 + sum(mean > means[model] for mean in means.values())
        groups = tuple(k for k, group in enumerate(tied, 1) if model in group)
        low = min(rank, 1 + beaten[model])
        high = max(rank, len(means) - won[model])
        found[model] = rank, low, high, groups
    return found
