"""What a search says so far: which setting is best, and whether a better one exists.

All of it is averaged over draws of the process's hyperparameters (Snoek et al. 2012, section 3.2).
Those of the posterior mode alone are taken for known, and what is said is then too sure: see
docs/tuning_method.md.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from jaxeval.errors import DataError
from jaxeval.space.space import Space
from jaxeval.tuning import (
    encoding,
    gaussian_process,
    gp,
    hyperparameters,
    maximising,
    paths,
    warping,
)
from jaxeval.tuning import history as histories
from jaxeval.tuning.gaussian_process import Model
from jaxeval.tuning.gp import Fitted
from jaxeval.tuning.history import History, Setting
from jaxeval.tuning.warping import Targets

# draws of hyperparameters, and of functions for each
_PROCESSES, _FUNCTIONS = 16, 64
_POINTS, _AROUND = 4096, 8  # of the whole space, and evaluated settings to look around
_QUANTILES = 64  # of the objective at a setting that others are compared with
_NORMAL = special.ndtri((np.arange(_QUANTILES) + 0.5) / _QUANTILES)
_OF_BEST, _OF_SPACE, _OF_BETTER, _OF_SUCCESS, _OF_PROCESSES = range(10, 15)  # streams


class Row(NamedTuple):
    """The posterior of one evaluated setting.

    Attributes:
      mean, sd: of its mean score over seeds, in the metric's unit. The sd is right for good
        settings alone: below the median score the process knows ranks (`warping`).
      best: probability that it is the best of the evaluated settings that can be taken.
      worse: probability that it is worse than the first row's by more than a margin.
    """

    setting: Setting
    mean: float
    sd: float
    best: float
    worse: float


def describe(space: Space, history: History, seed: int = 0, margin: float = 0.0) -> list[Row]:
    """All settings with scores; empty before the first.

    Those that can be taken (`gp.ranked`) first, and among them the best posterior mean.

    Args:
      margin: a difference that does not matter, in the metric's unit, from 0.
    """
    fitted = gp.fit(space, history)
    if fitted.model is None or fitted.targets is None:
        return []
    drawn = processes(fitted, seed)
    mean, sd = moments(drawn, fitted.features)
    best = probability_of_best(fitted, drawn, seed)
    able = gp.ranked(fitted)
    by_mean = np.argsort(-mean, kind="stable")
    others = [*by_mean[np.isin(by_mean, able[1:])], *by_mean[~np.isin(by_mean, able)]]
    unit, means = abs(fitted.targets.unit), warping.in_metric(fitted.targets, mean)
    below = worse(drawn, fitted.features, fitted.features[able[:1]], fitted.targets, margin)
    return [
        Row(
            fitted.settings[k],
            float(means[k]),
            unit * float(sd[k]),
            float(best[k]),
            float(below[k]),
        )
        for k in (able[0], *others)
    ]


def processes(fitted: Fitted, seed: int) -> list[Model]:
    """The process with hyperparameters drawn from their posterior.

    Args:
      fitted: to a history that has scores.
    """
    assert fitted.model is not None
    told = gp.fitted_to(fitted.model.data)
    return hyperparameters.draw(fitted.model, told, _PROCESSES, [seed, _OF_PROCESSES])


def moments(drawn: Sequence[Model], features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation [m] of the objective at features [m, D], in targets."""
    predictions = [gaussian_process.predict(model, features) for model in drawn]
    means = np.array([prediction.mean for prediction in predictions])
    variances = np.array([prediction.variance for prediction in predictions])
    return means.mean(axis=0), np.sqrt(variances.mean(axis=0) + means.var(axis=0))


def worse(
    drawn: Sequence[Model], features: np.ndarray, own: np.ndarray, of: Targets, margin: float
) -> np.ndarray:
    """[m]: posterior probability that the objective at features [m, D] is worse than elsewhere.

    Compared in the metric: a margin is another difference of targets where the warp bends.

    Args:
      own: [1, D] where that is.
      of: what the processes are fitted to.
      margin: by more than this, in the metric's unit.
    """
    each = [_worse(model, features, own, of, margin) for model in drawn]
    mean: np.ndarray = np.mean(each, axis=0)
    return mean


def _worse(
    model: Model, features: np.ndarray, own: np.ndarray, of: Targets, margin: float
) -> np.ndarray:
    """The same of one process: the mean over quantiles of the objective at the own features."""
    others = gaussian_process.predict(model, features)
    at_own = gaussian_process.predict(model, own)
    shared = gaussian_process.between(model, (features, others.solved), (own, at_own.solved))
    off = np.sqrt(at_own.variance) * _NORMAL  # [_QUANTILES]
    slope = shared / at_own.variance  # [m, 1]
    mean = others.mean[:, None] + slope * off
    variance = np.maximum(others.variance[:, None] - slope * shared, 1e-12)
    least = warping.lowered(of, at_own.mean + off, margin)
    probability: np.ndarray = special.ndtr((least - mean) / np.sqrt(variance)).mean(axis=1)
    return probability


