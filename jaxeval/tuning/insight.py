"""Findings of a search: importance, settings that may be as good, noise.

Statements by the process are averaged over draws of its hyperparameters (Snoek et al. 2012,
section 3.2). With those of the posterior mode alone they would be too sure: see docs/method.md.

Hyperparameters are drawn by generalised elliptical slice sampling (Nishihara et al. 2014):
elliptical slice sampling (Murray et al. 2010) of a Laplace approximation at the mode, with the
ratio of the posterior to it as likelihood. It has no step size.
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
from jaxeval.tuning import encoding, gp, process
from jaxeval.tuning.encoding import Columns, encoder
from jaxeval.tuning.gp import Fitted
from jaxeval.tuning.history import History
from jaxeval.tuning.process import Data, Kernel, Model, Prior

_PROCESSES = 16  # draws of hyperparameters
_OF_IMPORTANCE, _FUNCTIONS = 32, 4  # draws for importance, and functions for each
_EXPONENT = 10  # 2^10 points of the base sample
_STREAM, _OF_FUNCTIONS, _OF_POINTS, _OF_MODELS = 14, 30, 31, 32  # streams of random numbers
_TOLD_APART = 0.95  # posterior probability
_BURN_IN, _THIN = 50, 10  # steps before the first draw, and between draws
_WIDER = math.sqrt(3)  # than the approximation: the posterior has heavier tails
_DIFFERENCE = 1e-3  # of logarithms, for second derivatives


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
    drawn = _draw_models(fitted.model, data, _PROCESSES, [seed, _STREAM])
    able = gp.ranked(fitted)
    worse = _worse(drawn, fitted.features, fitted.features[able[:1]])
    means = np.mean([model.predict(fitted.features).mean for model in drawn], axis=0)
    order = [able[0], *sorted(able[1:], key=lambda k: -means[k])]
    scores = [evaluation.scores for evaluation in fitted.scored]
    return Insight(
        encoding.targets(scores, known.higher_is_better).seed > 0,
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
    data = gp.fitted_data(fitted.model.data)
    encode = encoder(space)
    models = _draw_models(fitted.model, data, _OF_IMPORTANCE, [seed, _OF_MODELS])
    streams = [[seed, _OF_FUNCTIONS, k] for k in range(len(models))]
    drawn = [
        process.draw_functions(m, _FUNCTIONS, s) for m, s in zip(models, streams, strict=True)
    ]

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


def _draw_models(model: Model, data: Data, count: int, seed: list[int]) -> list[Model]:
    """Draws processes with hyperparameters from their posterior given some data.

    The chain begins at `model`, the posterior mode; draws are conditioned on the model's data.
    """
    random = np.random.default_rng(seed)
    columns = model.columns
    kernel = model.kernel
    prior = process.prior(columns, bool(len(kernel.a)), bool(data.variances.any()))
    mode = np.hstack(kernel)
    factor = _laplace(mode, prior, columns, data)
    inverse = np.linalg.inv(factor)

    def log_ratio(theta: np.ndarray) -> float:
        if np.any(theta < prior.bounds[:, 0]) or np.any(theta > prior.bounds[:, 1]):
            return -math.inf
        z = (theta - prior.mean) / prior.sd
        u = inverse @ (theta - mode)
        return _log_likelihood(theta, columns, data) - 0.5 * float(z @ z - u @ u)

    drawn = []
    theta = mode
    height = log_ratio(mode)
    for number in range(1 - _BURN_IN, 1 + _THIN * count):
        least = height - random.exponential()  # a slice (Murray et al. 2010, figure 2)
        centred = theta - mode
        other = factor @ random.normal(size=len(theta))
        angle = random.uniform(0.0, 2 * math.pi)
        low = angle - 2 * math.pi
        high = angle
        while True:
            theta = mode + centred * math.cos(angle) + other * math.sin(angle)
            if (height := log_ratio(theta)) > least:
                break
            low, high = (angle, high) if angle < 0 else (low, angle)
            angle = random.uniform(low, high)
        if number > 0 and number % _THIN == 0:
            drawn.append(
                process.condition(Kernel.from_vector(theta, columns), columns, model.data)
            )
    return drawn


def _laplace(mode: np.ndarray, prior: Prior, columns: Columns, data: Data) -> np.ndarray:
    """Returns a factor [K, K] of the covariance at the mode, widened up to that of the prior."""

    def gradient(offset: np.ndarray) -> np.ndarray:
        at = mode + _DIFFERENCE * offset
        return process.negative_log_posterior(at, columns, data, prior)[1]

    rows = [gradient(axis) - gradient(-axis) for axis in np.eye(len(mode))]
    hessian = np.array(rows) / (2 * _DIFFERENCE) * np.outer(prior.sd, prior.sd)
    curvatures, axes = np.linalg.eigh((hessian + hessian.T) / 2)
    # the prior's own curvature is 1
    factor: np.ndarray = prior.sd[:, None] * axes * (_WIDER / np.sqrt(np.maximum(curvatures, 1.0)))
    return factor


def _log_likelihood(theta: np.ndarray, columns: Columns, data: Data) -> float:
    """Computes the log marginal likelihood (Rasmussen & Williams 2006, equation 2.30)."""
    try:
        model = process.condition(Kernel.from_vector(theta, columns), columns, data)
    except FloatingPointError:
        return -math.inf
    fit = 0.5 * data.targets @ model.weights + np.log(model.factor.diagonal()).sum()
    return -float(fit) - 0.5 * len(data.targets) * math.log(2 * math.pi)
