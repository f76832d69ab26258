"""Proposals by a Gaussian process: expected improvement in batches, failures as results.

What is proposed depends on nothing but the space, the history and the seed: asking for eight
settings gives what asking eight times for one gives.
"""

import functools
import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from jaxeval.space.distributions import Value
from jaxeval.space.space import Space
from jaxeval.tuning import (
    acquisition,
    encoding,
    gaussian_process,
    halving,
    maximising,
    sampling,
    success,
    warping,
)
from jaxeval.tuning import history as histories
from jaxeval.tuning.gaussian_process import Data, Model
from jaxeval.tuning.halving import AtRung
from jaxeval.tuning.history import History, Setting
from jaxeval.tuning.warping import Targets

INITIAL = 8  # proposals by Sobol points before the first by the model
# results that it needs: with fewer it proposes corners of the space, where all is unknown, and
# finds nothing better there than random search (docs/tuning_method.md)
_LEAST_ENDED = 4
# settings that hyperparameters are fitted to, and that the posterior is conditioned on, at most
_FITTED, _CONDITIONED = 120, 400
_NEAR = 8  # best settings: their surroundings are searched, and improvement is over draws of them
_FANTASIES, _SEARCH, _SHARING = range(3)  # streams of random numbers
# share of the expected improvement that a setting of a running program may lack; what more costs:
# docs/tuning_method.md
PRICE = 0.0


class Fitted(NamedTuple):
    """What a history says of a space.

    Attributes:
      model: of the scores; None before the first.
      success: of failures; None before the first.
      settings: those with results, in the order of the model's data, which scores at rungs follow.
      features: [n, D] theirs, without the budgets that the model knows.
      places: [n, P] theirs.
      targets: what the model was fitted to; None before the first.
      budget: at which the next setting is to improve (`_supported`); 1: of whole trainings.
    """

    model: Model | None
    success: Model | None
    settings: tuple[Setting, ...]
    features: np.ndarray
    places: np.ndarray
    targets: Targets | None
    budget: float


def propose(
    space: Space,
    history: History,
    count: int,
    seed: int,
    fantasies: int = acquisition.FANTASIES,
    fitted: Fitted | None = None,
    compiled: Collection[str] = (),
    price: float = PRICE,
) -> list[dict[str, Value]]:
    """The next settings, each unlike all others and those of the history.

    Args:
      fantasies: draws of what runs and of the best settings; 1: their posterior mean (Kriging
        believer).
      fitted: to the history, where that is done.
      compiled: hyperparameters whose values are compiled in. A setting that has those of one that
        runs is proposed instead of the best, where it lacks at most a share `price` of its
        expected improvement.

    Returns:
      `count` settings; fewer where the space has no more.
    """
    first, early = len(history.evaluations), initial(history, count)
    proposed = sampling.sobol(space, history, early, seed)
    if len(proposed) == count:
        return proposed
    for values in proposed:
        history = histories.propose(history, values, ())
    settings = histories.settings(history)
    taken = encoding.places(space, [setting.values for setting in settings])
    running = taken[[bool(s.running and not s.scores) for s in settings]]
    columns = [k for k, parameter in enumerate(space.parameters) if parameter.name in compiled]
    fitted = fitted or fit(space, history)  # proposals change what runs, not what is known
    for number in range(first + len(proposed), first + count):
        streams = [[seed, number, stream] for stream in (_FANTASIES, _SEARCH, _SHARING)]
        near, value = _acquisition(space, fitted, running, fantasies, streams[0])
        row = maximising.maximise(space, value, near, taken, streams[1])
        if row is None:
            break
        if columns:
            row = maximising.sharing(
                space, value, row, running, columns, taken, math.log1p(-price), streams[2]
            )
        taken, running = np.vstack([taken, row]), np.vstack([running, row])
        proposed += encoding.settings(space, row[None])
    return proposed


def initial(history: History, count: int) -> int:
    """How many of the next settings are Sobol points, before the model proposes."""
    if len(histories.ended(history)) < _LEAST_ENDED:
        return count
    return min(count, max(0, INITIAL - len(history.evaluations)))


def fit(space: Space, history: History) -> Fitted:
    """The models of scores and of failures."""
    settings = histories.settings(history)
    scored = tuple(setting for setting in settings if setting.scores)
    rungs = halving.at_rungs(history)
    values = [*(s.values for s in scored), *(history.evaluations[r.number].values for r in rungs)]
    observed = encoding.places(space, values)
    places = observed[: len(scored)]
    features = encoding.features(space, places)
    model, targets, budget = None, None, 1.0
    if scored:
        scores = [*(setting.scores for setting in scored), *((rung.score,) for rung in rungs)]
        targets = warping.targets(scores, history.higher_is_better, _weights(observed))
        rows = _with_budgets(encoding.features(space, observed), scored, rungs)
        data = Data(rows, targets.values, targets.variances, targets.shares)
        model, budget = _model(space, data), _supported(space, scored, rungs)
    return Fitted(model, _success(space, settings), scored, features, places, targets, budget)


def _weights(places: np.ndarray) -> np.ndarray:
    """[n]: equal for branches, those of the same active hyperparameters, however often visited."""
    _, branch, sizes = np.unique(np.isnan(places), axis=0, return_inverse=True, return_counts=True)
    weights: np.ndarray = 1.0 / sizes[branch.ravel()]
    return weights


