"""What a selection knows so far: every score told, what is under way, what was dropped."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jaxeval.errors import DataError
from jaxeval.files import Json

Numbered = Mapping[int, float]  # number of the evaluation (from 1, of one model) -> score


@dataclasses.dataclass(frozen=True)
class State:
    """Scores of each model by number of evaluation; every change makes a new state.

    The k-th evaluation of every model shares a split and a seed, so numbers, not the order of
    arrival, say what belongs together. The order in which scores are told changes nothing.
    """

    models: tuple[str, ...]
    scores: tuple[Numbered, ...]
    pending: tuple[tuple[int, ...], ...]  # numbers under way
    excluded: Mapping[str, str]  # model -> why it was dropped

    @property
    def evaluations(self) -> int:
        """All scores told so far, those of excluded models included."""
        return sum(map(len, self.scores))

    @property
    def by_model(self) -> dict[str, Numbered]:
        """Model -> its scores."""
        return dict(zip(self.models, self.scores, strict=True))

    @property
    def alive(self) -> tuple[int, ...]:
        """Indices of the models that are not excluded."""
        return tuple(k for k, name in enumerate(self.models) if name not in self.excluded)

    def index_of(self, model: str) -> int:
        """Where a model stands in `models`.

        Raises:
          DataError: no such model.
        """
        if model not in self.models:
            raise DataError(f"{model}: no such model; expected {', '.join(self.models)}")
        return self.models.index(model)

    def scores_of(self, model: str) -> list[float]:
        """Scores of a model in the order of their numbers."""
        scores = self.scores[self.index_of(model)]
        return [scores[number] for number in sorted(scores)]

    def next_number(self, model: str) -> int:
        """The lowest number of a model that is neither told nor under way."""
        arm = self.index_of(model)
        taken = {*self.scores[arm], *self.pending[arm]}
        return next(k for k in range(1, len(taken) + 2) if k not in taken)


def begin(models: Iterable[str]) -> State:
    """Nothing told yet.

    Raises:
      DataError: fewer than two models, or two of one name.
    """
    names = tuple(models)
    if len(names) < 2 or len(set(names)) < len(names):
        raise DataError(f"models: expected two or more different names, found {', '.join(names)}")
    return State(names, ({},) * len(names), ((),) * len(names), {})


def start(state: State, model: str) -> tuple[State, int]:
    """Marks one more evaluation of a model as under way, and gives its number."""
    number = state.next_number(model)
    return _with_pending(state, model, (*state.pending[state.index_of(model)], number)), number


def tell(state: State, model: str, score: float, number: int | None = None) -> State:
    """Adds a score, of the evaluation with this number (absent: the next one).

    Raises:
      DataError: unknown model, a score that is not finite, a number told before.
    """
    arm = state.index_of(model)
    value = finite(model, score)
    if number is None:
        waiting = state.pending[arm]
        number = waiting[0] if waiting else state.next_number(model)
    if number in state.scores[arm]:
        raise DataError(f"{model}: evaluation {number} was told before")
    scores = {**state.scores[arm], number: value}
    changed = dataclasses.replace(state, scores=_put(state.scores, arm, scores))
    return _with_pending(changed, model, [k for k in state.pending[arm] if k != number])


def finite(model: str, score: object) -> float:
    """A score as a finite number, also of an array of one.

    Raises:
      DataError: anything else.
    """
    value = as_number(score)
    if value is None or not math.isfinite(value):
        raise DataError(f"{model}: expected a finite score, found {score!r:.60}")
    return value


def as_number(score: Any) -> float | None:
    """A score as a number, also of an array of one; None: it is none, as no text is."""
    try:
        value = score.item() if getattr(score, "size", None) == 1 else score
        return None if isinstance(value, str | bytes | bytearray) else float(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None


def exclude(state: State, model: str, reason: str) -> State:
    """Gives a model up: it is asked for no more and cannot win."""
    changed = dataclasses.replace(state, excluded={**state.excluded, model: reason})
    return _with_pending(changed, model, ())


def forget_pending(state: State) -> State:
    """What was under way when the process ended: it will be asked for again."""
    return dataclasses.replace(state, pending=((),) * len(state.models))


def _with_pending(state: State, model: str, numbers: Sequence[int]) -> State:
    return dataclasses.replace(
        state, pending=_put(state.pending, state.index_of(model), tuple(numbers))
    )


def _put(values: tuple, arm: int, value: object) -> tuple:
    return (*values[:arm], value, *values[arm + 1 :])


def numbered_to_dict(scores: Mapping[str, Numbered]) -> dict[str, Json]:
    """Model -> number -> score, for JSON."""
    return {name: {str(k): of[k] for k in sorted(of)} for name, of in scores.items()}


def numbered_from_dict(tree: Any) -> dict[str, Numbered]:
    """What `numbered_to_dict` wrote.

    Raises:
      DataError: anything else.
    """
    try:
        scores: dict[str, Numbered] = {
            str(name): {int(k): float(score) for k, score in of.items()}
            for name, of in tree.items()
        }
    except (TypeError, ValueError, AttributeError) as error:
        raise DataError(f"not the state of a selection (scores by number: {error})") from None
    for name, of in scores.items():
        for score in of.values():
            finite(name, score)
    return scores


def to_dict(state: State) -> dict[str, Json]:
    """Plain data for JSON."""
    return {
        "models": list(state.models),
        "scores": numbered_to_dict(state.by_model),
        "pending": {
            name: list(numbers) for name, numbers in zip(state.models, state.pending, strict=True)
        },
        "excluded": dict(state.excluded),
    }


def from_dict(tree: Any) -> State:
    """The state that `to_dict` wrote.

    Raises:
      DataError: anything else.
    """
    try:
        state = begin(tree["models"])
        scores = numbered_from_dict(tree["scores"])
        for name in state.models:
            for number, score in scores[name].items():
                state = tell(state, name, score, number)
            state = _with_pending(state, name, [int(k) for k in tree["pending"][name]])
        for name, reason in tree["excluded"].items():
            state = dataclasses.replace(state, excluded={**state.excluded, str(name): str(reason)})
    except DataError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"not the state of a selection ({type(error).__name__}: {error})"
        ) from None
    return state
