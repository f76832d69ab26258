"""Ask and tell: what to evaluate next, over any function of any framework."""

import math
from collections.abc import Mapping, Sequence

from jaxeval.errors import DataError
from jaxeval.space import space as spaces
from jaxeval.space.space import Space
from jaxeval.tuning import history as histories
from jaxeval.tuning import methods
from jaxeval.tuning.history import Evaluation, History, Result, Setting


class Tuner:
    """Proposes settings and is told their scores.

        tuner = tuning.Tuner({"x": {"uniform": [-5, 5]}}, higher_is_better=False)
        for _ in range(20):
            for trial in tuner.ask(4):
                tuner.tell(trial.number, (trial.values["x"] - 2) ** 2)
        print(tuner.best().values)

    What is proposed depends on the space, the seed, the number of the proposal and what was told
    before it, and on nothing else.

    Args:
      space: or its tables, as a space file has them (docs/sweeps.md).
      method: as `methods.NAMES`.
      seed: of the proposals.
      seeds: of each evaluation: it is told as many scores.
      history: of an earlier tuner, which this one goes on from.
    """

    def __init__(
        self,
        space: Space | Mapping[str, object],
        *,
        higher_is_better: bool = True,
        method: methods.Name = "gp",
        seed: int = 0,
        seeds: int = 1,
        history: History | None = None,
    ):
        if seeds < 1:
            raise DataError(f"seeds: expected at least 1, got {seeds}")
        self.space = space if isinstance(space, Space) else spaces.from_dict(space)
        self.history = history or History((), higher_is_better)
        self._method, self._seed, self._seeds = methods.method(method), seed, seeds

    def ask(self, count: int = 1) -> list[Evaluation]:
        """So many new proposals, which count as running until they are told.

        Returns:
          none of them twice, nor any that was proposed before; fewer where the space has no more.
        """
        first = len(self.history.evaluations)
        for values in self._method.propose(self.space, self.history, count, self._seed):
            seeds = histories.fresh_seeds(self.history, self._seeds)
            self.history = histories.propose(self.history, values, seeds)
        return list(self.history.evaluations[first:])

    def tell(self, number: int, result: float | Sequence[float] | str) -> None:
        """What came of an evaluation.

        Args:
          result: its score, or one a seed; or why it failed. A score that is not finite is a
            failure.

        Raises:
          DataError: as `history.tell`.
        """
        self.history = histories.tell(self.history, number, outcome(result))

    def best(self) -> Setting:
        """The setting to take, with all its scores: that of the best posterior mean or mean.

        Raises:
          DataError: none has a score.
        """
        values = self._method.best(self.space, self.history)
        if values is None:
            raise DataError("no setting has a score yet")
        identity = histories.identity(values)
        return next(
            setting
            for setting in histories.settings(self.history)
            if histories.identity(setting.values) == identity
        )


def outcome(result: float | Sequence[float] | str) -> Result:
    """A score, several, or the cause of a failure, as a result."""
    if isinstance(result, str):
        return Result(failure=result or "failed")
    scores = result if isinstance(result, Sequence) else [result]
    numbers = tuple(float(score) for score in scores)
    wrong = [score for score in numbers if not math.isfinite(score)]
    return Result(failure=f"the score is {wrong[0]}") if wrong else Result(numbers)
