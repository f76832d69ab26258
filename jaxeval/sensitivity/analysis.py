"""All metrics of a sweep, with intervals; the difference between two sweeps.

Metrics of the scores and rank correlations have percentile bootstraps over runs, the share of runs
that scored 0 the score interval of a proportion. No resample holds a better run than the best, so
percentiles of metrics relative to it cover as little as .78: their interval is symmetric and
reaches as far as the farther percentile. A profile is made of neighbours, and a bootstrap changes
who is whose neighbour: its interval comes from random halves of the runs (the delete-half
jackknife of Shao & Wu 1989). All mean the average over sweeps of as many runs.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from jaxeval.errors import ConfigError, DataError
from jaxeval.runs import metrics as known_metrics
from jaxeval.sensitivity import metrics
from jaxeval.sensitivity.hyperparameters import Axis, Values
from jaxeval.sensitivity.hyperparameters import axes as ranked
from jaxeval.space.space import Space
from jaxeval.stats.items import proportions
from jaxeval.stats.results import Interval, Sample, fraction, sample

LEAST = 3  # runs of a sweep
_MOST_RESAMPLED = 5000  # runs for which intervals are made
_OF_HALVES = (".maxima", ".mean_change")
_OF_THE_BEST = ("rel_at_k", "mean_at_k", "best_equivalent")
Draws = Mapping[str, np.ndarray]  # path -> [R] values that other runs could have given


class Estimate(NamedTuple):
    """A metric; its interval is None where nothing is known of how it varies."""

    value: float
    interval: Interval | None = None


class BestRun(NamedTuple):
    """The best run, the first of `ties` equals; what was drawn for it and has an effect."""

    setting: Mapping[str, object]
    score: float
    ties: int


@dataclasses.dataclass(frozen=True)
class Analysis:
    """What a sweep of n runs says.

    Attributes:
      metrics: path (see `sensitivity.metrics`) -> estimate, in percent or percentage points.
      with_effect: hyperparameter -> runs in which it has an effect.
      rope: scores this near to each other are practically the same.
    """

    name: str
    n: int
    metrics: Mapping[str, Estimate]
    with_effect: Mapping[str, int]
    best: BestRun
    rope: float
    draws: Draws = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @property
    def values(self) -> dict[str, float]:
        """Path -> value."""
        return {path: float(of.value) for path, of in self.metrics.items()}


def analyze(
    scores: Sample,
    hyperparameters: Values | Sequence[Axis],
    *,
    space: Space | None = None,
    name: str = "",
    rope: float = 0.01,
    ks: Sequence[int] = metrics.KS,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Analysis:
    """All metrics of Wiemerslage et al. (2024) for one sweep.

    Args:
      scores: [n] fractions from 0 to 1 (accuracy, F1), one a run; a run that failed counts as 0.
      hyperparameters: name -> [n] values.
      space: says which words have an order, and when a hyperparameter has an effect.
      ks: of the k-th best score; those that n runs do not have are left out.
      resamples: of the intervals; 0 makes none.

    Raises:
      ConfigError, DataError: fewer than 3 runs, scores outside [0, 1], values that do not fit the
        space, columns of another length, a rope in points.
    """
    confidence, scores = fraction(confidence, "confidence"), sample(scores, at_least=LEAST)
    refuse_beyond(scores)
    known_metrics.refuse_points("rope", rope, "fraction")
    n, axes = len(scores), hyperparameters
    axes = axes if isinstance(axes, Sequence) else ranked(axes, n, space)
    values = {
        "max": 100 * float(scores.max()),
        "share_zero": 100 * float(np.mean(scores == 0)),
        **{
            k: float(of[0])
            for k, of in metrics.of_scores(scores, np.arange(n)[None], rope, ks).items()
        },
        **_of_profiles(scores, axes),
    }
    draws: Draws = {}
    intervals: dict[str, Interval | None] = {}
    if resamples and n <= _MOST_RESAMPLED:
        draws = _draws(scores, axes, values, rope, ks, resamples, seed)
        for path, of in draws.items():
            kind = "halves of the runs" if path.endswith(_OF_HALVES) else "bootstrap"
            method = f"{kind}, {resamples} resamples, seed {seed}"
            intervals[path] = _interval(path, values[path], of, confidence, method)
        zeros = int(np.sum(scores == 0))
        share = proportions.proportion(zeros, n, method="wilson", confidence=confidence)
        intervals["share_zero"] = _percent(share)
    estimates = {path: Estimate(value, intervals.get(path)) for path, value in values.items()}
    first = int(np.argmax(scores))
    setting = {axis.name: axis.values[first] for axis in axes if axis.active[first]}
    best = BestRun(setting, float(scores[first]), int(np.sum(scores == scores[first])))
    with_effect = {axis.name: int(axis.active.sum()) for axis in axes}
    return Analysis(name, n, estimates, with_effect, best, rope, draws)


def refuse_beyond(scores: np.ndarray, where: str = "scores", source: str | None = None) -> None:
    """Raises DataError for scores that are no fractions."""
    wrong = scores[(scores < 0) | (scores > 1)]
    if len(wrong):
        hint = "; divide percentages by 100" if 1 + 1e-6 < wrong[0] <= 100 else ""
        found = f"expected fractions from 0 to 1, found {float(wrong[0])}{hint}"
        raise DataError(f"{where}: {found}", source)


def _of_profiles(scores: np.ndarray, axes: Sequence[Axis]) -> dict[str, float]:
    """The three metrics of each hyperparameter, where they have a value."""
    acting = [a.name for a in axes if a.active.sum() >= LEAST and np.ptp(a.rank[a.active]) > 0]
    rhos, profiles = metrics.rhos(scores, axes), metrics.profiles(scores, axes)
    found: dict[str, float] = {}
    for path in (metrics.ALL, *(f"by_hyperparameter.{name}" for name in acting)):
        found |= {f"{path}.rho": rhos[path]} if path in rhos else {}
        pairs = zip(_OF_HALVES, profiles.get(path, ()), strict=False)
        found |= {f"{path}{key}": value for key, value in pairs}
    return found


def _draws(
    scores: np.ndarray,
    axes: Sequence[Axis],
    values: Mapping[str, float],
    rope: float,
    ks: Sequence[int],
    resamples: int,
    seed: int,
) -> Draws:
    """What other runs could have given: scores and correlations by bootstrap, profiles by halves.

    The spread of what random halves of the runs give estimates that of the whole.
    """
    generator, n = np.random.default_rng(seed), len(scores)
    chosen = generator.integers(n, size=(resamples, n))
    halves = np.stack([generator.permutation(n)[: n // 2] for _ in range(resamples)])
    draws = metrics.of_scores(scores, chosen, rope, ks)
    rhos = [metrics.rhos(scores[k], [axis.of_rows(k) for axis in axes]) for k in chosen]
    parts = [metrics.profiles(scores[k], [axis.of_rows(k) for axis in axes]) for k in halves]
    whole = metrics.profiles(scores, axes)
    for path in (of.removesuffix(".rho") for of in values if of.endswith(".rho")):
        draws[f"{path}.rho"] = np.array([of.get(path, math.nan) for of in rhos])
    for path in (of.removesuffix(".maxima") for of in values if of.endswith(".maxima")):
        maxima, changes, points = np.array([of.get(path, (0, 0, 0)) for of in parts], float).T
        maxima = maxima / np.maximum(1, points - 2) * (whole[path][2] - 2)
        for key, value, part in zip(_OF_HALVES, whole[path], (maxima, changes), strict=False):
            draws[f"{path}{key}"] = np.maximum(0.0, value + part - part.mean())
    return draws


def _interval(
    path: str, value: float, draws: np.ndarray, confidence: float, method: str, gap: bool = False
) -> Interval | None:
    """From what other runs gave a metric [R], at most its own range.

    None where too few have a value, and where all have the same: how it varies is not known.
    """
    known = draws[np.isfinite(draws)]
    if len(known) < 0.9 * len(draws) or not np.ptp(known):
        return None
    tail = (1 - confidence) / 2
    low, high = (float(end) for end in np.quantile(known, [tail, 1 - tail]))
    if path.startswith(_OF_THE_BEST):
        normal = NormalDist().inv_cdf(1 - tail) * float(np.std(known))
        reach = max(value - low, high - value, normal)
        low, high, method = value - reach, value + reach, f"symmetric {method}"
    return Interval(low, high, confidence, method).clip(*bounds(path, gap))


def bounds(path: str, difference: bool = False) -> tuple[float, float]:
    """The values that a metric, or the difference of two, can have."""
    low, high = (-1.0, 1.0) if path.endswith(".rho") else (0.0, 100.0)
    high = math.inf if path.endswith(".maxima") else high
    return (low - high, high - low) if difference else (low, high)


def _percent(share: Interval) -> Interval:
    return share._replace(low=100 * share.low, high=100 * share.high)


def difference(a: Analysis, b: Analysis, *, confidence: float = 0.95) -> dict[str, Estimate]:
    """A minus B for every metric that both have, with intervals: the sweeps are independent.

    Raises:
      ConfigError: they have different ROPEs.
    """
    if a.rope != b.rope:
        raise ConfigError("difference: expected two analyses of one ROPE")
    differences = {}
    for path in (path for path in a.draws if path in b.draws):
        count = min(len(a.draws[path]), len(b.draws[path]))
        gaps = a.draws[path][:count] - b.draws[path][:count]
        gap = a.values[path] - b.values[path]
        interval = _interval(path, gap, gaps, confidence, "independent draws", gap=True)
        if interval is not None:
            differences[path] = Estimate(gap, interval)
    if a.draws and b.draws:
        shares = [of.values["share_zero"] for of in (a, b)]
        zeros = [
            (round(share * of.n / 100), of.n) for share, of in zip(shares, (a, b), strict=True)
        ]
        interval = proportions.difference(*zeros, confidence=confidence)
        differences["share_zero"] = Estimate(shares[0] - shares[1], _percent(interval))
    return differences
