"""How a search is going on: an evaluation that has ended, and how far it is, in a line each."""

import json
import statistics
from collections.abc import Sequence

from jaxeval.files import Json
from jaxeval.report import scores, text
from jaxeval.tuning.history import Evaluation, Stopped
from jaxeval.tuning.running import State


def after(stopped: Stopped | None) -> str:
    """How short a training was that halving stopped; "" of a whole one."""
    return "" if stopped is None else f" after {stopped.epochs} of {stopped.of} steps"


def value_of(of: Json) -> str:
    """Of a hyperparameter, floats to four digits."""
    return f"{of:.4g}" if isinstance(of, float) else of if isinstance(of, str) else json.dumps(of)


def score_of(sample: Sequence[float], metric: str, unit: str) -> str:
    said = f"{scores.label(metric, unit)} {scores.shown(statistics.fmean(sample), unit)}"
    return said + (f" (mean of {len(sample)} seeds)" if len(sample) > 1 else "")


def ended(evaluation: Evaluation, metric: str, unit: str) -> str:
    """What came of an evaluation that has ended, in a line."""
    result = evaluation.result
    assert result is not None
    said = result.failure or score_of(result.scores, metric, unit) + after(result.stopped)
    shown = ", ".join(f"{name} {value_of(of)}" for name, of in evaluation.values.items())
    return f"setting {evaluation.number}: {said}; {shown}"


def so_far(state: State, metric: str, unit: str) -> str:
    """How far a search is, the time that is left, and its best score so far, in a line."""
    count, ranked = len(state.history.ended), state.history.ranked()
    pace, left = (state.seconds - state.before) / max(1, count - state.known), state.trials - count
    more = f", about {text.duration(pace * left)} left" if left > 0 else ""
    if not ranked:
        return f"{count} of {state.trials}{more}; no score yet"
    best = score_of(ranked[0].scores, metric, unit)
    return f"{count} of {state.trials}{more}; best {best} (setting {ranked[0].number})"
