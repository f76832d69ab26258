"""Expected improvement in the logarithm, over draws of what is not known.

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

from jaxeval.tuning import gaussian_process
from jaxeval.tuning.gaussian_process import Model

FANTASIES = 64
_LOG_2PI = math.log(2 * math.pi)


class Pending(NamedTuple):
    """Draws of the objective at settings.

    Attributes:
      features: [p, D].
      solved: [n, p] as in a prediction.
      factor: [p, p] lower Cholesky factor of their posterior covariance.
      draws: [p, S] standard normal.
      best: [S] that of a draw.
    """

    features: np.ndarray
    solved: np.ndarray
    factor: np.ndarray
    draws: np.ndarray
    best: np.ndarray


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


def log_expected_improvement(mean: np.ndarray, sd: np.ndarray, best: np.ndarray) -> np.ndarray:
    """[...] log E max(0, f - best) of normal f; arrays that broadcast."""
    return log_improvement((mean - best) / sd) + np.log(sd)


def fantasise(model: Model, features: np.ndarray, count: int, seed: list[int]) -> Pending:
    """Joint draws of settings [p, D], at least one.

    Args:
      count: of draws, by scrambled Sobol points; 1: their posterior mean instead (the Kriging
        believer of Ginsbourger et al. 2010).
    """
    mean, factor = gaussian_process.joint(model, features)
    draws = np.zeros((len(features), count))
    if count > 1:
        engine = stats.qmc.Sobol(len(features), rng=np.random.default_rng(seed))
        uniform = np.clip(engine.random(count), 1e-9, 1 - 1e-9)
        draws = special.ndtri(uniform).T
    values = mean[:, None] + factor @ draws
    solved = gaussian_process.predict(model, features).solved
    return Pending(features, solved, factor, draws, values.max(axis=0))


def log_batch_improvement(model: Model, pending: Pending, features: np.ndarray) -> np.ndarray:
    """log of what each of the settings [m, D] is expected to add to the best of the draws."""
    prediction = gaussian_process.predict(model, features)
    covariance = gaussian_process.between(
        model, (pending.features, pending.solved), (features, prediction.solved)
    )
    coupled = linalg.solve_triangular(pending.factor, covariance, lower=True)
    least = 1e-12 * (math.exp(model.kernel.scale) + 1.0)
    sd = np.sqrt(np.maximum(prediction.variance - np.sum(coupled**2, axis=0), least))
    means = prediction.mean[:, None] + coupled.T @ pending.draws
    logs = log_expected_improvement(means, sd[:, None], pending.best)
    summed: np.ndarray = special.logsumexp(logs, axis=1)
    return summed - math.log(len(pending.best))
