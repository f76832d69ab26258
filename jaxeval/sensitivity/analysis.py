"""All metrics of a sweep with intervals; differences of sweeps; averages over datasets.

Intervals of metrics of the scores and of rank correlations are percentile bootstraps over runs. No
resample holds a better run than the best, so percentiles of metrics relative to it cover as little
as .78: their interval is symmetric and reaches as far as the farther percentile. A profile depends
on which runs are neighbours, which a bootstrap changes; its interval comes from random halves of
the runs (the delete-half jackknife of Shao & Wu 1989). Averages have t intervals over datasets.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.sensitivity import metrics
from jaxeval.sensitivity.metrics import CONFIDENCE, Axis, Values
from jaxeval.space import Space
from jaxeval.stats import Interval, Sample, sample

LEAST = 3  # runs of a sweep
_MOST_RESAMPLED = 5000  # runs for which intervals are made
_OF_HALVES = (".maxima", ".mean_change")
_OF_THE_BEST = ("rel_at_k", "mean_at_k", "best_equivalent")
_ROUNDING = 1e-9  # of percentages, counts and correlations: a smaller spread is none


class Estimate(NamedTuple):
    """A metric; its interval is None if its spread is unknown."""

    value: float
    interval: Interval | None = None


class _BestRun(NamedTuple):
    """The best run, the first of `ties` equals, with its effective hyperparameters."""

    setting: Mapping[str, object]
    score: float
    ties: int


@dataclasses.dataclass(frozen=True)
class Analysis:
    """The sensitivity metrics of a sweep of n runs."""

    name: str
    n: int
    metrics: Mapping[str, Estimate]  # by path (see `sensitivity.metrics`)
    with_effect: Mapping[str, int]  # hyperparameter -> runs in which it has an effect
    best: _BestRun
    draws: Mapping[str, np.ndarray] = dataclasses.field(  # path -> [R] resampled values
        default_factory=dict, repr=False, compare=False
    )

    @property
    def values(self) -> dict[str, float]:
        """The metrics without intervals, by path."""
        return {path: float(of.value) for path, of in self.metrics.items()}


def analyze(
    scores: Sample,
    values: Values | Sequence[Axis],
    *,
    space: Space | None = None,
    name: str = "",
    ks: Sequence[int] = metrics.KS,
    resamples: int = 1000,
    seed: int = 0,
) -> Analysis:
    """Computes all metrics of Wiemerslage et al. (2024) for one sweep.

    Args:
      scores: [n] fractions from 0 to 1 (accuracy, F1), one a run; 0 for a run that failed.
      values: hyperparameter -> [n] values.
      space: orders of words, and conditions of hyperparameters.
      ks: of the k-th best score; those above n are left out.
      resamples: for the intervals; 0 makes none.

    Raises:
      ConfigError, DataError: fewer than 3 runs, scores outside [0, 1], values that do not fit the
        space, columns of another length.
    """
    scores = sample(scores, at_least=LEAST)
    refuse_beyond(scores)
    n = len(scores)
    axes = values
    axes = axes if isinstance(axes, Sequence) else metrics.axes(axes, n, space)
    of_scores = metrics.score_metrics(scores, np.arange(n)[None], ks)
    found = {
        "max": 100 * float(scores.max()),
        "share_zero": 100 * float(np.mean(scores == 0)),
        **{path: float(of[0]) for path, of in of_scores.items()},
        **_of_profiles(scores, axes),
    }
    draws: dict[str, np.ndarray] = {}
    intervals: dict[str, Interval | None] = {}
    if resamples and n <= _MOST_RESAMPLED:
        draws = _draws(scores, axes, found, ks, resamples, seed)
        for path, of in draws.items():
            kind = "halves of the runs" if path.endswith(_OF_HALVES) else "bootstrap"
            method = f"{kind}, {resamples} resamples, seed {seed}"
            intervals[path] = _interval(path, found[path], of, method)
        intervals["share_zero"] = metrics.wilson(int(np.sum(scores == 0)), n)
    estimates = {path: Estimate(value, intervals.get(path)) for path, value in found.items()}
    first = int(np.argmax(scores))
    setting = {axis.name: axis.values[first] for axis in axes if axis.active[first]}
    best = _BestRun(setting, float(scores[first]), int(np.sum(scores == scores[first])))
    with_effect = {axis.name: int(axis.active.sum()) for axis in axes}
    return Analysis(name, n, estimates, with_effect, best, draws)


def refuse_beyond(scores: np.ndarray, where: str = "scores", source: str | None = None) -> None:
    """Raises DataError for scores that are no fractions."""
    wrong = scores[(scores < 0) | (scores > 1)]
    if len(wrong):
        hint = "; divide percentages by 100" if 1 + 1e-6 < wrong[0] <= 100 else ""
        found = f"expected fractions from 0 to 1, found {float(wrong[0])}{hint}"
        raise DataError(f"{where}: {found}", source)


def _of_profiles(scores: np.ndarray, axes: Sequence[Axis]) -> dict[str, float]:
    """The correlation, maxima and mean change of each hyperparameter that varies."""
    acting = [a.name for a in axes if a.active.sum() >= LEAST and np.ptp(a.rank[a.active]) > 0]
    rhos, profiles = metrics.rhos(scores, axes), metrics.profiles(scores, axes)
    found: dict[str, float] = {}
    for path in ("all_hyperparameters", *(f"by_hyperparameter.{name}" for name in acting)):
        found |= {f"{path}.rho": rhos[path]} if path in rhos else {}
        pairs = zip(_OF_HALVES, profiles.get(path, ()), strict=False)
        found |= {f"{path}{key}": value for key, value in pairs}
    return found


def _draws(
    scores: np.ndarray,
    axes: Sequence[Axis],
    found: Mapping[str, float],
    ks: Sequence[int],
    resamples: int,
    seed: int,
) -> dict[str, np.ndarray]:
    """Resampled values [R] by path: bootstrap of scores and correlations, halves for profiles.

    The spread over random halves of the runs estimates that of the whole.
    """
    generator = np.random.default_rng(seed)
    n = len(scores)
    chosen = generator.integers(n, size=(resamples, n))
    halves = np.stack([generator.permutation(n)[: n // 2] for _ in range(resamples)])
    draws = metrics.score_metrics(scores, chosen, ks)
    rhos = [metrics.rhos(scores[k], [axis.select(k) for axis in axes]) for k in chosen]
    parts = [metrics.profiles(scores[k], [axis.select(k) for axis in axes]) for k in halves]
    whole = metrics.profiles(scores, axes)
    for path in (of.removesuffix(".rho") for of in found if of.endswith(".rho")):
        draws[f"{path}.rho"] = np.array([of.get(path, math.nan) for of in rhos])
    for path in (of.removesuffix(".maxima") for of in found if of.endswith(".maxima")):
        maxima, changes, points = np.array([of.get(path, (0, 0, 0)) for of in parts], float).T
        maxima = maxima / np.maximum(1, points - 2) * (whole[path][2] - 2)
        for key, value, part in zip(_OF_HALVES, whole[path], (maxima, changes), strict=False):
            draws[f"{path}{key}"] = np.maximum(0.0, value + part - part.mean())
    return draws


def _interval(
    path: str, value: float, draws: np.ndarray, method: str, gap: bool = False
) -> Interval | None:
    """The interval of a metric, or of a difference; None if too few draws are known, or equal."""
    known = draws[np.isfinite(draws)]
    if len(known) < 0.9 * len(draws) or not np.ptp(known):
        return None
    tail = (1 - CONFIDENCE) / 2
    low, high = (float(end) for end in np.quantile(known, [tail, 1 - tail]))
    if path.startswith(_OF_THE_BEST):
        normal = NormalDist().inv_cdf(1 - tail) * float(np.std(known))
        reach = max(value - low, high - value, normal)
        low = value - reach
        high = value + reach
        method = f"symmetric {method}"
    return Interval(low, high, CONFIDENCE, method).clip(*_bounds(path, gap))


def _bounds(path: str, difference: bool) -> tuple[float, float]:
    """Returns the limits of a metric's values, or of the difference of two."""
    low, high = (-1.0, 1.0) if path.endswith(".rho") else (0.0, 100.0)
    high = math.inf if path.endswith(".maxima") else high
    return (low - high, high - low) if difference else (low, high)


