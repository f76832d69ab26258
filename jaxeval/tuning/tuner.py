"""Ask and tell: what to evaluate next, over any function of any framework."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np

from jaxeval.config import arguments
from jaxeval.config.arguments import MOST
from jaxeval.errors import ConfigError, DataError
from jaxeval.runs import directions
from jaxeval.space import space as spaces
from jaxeval.space.distributions import Value
from jaxeval.space.space import Space
from jaxeval.tuning import halving as halvings
from jaxeval.tuning import history as histories
from jaxeval.tuning import methods, search
from jaxeval.tuning.halving import Halving
from jaxeval.tuning.history import Evaluation, History, Result, Setting, Stopped


class Tuner:
    """Proposes settings and is told their scores.

        tuner = tuning.Tuner({"x": {"uniform": [-5, 5]}}, higher_is_better=False)
        for _ in range(20):
            for trial in tuner.ask(4):
                tuner.tell(trial.number, (trial.values["x"] - 2) ** 2)
        print(tuner.best().values)

    Args:
      space: a file (docs/sweeps.md), its tables, or a Space.
      method, seed, seeds, adaptive: as of `search.Search`.
      halving, steps: evaluations report a score at each of so many steps, and at each rung (steps
        1, halving, halving^2 ...) only the best one of `halving` goes on; see `report`.
      higher_is_better: that of the history; without one, True.
      history: of an earlier tuner, which this one goes on from; of plain data by
        `tuning.history.from_dict`.

    Raises:
      ConfigError: of the space, the method or a seed.
      DataError: of a direction, or the history is none, of another direction, or has a
        setting that the space has not.
    """

    def __init__(
        self,
        space: str | Path | Mapping[str, object] | Space,
        *,
        higher_is_better: bool | None = None,
        method: methods.Name = "gp",
        seed: int = 0,
        seeds: int = 1,
        adaptive: bool = False,
        halving: int | None = None,
        steps: int | None = None,
        history: History | None = None,
    ):
        of, _ = spaces.of(_listed(space))
        whole = arguments.whole("seed", seed, 0), arguments.whole("seeds", seeds, 1, MOST)
        self.steps = search.steps(halving, steps)
        stops = None if halving is None else Halving(arguments.whole("halving", halving, 2, MOST))
        self.search = search.Search(of, method, *whole, adaptive, stops)
        self._best: dict[int, float] = {}
        asked = directions.asked_for(higher_is_better)
        if history is None:
            history = History((), asked is not False)
        elif not isinstance(history, History):
            raise DataError(
                f"history: expected a History, got {type(history).__name__}; "
                "tuning.history.from_dict makes one of what to_dict wrote"
            )
        elif asked not in (None, history.higher_is_better):
            raise DataError(
                f"higher_is_better: {asked}, but that of the history is "
                f"{history.higher_is_better}; leave it out"
            )
        search.refuse_others(of, history)
        self.history = history

    def ask(self, count: SupportsIndex = 1) -> list[Evaluation]:
        """So many new proposals, which count as running until they are told.

        Returns:
          none of them twice, nor any that was proposed before, but for adaptive seeds; fewer where
          the space has no more.

        Raises:
          ConfigError: the count is no whole number, or below 0.
        """
        number = arguments.whole("count", count, 0, MOST)
        self.history, proposed = search.ask(self.search, self.history, number)
        return proposed

    def enqueue(self, values: Mapping[str, Value]) -> None:
        """Has a setting asked for before any other; one that was proposed already is not.

        A history holds what was asked for, and not what waits.

        Raises:
          ConfigError: it is no setting of the space, naming the hyperparameter.
        """
        known = search.setting(self.search.space, values)
        enqueued = (*self.search.enqueued, known)
        self.search = dataclasses.replace(self.search, enqueued=enqueued)

    def report(self, number: SupportsIndex, step: SupportsIndex, score: float) -> bool:
        """The score of an evaluation at a step, from 1; whether it is to stop there.

        What is stopped has its best score so far as its result, and is told nothing more.

        Raises:
          ConfigError: a tuner without halving, or a step beyond the last.
          DataError: no such evaluation, it has a result, or no number.
        """
        if self.search.halving is None or self.steps is None:
            raise ConfigError("report: expected a Tuner with halving and steps")
        index = arguments.whole("number", number, 0, MOST)
        at = Stopped(arguments.whole("step", step, 1, self.steps), self.steps)
        result = outcome(score)
        if index >= len(self.history.evaluations) or self.history.evaluations[index].result:
            raise DataError(f"evaluation {index}: does not run")
        if result.failure:
            return False  # as of a loss that is not finite for once
        passed = self.history.evaluations[index].rungs  # which a history keeps
        before = self._best.get(index, passed[-1] if passed else None)
        best = self._best[index] = histories.better(self.history, before, result.scores[0])
        self.history = halvings.reported(self.search.halving, self.history, index, at, best)
        return self.history.evaluations[index].result is not None

    def tell(
        self, number: SupportsIndex, result: float | Sequence[float] | np.ndarray | str
    ) -> None:
        """What came of an evaluation.

        Args:
          result: its score, or one a seed, arrays too; or why it failed, in words. A score that is
            not finite is a failure.

        Raises:
          ConfigError: the number is no whole one.
          DataError: as `history.tell`, and where the result is neither numbers nor words.
        """
        index = arguments.whole("number", number, 0, MOST)
        self.history = histories.tell(self.history, index, outcome(result))

    def best(self) -> Setting:
        """The setting to take, with all its scores: that of the best posterior mean or mean.

        Raises:
          DataError: none has a score.
        """
        best = search.best(self.search, self.history)
        if best is None:
            raise DataError("no setting has a score yet")
        return best


def outcome(result: float | Sequence[float] | np.ndarray | str) -> Result:
    """A score, several, or the cause of a failure, as a result.

    Raises:
      DataError: anything else, and a text that reads as a score.
    """
    if isinstance(result, str):
        if _reads_as_score(result):
            raise DataError(f"result: expected a score as a number, got the text {result!r}")
        return Result(failure=result or "failed")
    try:
        several = np.ndim(result) == 1
        numbers = tuple(map(_score, result if several else [result]))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        numbers = ()
    if not numbers:
        raise DataError(
            f"result: expected a score, one a seed, or why there is none, got {result!r}"
        )
    wrong = [score for score in numbers if not math.isfinite(score)]
    return Result(failure=f"the score is {wrong[0]}") if wrong else Result(numbers)


def _score(of: float) -> float:
    # of numpy, jax and torch
    truth = isinstance(of, bool) or str(getattr(of, "dtype", "")).endswith("bool")
    if truth or isinstance(of, str | bytes) or np.ndim(of):
        raise TypeError
    return float(of)


def _reads_as_score(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _listed(tree: Any) -> Any:
    """A tree with lists for tuples: Python has both, a space file has lists."""
    if isinstance(tree, Mapping):
        return {key: _listed(value) for key, value in tree.items()}
    return [*map(_listed, tree)] if isinstance(tree, list | tuple) else tree
