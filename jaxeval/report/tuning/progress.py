"""A search while it runs, a line at a time, and the words for its settings and scores."""

import json
import statistics
from collections.abc import Mapping, Sequence

from jaxeval.files import Json
from jaxeval.report import scores, text
from jaxeval.report.tuning import as_json
from jaxeval.report.tuning.as_json import Metric
from jaxeval.tuning import history as histories
from jaxeval.tuning import posterior, threads
from jaxeval.tuning.history import Evaluation, History, Setting, Stopped
from jaxeval.tuning.search import Search


class Pace:
    """The time that a search has left, by what ended after the first results.

    Those took the compilation too, or waited for their neighbours.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._first: tuple[int, float] | None = None

    def left(self, ended: int, trials: int, seconds: float) -> str:
        """In words.

        Args:
          ended: evaluations.
          seconds: that the search took so far.
        """
        if ended >= trials:
            return "all have ended"
        self._first = self._first or ((ended, seconds) if ended else None)
        timed = ended - self._first[0] if self._first else 0
        if self._first is None or timed < self._at_once:
            return "estimating the time left"
        each = (seconds - self._first[1]) / timed
        return f"about {text.duration(each * (trials - ended))} left"


def progress(
    search: Search, history: History, trials: int, metric: Metric, left: str, retrain: int = 0
) -> str:
    """How far a search is, its best score so far, and the best posterior mean, in a line.

    Args:
      left: of `Pace`.
      retrain: fresh seeds that follow, which the time that is left is without.
    """
    ended = len(histories.ended(history))
    head = f"{ended} of {trials} {unit(search.adaptive)}s, {left}"
    head += ", then retraining" if retrain else ""
    best = histories.best(history)
    if best is None:
        return f"{head}; no score yet"
    said = f"{head}; best {score(best.scores, metric)} ({named(best)})"
    if search.method != "gp":
        return said
    with threads.one():
        first = posterior.describe(search.space, history, search.seed)[0]
    expected = float(as_json.possible(first.mean, metric.unit))
    mean, sd = (scores.shown(v, metric.unit) for v in (expected, first.sd))
    said += f"; posterior mean {mean} of {named(first.setting)}"
    if not posterior.noise_known(history):
        # sd and probability would be those of the prior
        return said
    return f"{said} (sd {sd}), the best among those evaluated with probability {first.best:.2f}"


def unit(adaptive: bool) -> str:
    """What `--trials` counts: with adaptive seeds a setting may be evaluated several times."""
    return "evaluation" if adaptive else "setting"


def known(search: Search, count: int) -> str:
    """How much a search goes on from, in words."""
    return f"goes on from {text.counted(count, unit(search.adaptive))} with results"


def ended(evaluation: Evaluation, metric: Metric) -> str:
    """What came of one evaluation, in a line."""
    result = evaluation.result
    assert result is not None
    said = result.failure or score(result.scores, metric)
    said += after(result.stopped)
    return f"setting {evaluation.number}: {said}; {values(evaluation.values)}"


def named(setting: Setting) -> str:
    """Which setting, and how short its training was where that was stopped."""
    return f"setting {setting.numbers[0]}{after(setting.stopped)}"


def after(stopped: Stopped | None) -> str:
    """How short a training was that halving stopped; "" of a whole one. Of configs a step is an
    epoch."""
    return "" if stopped is None else f", stopped after {stopped.epochs} of {stopped.of} steps"


def values(of: Mapping[str, Json]) -> str:
    """A setting in words."""
    return ", ".join(f"{name} {value(number)}" for name, number in of.items())


def value(of: Json) -> str:
    """Of a hyperparameter, floats to four digits."""
    return f"{of:.4g}" if isinstance(of, float) else of if isinstance(of, str) else json.dumps(of)


def score(sample: Sequence[float], metric: Metric) -> str:
    """A setting's mean score, and of how many seeds."""
    label = scores.label(metric.name, metric.unit)
    mean = scores.shown(statistics.fmean(sample), metric.unit)
    return f"{label} {mean}" + (f" (mean of {len(sample)} seeds)" if len(sample) > 1 else "")
