"""How sure a sweep of n runs is of its metrics: the paper gives none.

Metrics of the scores and rank correlations: percentile bootstrap over runs, and the score interval
of a proportion for that of runs that scored 0. Metrics relative to the best run need more: no
resample holds a better run than the best, so their draws lie to one side, and percentiles cover as
little as .78. Their interval is symmetric and reaches as far as the farther percentile. All mean
the average over sweeps of n runs. A profile is made of neighbours, and a bootstrap, which draws
runs twice, changes who is whose neighbour; its interval comes from random halves of the runs (the
delete-half jackknife of Shao & Wu 1989): the spread of what halves give estimates that of the
whole.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from jaxeval.sensitivity import metrics
from jaxeval.sensitivity.conventions import Convention
from jaxeval.sensitivity.hyperparameters import Axis
from jaxeval.sensitivity.metrics import Profile
from jaxeval.stats.results import Interval

ALL = "all_hyperparameters"
_OF_THE_BEST = ("rel_at_k", "mean_at_k", "best_equivalent")
Draws = dict[str, np.ndarray]  # metric -> [R] values that other runs could have given


def draws(
    scores: np.ndarray,
    all_axes: Sequence[Axis],
    rope: float,
    ks: Sequence[int],
    how: Convention,
    resamples: int,
    seed: int,
) -> Draws:
    """Path of a metric -> [resamples] what other runs could have given. scores: [n]."""
    generator, n = np.random.default_rng(seed), len(scores)
    chosen = generator.integers(n, size=(resamples, n))
    halves = np.stack([generator.permutation(n)[: n // 2] for _ in range(resamples)])
    return {
        **of_scores(scores, rope, ks, how, chosen),
        **of_profiles(scores, all_axes, how, chosen, halves),
    }


def of_scores(
    scores: np.ndarray, rope: float, ks: Sequence[int], how: Convention, chosen: np.ndarray
) -> Draws:
    """Bootstrapped metrics of the scores; not the best score: no resample exceeds it.

    Args:
      chosen: [R, n] rows drawn.
    """
    drawn = scores[chosen]
    falling = -np.sort(-drawn, axis=1)
    counts = np.stack([np.bincount(row, minlength=len(scores)) for row in chosen])
    return {
        "mean": 100 * drawn.mean(axis=1),
        **{f"rel_at_k.{k}": metrics.rel_at_k(falling, k, how) for k in ks},
        **{f"mean_at_k.{k}": metrics.mean_at_k(falling, k, how) for k in ks},
        "best_equivalent": metrics.best_equivalent(drawn, rope, how),
        "expected_equivalent": metrics.expected_equivalent(
            scores, rope, how, counts.astype(np.float64)
        ),
    }


def of_profiles(
    scores: np.ndarray,
    all_axes: Sequence[Axis],
    how: Convention,
    chosen: np.ndarray,
    halves: np.ndarray,
) -> Draws:
    """Rank correlations by bootstrap, profiles by halves. halves: [R, n // 2] rows kept."""
    draws: Draws = {}
    for name, whole in profiles(scores, all_axes, how).items():
        axes = [axis for axis in all_axes if name in (ALL, _path(axis))]
        if whole.rho is not None:
            draws[f"{name}.rho"] = np.array([_rho(name, scores, axes, how, r) for r in chosen])
        if whole.maxima is None or whole.mean_change is None:
            continue
        parts = [_profile(name, scores, axes, how, rows) for rows in halves]
        rates = [maxima / max(1, points - 2) for maxima, _, _, points in parts]
        draws[f"{name}.maxima"] = _around(whole.maxima, np.array(rates) * (whole.points - 2))
        changes = np.array([change for _, change, _, _ in parts])
        draws[f"{name}.mean_change"] = _around(whole.mean_change, changes)
    return draws


def _rho(
    name: str, scores: np.ndarray, chosen: Sequence[Axis], how: Convention, rows: np.ndarray
) -> float:
    cut = [axis.of_rows(rows) for axis in chosen]
    if name == ALL:
        rho = metrics.rho_of_all(scores[rows], cut, how)
    else:
        used = metrics.used_runs(cut[0], how)
        rank = cut[0].rank[used]
        rho = metrics.rho_of_axis(scores[rows][used], rank, cut[0].ordered) if len(rank) else None
    return math.nan if rho is None else rho


def _profile(
    name: str, scores: np.ndarray, chosen: Sequence[Axis], how: Convention, rows: np.ndarray
) -> tuple[float, float, int, float]:
    cut = [axis.of_rows(rows) for axis in chosen]
    if name == ALL:
        return metrics.profile_of_all(scores[rows], cut, how)
    used = metrics.used_runs(cut[0], how)
    return metrics.profile(scores[rows][used], cut[0].rank[used], how, int(used.sum()))


def _around(whole: float, parts: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, whole + parts - parts.mean())


def _path(axis: Axis) -> str:
    return f"by_hyperparameter.{axis.name}"


def profiles(scores: np.ndarray, all_axes: Sequence[Axis], how: Convention) -> dict[str, Profile]:
    """Path -> profile, of all hyperparameters together and of each alone. scores: [n]."""
    return {
        ALL: metrics.of_all(scores, all_axes, how),
        **{_path(axis): metrics.of_axis(scores, axis, how) for axis in all_axes},
    }


def interval(
    path: str, estimate: float, drawn: np.ndarray, confidence: float, method: str
) -> Interval | None:
    """Of one metric, from what other runs gave it [resamples].

    None where too few have a value, and where all have the same: how it varies is not known.
    """
    known = drawn[np.isfinite(drawn)]
    if len(known) < 0.9 * len(drawn) or not np.ptp(known):
        return None
    tail = (1 - confidence) / 2
    low, high = (float(v) for v in np.quantile(known, [tail, 1 - tail]))
    if not path.startswith(_OF_THE_BEST):
        return Interval(low, high, confidence, method)
    normal = NormalDist().inv_cdf(1 - tail) * float(np.std(known))
    reach = max(estimate - low, high - estimate, normal)
    return Interval(estimate - reach, estimate + reach, confidence, f"symmetric {method}")


def range_of(path: str) -> tuple[float, float]:
    """The values that a metric can have: correlations, counts, and percent."""
    if path.endswith(".rho"):
        return -1.0, 1.0
    return (0.0, math.inf) if path.endswith(".maxima") else (0.0, 100.0)


def range_of_difference(path: str) -> tuple[float, float]:
    """The values that a difference of two sweeps can have."""
    low, high = range_of(path)
    return low - high, high - low


def within(interval: Interval, bounds: tuple[float, float]) -> Interval:
    """An interval that ends where the metric does."""
    low, high = bounds
    return interval._replace(low=max(low, interval.low), high=min(high, interval.high))