def _with_budgets(
    features: np.ndarray, scored: tuple[Setting, ...], rungs: list[AtRung]
) -> np.ndarray:
    """Features of settings and of scores at rungs, with a column of budgets where some stopped.

    So scores of few epochs say what they say of the whole training (Klein et al. 2020).
    """
    if all(setting.stopped is None for setting in scored):
        return features
    budgets = [*(halving.budget(s.stopped) for s in scored), *(rung.budget for rung in rungs)]
    return np.column_stack([features, budgets])


def _supported(space: Space, scored: tuple[Setting, ...], rungs: list[AtRung]) -> float:
    """The largest budget that more settings have had than there are hyperparameters.

    (As BOHB chooses one, Falkner et al. 2018, algorithm 2, from two settings more.) Of larger ones
    nearly nothing is known anywhere: their expected improvement is largest in the corners of the
    space.
    """
    furthest = {setting.numbers[0]: halving.budget(setting.stopped) for setting in scored}
    for rung in rungs:
        furthest[rung.number] = max(rung.budget, furthest.get(rung.number, 0.0))
    ordered = sorted(furthest.values(), reverse=True)
    return ordered[min(len(space.parameters), len(ordered) - 1)]


def _acquisition(
    space: Space, fitted: Fitted, running: np.ndarray, fantasies: int, seed: list[int]
) -> tuple[np.ndarray, maximising.Acquisition]:
    """Places [k, P] of the best evaluated settings, and log EI times P(success) of places."""
    model = fitted.model
    if model is None:
        return fitted.places, lambda rows: success.log_probability(
            fitted.success, encoding.features(space, rows)
        )
    near = fitted.places[ranked(fitted, fitted.budget)[:_NEAR]]
    at = functools.partial(encoding.complete, model.columns, budget=fitted.budget)
    unknown = encoding.features(space, np.vstack([near, running]))
    pending = acquisition.fantasise(model, at(unknown), fantasies, seed)

    def value(rows: np.ndarray) -> np.ndarray:
        features = encoding.features(space, rows)
        improvement = acquisition.log_batch_improvement(model, pending, at(features))
        return improvement + success.log_probability(fitted.success, features)

    return near, value


def _success(space: Space, settings: list[Setting]) -> Model | None:
    """Of all settings that ended; one failure of several evaluations counts as one."""
    ended = [setting for setting in settings if setting.scores or setting.failures]
    if not any(setting.failures for setting in ended):
        return None
    features = encoding.features(space, encoding.places(space, [s.values for s in ended]))
    labels = success.labels(np.array([bool(setting.failures) for setting in ended]))
    return _model(space, Data(features, labels, np.zeros(len(labels)), np.ones(len(labels))))


def _model(space: Space, data: Data) -> Model:
    """The process fitted to at most _FITTED settings and conditioned on at most _CONDITIONED."""
    columns = encoding.layout(space)
    if data.features.shape[1] > len(columns.group):
        columns = encoding.with_budget(columns)
    fitted = gaussian_process.fit(fitted_to(data), columns)
    if len(data.targets) <= _FITTED:
        return fitted
    part = _part(data, _CONDITIONED)
    return gaussian_process.condition(fitted.kernel, fitted.noise, columns, part)


def fitted_to(data: Data) -> Data:
    """What of the data hyperparameters are fitted to."""
    return _part(data, _FITTED)


def _part(data: Data, most: int) -> Data:
    """At most so many data: the better half of them the best ones, the others evenly spread."""
    if len(data.targets) <= most:
        return data
    order = np.argsort(-data.targets, kind="stable")
    best, others = np.split(order, [most // 2])
    spread = np.linspace(0, len(others) - 1, most - most // 2).astype(int)
    part = np.sort(np.concatenate([best, others[spread]]))
    return Data(*(array[part] for array in data))


def best_setting(space: Space, history: History) -> Mapping[str, Value] | None:
    """The evaluated setting to take, the first one `ranked`; None before the first score."""
    fitted = fit(space, history)
    if fitted.model is None:
        return None
    return fitted.settings[ranked(fitted)[0]].values


def ranked(fitted: Fitted, budget: float = 1.0) -> np.ndarray:
    """Indices of the settings with scores that can be taken, the best posterior mean first.

    Added to it, of whole trainings, is a share of what their score differs by from it: the
    fitted noise s in s / (1 + s). An objective with many peaks looks like noise to a smooth model.

    One that was stopped before a budget, or of which an evaluation failed, cannot while another
    one can.

    Args:
      budget: of which the mean is; 1: a whole training.
    """
    assert fitted.model is not None
    features = encoding.complete(fitted.model.columns, fitted.features, budget)
    means = gaussian_process.predict(fitted.model, features).mean
    if budget == 1.0 and fitted.targets is not None:
        whole = np.array([setting.stopped is None for setting in fitted.settings])
        noise = math.exp(fitted.model.noise)
        means += noise / (1.0 + noise) * whole * (fitted.targets.values[: len(means)] - means)
    order = np.argsort(-means, kind="stable")
    able = [
        k
        for k in order
        if not (s := fitted.settings[k]).failures and halving.budget(s.stopped) >= budget
    ]
    return np.array(able) if able else order
