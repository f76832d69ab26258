"""What a search says so far: which setting is best, and whether a better one exists."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from jaxeval.errors import DataError
from jaxeval.space.space import Space
from jaxeval.tuning import encoding, gaussian_process, gp, maximising
from jaxeval.tuning.gp import Fitted
from jaxeval.tuning.history import History, Setting

_DRAWS = 2048
_POINTS, _AROUND = 512, 16  # of the whole space, and of evaluated settings to look around
_OF_BEST, _OF_SPACE, _OF_BETTER = range(10, 13)  # streams of random numbers


class Row(NamedTuple):
    """The posterior of one evaluated setting.

    Attributes:
      mean, sd: of its mean score over seeds, in the metric's unit. Below the median score they are
        of the scores by rank (`warping`), so that they are right for good settings alone.
      best: probability that no other evaluated setting is better.
    """

    setting: Setting
    mean: float
    sd: float
    best: float


class Optimism(NamedTuple):
    """How much a search flattered its winner.

    Attributes:
      seen: mean score of the setting in the search.
      retrained: mean over fresh seeds, with its interval.
      optimism: how much better `seen` is than `retrained`, from its low to its high end.
    """

    seen: float
    retrained: tuple[float, float, float]
    optimism: tuple[float, float, float]


def describe(space: Space, history: History, seed: int = 0) -> list[Row]:
    """All settings with scores, the best posterior mean first; empty before the first score."""
    fitted = gp.fit(space, history)
    if fitted.model is None or fitted.targets is None:
        return []
    prediction = gaussian_process.predict(fitted.model, fitted.features)
    best = probability_of_best(fitted, seed)
    order = np.argsort(-prediction.mean, kind="stable")
    centre, unit = fitted.targets.centre, fitted.targets.unit
    return [
        Row(
            fitted.settings[k],
            centre + unit * float(prediction.mean[k]),
            abs(unit) * math.sqrt(float(prediction.variance[k])),
            float(best[k]),
        )
        for k in order
    ]


def probability_of_best(fitted: Fitted, seed: int) -> np.ndarray:
    """[n]: of each setting with scores, that its noise-free objective is the best of them."""
    assert fitted.model is not None
    values = _draw(fitted, fitted.features, [seed, _OF_BEST])
    return np.bincount(values.argmax(axis=0), minlength=len(values)) / values.shape[1]


def probability_of_better(space: Space, history: History, margin: float, seed: int = 0) -> float:
    """That some setting is better than the one to take by more than a margin.

    Joint draws of the posterior at 512 Sobol points of the space (all of a small one) and around
    the best settings: a lower bound of the posterior probability, which looks at all settings.
    1 before the first score.

    Args:
      margin: in the metric's unit, from 0.
    """
    if margin < 0:
        raise DataError(f"margin: expected a number of at least 0, got {margin}")
    fitted = gp.fit(space, history)
    if fitted.model is None or fitted.targets is None:
        return 1.0
    means = gaussian_process.predict(fitted.model, fitted.features).mean
    order = np.argsort(-means, kind="stable")
    rows = _candidates(space, fitted.places[order[:_AROUND]], seed)
    others = rows[~maximising.is_taken(rows, fitted.places)]
    points = np.concatenate([fitted.features[order[:_AROUND]], encoding.features(space, others)])
    values = _draw(fitted, points, [seed, _OF_BETTER])
    better = values[1:].max(axis=0, initial=-np.inf) > values[0] + margin / abs(
        fitted.targets.unit
    )
    return float(better.mean())


def optimism(
    seen: Sequence[float], retrained: Sequence[float], higher_is_better: bool, level: float = 0.95
) -> Optimism:
    """What is left of the best score of a search when its setting is trained with fresh seeds.

    The interval is Student's of the fresh scores; `seen` is taken as it is.

    Args:
      seen: scores of the setting in the search.
      retrained: of fresh seeds, at least two.
    """
    if not seen or len(retrained) < 2:
        raise DataError(
            f"optimism: expected a score of the search and two of fresh seeds, got {len(seen)} "
            f"and {len(retrained)}"
        )
    count, mean = len(retrained), float(np.mean(retrained))
    error = float(np.std(retrained, ddof=1)) / math.sqrt(count)
    half = float(special.stdtrit(count - 1, 0.5 + level / 2)) * error
    best, sign = float(np.mean(seen)), 1.0 if higher_is_better else -1.0
    gap = sign * (best - mean)
    return Optimism(best, (mean, mean - half, mean + half), (gap, gap - half, gap + half))


def _candidates(space: Space, near: np.ndarray, seed: int) -> np.ndarray:
    """Places [m, P] of the whole space and around given settings."""
    everything = encoding.everything(space)
    random = np.random.default_rng([seed, _OF_SPACE])
    if everything is not None and len(everything) <= 2 * _POINTS:
        return everything
    whole = encoding.from_quantiles(space, random.random((_POINTS, len(space.parameters))))
    around = [maximising.mutate(space, near, step, random) for step in (0.1, 0.02)]
    return encoding.distinct(np.concatenate([whole, *around]))


def _draw(fitted: Fitted, features: np.ndarray, seed: list[int]) -> np.ndarray:
    """Joint posterior draws [m, S] of the objective at features [m, D]."""
    assert fitted.model is not None
    mean, factor = gaussian_process.joint(fitted.model, features)
    normal = np.random.default_rng(seed).normal(size=(len(mean), _DRAWS))
    drawn: np.ndarray = mean[:, None] + factor @ normal
    return drawn
