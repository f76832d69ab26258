"""What a further score is worth: expected improvement of a batch, and knowledge gradients.

Settings are proposed one after the other (greedy). The value of one more, x, given some settings P
is the mean over draws of f at P of the expected improvement at x under the process conditioned on
the draw, over the best of the draw. P are settings that run and the best evaluated ones, of which
scores with noise are known only (noisy expected improvement, Letham et al. 2019; of batches,
Balandat et al. 2020): what is near them improves on them by the noise alone, which counts for
nothing when f is drawn there.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg, special, stats

from jaxeval.tuning import process
from jaxeval.tuning.process import Model, Prediction

_FANTASIES = 64
_LOG_2PI = math.log(2 * math.pi)


def log_improvement(u: np.ndarray) -> np.ndarray:
    """log(phi(u) + u Phi(u)), without loss of digits down to u = -1e6 and beyond.

    (Ament et al. 2023, equations 9 and 14.)
    """
    u = np.asarray(u, np.float64)
    logs = np.empty_like(u)
    near, far = u > -1.0, u < -1e6
    v = u[near]
    logs[near] = np.log(np.exp(-0.5 * (v * v + _LOG_2PI)) + v * special.ndtr(v))
    v = u[middle := ~(near | far)]
    # log(-u Phi / phi), from -.42 to -1e-12: its exponential less 1 keeps its digits
    ratio = np.log(-v * special.erfcx(-v / math.sqrt(2))) + math.log(math.pi / 2) / 2
    logs[middle] = np.log(-np.expm1(ratio)) - 0.5 * (v * v + _LOG_2PI)
    v = u[far]
    logs[far] = -2.0 * np.log(-v) - 0.5 * (v * v + _LOG_2PI)
    return logs


class Pending(NamedTuple):
    """Draws of the objective at p settings whose values are not known."""

    points: Prediction
    factor: np.ndarray  # [p, p] lower Cholesky factor of their posterior covariance
    normal: np.ndarray  # [p, S] standard normal
    best: np.ndarray  # [S] of each draw


def fantasise(
    model: Model, features: np.ndarray, seed: list[int], count: int = _FANTASIES
) -> Pending:
    """Joint draws at features [p, D], at least one row, by scrambled Sobol points."""
    points = process.predict(model, features)
    factor = process.joint(model, points)
    engine = stats.qmc.Sobol(len(features), rng=np.random.default_rng(seed))
    normal = special.ndtri(np.clip(engine.random(count), 1e-9, 1 - 1e-9)).T
    drawn = points.mean[:, None] + factor @ normal
    return Pending(points, factor, normal, drawn.max(axis=0))


def log_batch_improvement(model: Model, pending: Pending, features: np.ndarray) -> np.ndarray:
    """log of what each of the settings [m, D] is expected to add to the best of the draws."""
    prediction = process.predict(model, features)
    covariance = process.between(model, pending.points, prediction)
    coupled = linalg.solve_triangular(pending.factor, covariance, lower=True)
    least = 1e-12 * (math.exp(model.kernel.scale) + 1.0)
    sd = np.sqrt(np.maximum(prediction.variance - np.sum(coupled**2, axis=0), least))[:, None]
    means = prediction.mean[:, None] + coupled.T @ pending.normal
    logs = log_improvement((means - pending.best) / sd) + np.log(sd)
    summed: np.ndarray = special.logsumexp(logs, axis=1)
    return summed - math.log(len(pending.best))


def log_success(model: Model | None, features: np.ndarray) -> np.ndarray:
    """log P(an evaluation succeeds) at features [m, D]; None: nothing has failed.

    Least-squares classification (Rasmussen & Williams 2006, section 6.5): regression on labels 1
    and -1, whose latent function crosses zero where half of the settings fail.
    """
    if model is None:
        return np.zeros(len(features))
    prediction = process.predict(model, features)
    sd = np.sqrt(prediction.variance + math.exp(model.kernel.noise))
    logs: np.ndarray = special.log_ndtr(prediction.mean / sd)
    return logs


def knowledge_gradients(
    model: Model, features: np.ndarray, awaited: np.ndarray, new: np.ndarray, seed: float
) -> np.ndarray:
    """By how much the best posterior mean is expected to rise with one score more of a setting.

    (Frazier, Powell & Dayanik 2009.)

    Args:
      features: [k, D] of settings that can be taken.
      awaited: [k] scores of each that are awaited; they count as known.
      new: [m, D] of settings that can be taken once they have a score.
      seed: variance of a score.

    Returns:
      [k + m].
    """
    k = len(features)
    prediction = process.predict(model, np.concatenate([features, new]))
    covariance = process.between(model, prediction, prediction)
    waiting = np.flatnonzero(awaited)
    if len(waiting):
        noisy = covariance[np.ix_(waiting, waiting)] + np.diag(seed / awaited[waiting])
        cross = covariance[waiting]
        covariance = covariance - cross.T @ linalg.solve(noisy, cross, assume_a="pos")
    rises = []
    for j, column in enumerate(covariance.T):
        taken = [*range(k), *([j] if j >= k else [])]
        slopes = column[taken] / math.sqrt(max(column[j], 0.0) + seed)
        rise = expected_rise(prediction.mean[taken], slopes)
        rises.append(rise + max(prediction.mean[taken]) - max(prediction.mean[:k]))
    return np.array(rises)


def expected_rise(means: np.ndarray, slopes: np.ndarray) -> float:
    """E max_i (means_i + slopes_i Z) - max_i means_i of standard normal Z, exactly; both [n].

    The upper envelope of the lines, and for each of its corners c the change of slope times
    h(-|c|) with h(u) = phi(u) + u Phi(u) (Frazier, Powell & Dayanik 2009, equation 14).
    """
    order = np.lexsort((means, slopes))
    last = np.append(np.diff(slopes[order]) > 0, True)  # of equal slopes the highest line
    heights, rises = means[order][last], slopes[order][last]
    envelope, corners = [0], [-math.inf]
    for k in range(1, len(heights)):
        while True:
            j = envelope[-1]
            corner = (heights[j] - heights[k]) / (rises[k] - rises[j])
            if corner > corners[-1]:
                break
            envelope.pop()
            corners.pop()
        envelope.append(k)
        corners.append(corner)
    steps = np.diff(rises[envelope])
    return float(steps @ np.exp(log_improvement(-np.abs(corners[1:]))))
