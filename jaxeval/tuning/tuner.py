"""Ask and tell: what to evaluate next, over any function of any framework."""

import math
from collections.abc import Mapping, Sequence

from jaxeval.errors import DataError
from jaxeval.space import space as spaces
from jaxeval.space.space import Space
from jaxeval.tuning import history as histories
from jaxeval.tuning import methods, search
from jaxeval.tuning.history import Evaluation, History, Result, Setting


class Tuner:
    """Proposes settings and is told their scores.

        tuner = tuning.Tuner({"x": {"uniform": [-5, 5]}}, higher_is_better=False)
        for _ in range(20):
            for trial in tuner.ask(4):
                tuner.tell(trial.number, (trial.values["x"] - 2) ** 2)
        print(tuner.best().values)

    Args:
      space: or its tables, as a space file has them (docs/sweeps.md).
      method, seed, seeds, adaptive: as of `search.Search`.
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
        adaptive: bool = False,
        history: History | None = None,
    ):
        of = space if isinstance(space, Space) else spaces.from_dict(space)
        self.search = search.Search(of, method, seed, seeds, adaptive)
        self.history = history or History((), higher_is_better)

    def ask(self, count: int = 1) -> list[Evaluation]:
        """So many new proposals, which count as running until they are told.

        Returns:
          none of them twice, nor any that was proposed before, but for adaptive seeds; fewer where
          the space has no more.
        """
        self.history, asked = search.ask(self.search, self.history, count)
        return asked

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
        best = search.best(self.search, self.history)
        if best is None:
            raise DataError("no setting has a score yet")
        return best


def outcome(result: float | Sequence[float] | str) -> Result:
    """A score, several, or the cause of a failure, as a result."""
    if isinstance(result, str):
        return Result(failure=result or "failed")
    numbers = tuple(map(float, result if isinstance(result, Sequence) else [result]))
    wrong = [score for score in numbers if not math.isfinite(score)]
    return Result(failure=f"the score is {wrong[0]}") if wrong else Result(numbers)
