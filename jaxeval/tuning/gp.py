"""Proposals by a Gaussian process: expected improvement in batches, failures as results.

What is proposed depends on nothing but the space, the history and the seed: asking for eight
settings gives what asking eight times for one gives.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import stats

from jaxeval.space.distributions import Value
from jaxeval.space.space import Space
from jaxeval.tuning import (
    acquisition,
    encoding,
    gaussian_process,
    maximising,
    success,
    warping,
)
from jaxeval.tuning import history as histories
from jaxeval.tuning.gaussian_process import Data, Model
from jaxeval.tuning.history import History, Setting

INITIAL = 8  # proposals by Sobol points before the first by the model
# settings that hyperparameters are fitted to, and that the posterior is conditioned on, at most
_FITTED, _CONDITIONED = 200, 600
_NEAR = 4  # evaluated settings whose surroundings are searched
_INITIAL_DRAWS, _FANTASIES, _SEARCH = range(3)  # streams of random numbers


class Fitted(NamedTuple):
    """What a history says of a space.

    Attributes:
      model: of the scores; None before the first.
      success: of failures; None before the first.
      settings: those with scores, in the order of the model's data.
      features: [n, D] theirs.
      places: [n, P] theirs.
      unit: a difference of 1 of the model, in the metric's unit.
    """

    model: Model | None
    success: Model | None
    settings: tuple[Setting, ...]
    features: np.ndarray
    places: np.ndarray
    unit: float


def propose(
    space: Space,
    history: History,
    count: int,
    seed: int,
    fantasies: int = acquisition.FANTASIES,
) -> list[dict[str, Value]]:
    """The next settings, each unlike all others and those of the history.

    Args:
      fantasies: draws of the results that are awaited; 1: their posterior mean (Kriging believer).

    Returns:
      `count` settings; fewer where the space has no more.
    """
    settings = histories.settings(history)
    taken = encoding.places(space, [setting.values for setting in settings])
    running = taken[[bool(s.running and not s.scores) for s in settings]]
    first = len(history.evaluations)
    proposed: list[dict[str, Value]] = []
    fitted = None  # what is proposed here changes what runs, not what is known
    for number in range(first, first + count):
        row = None
        if number < INITIAL or not any(s.scores or s.failures for s in settings):
            row = _initial(space, taken, number, seed)
        if row is None:
            fitted = fitted or fit(space, history)
            streams = [seed, number, _FANTASIES], [seed, number, _SEARCH]
            near, value = _acquisition(space, fitted, running, fantasies, streams[0])
            row = maximising.maximise(space, value, near, taken, streams[1])
        if row is None:
            break
        taken, running = np.vstack([taken, row]), np.vstack([running, row])
        proposed += encoding.settings(space, row[None])
    return proposed


def fit(space: Space, history: History) -> Fitted:
    """The models of scores and of failures."""
    settings = histories.settings(history)
    scored = tuple(setting for setting in settings if setting.scores)
    places = encoding.places(space, [setting.values for setting in scored])
    features = encoding.features(space, places)
    model, unit = None, 1.0
    if scored:
        targets = warping.targets([s.scores for s in scored], history.higher_is_better)
        model, unit = _model(space, features, targets.values, targets.variances), targets.unit
    return Fitted(model, _success(space, settings), scored, features, places, unit)


def _initial(space: Space, taken: np.ndarray, number: int, seed: int) -> np.ndarray | None:
    """Places [P] of a point of a scrambled Sobol sequence; None where it is taken."""
    engine = stats.qmc.Sobol(
        len(space.parameters), seed=np.random.default_rng([seed, _INITIAL_DRAWS])
    )
    points = engine.random_base2(number.bit_length())  # a longer sequence begins as a shorter one
    row = encoding.from_quantiles(space, points[[number]])
    return None if maximising.is_taken(row, taken)[0] else row[0]


def _acquisition(
    space: Space, fitted: Fitted, running: np.ndarray, fantasies: int, seed: list[int]
) -> tuple[np.ndarray, maximising.Acquisition]:
    """Places [k, P] of the best evaluated settings, and log EI times P(success) of places."""
    model = fitted.model
    if model is None:
        return fitted.places, lambda rows: success.log_probability(
            fitted.success, encoding.features(space, rows)
        )
    means = gaussian_process.predict(model, fitted.features).mean
    near = fitted.places[np.argsort(-means, kind="stable")[:_NEAR]]
    pending = acquisition.fantasise(
        model, encoding.features(space, running), float(means.max()), fantasies, seed
    )

    def value(rows: np.ndarray) -> np.ndarray:
        features = encoding.features(space, rows)
        improvement = acquisition.log_batch_improvement(model, pending, features)
        return improvement + success.log_probability(fitted.success, features)

    return near, value


def _success(space: Space, settings: list[Setting]) -> Model | None:
    """Of all settings that ended; one failure of several evaluations counts as one."""
    ended = [setting for setting in settings if setting.scores or setting.failures]
    if not any(setting.failures for setting in ended):
        return None
    features = encoding.features(space, encoding.places(space, [s.values for s in ended]))
    labels = success.labels(np.array([bool(setting.failures) for setting in ended]))
    return _model(space, features, labels, np.zeros(len(labels)))


def _model(
    space: Space, features: np.ndarray, targets: np.ndarray, variances: np.ndarray
) -> Model:
    """The process fitted to at most _FITTED settings and conditioned on at most _CONDITIONED."""
    columns, data = encoding.layout(space), Data(features, targets, variances)
    fitted = gaussian_process.fit(_part(data, _FITTED), columns)
    if len(targets) <= _FITTED:
        return fitted
    part = _part(data, _CONDITIONED)
    return gaussian_process.condition(fitted.kernel, fitted.noise, columns, part)


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
    """The evaluated setting of the best posterior mean; None before the first score."""
    fitted = fit(space, history)
    if fitted.model is None:
        return None
    means = gaussian_process.predict(fitted.model, fitted.features).mean
    return fitted.settings[int(np.argmax(means))].values
