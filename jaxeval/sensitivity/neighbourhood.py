"""How flat the ground is around a setting: random settings near it (Melis et al. 2018, 7.3)."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.config.markers import Range
from jaxeval.errors import ConfigError, DataError
from jaxeval.stats.multiple import adjust_p_values
from jaxeval.stats.ranks import spearman

LEAST = 5  # scores; with fewer nothing can be said of a trend


def parse_range(text: str) -> Range:
    """A range from LOW:HIGH or LOW:HIGH:log.

    Raises:
      ConfigError: not so, or empty, or a logarithm of what is not above 0.
    """
    low, colon, rest = text.partition(":")
    high, _, scale = rest.partition(":")
    try:
        span = Range(float(low), float(high), scale == "log")
    except ValueError:
        colon = ""
    if not colon or scale not in ("", "log"):
        raise ConfigError(f"range: expected LOW:HIGH or LOW:HIGH:log, got {text!r}")
    if not span.low < span.high or not math.isfinite(span.high - span.low):
        raise ConfigError(f"range: expected LOW below HIGH, got {text!r}")
    if span.log and span.low <= 0:
        raise ConfigError(f"range: log needs numbers above 0, got {text!r}")
    return span


def draw(
    centre: Mapping[str, float],
    ranges: Mapping[str, Range],
    width: float,
    count: int,
    seed: int,
) -> list[dict[str, float]]:
    """Random settings around one.

    Each hyperparameter is drawn evenly from an interval of `width` times its range, with the
    centre's value in its middle, and cut off where the range ends. The k-th setting does not
    depend on how many there are.

    Args:
      centre: value of each hyperparameter that has a range.
      width: .15 to .25 in the paper.

    Raises:
      ConfigError: a centre outside its range.
    """
    for name, span in ranges.items():
        inside = span.low <= centre[name] <= span.high
        if not inside:
            raise ConfigError(
                f"{name}: {centre[name]:g} is not between {span.low:g} and {span.high:g}; "
                f"give it another range"
            )
    rng = np.random.default_rng(seed)
    settings = []
    for _ in range(count):
        setting = {}
        for name, span in ranges.items():
            middle = span.to_unit(centre[name])
            low, high = max(0.0, middle - width / 2), min(1.0, middle + width / 2)
            setting[name] = span.from_unit(rng.uniform(low, high))
        settings.append(setting)
    return settings


@dataclasses.dataclass(frozen=True)
class Trend:
    """How the score goes with one hyperparameter."""

    name: str
    low: float  # of the values drawn
    high: float
    rho: float  # Spearman's
    p_value: float  # adjusted over all hyperparameters (Holm)


@dataclasses.dataclass(frozen=True)
class Neighbourhood:
    """What the settings around one scored."""

    settings: int
    failed: int  # settings without a score; not near the best
    best: float
    median: float
    worst: float
    sd: float
    within: float  # how far from the best counts as near
    near: int  # settings beside the best itself
    share: float  # near / (settings - 1)
    share_interval: tuple[float, float]  # 95 %, Wilson: of settings that score no better
    trends: Sequence[Trend]


def describe(
    scores: Sequence[float | None],
    settings: Sequence[Mapping[str, float]],
    within: float,
    higher_is_better: bool,
) -> Neighbourhood:
    """The spread of the scores, the share near the best, and the trend of each hyperparameter.

    The best is near itself: only the others are a sample, of settings that score no better.

    Args:
      scores: None (or not finite) where a setting failed.
      within: in the metric's unit.

    Raises:
      DataError: fewer than LEAST scores.
    """
    from scipy import stats

    kept = [k for k, s in enumerate(scores) if s is not None and math.isfinite(s)]
    values = np.array([scores[k] for k in kept], float)
    if len(values) < LEAST:
        raise DataError(f"neighbourhood: expected at least {LEAST} scores, found {len(values)}")
    best = float(values.max() if higher_is_better else values.min())
    near, others = int(np.sum(_near(values, best, within))) - 1, len(scores) - 1
    interval = stats.binomtest(near, others).proportion_ci(method="wilson")
    columns = {name: np.array([settings[k][name] for k in kept]) for name in settings[0]}
    return Neighbourhood(
        settings=len(scores),
        failed=len(scores) - len(kept),
        best=best,
        median=float(np.median(values)),
        worst=float(values.min() if higher_is_better else values.max()),
        sd=float(np.std(values, ddof=1)),
        within=within,
        near=near,
        share=near / others,
        share_interval=(float(interval.low), float(interval.high)),
        trends=_trends(columns, values),
    )


def _near(values: np.ndarray, best: float, within: float) -> np.ndarray:
    """[n] bool; .9 - .89 is above .01: differences that single precision does not tell are equal.

    Decimals do not say that, as those of a ROPE do: scores may have any unit.
    """
    size = np.maximum(np.abs(values), abs(best))
    near: np.ndarray = np.abs(values - best) <= within + np.finfo(np.float32).eps * size
    return near


def _trends(columns: Mapping[str, np.ndarray], values: np.ndarray) -> list[Trend]:
    """A trend for each hyperparameter that was varied; none if all scores are equal."""
    varied = {name: column for name, column in columns.items() if np.ptp(column) > 0}
    if not varied or np.ptp(values) == 0:
        return []
    correlations = [spearman(column, values) for column in varied.values()]
    adjusted = adjust_p_values([p for _, p in correlations])
    return [
        Trend(name, float(column.min()), float(column.max()), rho, float(p))
        for (name, column), (rho, _), p in zip(varied.items(), correlations, adjusted, strict=True)
    ]