def difference(a: Analysis, b: Analysis) -> dict[str, Estimate]:
    """Computes A minus B for every metric that both have, for independent sweeps."""
    differences = {}
    for path in (path for path in a.draws if path in b.draws):
        count = min(len(a.draws[path]), len(b.draws[path]))
        gaps = a.draws[path][:count] - b.draws[path][:count]
        gap = a.values[path] - b.values[path]
        interval = _interval(path, gap, gaps, "independent draws", gap=True)
        if interval is not None:
            differences[path] = Estimate(gap, interval)
    return differences


class Mean(NamedTuple):
    """Mean of a metric over n datasets; sd (ddof=1) of two or more, a CI if they differ."""

    n: int
    mean: float
    sd: float | None = None
    interval: Interval | None = None


class Group(NamedTuple):
    """Sweeps with equal labels, one a dataset, and their means by the path of a metric."""

    name: str
    labels: Mapping[str, str]
    sweeps: Mapping[str, str]  # dataset -> name
    means: Mapping[str, Mean]


class Contrast(NamedTuple):
    """Group `a` minus group `b` on the datasets of both."""

    a: str
    b: str
    datasets: Sequence[str]
    means: Mapping[str, Mean]


def average(
    values: Mapping[str, Mapping[str, float]],
    labels: Mapping[str, Mapping[str, str]],
    by: Sequence[str],
    over: str = "dataset",
) -> tuple[list[Group], list[Contrast]]:
    """Averages groups of sweeps over datasets, and compares those that share two or more.

    Args:
      values, labels: of each sweep, by its name.
      by: labels that tell groups apart.
      over: the label of datasets.

    Raises:
      ConfigError: a sweep without one of the labels, or two of one group and dataset.
    """
    members: dict[tuple[str, ...], dict[str, str]] = {}
    for name, known in labels.items():
        for label in (label for label in (*by, over) if label not in known):
            has = f"it has {', '.join(sorted(known)) or 'none'}"
            where = "columns of one value, and the parts of its name between dashes"
            raise ConfigError(f"{label}: {name} has no such label; {has} ({where})")
        sweeps = members.setdefault(tuple(known[label] for label in by), {})
        if (same := sweeps.setdefault(known[over], name)) != name:
            asked = f"{argument('by', ','.join(by))} {argument('over', over)}"
            both = f"{same} and {name} are of one group and of one {over}, {known[over]}"
            raise ConfigError(f"{asked}: {both}")
    groups, contrasts = [], []
    for key, sweeps in members.items():
        means = _means([values[name] for name in sweeps.values()])
        labelled = dict(zip(by, key, strict=True))
        groups.append(Group(", ".join(key) or "all", labelled, sweeps, means))
    for a, b in itertools.combinations(groups, 2):
        shared = [dataset for dataset in a.sweeps if dataset in b.sweeps]
        if len(shared) > 1:
            pairs = [(values[a.sweeps[name]], values[b.sweeps[name]]) for name in shared]
            gaps = [{path: p[path] - q[path] for path in p if path in q} for p, q in pairs]
            means = _means(gaps, difference=True)
            contrasts.append(Contrast(a.name, b.name, shared, means))
    return groups, contrasts


def _means(sweeps: Sequence[Mapping[str, float]], difference: bool = False) -> dict[str, Mean]:
    found: dict[str, list[float]] = {}
    for path, value in itertools.chain.from_iterable(sweep.items() for sweep in sweeps):
        found.setdefault(path, []).append(value)
    return {path: _mean(of, _bounds(path, difference)) for path, of in found.items()}


def _mean(values: Sequence[float], limits: tuple[float, float] = (-math.inf, math.inf)) -> Mean:
    """Computes mean, sd and t interval, within the limits of the metric, of independent values."""
    drawn = np.array(values, float)
    n = len(values)
    centre = float(drawn.mean())
    if n < 2 or np.ptp(drawn) < _ROUNDING:
        return Mean(n, centre, 0.0 if n > 1 else None)
    sd = float(drawn.std(ddof=1))
    interval = Interval.t(centre, sd / math.sqrt(n), n - 1, CONFIDENCE, f"t over {n} datasets")
    return Mean(n, centre, sd, interval.clip(*limits))
