"""Searches that tests of the tuner share."""

from collections.abc import Callable

import numpy as np

from jaxeval import space as spaces
from jaxeval.space import Space
from jaxeval.tuning.history import History

Outcome = tuple[float, ...] | str  # scores, or why there are none

PLANE = spaces.from_dict({"x": {"uniform": [0.0, 1.0]}, "y": {"uniform": [0.0, 1.0]}})


def ended(
    space: Space, count: int, result: Callable[[dict], Outcome], higher: bool = True
) -> History:
    """A history of random settings; `result` gives the outcome of a setting."""
    history = History((), higher)
    for run in range(count):
        values = spaces.draw(space, 5, run)
        outcome = result(values)
        history = history.propose(values, range(1 if isinstance(outcome, str) else len(outcome)))
        history = history.tell(run, outcome)
    return history


def quadratic(count: int, noise: float) -> History:
    random = np.random.default_rng(2)

    def result(values: dict) -> tuple[float]:
        score = 60 + 40 * (values["x"] - 0.4) ** 2 + 5 * values["y"] + noise * random.normal()
        return (float(score),)

    return ended(PLANE, count, result, higher=False)
