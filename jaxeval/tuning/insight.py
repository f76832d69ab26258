"""Findings of a search: importance, settings that may be as good, noise.

Statements by the process are averaged over draws of its hyperparameters (Snoek et al. 2012,
section 3.2). With those of the posterior mode alone they would be too sure: see docs/method.md.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special, stats
from threadpoolctl import threadpool_limits

from jaxeval.runs import metrics
from jaxeval.space import Space
from jaxeval.stats import describe
from jaxeval.tuning import draws, gp, targets
from jaxeval.tuning.encoding import encoder
from jaxeval.tuning.gp import Fitted
from jaxeval.tuning.history import History
from jaxeval.tuning.process import Model

_PROCESSES = 16  # draws of hyperparameters
_OF_IMPORTANCE, _FUNCTIONS = 32, 4  # draws for importance, and functions for each
_EXPONENT = 10  # 2^10 points of the base sample
_STREAM, _OF_FUNCTIONS, _OF_POINTS, _OF_MODELS = 14, 30, 31, 32  # streams of random numbers
_TOLD_APART = 0.95  # posterior probability


class Spread(NamedTuple):
    """The 2.5 and 97.5 % quantiles over draws of the posterior."""

    low: float
    high: float


class Importance(NamedTuple):
    """Sobol indices of a hyperparameter, from 0 to 1: posterior means and their spread."""

    name: str
    first: float
    first_spread: Spread
    total: float
    total_spread: Spread


class Insight(NamedTuple):
    """Statements of the process about a search."""

    noise_known: bool  # from several seeds of good settings; otherwise a prior on it matters
    importance: list[Importance]  # the largest total index first
    alike: list[int]  # numbers of the settings that are not told apart from the best one


@threadpool_limits.wrap(limits=1, user_api="blas")  # the matrices are small
def insight(space: Space, known: History, seed: int = 0) -> Insight | None:
    """Computes what a history says of its settings; None before scores differ."""
    fitted = _fit(space, known)
    if fitted is None or fitted.model is None:
        return None
    data = gp.fitted_data(fitted.model.data)
    drawn = draws.models(fitted.model, data, _PROCESSES, [seed, _STREAM])
    able = gp.ranked(fitted)
    worse = _worse(drawn, fitted.features, fitted.features[able[:1]])
    means = np.mean([model.predict(fitted.features).mean for model in drawn], axis=0)
    order = [able[0], *sorted(able[1:], key=lambda k: -means[k])]
    scores = [evaluation.scores for evaluation in fitted.scored]
    return Insight(
        targets.targets(scores, known.higher_is_better).seed > 0,
        _importance(space, fitted, seed),
        [fitted.scored[k].number for k in order if worse[k] < _TOLD_APART],
    )


@threadpool_limits.wrap(limits=1, user_api="blas")
def importance(space: Space, known: History, seed: int = 0) -> list[Importance]:
    """Computes how much each hyperparameter explains of a history, the most important first.

    The list is empty before scores differ.
    """
    fitted = _fit(space, known)
    return [] if fitted is None else _importance(space, fitted, seed)


def _fit(space: Space, known: History) -> Fitted | None:
    fitted = gp.fit(space, known)
    differ = fitted.targets is not None and fitted.targets.values.any()
    return fitted if fitted.model is not None and differ else None


def _worse(drawn: Sequence[Model], features: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Computes the posterior probability [m] that features [m, D] are worse than `own` [1, D]."""
    each = []
    for model in drawn:
        others, at_own = model.predict(features), model.predict(own)
        variance = others.variance + at_own.variance - 2 * model.covariance(others, at_own)[:, 0]
        gap = (at_own.mean - others.mean) / np.sqrt(np.maximum(variance, 1e-12))
        each.append(special.ndtr(gap))
    return np.asarray(np.mean(each, axis=0))


