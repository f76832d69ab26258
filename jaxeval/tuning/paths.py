"""Draws of the posterior as functions, which can be evaluated at any number of settings.

A draw is one of the prior, moved by what the data say (Matheron's rule; Wilson et al. 2020):

    f(x) = f0(x) + k(x, X) (K + noise)^-1 (y - f0(X) - e),

where f0 is a sum of random Fourier features (Rahimi & Recht 2007). Frequencies of a Matern kernel
of smoothness 5/2 have a multivariate t distribution of 5 degrees of freedom.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg

from jaxeval.tuning import encoding, gaussian_process, kernels
from jaxeval.tuning.gaussian_process import Model

_FREQUENCIES = 256
_DEGREES = 5  # twice the smoothness of the kernel


class Paths(NamedTuple):
    """S draws of the noise-free objective.

    Attributes:
      frequencies: [M, D] of scaled features; phases: [M]; weights: [M, S]; offsets: [S].
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
    size = _FREQUENCIES, data.features.shape[1]
    spread = np.sqrt(random.chisquare(_DEGREES, (size[0], 1)) / _DEGREES)
    scale = math.sqrt(2.0 / _FREQUENCIES) * math.exp(model.kernel.scale / 2)
    unmoved = Paths(
        model,
        random.normal(size=size) / spread,
        random.uniform(0.0, 2 * math.pi, _FREQUENCIES),
        scale * random.normal(size=(_FREQUENCIES, count)),
        random.normal(size=count),
        np.zeros((len(data.targets), count)),
    )
    noise = np.sqrt(data.variances + math.exp(model.noise) * data.shares)
    off = data.targets[:, None] - evaluate(unmoved, data.features)
    off -= noise[:, None] * random.normal(size=off.shape)
    return unmoved._replace(moved=linalg.cho_solve((model.factor, True), off))


def evaluate(paths: Paths, features: np.ndarray) -> np.ndarray:
    """The draws [m, S] at features [m, D]."""
    model = paths.model
    complete = encoding.complete(model.columns, features)
    scaled = kernels.scaled(model.kernel, model.columns, complete)
    phases = scaled @ paths.frequencies.T + paths.phases
    waves = np.cos(phases.astype(np.float32))  # numpy's of doubles takes twenty times as long
    drawn: np.ndarray = waves @ paths.weights + paths.offsets
    if paths.moved.any():
        drawn += gaussian_process.covariance(model, features, model.data.features) @ paths.moved
    return drawn
