"""Draws of the posterior as functions, which can be evaluated at any number of settings.

A draw is one of the prior, moved by what the data say (Matheron's rule; Wilson et al. 2020):

    f(x) = f0(x) + k(x, X) (K + noise)^-1 (y - f0(X) - e),

where f0 is a sum of random Fourier features (Rahimi & Recht 2007), so many for each term of the
kernel (`additive`). Frequencies of a Matern kernel of smoothness 5/2 have a multivariate t
distribution of 5 degrees of freedom.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg

from jaxeval.tuning import additive, gaussian_process
from jaxeval.tuning.additive import Model

_SINGLE, _JOINT = 64, 256  # frequencies of a term of one hyperparameter, and of all
_DEGREES = 5  # twice the smoothness of the kernel


class Paths(NamedTuple):
    """S draws of the noise-free objective.

    Attributes:
      frequencies: [M, D] of features; phases: [M]; weights: [M, S]; offsets: [S].
      moved: [n, S] inverse covariance of the targets times what each draw is off them.
    """

    model: Model
    frequencies: np.ndarray
    phases: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    moved: np.ndarray


def draw(model: Model, count: int, seed: list[int]) -> Paths:
    """So many independent draws."""
    random, data = np.random.default_rng(seed), model.data
    frequencies, scales = _frequencies(model, random)
    unmoved = Paths(
        model,
        frequencies,
        random.uniform(0.0, 2 * math.pi, len(scales)),
        scales[:, None] * random.normal(size=(len(scales), count)),
        math.sqrt(gaussian_process.MEAN_VARIANCE) * random.normal(size=count),
        np.zeros((len(data.targets), count)),
    )
    noise = np.sqrt(data.variances + math.exp(model.noise) * data.shares)
    off = data.targets[:, None] - _prior(unmoved, data.features)
    off -= noise[:, None] * random.normal(size=off.shape)
    return unmoved._replace(moved=linalg.cho_solve((model.factor, True), off))


def _frequencies(model: Model, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [M, D] of all terms, and the standard deviations [M] of their weights."""
    kernel, group = model.kernel, model.group
    own = [np.where(group == g, math.exp(-of), 0.0) for g, of in enumerate(kernel.lengths)]
    counts = [*[_SINGLE] * len(own), _JOINT]
    inverse = np.repeat([*own, np.exp(-kernel.joint)[group]], counts, axis=0)
    spread = np.sqrt(random.chisquare(_DEGREES, (len(inverse), 1)) / _DEGREES)
    variances = 2.0 * np.exp(kernel.scales) / counts
    frequencies = random.normal(size=inverse.shape) / spread * inverse
    return frequencies, np.sqrt(np.repeat(variances, counts))


def evaluate(paths: Paths, features: np.ndarray, squared: np.ndarray) -> np.ndarray:
    """The draws [m, S] at features [m, D].

    Args:
      squared: `additive.distances` [G, m, n] from the features to the data, in double precision:
        without noise, what the data move cancels to the tenth of a thousandth.
    """
    covariance = additive.covariance(paths.model.kernel, squared)
    covariance += gaussian_process.MEAN_VARIANCE
    moved: np.ndarray = covariance @ paths.moved
    return _prior(paths, features) + moved


def _prior(paths: Paths, features: np.ndarray) -> np.ndarray:
    """The draws [m, S] before they are moved, in single precision.

    (numpy's cosine of doubles takes twenty times as long.)
    """
    features, frequencies, weights = (
        of.astype(np.float32) for of in (features, paths.frequencies, paths.weights)
    )
    waves = np.cos(features @ frequencies.T + paths.phases.astype(np.float32))
    drawn: np.ndarray = waves @ weights + paths.offsets
    return drawn
