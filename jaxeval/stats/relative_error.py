"""Relative error reduction against a baseline, over tasks, with what other seeds leave open.

Notation: s and b mean scores of a model and of the baseline on a task, from 0 to 1, S seeds that
both were trained with, T tasks.

    RER = ((1 - b) - (1 - s)) / (1 - b) = (s - b) / (1 - b)

0 is the baseline, 1 no error left; it has no lower end (b = .9 and s = 0: -9). The mean over tasks
has no weights (Nayak, Angeli & Manning 2016).
"""

from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.results import Effect, Interval, fraction

FEWEST = 5  # seeds of an interval: with four, some lower ends are below -1e40
_TINY = 1e-12  # a standard error below it is rounding


def reduction(score: np.ndarray | float, baseline: np.ndarray | float) -> np.ndarray:
    """RER of scores; any shapes that fit one another.

    Raises:
      DataError: a baseline without errors, or scores that are no fractions.
    """
    s, b = np.asarray(score, float), np.asarray(baseline, float)
    if not (np.all((s >= 0) & (s <= 1)) and np.all((b >= 0) & (b <= 1))):
        raise DataError("relative error reduction: expected scores from 0 to 1")
    if np.any(b == 1):
        raise DataError(
            "relative error reduction: the baseline makes no error (score 1), so that there is "
            "none to reduce; expected another baseline or a harder task"
        )
    return (s - b) / (1 - b)


def reductions(
    scores: np.ndarray,
    baseline: np.ndarray,
    *,
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> tuple[list[Effect], Effect | None]:
    """RER of each task, and the mean of all, with intervals by a paired bootstrap over seeds.

    Seeds are resampled jointly for the model, the baseline and all tasks. Intervals are
    studentised (Efron & Tibshirani 1993, section 12.5) by the linearised standard error, since
    percentile ones of eight seeds are too narrow. What is studentised is the logarithm of the
    error left, log(1 - RER), so that no interval goes beyond 1. They speak of other seeds on
    these data.

    Args:
      scores, baseline: [T, S] of the same tasks and seeds.

    Returns:
      T effects; their mean, None where there is no task. With fewer than `FEWEST` seeds the ends
      of intervals are NaN; where nothing varies, they are the estimate.

    Raises:
      DataError: as `reduction`, or arrays of different shapes.
    """
    s, b = np.asarray(scores, float), np.asarray(baseline, float)
    fraction(confidence, "confidence")
    if s.shape != b.shape or s.ndim != 2 or not s.shape[1]:
        raise DataError("relative error reduction: expected as many tasks and seeds of both")
    if not len(s):
        return [], None
    drawn = np.random.default_rng(seed).integers(s.shape[1], size=(resamples, s.shape[1]))
    method = f"paired bootstrap-t of log(1 - RER) over seeds, {resamples} resamples, seed {seed}"
    if s.shape[1] < FEWEST:
        method = f"none: fewer than {FEWEST} seeds"

    def effect(name: str, of: _Bootstrap) -> Effect:
        low, high = np.nan, np.nan
        if s.shape[1] >= FEWEST:
            low, high = _studentised(of, confidence)
        return Effect(name, 1 - of.left, Interval(low, high, confidence, method), (s.shape[1],))

    name = "relative error reduction"
    tasks, mean = _bootstrap(s, b, drawn)
    return [effect(name, task) for task in tasks], effect(f"mean {name}", mean)


class _Bootstrap(NamedTuple):
    """The error left, 1 - RER, of a task or as the mean of all, and what resamples leave.

    Attributes:
      error: standard error of `left`.
      resampled, errors: [B] the same of each resample.
    """

    left: float
    error: float
    resampled: np.ndarray
    errors: np.ndarray


def _bootstrap(
    s: np.ndarray, b: np.ndarray, drawn: np.ndarray
) -> tuple[list[_Bootstrap], _Bootstrap]:
    """Of each of T tasks, and of their mean; drawn: [B, S] seeds of each resample."""
    left, influence = _error_left(s, b)
    again = [_error_left(s[:, rows], b[:, rows]) for rows in _blocks(drawn)]
    resampled = np.concatenate([of_block for of_block, _ in again], axis=1)  # [T, B]
    errors = np.concatenate([_error(parts) for _, parts in again], axis=1)
    each = [
        _Bootstrap(float(left[t]), float(_error(influence[t])), resampled[t], errors[t])
        for t in range(len(s))
    ]
    mean = _Bootstrap(
        float(left.mean()),
        float(_error(influence.mean(axis=0))),
        resampled.mean(axis=0),
        np.concatenate([_error(parts.mean(axis=0)) for _, parts in again]),
    )
    return each, mean


def _blocks(drawn: np.ndarray, most: int = 1000) -> list[np.ndarray]:
    """Resamples [B, S] in blocks."""
    return [drawn[begin : begin + most] for begin in range(0, len(drawn), most)]


def _error_left(s: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 - RER [T, ...] of the means over seeds, and each seed's influence on it [T, ..., S].

    d(1 - RER) = -ds / (1 - b) + db (1 - s) / (1 - b)^2. A resampled baseline without errors gives
    a number that no interval reaches.
    """
    mean_s, mean_b = s.mean(axis=-1, keepdims=True), b.mean(axis=-1, keepdims=True)
    if s.ndim == 2:
        reduction(mean_s, mean_b)  # refuses what has none
    error = np.maximum(1 - mean_b, _TINY)
    influence = (b - mean_b) * (1 - mean_s) / error**2 - (s - mean_s) / error
    return ((1 - mean_s) / error)[..., 0], influence


def _error(influence: np.ndarray) -> np.ndarray:
    """Standard error [...] of a mean over seeds [..., S]; 0 of one seed."""
    count = influence.shape[-1]
    return np.sqrt(np.sum(influence**2, axis=-1) / (max(count - 1, 1) * count))


def _studentised(of: _Bootstrap, confidence: float) -> tuple[float, float]:
    """Ends of 1 - left, by quantiles of log(resampled / left) over its own standard error."""
    varied = of.errors > _TINY  # so some error is left
    if of.error <= _TINY or not varied.any():
        return 1 - of.left, 1 - of.left
    own = of.errors[varied] / of.resampled[varied]  # of the logarithm
    ratios = np.log(of.resampled[varied] / of.left) / own
    tail = (1 - confidence) / 2
    quantiles = np.quantile(ratios, [tail, 1 - tail])
    with np.errstate(over="ignore"):
        low, high = 1 - of.left * np.exp(-quantiles * of.error / of.left)
    return float(low), float(high)