def _importance(space: Space, fitted: Fitted, seed: int = 0) -> list[Importance]:
    """Computes how much of the objective's variance over the space each hyperparameter explains.

    Sobol indices of draws of the process's posterior (Marrel et al. 2009; Le Gratiet et al. 2014):
    first-order by itself, total with all its interactions. Their spread is no confidence interval:
    the process expects interactions, and with few scores total indices are too high.
    """
    assert fitted.model is not None
    data, encode = gp.fitted_data(fitted.model.data), encoder(space)
    models = draws.models(fitted.model, data, _OF_IMPORTANCE, [seed, _OF_MODELS])
    streams = [[seed, _OF_FUNCTIONS, k] for k in range(len(models))]
    drawn = [draws.functions(m, _FUNCTIONS, s) for m, s in zip(models, streams, strict=True)]

    def objective(quantiles: np.ndarray) -> np.ndarray:
        features = encode.features(encode.from_quantiles(quantiles))
        return np.concatenate([function(features) for function in drawn], axis=1)

    first, total = _sobol_indices(objective, len(space.parameters), [seed, _OF_POINTS])
    each = [
        Importance(parameter.name, *_summary(f), *_summary(t))
        for parameter, f, t in zip(space.parameters, first, total, strict=True)
    ]
    return sorted(each, key=lambda row: -row.total)


def _summary(indices: np.ndarray) -> tuple[float, Spread]:
    low, high = np.quantile(indices, (0.025, 0.975))
    return float(indices.mean()), Spread(float(low), float(high))


def _sobol_indices(
    function: Callable[[np.ndarray], np.ndarray],
    count: int,
    seed: list[int],
    exponent: int = _EXPONENT,
) -> tuple[np.ndarray, np.ndarray]:
    """Computes first-order and total Sobol indices [d, S] of functions [m, d] -> [m, S].

    Takes two quasi-random samples A and B of 2^exponent points in [0, 1), and A with each column
    of B (Saltelli et al. 2010); both indices by Jansen's (1999) estimators, clipped to [0, 1]. A
    constant function has indices of 0.
    """
    engine = stats.qmc.Sobol(2 * count, rng=np.random.default_rng(seed))
    a, b = np.split(engine.random_base2(exponent), 2, axis=1)
    of_a, of_b = function(a), function(b)
    variance = np.concatenate([of_a, of_b]).var(axis=0)
    scale = np.where(variance > 0, 2 * variance, np.inf)
    first, total = [], []
    for column in range(count):
        mixed = a.copy()
        mixed[:, column] = b[:, column]
        of_mixed = function(mixed)
        first.append(np.where(variance > 0, 1 - np.mean((of_b - of_mixed) ** 2, 0) / scale, 0.0))
        total.append(np.mean((of_a - of_mixed) ** 2, axis=0) / scale)
    return np.clip(first, 0.0, 1.0), np.clip(total, 0.0, 1.0)


@dataclasses.dataclass(frozen=True)
class Retrained:
    """The best setting with fresh seeds.

    The best of many noisy scores is partly luck: Melis et al. (2018, section 5.1) found it one
    standard deviation above the mean of the same setting with other seeds.
    """

    scores: Mapping[str, Sequence[float]]  # by part of the data; the first was searched by
    failures: Sequence[str]  # causes, of the other seeds
    parts: Mapping[str, describe.Summary]  # with intervals within the metric's bounds


def retrained(
    fresh: Mapping[str, Sequence[float]], failures: Sequence[str], metric: str, unit: str
) -> Retrained:
    """Summarises fresh scores; arguments as of `Retrained`."""
    parts = {
        part: describe.summarize(of, bounds=metrics.bounds(metric, np.array(of), unit))
        for part, of in fresh.items()
        if of
    }
    return Retrained(fresh, failures, parts)


def noise(samples: Sequence[Sequence[float]]) -> tuple[float | None, int]:
    """Pools the standard deviation of one seed's score over settings; returns its freedom too."""
    several = [np.asarray(sample, np.float64) for sample in samples if len(sample) > 1]
    if not any(np.ptp(sample) for sample in several):
        return None, 0
    freedom = sum(len(sample) - 1 for sample in several)
    squares = sum(float(np.sum((s - s.mean()) ** 2)) for s in several)
    return math.sqrt(squares / freedom), freedom
