"""What a selection knows so far, in memory and on disk."""

import contextlib
import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval import state_file
from jaxeval.errors import DataError
from jaxeval.files import Json

Numbered = Mapping[int, float]  # number of the evaluation (from 1, of one model) -> score


@dataclasses.dataclass(frozen=True)
class State:
    """Scores of each model by number of evaluation; every change makes a new state.

    The k-th evaluation of every model shares a split and a seed, so that numbers, not the order of
    arrival, say what belongs together.
    """

    models: tuple[str, ...]
    scores: tuple[Numbered, ...]
    pending: tuple[tuple[int, ...], ...]  # numbers under way
    excluded: Mapping[str, str]  # model -> why it was dropped

    @property
    def evaluations(self) -> int:
        """All scores so far, those of excluded models included."""
        return sum(map(len, self.scores))

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
        """The lowest number of a model that has no score and is not under way."""
        arm = self.index_of(model)
        taken = {*self.scores[arm], *self.pending[arm]}
        return next(k for k in range(1, len(taken) + 2) if k not in taken)

    def start(self, model: str) -> tuple["State", int]:
        """Marks one more evaluation of a model as under way, and gives its number."""
        number = self.next_number(model)
        pending = (*self.pending[self.index_of(model)], number)
        return self._with_pending(model, pending), number

    def tell(self, model: str, score: float, number: int | None = None) -> "State":
        """Adds a score, of the evaluation with this number (None: the next one).

        Raises:
          DataError: unknown model, a score that is not finite, a number that has a score.
        """
        arm, value = self.index_of(model), as_number(score)
        if value is None or not math.isfinite(value):
            raise DataError(f"{model}: expected a finite score, found {score!r:.60}")
        if number is None:
            number = next(iter(self.pending[arm]), self.next_number(model))
        if number in self.scores[arm]:
            raise DataError(f"{model}: evaluation {number} was told before")
        scores = _put(self.scores, arm, {**self.scores[arm], number: value})
        left = [k for k in self.pending[arm] if k != number]
        return dataclasses.replace(self, scores=scores)._with_pending(model, left)

    def exclude(self, model: str, reason: str) -> "State":
        """Drops a model: it is asked for no more and cannot win."""
        excluded = {**self.excluded, model: reason}
        return dataclasses.replace(self, excluded=excluded)._with_pending(model, ())

    def without_pending(self) -> "State":
        """The state after a process has ended: what was under way will be asked for again."""
        return dataclasses.replace(self, pending=((),) * len(self.models))

    def _with_pending(self, model: str, numbers: Sequence[int]) -> "State":
        pending = _put(self.pending, self.index_of(model), tuple(numbers))
        return dataclasses.replace(self, pending=pending)


def _put(values: tuple, arm: int, value: object) -> tuple:
    return (*values[:arm], value, *values[arm + 1 :])


def begin(models: Iterable[str]) -> State:
    """A state without scores.

    Raises:
      DataError: fewer than two models, or two of one name.
    """
    names = tuple(models)
    if len(names) < 2 or len(set(names)) < len(names):
        raise DataError(f"models: expected two or more different names, found {', '.join(names)}")
    return State(names, ({},) * len(names), ((),) * len(names), {})


def as_number(score: Any) -> float | None:
    """A score as a number, also of an array of one; None: it is no number, as no text is."""
    try:
        value = score.item() if getattr(score, "size", None) == 1 else score
        return None if isinstance(value, str | bytes | bytearray) else float(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None


@dataclasses.dataclass
class Saved:
    """A selection whose file is open: it is written whole after every result.

    Attributes:
      recorded: model -> scores of selections that had another budget or delta.
    """

    file: state_file.StateFile
    state: State
    recorded: Mapping[str, Numbered] = dataclasses.field(default_factory=dict)

    @property
    def known(self) -> int:
        """Evaluations that have a score."""
        return sum(map(len, _merged(self.recorded, self.state).values()))

    def save(self, state: State) -> None:
        """Replaces the file by one with this state."""
        recorded = {m: {str(k): of[k] for k in sorted(of)} for m, of in self.recorded.items()}
        self.file.write({**_to_dict(state), "recorded": recorded})
        self.state = state

    def score(self, model: str, number: int) -> float | None:
        """The score of this evaluation in a selection that had another budget or delta."""
        return self.recorded.get(model, {}).get(number)


@contextlib.contextmanager
def opened(
    path: Path, rule: Mapping[str, Json], fresh: State, evaluator: Mapping[str, Json]
) -> Iterator[Saved]:
    """The selection in a file, or a new one.

    With another budget or delta the selection begins anew, and evaluations that have a score are
    not run again: a score depends on model and number alone.

    Args:
      rule: its name and settings.
      fresh: of a new selection.
      evaluator: what the scores come from, as plain data.

    Raises:
      ConfigError: the file holds a selection by another rule or evaluator, or among other models.
      RunError: another process works on it.
    """
    with state_file.opened(path, "selection", {"rule": rule, "evaluator": evaluator}) as file:
        tree = file.read({"batch_size", "budget", "delta"})
        if tree is None:
            yield Saved(file, fresh)
            return
        with file.parsing():
            state, recorded = _from_dict(tree), _from_dict({**tree, "scores": tree["recorded"]})
        file.refuse_other("models", sorted(fresh.models), sorted(state.models))
        scores = dict(zip(recorded.models, recorded.scores, strict=True))
        if file.changed("rule") & {"budget", "delta"}:
            yield Saved(file, fresh, _merged(scores, state))
        else:
            yield Saved(file, state, scores)


def _merged(recorded: Mapping[str, Numbered], state: State) -> dict[str, Numbered]:
    known = zip(state.models, state.scores, strict=True)
    return {model: {**recorded.get(model, {}), **scores} for model, scores in known}


def _to_dict(state: State) -> dict[str, Json]:
    scores = ({str(k): of[k] for k in sorted(of)} for of in state.scores)
    return {
        "models": list(state.models),
        "scores": dict(zip(state.models, scores, strict=True)),
        "pending": dict(zip(state.models, map(list, state.pending), strict=True)),
        "excluded": dict(state.excluded),
    }


def _from_dict(tree: Any) -> State:
    """What `_to_dict` wrote; whatever is raised of anything else means that it is damaged."""
    state = begin(map(str, tree["models"]))
    for model, scores in tree["scores"].items():
        for number, score in scores.items():
            state = state.tell(model, float(score), int(number))
    for model, reason in tree["excluded"].items():
        state = state.exclude(model, str(reason))
    for model, numbers in tree["pending"].items():
        state = state._with_pending(model, [int(number) for number in numbers])
    return state
