"""The metrics of Wiemerslage et al. (2024), in percent or percentage points."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.sensitivity.conventions import Convention
from jaxeval.sensitivity.hyperparameters import Axis


class Profile(NamedTuple):
    """How scores go with a hyperparameter; None where it has no order or too few values.

    Attributes:
      rho: Spearman between the distance from the best run and the loss against it.
      maxima: scores higher than both neighbours, along the values; of all hyperparameters a mean
        over profiles where several runs are best, as are mean_change and points.
      mean_change: mean absolute change of score from one value to the next, in points.
      n: runs in which the hyperparameter has an effect.
      points: of the profile: runs, or distinct values where ties are averaged.
    """

    rho: float | None
    maxima: float | None
    mean_change: float | None
    n: int
    points: float = 0


def rel_at_k(falling: np.ndarray, k: int, how: Convention) -> np.ndarray:
    """The k-th best score in percent of the best. falling: [..., n] sorted, best first."""
    return _percent(falling[..., k - 1 + how.kth], falling[..., 0])


def mean_at_k(falling: np.ndarray, k: int, how: Convention) -> np.ndarray:
    """Mean of k top scores in percent of the best. falling: [..., n] sorted, best first."""
    first = 0 if how.best_in_mean else 1
    return _percent(falling[..., first : first + k].mean(axis=-1), falling[..., 0])


def largest_k(n: int, how: Convention) -> int:
    """The largest k that n runs have, for both metrics."""
    return n - max(how.kth, 0 if how.best_in_mean else 1)


def _percent(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    safe = np.where(whole > 0, whole, 1.0)
    return np.where(whole > 0, 100 * part / safe, 0.0)


def best_equivalent(scores: np.ndarray, rope: float, how: Convention) -> np.ndarray:
    """Share of runs within the ROPE of the best. scores: [..., n]."""
    n = scores.shape[-1]
    near = np.sum(within(scores.max(axis=-1, keepdims=True), scores, rope, how), axis=-1)
    return 100 * (near - (not how.best_counts)) / (n - how.of_others)


def expected_equivalent(
    scores: np.ndarray, rope: float, how: Convention, weights: np.ndarray | None = None
) -> np.ndarray:
    """Share of all other runs that are within the ROPE of a run, averaged over runs.

    Args:
      scores: [n].
      weights: [R, n] how often each run was drawn; a run is never paired with itself.
    """
    order = np.argsort(scores, kind="stable")
    ordered = _rounded(scores, how)[order]
    reach = rope + (0.0 if how.decimals is None else _SLACK)
    drawn = np.ones((1, len(scores))) if weights is None else weights[:, order]
    upto = np.concatenate([np.zeros((len(drawn), 1)), np.cumsum(drawn, axis=1)], axis=1)
    # differences are compared, as `within` does: score + reach would round another way
    high = np.array([np.searchsorted(ordered - score, reach, "right") for score in ordered])
    low = np.searchsorted(high, np.arange(len(ordered)), "right")
    near = upto[:, high] - upto[:, low] - drawn
    total = drawn.sum(axis=1)
    pairs = total**2 - np.sum(drawn**2, axis=1) if how.of_others else total**2
    share = np.full(len(pairs), np.nan)  # a draw of one run alone has no pair
    np.divide(np.sum(drawn * near, axis=1), pairs, out=share, where=pairs > 0)
    percent = 100 * share
    return percent if weights is not None else percent[0]


_DECIMALS = 12  # of distances
_SLACK = 1e-9  # rounded decimals differ from their difference by less


def _rounded(scores: np.ndarray, how: Convention) -> np.ndarray:
    return scores if how.decimals is None else np.round(scores, how.decimals)


def within(a: np.ndarray, b: np.ndarray, rope: float, how: Convention) -> np.ndarray:
    """|a - b| <= rope, on rounded scores where the convention says so."""
    gap = np.abs(_rounded(a, how) - _rounded(b, how))
    return gap <= rope + (0.0 if how.decimals is None else _SLACK)


def of_axis(scores: np.ndarray, axis: Axis, how: Convention) -> Profile:
    """One hyperparameter alone, over the runs in which it has an effect (published: all)."""
    used = used_runs(axis, how)
    chosen, rank, n = scores[used], axis.rank[used], int(used.sum())
    if n < 3 or len(np.unique(rank)) < 2:
        return Profile(None, None, None, n)
    rho = rho_of_axis(chosen, rank, axis.ordered)
    if not axis.ordered and how.name == "default":
        return Profile(rho, None, None, n)
    return Profile(rho, *profile(chosen, rank, how, n))


def used_runs(axis: Axis, how: Convention) -> np.ndarray:
    """[n] bool: the runs that say something of a hyperparameter."""
    return np.ones_like(axis.active) if how.ties == "falling" else axis.active


def of_all(scores: np.ndarray, all_axes: Sequence[Axis], how: Convention) -> Profile:
    """All hyperparameters together. scores: [n]."""
    n = len(scores)
    if n < 3 or not all_axes:
        return Profile(None, None, None, n)
    rho = rho_of_all(scores, all_axes, how)
    return Profile(rho, *profile_of_all(scores, all_axes, how))


def places(scores: np.ndarray, all_axes: Sequence[Axis], how: Convention) -> np.ndarray:
    """[n] what orders the runs when all hyperparameters are taken together.

    Distances are from the best run, or the first of several.
    """
    if how.path == "average rank":
        return np.asarray(np.mean([axis.rank for axis in all_axes], axis=0))
    return gower(all_axes, np.array([np.argmax(scores)]))[0]


def profile_of_all(
    scores: np.ndarray, all_axes: Sequence[Axis], how: Convention
) -> tuple[float, float, int, float]:
    """As `profile`, over all axes; averaged over profiles from each run where several are best.

    Distances averaged before would make one point of runs that lie between two best ones.
    """
    n = len(scores)
    if how.path == "average rank":
        return profile(scores, places(scores, all_axes, how), how, n)
    best, times = _best_settings(scores, all_axes)
    parts = [profile(scores, distance, how, n) for distance in gower(all_axes, best)]
    maxima, change, _, points = np.average(parts, axis=0, weights=times).tolist()
    return maxima, change, n, points


def rho_of_all(scores: np.ndarray, all_axes: Sequence[Axis], how: Convention) -> float | None:
    """Spearman between loss and distance from the best of n runs, over all axes.

    As of one axis averaged where several are best.
    """
    if np.ptp(scores) == 0:  # all are best
        return None
    best, times = _best_settings(scores, all_axes)
    if how.path == "average rank":
        place = places(scores, all_axes, how)
        distance = np.abs(place - place[best, None])
    else:
        distance = gower(all_axes, best)
    return _spearman(distance, times, scores)


def _best_settings(scores: np.ndarray, all_axes: Sequence[Axis]) -> tuple[np.ndarray, np.ndarray]:
    """[T] runs, one of each setting of the best ones, and how many of these have it."""
    best = np.flatnonzero(scores == scores.max())
    settings = np.stack([axis.rank[best] for axis in all_axes])
    _, first, times = np.unique(settings, axis=1, return_index=True, return_counts=True)
    return best[first], times


def gower(all_axes: Sequence[Axis], best: np.ndarray) -> np.ndarray:
    """[T, n] mean distances from T runs over the hyperparameters that have an effect in both.

    Ordered ones by their ranks from 0 to 1, others 0 or 1 (Gower 1971). Rounded, since sums in
    another order of the hyperparameters would make equal distances differ.
    """
    shape = len(best), len(all_axes[0].rank)
    total, counted = np.zeros(shape), np.zeros(shape)
    for axis in all_axes:
        both, position = axis.active & axis.active[best, None], axis.position
        gap = np.abs(position - position[best, None])
        total += np.where(both, gap if axis.ordered else gap > 0, 0.0)
        counted += both
    distance: np.ndarray = np.round(total / np.maximum(counted, 1), _DECIMALS)
    return distance


def rho_of_axis(scores: np.ndarray, rank: np.ndarray, ordered: bool) -> float | None:
    """Spearman between loss and distance from the best run, averaged where several are best."""
    best, times = np.unique(rank[scores == scores.max()], return_counts=True)
    gap = np.abs(rank[None] - best[:, None])
    return _spearman(gap if ordered else (gap > 0).astype(int), times, scores)


def _spearman(distance: np.ndarray, weights: np.ndarray, scores: np.ndarray) -> float | None:
    """Weighted mean over rows of distance [T, n]; None where nothing varies."""
    from scipy import stats

    varies = np.ptp(distance, axis=1) > 0
    if not varies.any() or np.ptp(scores) == 0:
        return None
    x = stats.rankdata(distance[varies], axis=1)
    y = stats.rankdata(-scores)
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean()
    rho = x @ y / np.sqrt(np.sum(x**2, axis=1) * np.sum(y**2))
    return float(np.average(rho, weights=weights[varies]))


def profile(
    scores: np.ndarray, positions: np.ndarray, how: Convention, n: int
) -> tuple[int, float, int, int]:
    """Maxima, mean absolute change in points, n and points, of scores along their positions."""
    if how.ties == "averaged":
        _, where = np.unique(positions, return_inverse=True)
        line = np.bincount(where, scores) / np.bincount(where)
    else:
        line = scores[np.lexsort((-scores, -positions))]
    inner = line[1:-1]
    maxima = int(np.sum((line[:-2] < inner) & (inner > line[2:])))
    steps = len(line) - 1 if how.steps == "n-1" else len(line)
    change = 100 * np.sum(np.abs(np.diff(line))) / max(1, steps)
    return maxima, float(change), n, len(line)
