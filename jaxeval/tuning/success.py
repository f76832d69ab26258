"""Where settings fail: the probability of success, by a process fitted to what failed.

Least-squares classification (Rasmussen & Williams 2006, section 6.5): regression on labels 1 and
-1, whose latent function crosses zero where half of the settings fail.
"""

import math

import numpy as np
from scipy import special

from jaxeval.tuning import gaussian_process
from jaxeval.tuning.gaussian_process import Model


def labels(failed: np.ndarray) -> np.ndarray:
    """Targets [n] of the process, of whether each setting failed."""
    return np.where(failed, -1.0, 1.0)


def log_probability(model: Model | None, features: np.ndarray) -> np.ndarray:
    """log P(an evaluation succeeds) at features [m, D]."""
    if model is None:
        return np.zeros(len(features))
    prediction = gaussian_process.predict(model, features)
    sd = np.sqrt(prediction.variance + math.exp(model.noise))
    logs: np.ndarray = special.log_ndtr(prediction.mean / sd)
    return logs
