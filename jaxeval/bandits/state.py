"""What a selection knows so far."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

from jaxeval.errors import DataError

Numbered = Mapping[int, float]  # number of the evaluation (from 1, of one model) -> score


@dataclasses.dataclass(frozen=True)
class State:
    """Scores of each model by number of evaluation; every change makes a new state.

    The k-th evaluation of every model shares a split and a seed, so that numbers, not the order of
    arrival, say what belongs together.

    Attributes:
      scores: model -> scores.
      pending: model -> numbers under way.
      excluded: model -> why it was dropped.
    """

    models: tuple[str, ...]
    scores: Mapping[str, Numbered]
    pending: Mapping[str, tuple[int, ...]]
    excluded: Mapping[str, str]

    @property
    def evaluations(self) -> int:
        """All scores so far, those of excluded models included."""
        return sum(map(len, self.scores.values()))

    @property
    def alive(self) -> tuple[str, ...]:
        """The models that are not excluded."""
        return tuple(model for model in self.models if model not in self.excluded)

    def scores_of(self, model: str) -> list[float]:
        """Scores of a model in the order of their numbers."""
        return [score for _, score in sorted(self.scores[model].items())]

    def begun(self, model: str) -> int:
        """Evaluations of a model that have a score or are under way."""
        return len(self.scores[model]) + len(self.pending[model])

    def start(self, model: str) -> tuple["State", int]:
        """Marks one more evaluation of a model as under way, and gives its number."""
        taken = {*self.scores[model], *self.pending[model]}
        number = next(k for k in range(1, len(taken) + 2) if k not in taken)
        return self._with_pending(model, (*self.pending[model], number)), number

    def tell(self, model: str, score: float, number: int | None = None) -> "State":
        """Adds a score, of the evaluation with this number (None: the next one).

        Raises:
          DataError: unknown model, a score that is not finite, a number that has a score.
        """
        if model not in self.models:
            raise DataError(f"{model}: no such model; expected {', '.join(self.models)}")
        value = as_number(score)
        if value is None or not math.isfinite(value):
            raise DataError(f"{model}: expected a finite score, found {score!r:.60}")
        if number is None:
            number = next(iter(self.pending[model]), None) or self.start(model)[1]
        if number in self.scores[model]:
            raise DataError(f"{model}: evaluation {number} has a score already")
        scores = {**self.scores, model: {**self.scores[model], number: value}}
        left = tuple(k for k in self.pending[model] if k != number)
        return dataclasses.replace(self, scores=scores)._with_pending(model, left)

    def exclude(self, model: str, reason: str) -> "State":
        """Drops a model: it is asked for no more and cannot win."""
        excluded = {**self.excluded, model: reason}
        return dataclasses.replace(self, excluded=excluded)._with_pending(model, ())

    def _with_pending(self, model: str, numbers: tuple[int, ...]) -> "State":
        return dataclasses.replace(self, pending={**self.pending, model: numbers})


def begin(models: Iterable[str]) -> State:
    """A state without scores.

    Raises:
      DataError: fewer than two models, or two of one name.
    """
    names = tuple(models)
    if len(names) < 2 or len(set(names)) < len(names):
        raise DataError(f"models: expected two or more different names, found {', '.join(names)}")
    return State(names, {name: {} for name in names}, dict.fromkeys(names, ()), {})


def as_number(score: Any) -> float | None:
    """A score as a number, also of an array of one; None: it is no number, as no text is."""
    try:
        value = score.item() if getattr(score, "size", None) == 1 else score
        return None if isinstance(value, str | bytes | bytearray) else float(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
