"""P-values of several comparisons at once, and the groups that they leave."""

import functools
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import get_args

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.results import Sample, floats, sample
from jaxeval.stats.rules import Method

Compared = tuple[str, str, str]  # a group, such as a data set, and two of its members
_MOST_PARTITIONED = 8  # members of a group whose 4,140 partitions are looked at
_MOST_LOGICAL = 2000  # pairs, whose square is held


def adjust_p_values(p_values: Sample, method: Method = "holm") -> np.ndarray:
    """Adjusted p-values [m] in the given order, to be compared with the level itself.

    "bonferroni" and "holm" (Holm 1979, uniformly better) bound the probability of any false
    rejection, "benjamini_hochberg" (1995) the expected share of false ones. NaN (not known) counts
    as 1.
    """
    values = floats(p_values, "p-values: expected numbers")
    unknown = np.isnan(values)
    values = sample(np.where(unknown, 1.0, values), "p-values", at_least=0)
    if np.any((values < 0) | (values > 1)):
        raise DataError("p-values: expected numbers from 0 to 1")
    order = np.argsort(values, kind="stable")
    count, ordered, rank = len(values), values[order], np.arange(1, len(values) + 1)
    if method == "bonferroni":
        adjusted = ordered * count
    elif method == "holm":
        adjusted = np.maximum.accumulate(ordered * (count - rank + 1))
    elif method == "benjamini_hochberg":
        adjusted = np.minimum.accumulate((ordered * count / rank)[::-1])[::-1]
    else:
        raise DataError(f"correction: expected one of {', '.join(get_args(Method))}, not {method}")
    result = np.empty(count)
    result[order] = np.minimum(adjusted, 1.0)
    return np.where(unknown, np.nan, result)


def adjust_by_name(
    p_values: Sequence[Mapping[str, float]], method: Method = "holm"
) -> list[dict[str, float]]:
    """Each test's p-values, by its name, corrected over all comparisons that have it."""
    adjusted: list[dict[str, float]] = [{} for _ in p_values]
    for name in dict.fromkeys(name for of in p_values for name in of):
        which = [k for k, of in enumerate(p_values) if name in of]
        corrected = adjust_p_values([p_values[k][name] for k in which], method)
        for k, p in zip(which, corrected.tolist(), strict=True):
            adjusted[k][name] = p
    return adjusted


def logical(pairs: Sequence[Compared]) -> bool:
    """Whether some hypotheses on pairs follow from others, which `adjust_equalities` uses."""
    groups = _groups(pairs).values() if len(pairs) <= _MOST_LOGICAL else ()
    return any(_true_together(tuple(of.values())) is not None for of in groups)


def adjust_equalities(p_values: Sample, pairs: Sequence[Compared]) -> np.ndarray:
    """Holm's procedure sharpened by what equalities imply (Bergmann & Hommel 1988): family-wise.

    If A = B and B = C, then A = C: only those sets of hypotheses can be true together that
    partition the members of each group. p is the largest |I| min p_j over such sets I that hold
    the pair, each a Bonferroni test (closed testing). Groups of more than eight, and of which not
    all pairs are compared, count as Holm's; so do over 2,000 pairs. p_values [m], one for each of
    `pairs`.
    """
    if not logical(pairs):
        return adjust_p_values(p_values, "holm")
    known = floats(p_values, "p-values: expected numbers")
    values = np.where(np.isnan(known), 1.0, known)
    bounds = np.unique(values)
    largest, holding = {}, np.zeros((len(values), len(bounds)), int)
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


def _groups(pairs: Sequence[Compared]) -> dict[str, dict[int, tuple[str, str]]]:
    """Group -> place of each of its pairs -> members."""
    groups: dict[str, dict[int, tuple[str, str]]] = {}
    for place, (group, a, b) in enumerate(pairs):
        groups.setdefault(group, {})[place] = (a, b)
    return groups


def _true_together(pairs: tuple[tuple[str, str], ...]) -> np.ndarray | None:
    """[sets, pairs] which pairs of a group can be all that are equal; None: any."""
    members = list(dict.fromkeys(itertools.chain.from_iterable(pairs)))
    count = len(members)
    if not 2 < count <= _MOST_PARTITIONED or 2 * len(pairs) != count * (count - 1):
        return None
    block = _partitions(count)
    a, b = ([members.index(pair[side]) for pair in pairs] for side in (0, 1))
    return np.asarray(block[:, a] == block[:, b])


@functools.cache
def _partitions(count: int) -> np.ndarray:
    """[partitions, count] the block of each member."""

    def grown(begun: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(begun) == count:
            yield begun
            return
        for block in range(max(begun) + 2):
            yield from grown((*begun, block))

    return np.array([*grown((0,))])


def _largest(sizes: np.ndarray, least: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """[B] of sets of these sizes whose least p-value reaches each bound, the largest size."""
    order = np.argsort(-least)
    reached = np.maximum.accumulate(np.concatenate([[0], sizes[order]]))
    return np.asarray(reached[np.searchsorted(-least[order], -bounds, "right")])


def tie_groups(models: Sequence[str], apart: Collection[frozenset[str]]) -> list[tuple[str, ...]]:
    """Groups that hold every pair that was not told apart, those of the first models first.

    Of models, best first; each is in at least one group, and no group holds another.
    """
    alike = ~np.eye(len(models), dtype=bool)
    for pair in apart:
        first, second = map(models.index, pair)
        alike[first, second] = alike[second, first] = False
    lacking = alike.copy()  # pairs that no group holds
    found = [[alone] for alone in np.flatnonzero(~alike.any(axis=1)).tolist()]
    for first in range(len(models)):
        while lacking[first].any():
            group = [first, int(np.argmax(lacking[first]))]
            brings, candidates = lacking[group].sum(axis=0), alike[group].all(axis=0)
            while candidates.any():  # next comes who brings most pairs that are lacking
                chosen = int(np.argmax(np.where(candidates, brings, -1)))
                group.append(chosen)
                candidates &= alike[chosen]
                brings = brings + lacking[chosen]
            lacking[np.ix_(group, group)] = False
            found.append(sorted(group))
    return [tuple(models[place] for place in group) for group in sorted(found)]
