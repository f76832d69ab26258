"""How much of the objective's variance over the space each hyperparameter explains.

Sobol indices of the process's posterior: hyperparameters are drawn as the space draws them, and
the variance of the noise-free objective is shared out among them (functional ANOVA; Hutter et al.
2014 do so with a forest). The first-order index is what a hyperparameter explains by itself, the
total index what it explains with all its interactions. Each draw of the posterior, of
hyperparameters and of the objective, has indices of its own (Marrel et al. 2009; Le Gratiet et al.
2014). Their spread is no interval that holds the truth as often as it says: the process expects
interactions, and of few scores total indices come out too high (docs/tuning_method.md).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

from jaxeval.space.space import Space
from jaxeval.tuning import encoding, gp, hyperparameters, paths
from jaxeval.tuning.history import History

# draws of hyperparameters, and of functions for each: nearly all of the time is a kernel's
_DRAWS, _FUNCTIONS = 32, 4
_EXPONENT = 10  # 2^10 points of the base sample
_PATHS, _POINTS, _HYPERPARAMETERS = range(30, 33)  # streams of random numbers
_TAIL = 0.025


class Spread(NamedTuple):
    """The 2.5 and 97.5 % quantiles of an index over draws of the posterior."""

    low: float
    high: float


class Importance(NamedTuple):
    """Of a hyperparameter, from 0 to 1: posterior means, and their draws' spread.

    Attributes:
      first, total: Sobol indices.
    """

    name: str
    first: float
    first_spread: Spread
    total: float
    total_spread: Spread


def importance(space: Space, history: History, seed: int = 0) -> list[Importance]:
    """Of each hyperparameter, the largest total index first; empty before scores differ.

    The objective is that of the process: good scores as they are, bad ones by rank (`warping`).
    """
    fitted = gp.fit(space, history)
    if fitted.model is None or fitted.targets is None or not fitted.targets.values.any():
        return []
    models = hyperparameters.draw(
        fitted.model, gp.fitted_to(fitted.model.data), _DRAWS, [seed, _HYPERPARAMETERS]
    )
    drawn = [paths.draw(model, _FUNCTIONS, [seed, _PATHS, k]) for k, model in enumerate(models)]

    def objective(quantiles: np.ndarray) -> np.ndarray:
        features = encoding.features(space, encoding.from_quantiles(space, quantiles))
        return np.concatenate([paths.evaluate(path, features) for path in drawn], axis=1)

    first, total = sobol_indices(objective, len(space.parameters), [seed, _POINTS])
    names = [parameter.name for parameter in space.parameters]
    each = [
        Importance(name, *_described(f), *_described(t))
        for name, f, t in zip(names, first, total, strict=True)
    ]
    return sorted(each, key=lambda of: -of.total)


def _described(indices: np.ndarray) -> tuple[float, Spread]:
    low, high = np.quantile(indices, [_TAIL, 1 - _TAIL])
    return float(indices.mean()), Spread(float(low), float(high))


def sobol_indices(
    function: Callable[[np.ndarray], np.ndarray],
    count: int,
    seed: list[int],
    exponent: int = _EXPONENT,
) -> tuple[np.ndarray, np.ndarray]:
    """First-order and total Sobol indices [d, S] of S functions of d uniform numbers.

    Two quasi-random samples A and B, and for each number A with that column of B (Saltelli et al.
    2010); both indices by Jansen's (1999) estimators, cut to [0, 1]. A function that is constant
    has indices of 0.

    Args:
      function: [m, d] in [0, 1) -> [m, S].
      count: d.
      exponent: samples have 2^exponent points.
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