def noise_known(history: History) -> bool:
    """Whether several seeds of good settings tell the noise, with 4 degrees of freedom or more.

    If not, it is told from the objective by a prior on both: with one seed a setting, `Row.sd` and
    `Row.best` are the prior's as much as the scores'.
    """
    scores = [setting.scores for setting in histories.settings(history) if setting.scores]
    return bool(scores) and warping.targets(scores, history.higher_is_better).seed > 0


def probability_of_best(fitted: Fitted, drawn: Sequence[Model], seed: int) -> np.ndarray:
    """[n]: of each setting with scores, that its noise-free objective is the best of them.

    0 of those that cannot be taken (`gp.ranked`).
    """
    able = np.sort(gp.ranked(fitted))
    wins = np.zeros(len(fitted.settings))
    for k, model in enumerate(drawn):
        mean, factor = gaussian_process.joint(model, fitted.features[able])
        normal = np.random.default_rng([seed, _OF_BEST, k]).normal(size=(len(able), _FUNCTIONS))
        np.add.at(wins, able[np.argmax(mean[:, None] + factor @ normal, axis=0)], 1)
    return wins / wins.sum()


def probability_of_better(space: Space, history: History, margin: float, seed: int = 0) -> float:
    """That some setting is better than the one to take by more than a margin.

    Draws of the posterior as functions, at the evaluated settings, at 4,096 points of the space
    (all of a small one) and around the best settings. One without a result counts in the draws
    where it does not fail either; one of which an evaluation failed does not count. The
    probability over the whole space is higher where a better setting lies between the points.

    1 until `gp.INITIAL` settings have scores (all of a space that has fewer), and they differ:
    before that the model knows no scale to compare the margin with.

    Args:
      margin: in the metric's unit, from 0.

    Raises:
      DataError: a margin below 0.
    """
    if margin < 0:
        raise DataError(f"margin: expected a number of at least 0, got {margin}")
    fitted = gp.fit(space, history)
    if fitted.targets is None or not fitted.targets.values.any():
        return 1.0
    able = gp.ranked(fitted)
    rows = _candidates(space, fitted.places[able[:_AROUND]], seed)
    ended = [setting.values for setting in histories.settings(history) if _has_ended(setting)]
    others = rows[~maximising.is_taken(rows, encoding.places(space, ended))]
    if len(fitted.settings) < gp.INITIAL and len(others):
        return 1.0
    of_others = encoding.features(space, others)
    features, better = np.concatenate([fitted.features[able], of_others]), []
    for k, model in enumerate(processes(fitted, seed)):
        path = paths.draw(model, _FUNCTIONS, [seed, _OF_BETTER, k])
        values = paths.evaluate(path, features)
        values[len(able) :][~_succeeds(fitted, of_others, [seed, _OF_SUCCESS, k])] = -np.inf
        highest = values[1:].max(axis=0, initial=-np.inf)
        better.append(values[0] < warping.lowered(fitted.targets, highest, margin))
    return float(np.mean(better))


def _has_ended(setting: Setting) -> bool:
    return bool(setting.scores or setting.failures)


def _succeeds(fitted: Fitted, features: np.ndarray, seed: list[int]) -> np.ndarray:
    """[m, S]: whether each of the settings [m, D] would be trained without failure, in draws.

    A setting does so with the probability of `success`; settings that are alike share their luck.
    """
    if fitted.success is None:
        return np.ones((len(features), _FUNCTIONS), bool)
    path = paths.draw(fitted.success, _FUNCTIONS, seed)
    luck = np.random.default_rng([*seed, 1]).normal(size=_FUNCTIONS)
    latent = paths.evaluate(path, features) + math.exp(fitted.success.noise / 2) * luck
    succeeds: np.ndarray = latent > 0
    return succeeds


def _candidates(space: Space, near: np.ndarray, seed: int) -> np.ndarray:
    """Places [m, P] of the whole space and around given settings."""
    everything = encoding.everything(space)
    random = np.random.default_rng([seed, _OF_SPACE])
    if everything is not None:
        return everything
    whole = encoding.from_quantiles(space, random.random((_POINTS, len(space.parameters))))
    around = [maximising.mutate(space, near, step, random) for step in (0.1, 0.02)]
    return encoding.distinct(np.concatenate([whole, *around]))
