"""Whether the next evaluation is a new setting or one more seed of an old one.

Both are valued by the knowledge gradient: by how much the best posterior mean is expected to rise
once the score is known (Frazier, Powell & Dayanik 2009). A new setting can be good; a further seed
can show that another setting is the better one. Differences that seeds blur are worth seeds.
"""

import math
from collections.abc import Mapping

import numpy as np
from scipy import linalg

from jaxeval.space.distributions import Value
from jaxeval.space.space import Space
from jaxeval.tuning import acquisition, encoding, gaussian_process, gp
from jaxeval.tuning.gp import Fitted
from jaxeval.tuning.history import History

_CONSIDERED = 32  # settings of the best posterior means


def further_seed(
    space: Space, history: History, new: Mapping[str, Value]
) -> Mapping[str, Value] | None:
    """The evaluated setting that one more seed is worth more to than a new setting.

    Args:
      new: the setting that is proposed next otherwise.

    Returns:
      None: the new one.
    """
    fitted = gp.fit(space, history)
    if fitted.model is None:
        return None
    proposed = encoding.features(space, encoding.places(space, [new]))
    order, values = knowledge_gradients(fitted, proposed)
    if values[-1] >= values[:-1].max():
        return None
    return fitted.settings[order[int(np.argmax(values[:-1]))]].values


def knowledge_gradients(fitted: Fitted, proposed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The value of one score more.

    What runs counts as one seed on its way: its noise-free result is not known, so that a setting
    is not repeated for ever while its scores are awaited.

    Args:
      proposed: [1, D] features of a new setting.

    Returns:
      indices [k] of the best settings with scores, and values [k + 1], those of the new one last.
    """
    assert fitted.model is not None and fitted.targets is not None
    model = fitted.model
    means = gaussian_process.predict(model, fitted.features).mean
    order = np.argsort(-means, kind="stable")[:_CONSIDERED]
    points = np.concatenate([fitted.features[order], proposed])
    prediction = gaussian_process.predict(model, points)
    side = points, prediction.solved
    covariance = gaussian_process.between(model, side, side)
    seed = fitted.targets.seed or math.exp(model.noise)
    running = np.array([*(fitted.settings[k].running for k in order), 0])
    informed = _condition(covariance, running, seed)
    rises = [
        expected_rise(prediction.mean, column / math.sqrt(column[k] + seed))
        for k, column in enumerate(informed.T)
    ]
    return order, np.array(rises) + np.max(prediction.mean) - np.max(prediction.mean[:-1])


def expected_rise(means: np.ndarray, slopes: np.ndarray) -> float:
    """E max_i (means_i + slopes_i Z) - max_i means_i of standard normal Z, exactly.

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
    return float(steps @ np.exp(acquisition.log_improvement(-np.abs(corners[1:]))))


def _condition(covariance: np.ndarray, running: np.ndarray, seed: float) -> np.ndarray:
    """Posterior covariance once the running seeds of some points are known."""
    waiting = np.flatnonzero(running)
    if not len(waiting):
        return covariance
    noisy = covariance[np.ix_(waiting, waiting)] + np.diag(seed / running[waiting])
    cross = covariance[waiting]
    conditioned: np.ndarray = covariance - cross.T @ linalg.solve(noisy, cross, assume_a="pos")
    return conditioned
