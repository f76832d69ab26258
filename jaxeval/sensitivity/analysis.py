"""All metrics of a sweep, with intervals; and the difference between two sweeps."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import ConfigError, DataError
from jaxeval.runs import metrics as known_metrics
from jaxeval.sensitivity import conventions, intervals, metrics
from jaxeval.sensitivity.hyperparameters import Declared, Values, axes
from jaxeval.sensitivity.metrics import Profile
from jaxeval.stats.items import proportions
from jaxeval.stats.results import Interval, Sample, fraction, sample

LEAST = 3  # runs of a sweep
_MOST_RESAMPLED = 5000  # runs for which intervals are made


@dataclasses.dataclass(frozen=True)
class Analysis:
    """What a sweep of one architecture says; all in percent or percentage points.

    Attributes:
      n: runs.
      max, mean: of the scores.
      share_zero: runs that scored 0.
      rel_at_k: k -> the k-th best score relative to the best.
      mean_at_k: k -> the mean of the k best, relative to the best.
      best_equivalent: share of runs as good as the best, within the ROPE.
      expected_equivalent: expected share of runs as good as a run drawn at random.
      all_hyperparameters, by_hyperparameter: see `metrics.Profile`.
      intervals: metric -> interval, by the paths of the JSON ("rel_at_k.25").
      skipped: k that this many runs do not have.
    """

    n: int
    max: float
    mean: float
    share_zero: float
    rel_at_k: Mapping[int, float]
    mean_at_k: Mapping[int, float]
    best_equivalent: float
    expected_equivalent: float
    all_hyperparameters: Profile
    by_hyperparameter: Mapping[str, Profile]
    intervals: Mapping[str, Interval]
    skipped: tuple[int, ...]
    rope: float
    convention: str
    draws: Mapping[str, np.ndarray] = dataclasses.field(repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Difference:
    """One metric of two sweeps."""

    estimate: float
    interval: Interval


def analyze(
    scores: Sample,
    hyperparameters: Values,
    *,
    rope: float = 0.01,
    ks: Sequence[int] = (25, 50, 100, 150),
    convention: conventions.Name = "default",
    declared: Declared | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Analysis:
    """All metrics of Wiemerslage et al. (2024) for one sweep.

    Args:
      scores: [n] fractions from 0 to 1 (accuracy, F1), one a run; a run that failed counts as 0.
      hyperparameters: name -> [n] values; numbers (also as text) are ordered, words are not unless
        `declared` orders them.
      rope: scores this near to each other are practically the same.
      ks: of Rel@k and mean@k; those that n runs do not have are skipped.
      convention: "default", "published" (the authors' code) or "text" (the paper's formulas).
      resamples: of the intervals; 0 makes none.

    Raises:
      DataError: fewer than 3 runs, scores outside [0, 1], columns of another length.
      ConfigError: an unknown convention, a declaration that does not fit, or a rope in points.
    """
    how, values = _checked(scores, rope, ks, convention, confidence)
    all_axes = axes(hyperparameters, declared or Declared(), len(values))
    most = metrics.largest_k(len(values), how)
    used = [k for k in dict.fromkeys(ks) if k <= most]
    falling = -np.sort(-values)
    profiles = intervals.profiles(values, all_axes, how)
    draws: dict[str, np.ndarray] = {}
    if resamples and len(values) <= _MOST_RESAMPLED:
        draws = intervals.draws(values, all_axes, rope, used, how, resamples, seed)
    analysis = Analysis(
        n=len(values),
        max=100 * float(falling[0]),
        mean=100 * float(values.mean()),
        share_zero=100 * float(np.mean(values == 0)),
        rel_at_k={k: float(metrics.rel_at_k(falling, k, how)) for k in used},
        mean_at_k={k: float(metrics.mean_at_k(falling, k, how)) for k in used},
        best_equivalent=float(metrics.best_equivalent(values, rope, how)),
        expected_equivalent=float(metrics.expected_equivalent(values, rope, how)),
        all_hyperparameters=profiles.pop(intervals.ALL),
        by_hyperparameter={p.split(".", 1)[1]: profile for p, profile in profiles.items()},
        intervals={},
        skipped=tuple(k for k in dict.fromkeys(ks) if k > most),
        rope=rope,
        convention=convention,
        draws=draws,
    )
    by_path = _intervals(analysis, confidence, resamples, seed)
    return dataclasses.replace(analysis, intervals=by_path)


def _checked(
    scores: Sample, rope: float, ks: Sequence[int], convention: str, confidence: float
) -> tuple[conventions.Convention, np.ndarray]:
    if convention not in conventions.BY_NAME:
        known = ", ".join(conventions.BY_NAME)
        raise ConfigError(f"convention: expected one of {known}, got {convention!r}")
    if not rope >= 0 or any(k < 1 for k in ks):
        raise ConfigError(f"rope, ks: expected numbers of at least 0 and 1, got {rope}, {ks}")
    confidence = fraction(confidence, "confidence")
    values = sample(scores, at_least=LEAST)
    if values.min() < 0 or values.max() > 1:
        wrong = values[(values < 0) | (values > 1)][0]
        raise DataError(f"scores: {no_fraction(wrong)}")
    known_metrics.refuse_points("rope", rope, "fraction")
    return conventions.BY_NAME[convention], values


def no_fraction(score: float) -> str:
    """What is wrong with a score beyond 0 to 1."""
    hint = "; divide percentages by 100" if 1 + 1e-6 < score <= 100 else ""
    return f"expected fractions from 0 to 1, found {float(score)}{hint}"


def _intervals(
    analysis: Analysis, confidence: float, resamples: int, seed: int
) -> dict[str, Interval]:
    estimates = values(analysis)
    by_path = {}
    for path, drawn in analysis.draws.items():
        kind = "halves of the runs" if path.endswith(("maxima", "mean_change")) else "bootstrap"
        method = f"{kind}, {resamples} resamples, seed {seed}"
        interval = intervals.interval(path, estimates[path], drawn, confidence, method)
        if interval is not None:
            by_path[path] = intervals.within(interval, intervals.range_of(path))
    if analysis.draws:
        of_zeros = proportions.proportion(
            *_zeros(analysis), method="wilson", confidence=confidence
        )
        by_path["share_zero"] = _percent(of_zeros)
    return by_path


def _zeros(analysis: Analysis) -> tuple[int, int]:
    """How many runs scored 0, of how many."""
    return round(analysis.share_zero * analysis.n / 100), analysis.n


def _percent(share: Interval) -> Interval:
    return share._replace(low=100 * share.low, high=100 * share.high)


def values(analysis: Analysis) -> dict[str, float]:
    """Path -> value, of all metrics that have one."""
    tree: dict[str, float | None] = {
        name: getattr(analysis, name)
        for name in ("max", "mean", "share_zero", "best_equivalent", "expected_equivalent")
    }
    for name in ("rel_at_k", "mean_at_k"):
        tree |= {f"{name}.{k}": value for k, value in getattr(analysis, name).items()}
    named = {f"by_hyperparameter.{k}": p for k, p in analysis.by_hyperparameter.items()}
    for path, profile in {"all_hyperparameters": analysis.all_hyperparameters, **named}.items():
        tree |= {
            f"{path}.{key}": getattr(profile, key) for key in ("rho", "maxima", "mean_change")
        }
    return {path: float(value) for path, value in tree.items() if value is not None}


def difference(a: Analysis, b: Analysis, *, confidence: float = 0.95) -> dict[str, Difference]:
    """A minus B for every metric that both have, with intervals: the sweeps are independent.

    Raises:
      ConfigError: they follow different conventions or ROPEs.
    """
    if (a.convention, a.rope) != (b.convention, b.rope):
        raise ConfigError("difference: expected two analyses of one convention and ROPE")
    first, second = values(a), values(b)
    differences = {}
    for path in first:
        if path not in second or path not in a.draws or path not in b.draws:
            continue
        count = min(len(a.draws[path]), len(b.draws[path]))
        gaps = a.draws[path][:count] - b.draws[path][:count]
        estimate = first[path] - second[path]
        interval = intervals.interval(path, estimate, gaps, confidence, "independent draws")
        if interval is not None:
            within = intervals.within(interval, intervals.range_of_difference(path))
            differences[path] = Difference(estimate, within)
    if a.draws and b.draws:
        gap = proportions.difference(_zeros(a), _zeros(b), confidence=confidence)
        differences["share_zero"] = Difference(a.share_zero - b.share_zero, _percent(gap))
    return differences
