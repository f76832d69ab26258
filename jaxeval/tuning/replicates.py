"""Whether the next evaluation is a new setting or one more seed of an old one.

Both are valued by the knowledge gradient: by how much the best posterior mean is expected to rise
once the score is known (Frazier, Powell & Dayanik 2009). A new setting can be good; a further seed
can show that another setting is the better one. Differences that seeds blur are worth seeds.
"""

import collections
import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from scipy import linalg

from jaxeval.space.distributions import Value
from jaxeval.space.space import Space
from jaxeval.tuning import acquisition, encoding, gaussian_process, gp
from jaxeval.tuning import history as histories
from jaxeval.tuning.gp import Fitted
from jaxeval.tuning.history import History

_CONSIDERED = 32  # settings of the best posterior means, of those that can be taken


def propose(
    space: Space, history: History, count: int, seed: int, compiled: Collection[str] = ()
) -> list[dict[str, Value]]:
    """The next settings: new ones, or old ones that are to be trained with one more seed.

    Arguments as of `gp.propose`. A space that has no new setting goes on with seeds of old ones.
    """
    fitted, proposed = gp.fit(space, history), list[dict[str, Value]]()
    for _ in range(count):
        new = gp.propose(space, history, 1, seed, fitted=fitted, compiled=compiled)
        again = further_seed(space, history, fitted, new)
        if again is None and not new:
            break
        proposed.append(new[0] if again is None else dict(again))
        history = histories.propose(history, proposed[-1], ())
    return proposed


def further_seed(
    space: Space, history: History, fitted: Fitted, new: Sequence[Mapping[str, Value]]
) -> Mapping[str, Value] | None:
    """The evaluated setting of which one more seed is worth more than a new setting.

    None of which an evaluation failed, while one is without failures: it would not be taken.

    Args:
      fitted: to the history, but for what runs.
      new: the setting that is proposed next otherwise, if there is one.

    Returns:
      None: the new one.
    """
    if fitted.model is None or (new and gp.initial(history, 1)):
        return None
    if new and fitted.settings[gp.ranked(fitted)[0]].failures:  # so has every other one
        return None
    features = encoding.features(space, encoding.places(space, new))
    order, values = knowledge_gradients(fitted, _running(history, fitted), features)
    again = int(np.argmax(values[: len(order)]))
    return None if again != int(np.argmax(values)) else fitted.settings[order[again]].values


def knowledge_gradients(
    fitted: Fitted, running: np.ndarray, new: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The value of one score more.

    Args:
      running: [n] seeds of each setting with scores that are awaited. They count as known, so that
        a setting is not repeated while they run.
      new: [m, D] features of settings without scores.

    Returns:
      indices [k] of the best settings that can be taken (`gp.ranked`); values [k + m],
        theirs before those of `new`.
    """
    assert fitted.model is not None and fitted.targets is not None
    model = fitted.model
    order = gp.ranked(fitted)[:_CONSIDERED]
    points = np.concatenate([fitted.features[order], new])
    prediction = gaussian_process.predict(model, points)
    side = points, prediction.solved
    covariance = gaussian_process.between(model, side, side)
    seed = fitted.targets.seed or math.exp(model.noise)
    awaited = np.concatenate([running[order], np.zeros(len(new))])
    informed = _condition(covariance, awaited, seed)
    rises = []
    for k, column in enumerate(informed.T):
        # a setting can be taken in the end once it has a score
        taken = [*range(len(order)), *([k] if k >= len(order) else [])]
        slopes = column[taken] / math.sqrt(max(column[k], 0.0) + seed)
        rise = expected_rise(prediction.mean[taken], slopes)
        rises.append(rise + max(prediction.mean[taken]) - max(prediction.mean[: len(order)]))
    return order, np.array(rises)


def _running(history: History, fitted: Fitted) -> np.ndarray:
    """[n] awaited evaluations of each setting with scores."""
    awaited = collections.Counter(
        histories.identity(evaluation.values) for evaluation in histories.pending(history)
    )
    return np.array([awaited[histories.identity(s.values)] for s in fitted.settings], float)


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
