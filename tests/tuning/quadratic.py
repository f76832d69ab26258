"""A quadratic objective of two hyperparameters: histories of its noisy scores."""

import numpy as np

from jaxeval.space import space as spaces
from jaxeval.tuning import gaussian_process
from jaxeval.tuning import history as histories
from jaxeval.tuning.gp import Fitted
from jaxeval.tuning.history import History, Result

SPACE = spaces.from_dict({"x": {"uniform": [0.0, 1.0]}, "y": {"uniform": [0.0, 1.0]}})


def history(count: int, noise: float, factor: float = 1.0) -> History:
    random = np.random.default_rng(2)
    history = History((), higher_is_better=False)
    for k in range(count):
        values = spaces.draw(SPACE, 1, k)
        score = 60 + 40 * (float(values["x"]) - 0.4) ** 2 + 5 * float(values["y"])
        score = factor * (score + noise * random.normal())
        history = histories.propose(history, values, (0,))
        history = histories.tell(history, k, Result((float(score),)))
    return history


def with_noise(fitted: Fitted, noise: float) -> Fitted:
    """The same, with another log noise."""
    assert fitted.model is not None
    model = fitted.model
    again = gaussian_process.condition(model.kernel, noise, model.columns, model.data)
    return fitted._replace(model=again)
