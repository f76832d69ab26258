"""The metrics of Wiemerslage et al. (2024), in percent or percentage points.

Notation: scores [n], one a run; rows [R, n] numbers of runs, as a bootstrap draws them; an Axis is
a hyperparameter over all runs. A metric goes by its path, such as "rel_at_k.25" or
"by_hyperparameter.batch_size.rho".
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from jaxeval.sensitivity.hyperparameters import Axis

KS = (25, 50, 100, 150)  # of the k-th best score
ALL = "all_hyperparameters"
_DECIMALS = 6  # of scores: those stored in single precision lie a hair off their decimal
_SLACK = 1e-9  # rounded decimals differ from their difference by less
_OF_DISTANCES = 12  # decimals


def of_scores(
    scores: np.ndarray, rows: np.ndarray, rope: float, ks: Sequence[int] = KS
) -> dict[str, np.ndarray]:
    """Metrics of the scores of drawn runs: path -> [R].

    `rel_at_k`: the k-th best in percent of the best; `mean_at_k`: the mean of the k best;
    `best_equivalent`: how many other runs are within the ROPE of the best; `expected_equivalent`:
    of a run drawn at random.
    """
    drawn = scores[rows]
    falling = -np.sort(-drawn, axis=1)
    best, n = falling[:, 0], drawn.shape[1]
    counts = np.stack([np.bincount(row, minlength=len(scores)) for row in rows])
    equal = np.sum(_near(best[:, None], drawn, rope), axis=1)

    def of_best(part: np.ndarray) -> np.ndarray:
        return np.where(best > 0, 100 * part / np.where(best > 0, best, 1.0), 0.0)

    return {
        "mean": 100 * drawn.mean(axis=1),
        "best_equivalent": 100 * (equal - 1) / (n - 1),
        "expected_equivalent": _expected_equivalent(scores, counts.astype(float), rope),
        **{f"rel_at_k.{k}": of_best(falling[:, k - 1]) for k in ks if k <= n},
        **{f"mean_at_k.{k}": of_best(falling[:, :k].mean(axis=1)) for k in ks if k <= n},
    }


def _near(a: np.ndarray, b: np.ndarray, rope: float) -> np.ndarray:
    """|a - b| <= rope, of scores rounded to their decimals."""
    gap = np.abs(np.round(a, _DECIMALS) - np.round(b, _DECIMALS))
    return np.asarray(gap <= rope + _SLACK)


def near_best(scores: np.ndarray, margin: float, higher_is_better: bool = True) -> np.ndarray:
    """[n] bool: which scores are within a margin of the best of them, itself included."""
    best = scores.max(initial=-np.inf) if higher_is_better else scores.min(initial=np.inf)
    return _near(best, scores, margin)


def _expected_equivalent(scores: np.ndarray, counts: np.ndarray, rope: float) -> np.ndarray:
    """[R] share of runs within the ROPE of another, none its own copy; counts [R, n]."""
    order = np.argsort(scores, kind="stable")
    ordered, drawn = np.round(scores, _DECIMALS)[order], counts[:, order]
    upto = np.concatenate([np.zeros((len(drawn), 1)), np.cumsum(drawn, axis=1)], axis=1)
    # differences are compared, as `_near` does: score + rope would round another way
    high = np.array([np.searchsorted(ordered - s, rope + _SLACK, "right") for s in ordered])
    low = np.searchsorted(high, np.arange(len(ordered)), "right")
    near_each = upto[:, high] - upto[:, low] - drawn
    pairs = drawn.sum(axis=1) ** 2 - np.sum(drawn**2, axis=1)
    share = np.full(len(pairs), np.nan)  # a draw of one run alone has no pair
    np.divide(np.sum(drawn * near_each, axis=1), pairs, out=share, where=pairs > 0)
    return 100 * share


def _paths(
    scores: np.ndarray, axes: Sequence[Axis]
) -> Iterator[tuple[str, np.ndarray, Sequence[Axis]]]:
    """Path, scores and hyperparameters: all together, and each alone in the runs where it acts."""
    if axes:
        yield ALL, scores, axes
    for axis in axes:
        if axis.active.any():
            own = [axis.of_rows(axis.active)]
            yield f"by_hyperparameter.{axis.name}", scores[axis.active], own


def rhos(scores: np.ndarray, axes: Sequence[Axis]) -> dict[str, float]:
    """Path -> Spearman's, of Gower's distance from the best run with the loss against it.

    The mean over the best runs where several are; absent where nothing varies.
    """
    from scipy import stats

    found = {}
    for path, own, of in _paths(scores, axes):
        best, times = _best_settings(own, of)
        distance = gower(of, best)
        varies = np.ptp(distance, axis=1) > 0
        if varies.any() and np.ptp(own) > 0:
            x, y = stats.rankdata(distance[varies], axis=1), stats.rankdata(-own)
            x, y = x - x.mean(axis=1, keepdims=True), y - y.mean()
            each = x @ y / np.sqrt(np.sum(x**2, axis=1) * np.sum(y**2))
            found[path] = float(np.average(each, weights=times[varies]))
    return found


def _best_settings(scores: np.ndarray, axes: Sequence[Axis]) -> tuple[np.ndarray, np.ndarray]:
    """[T] runs, one of each setting of the best ones, and how many of these have it."""
    best = np.flatnonzero(scores == scores.max())
    settings = np.stack([axis.rank[best] for axis in axes])
    _, first, times = np.unique(settings, axis=1, return_index=True, return_counts=True)
    return best[first], times


def gower(axes: Sequence[Axis], best: np.ndarray) -> np.ndarray:
    """[T, n] mean distances from T runs over the hyperparameters that have an effect in both.

    Ordered ones by their ranks from 0 to 1, others 0 or 1 (Gower 1971). Rounded, since sums in
    another order of the hyperparameters would make equal distances differ.
    """
    total, counted = np.zeros((2, len(best), len(axes[0].rank)))
    for axis in axes:
        position = (axis.rank - 1) / max(1, int(axis.rank.max()) - 1)
        both, gap = axis.active & axis.active[best, None], np.abs(position - position[best, None])
        total += np.where(both, gap if axis.ordered else gap > 0, 0.0)
        counted += both
    return np.asarray(np.round(total / np.maximum(counted, 1), _OF_DISTANCES))


def profiles(scores: np.ndarray, axes: Sequence[Axis]) -> dict[str, tuple[float, float, float]]:
    """Path -> maxima, mean absolute change in points, and points, of scores along what is ordered.

    Runs of equal value are one point, their mean. Along all hyperparameters the order is the
    distance from the best run, the mean over profiles where several are best: distances averaged
    before would make one point of runs that lie between two of them.
    """
    found: dict[str, tuple[float, float, float]] = {}
    for path, own, of in _paths(scores, axes):
        if path == ALL:
            best, times = _best_settings(own, of)
            parts = [_along(own, distance) for distance in gower(of, best)]
            found[path] = tuple(np.average(parts, axis=0, weights=times).tolist())
        elif of[0].ordered:
            found[path] = _along(own, of[0].rank)
    return found


def _along(scores: np.ndarray, positions: np.ndarray) -> tuple[int, float, int]:
    _, where = np.unique(positions, return_inverse=True)
    return _ups_and_downs(np.bincount(where, scores) / np.bincount(where))


def _ups_and_downs(line: np.ndarray) -> tuple[int, float, int]:
    inner = line[1:-1]
    maxima = int(np.sum((line[:-2] < inner) & (inner > line[2:])))
    change = 100 * np.sum(np.abs(np.diff(line))) / max(1, len(line) - 1)
    return maxima, float(change), len(line)


def published(scores: np.ndarray, axes: Sequence[Axis], rope: float = 0.01) -> Mapping[str, float]:
    """The metrics as the code behind the paper's tables counts them: path -> value.

    Rel@k is the (k+1)-th best; the best run is one of those equivalent to it; scores meet the ROPE
    as they are stored; runs of equal value stand side by side, their scores falling. Its rho took
    one of several best runs, it is not known which, and is not among these.
    """
    n, falling = len(scores), -np.sort(-scores)
    gaps = np.abs(scores[:, None] - scores)
    found = {
        **{name: float(of[0]) for name, of in of_scores(scores, np.arange(n)[None], rope).items()},
        **{f"rel_at_k.{k}": float(100 * falling[k] / falling[0]) for k in KS if k < n},
        "max": 100 * float(falling[0]),
        "share_zero": 100 * float(np.mean(scores == 0)),
        "best_equivalent": 100 * float(np.sum(falling[0] - scores <= rope)) / (n - 1),
        "expected_equivalent": 100 * float((np.sum(gaps <= rope) - n) / (n * (n - 1))),
    }
    for axis in axes:
        maxima, change, _ = _ups_and_downs(scores[np.lexsort((-scores, -axis.rank))])
        found[f"by_hyperparameter.{axis.name}.maxima"] = maxima
        found[f"by_hyperparameter.{axis.name}.mean_change"] = change
    return found
