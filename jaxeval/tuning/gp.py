"""Proposals by a Gaussian process: expected improvement in batches, failures as results.

Proposals depend on the space, the history and the seed alone: asking for eight settings gives the
same as asking eight times for one.

The value of a setting x, given settings P, is the mean over draws of the objective at P of the
expected improvement at x, under the process conditioned on the draw, over the best of the draw. P
are the settings that run and the best evaluated ones, whose scores have noise (noisy expected
improvement, Letham et al. 2019; in batches, Balandat et al. 2020).
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy import linalg, special, stats
from threadpoolctl import threadpool_limits

from jaxeval.space import Space
from jaxeval.space.distributions import Value
from jaxeval.tuning import candidates, encoding, process
from jaxeval.tuning.candidates import Acquisition
from jaxeval.tuning.encoding import Targets, encoder
from jaxeval.tuning.history import Evaluation, History
from jaxeval.tuning.process import Data, Model

_INITIAL = 8  # Sobol points before the first proposal by the model
_LEAST_ENDED = 4  # results that the model needs: with fewer it proposes corners of the space
# most settings that hyperparameters are fitted to, and that the posterior is conditioned on
_FITTED, _CONDITIONED = 120, 400
_NEAR = 8  # best settings: their surroundings are searched, and improvement is over draws of them
_LEAST_BEFORE = 3  # settings that have had the budget of the next one
_DRAWS = 64
_DRAWN, _SEARCH = range(2)  # streams of random numbers
_LOG_2PI = math.log(2 * math.pi)


class Fitted(NamedTuple):
    """The models of a history."""

    model: Model | None  # of the scores; None before the first
    success: Model | None  # of failures; None before the first
    scored: list[Evaluation]  # with scores, as in the model's data, where scores at rungs follow
    features: np.ndarray  # [n, D] of these, without budgets
    places: np.ndarray  # [n, P]
    targets: Targets | None
    budget: float  # at which the next setting is to improve; 1 is a whole training


@threadpool_limits.wrap(limits=1, user_api="blas")  # the matrices are small
def propose(space: Space, known: History, count: int, seed: int) -> list[dict[str, Value]]:
    """Returns the next settings, all new; fewer if the space has no more."""
    first = len(known.evaluations)
    early = count
    if len(known.ended) >= _LEAST_ENDED:
        early = min(count, max(0, _INITIAL - first))
    proposed = candidates.sobol(space, known, early, seed)
    if len(proposed) == count:
        return proposed
    for values in proposed:
        known = known.propose(values, ())
    encode = encoder(space)
    taken = encode.places([e.values for e in known.evaluations])
    running = taken[[not e.ended for e in known.evaluations]]
    fitted = fit(space, known)
    for number in range(first + len(proposed), first + count):
        near, value = _acquisition(space, fitted, running, [seed, number, _DRAWN])
        row = candidates.maximise(space, value, near, taken, [seed, number, _SEARCH])
        if row is None:
            break
        taken, running = np.vstack([taken, row]), np.vstack([running, row])
        proposed += encode.settings(row[None])
    return proposed


def _acquisition(
    space: Space, fitted: Fitted, running: np.ndarray, seed: list[int]
) -> tuple[np.ndarray, Acquisition]:
    """Returns places [k, P] of the best settings, and log EI times P(success) of places."""
    model = fitted.model
    features = encoder(space).features
    if model is None:
        return fitted.places, lambda rows: _log_success(fitted.success, features(rows))
    near = fitted.places[ranked(fitted, fitted.budget)[:_NEAR]]
    at = functools.partial(model.columns.complete, budget=fitted.budget)
    improvement = _improvement(model, at(features(np.vstack([near, running]))), seed)

    def value(rows: np.ndarray) -> np.ndarray:
        seen = features(rows)
        return improvement(at(seen)) + _log_success(fitted.success, seen)

    return near, value


def _improvement(
    model: Model, unknown: np.ndarray, seed: list[int], count: int = _DRAWS
) -> Acquisition:
    """Returns the log of expected improvement on draws of the objective at `unknown` [p, D].

    The draws are joint, by scrambled Sobol points. The result is a function of features [m, D].
    """
    points = model.predict(unknown)
    factor = model.joint_factor(points)
    engine = stats.qmc.Sobol(len(unknown), rng=np.random.default_rng(seed))
    normal = special.ndtri(np.clip(engine.random(count), 1e-9, 1 - 1e-9)).T
    best = (points.mean[:, None] + factor @ normal).max(axis=0)
    least = 1e-12 * (math.exp(model.kernel.scale) + 1.0)

    def log_mean(features: np.ndarray) -> np.ndarray:
        prediction = model.predict(features)
        covariance = model.covariance(points, prediction)
        coupled = linalg.solve_triangular(factor, covariance, lower=True)
        variance = np.maximum(prediction.variance - np.sum(coupled**2, axis=0), least)
        sd = np.sqrt(variance)[:, None]
        means = prediction.mean[:, None] + coupled.T @ normal
        logs = _log_improvement((means - best) / sd) + np.log(sd)
        return np.asarray(special.logsumexp(logs, axis=1)) - math.log(count)

    return log_mean


def _log_improvement(u: np.ndarray) -> np.ndarray:
    """Computes log(phi(u) + u Phi(u)) without loss of digits, also below u = -1e6.

    (Ament et al. 2023, equations 9 and 14.)
    """
    logs = np.empty_like(u)
    near = u > -1.0
    far = u < -1e6
    v = u[near]
    logs[near] = np.log(np.exp(-0.5 * (v * v + _LOG_2PI)) + v * special.ndtr(v))
    v = u[middle := ~(near | far)]
    # log(-u Phi / phi), from -.42 to -1e-12: its exponential less 1 keeps its digits
    ratio = np.log(-v * special.erfcx(-v / math.sqrt(2))) + math.log(math.pi / 2) / 2
    logs[middle] = np.log(-np.expm1(ratio)) - 0.5 * (v * v + _LOG_2PI)
    v = u[far]
    logs[far] = -2.0 * np.log(-v) - 0.5 * (v * v + _LOG_2PI)
    return logs


def _log_success(model: Model | None, features: np.ndarray) -> np.ndarray:
    """Computes log P(success) at features [m, D] by least-squares classification.

    (Rasmussen & Williams 2006, section 6.5.) Regression on labels 1 and -1; the latent function
    crosses zero where half of the settings fail.
    """
    if model is None:
        return np.zeros(len(features))
    prediction = model.predict(features)
    sd = np.sqrt(prediction.variance + math.exp(model.kernel.noise))
    logs: np.ndarray = special.log_ndtr(prediction.mean / sd)
    return logs


def fit(space: Space, known: History) -> Fitted:
    """Fits the models of scores and of failures."""
    rungs = known.rungs()
    encode = encoder(space)
    scored = [evaluation for evaluation in known.evaluations if evaluation.scores]
    values = [*(e.values for e in scored), *(known.evaluations[n].values for n, *_ in rungs)]
    observed = encode.places(values)
    features = encode.features(observed)
    model, fitted_to, budget = None, None, 1.0
    if scored:
        scores = [*(e.scores for e in scored), *((score,) for _, score, _ in rungs)]
        fitted_to = encoding.targets(scores, known.higher_is_better, _weights(observed))
        rows = features
        if any(evaluation.stopped for evaluation in scored):
            # so few epochs tell what they can about the whole training (Klein et al. 2020)
            budgets = [*(e.budget for e in scored), *(at for *_, at in rungs)]
            rows = np.column_stack([features, budgets])
        data = Data(rows, fitted_to.values, fitted_to.variances, fitted_to.shares)
        model = _model(space, data)
        # the largest budget that more than three settings have had, and more than there are
        # hyperparameters (BOHB, Falkner et al. 2018, algorithm 2, asks for two further ones):
        # beyond it expected improvement is largest in the corners, where nothing is known
        furthest = {evaluation.number: evaluation.budget for evaluation in scored}
        for number, _, at in rungs:
            furthest[number] = max(at, furthest.get(number, 0.0))
        ordered = sorted(furthest.values(), reverse=True)
        budget = ordered[min(max(_LEAST_BEFORE, len(space.parameters)), len(ordered) - 1)]
    count = len(scored)
    success, ended = None, known.ended
    if any(evaluation.failure for evaluation in ended):
        seen = encode.features(encode.places([evaluation.values for evaluation in ended]))
        labels = np.where([bool(evaluation.failure) for evaluation in ended], -1.0, 1.0)
        success = _model(space, Data(seen, labels, np.zeros(len(labels)), np.ones(len(labels))))
    return Fitted(model, success, scored, features[:count], observed[:count], fitted_to, budget)


def _weights(places: np.ndarray) -> np.ndarray:
    """Returns weights [n] that give each combination of active hyperparameters the same sum."""
    _, branch, sizes = np.unique(np.isnan(places), axis=0, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / sizes[branch.ravel()])


def _model(space: Space, data: Data) -> Model:
    columns = encoder(space).columns
    if data.features.shape[1] > len(columns.group):
        columns = columns.with_budget()
    fitted = process.fit(fitted_data(data), columns)
    if len(data.targets) <= _FITTED:
        return fitted
    return process.condition(fitted.kernel, columns, _part(data, _CONDITIONED))


def fitted_data(data: Data) -> Data:
    """Returns the data that hyperparameters are fitted to."""
    return _part(data, _FITTED)


def _part(data: Data, most: int) -> Data:
    """Returns at most so many data: half of them the best ones, the others evenly spread."""
    if len(data.targets) <= most:
        return data
    order = np.argsort(-data.targets, kind="stable")
    best, others = np.split(order, [most // 2])
    spread = np.linspace(0, len(others) - 1, most - most // 2).astype(int)
    part = np.sort(np.concatenate([best, others[spread]]))
    return Data(*(array[part] for array in data))


def best(space: Space, known: History) -> Evaluation | None:
    """Returns the evaluation to take, the first one `ranked`; None before the first score."""
    fitted = fit(space, known)
    return None if fitted.model is None else fitted.scored[ranked(fitted)[0]]


def ranked(fitted: Fitted, budget: float = 1.0) -> np.ndarray:
    """Returns indices of `scored`, the best posterior mean first.

    Those stopped before this budget are left out, unless there are no others. For whole trainings
    the mean moves towards the score by s / (1 + s) of their difference, with the fitted noise s:
    an objective with many peaks looks like noise to a smooth model.
    """
    assert fitted.model is not None and fitted.targets is not None
    means = fitted.model.predict(fitted.model.columns.complete(fitted.features, budget)).mean
    if budget == 1.0:
        whole = np.array([evaluation.stopped is None for evaluation in fitted.scored])
        noise = math.exp(fitted.model.kernel.noise)
        means += noise / (1.0 + noise) * whole * (fitted.targets.values[: len(means)] - means)
    order = np.argsort(-means, kind="stable")
    able = [k for k in order if fitted.scored[k].budget >= budget]
    return np.array(able) if able else order
