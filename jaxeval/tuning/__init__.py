"""Which setting of a search space is best, with few evaluations; no jax."""

import contextlib
import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval.bandits.commands import EvaluationFailed
from jaxeval.errors import ConfigError, DataError, called_from_python
from jaxeval.parameters import MOST, SEED_LIMIT, Number
from jaxeval.runs import metrics
from jaxeval.space import space as spaces
from jaxeval.space.space import Space
from jaxeval.tuning import candidates
from jaxeval.tuning.history import Evaluation, Halving, History, Result, Setting, Stopped, Values
from jaxeval.tuning.search import Method, Search, State

__all__ = ["Evaluation", "EvaluationFailed", "History", "Result", "Setting", "Tuner"]


class Tuner:
    """Proposes settings and is told their scores.

        tuner = tuning.Tuner({"x": {"uniform": [-5, 5]}}, higher_is_better=False)
        for _ in range(20):
            for trial in tuner.ask(4):
                tuner.tell(trial.number, (trial.values["x"] - 2) ** 2)
        print(tuner.best().values)

    Args:
      space: a file (docs/search.md), its tables, or a Space.
      method, seed, seeds, adaptive: as of `search.Search`.
      halving, steps: evaluations report a score at each of so many steps, and at each rung (steps
        1, halving, halving^2 ...) only the best one of `halving` goes on; see `report`.
      higher_is_better: that of the history; without one, True.
      history: of an earlier tuner, which this one goes on from; `History.from_dict` reads one.

    Raises:
      ConfigError: of the space, the method or a number.
      DataError: the history is of another direction, or has a setting that the space has not.
    """

    def __init__(
        self,
        space: str | Path | Mapping[str, object] | Space,
        *,
        higher_is_better: bool | None = None,
        method: Method = "gp",
        seed: int = 0,
        seeds: int = 1,
        adaptive: bool = False,
        halving: int | None = None,
        steps: int | None = None,
        history: History | None = None,
    ):
        if (halving is None) != (steps is None):
            raise ConfigError("halving, steps: expected both or neither")
        known = spaces.load(space)[0]
        counts = _whole("seed", seed, 0), _whole("seeds", seeds, 1)
        stops = None if halving is None else Halving(_whole("halving", halving, 2))
        self.steps = None if steps is None else _whole("steps", steps, 2)
        self.search = Search(known, method, *counts, adaptive, stops)
        asked = metrics.check_direction(higher_is_better)
        self._state = State(history or History((), asked is not False))
        if asked not in (None, self.history.higher_is_better):
            raise DataError(
                f"higher_is_better: {asked}, but that of the history is "
                f"{self.history.higher_is_better}; leave it out"
            )
        candidates.refuse_others(known, self.history)

    @property
    def history(self) -> History:
        """All that was asked for and told."""
        return self._state.history

    def ask(self, count: int = 1) -> list[Evaluation]:
        """So many new proposals, which run until they are told; fewer where there are no more.

        But for adaptive seeds, none was proposed before.
        """
        self._state.history, asked = self.search.ask(self.history, _whole("count", count, 0))
        return asked

    def enqueue(self, values: Values) -> None:
        """Has a setting asked for before any other; one that was proposed already is not.

        Raises:
          ConfigError: it is no setting of the space, naming the hyperparameter.
        """
        with called_from_python():
            known = candidates.setting(self.search.space, values)
        enqueued = (*self.search.enqueued, known)
        self.search = dataclasses.replace(self.search, enqueued=enqueued)

    def report(self, number: int, step: int, score: float) -> bool:
        """The score of an evaluation at a step, from 1; whether it is to stop there.

        What is stopped has its best score so far as its result, and is told nothing more.

        Raises:
          ConfigError: a tuner without halving, or a step beyond the last.
          DataError: no such evaluation, it has a result, or no number.
        """
        if self.search.halving is None or self.steps is None:
            raise ConfigError("report: expected a Tuner with halving and steps")
        index, known = _whole("number", number, 0), outcome(score)
        at = Stopped(_whole("step", step, 1, self.steps), self.steps)
        if index >= len(self.history.evaluations) or self.history.evaluations[index].result:
            raise DataError(f"evaluation {index}: does not run")
        score = math.nan if known.failure else known.scores[0]
        return self._state.report(self.search.halving, index, at, score)

    def tell(self, number: int, result: float | Sequence[float] | np.ndarray | str) -> None:
        """What came of an evaluation: its score, or one a seed; or why it failed, in words.

        Raises:
          DataError: as `History.told`, and where the result is neither numbers nor words.
        """
        told = self.history.told(_whole("number", number, 0), outcome(result))
        self._state.history = told

    def best(self) -> Setting:
        """The setting to take, with all its scores: that of the best posterior mean or mean.

        Raises:
          DataError: none has a score.
        """
        best = self.search.best(self.history)
        if best is None:
            raise DataError("no setting has a score yet")
        return best


def outcome(result: float | Sequence[float] | np.ndarray | str) -> Result:
    """A score, several, or the cause of a failure; a score that is not finite is a failure.

    Raises:
      DataError: anything else, and a text that reads as a score.
    """
    if isinstance(result, str):
        number = math.nan
        with contextlib.suppress(ValueError):
            number = float(result)
        if math.isfinite(number):
            raise DataError(f"result: expected a score as a number, got the text {result!r}")
        return Result(failure=result or "failed")
    try:
        several = np.ndim(result) == 1
        numbers = tuple(map(_score, result if several else [result]))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        numbers = ()
    if not numbers:
        raise DataError(
            f"result: expected a score, one a seed, or why there is none, got {result!r:.60}"
        )
    wrong = [score for score in numbers if not math.isfinite(score)]
    return Result(failure=f"the score is {wrong[0]}") if wrong else Result(numbers)


def _score(of: Any) -> float:
    # of numpy, jax and torch
    truth = isinstance(of, bool) or str(getattr(of, "dtype", "")).endswith("bool")
    if truth or isinstance(of, str | bytes) or np.ndim(of):
        raise TypeError
    return float(of)


def _whole(name: str, value: object, least: int, most: int = MOST) -> int:
    try:
        return int(Number(least, SEED_LIMIT - 1 if name == "seed" else most).check(value, int))
    except ValueError as expected:
        raise ConfigError(f"{name}: expected {expected}, got {value!r:.60}") from None
