"""A space of all sorts of hyperparameters, and how an engine searches it."""

from typing import Any

import numpy as np

from jaxeval.space import space as spaces
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import History, Result, Stopped
from jaxeval.tuning.search import Search

SPACE = spaces.from_dict(
    {
        "rate": {"log_uniform": [1e-4, 1.0]},
        "rows": {"choices": [8, 16, 64], "ordered": True},
        "layers": {"integer": [1, 8], "step": 2},
        "cell": {"choices": ["lstm", "gru"]},
        "peephole": {"uniform": [0.0, 1.0], "when": {"cell": ["lstm"]}},
    }
)


def loss(values: Any) -> float:
    """Least at a rate of .01, of an LSTM of one layer."""
    return abs(np.log10(values["rate"]) + 2) + (values["cell"] == "gru") + values["layers"] / 8


def searched(
    search: Search, trials: int, history: History | None = None, *, stopping: bool = False
) -> History:
    """Four at once; every fifth one fails, and, if so asked for, every seventh one is stopped."""
    history = history or History((), higher_is_better=False)
    while len(histories.ended(history)) < trials:
        history, _ = searches.ask(search, history, 4 - len(histories.pending(history)))
        evaluation = histories.pending(history)[0]
        number, score = evaluation.number, loss(evaluation.values)
        result = Result((score,), stopped=Stopped(1, 9) if stopping and number % 7 == 6 else None)
        if number % 5 == 4:
            result = Result(failure="diverged")
        history = histories.tell(history, number, result)
    return history
