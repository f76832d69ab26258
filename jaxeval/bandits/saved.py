"""A selection on disk: written whole after every result, locked while a process works on it."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jaxeval import state_file
from jaxeval.bandits import state as states
from jaxeval.bandits.rules import Rule
from jaxeval.bandits.state import State
from jaxeval.errors import DataError
from jaxeval.files import Json

_FREE = {"batch_size"}  # may differ when a selection goes on


@dataclasses.dataclass
class Saved:
    """An open selection."""

    file: state_file.StateFile
    state: State

    @property
    def path(self) -> Path:
        """Of its file."""
        return self.file.path

    def save(self, state: State) -> None:
        """Replaces the file by one with this state."""
        self.file.write(states.to_dict(state))
        self.state = state


@contextlib.contextmanager
def opened(
    path: Path, rule: Rule, models: Sequence[str], evaluator: Mapping[str, Json]
) -> Iterator[Saved]:
    """The selection in a file, or a new one.

    Args:
      evaluator: what the scores come from, as plain data; another one cannot go on with them.

    Raises:
      ConfigError: the file holds a selection by another rule, or among other models.
      RunError: another process works on it.
    """
    head = {
        "rule": {"name": type(rule).__name__, **dataclasses.asdict(rule)},
        "evaluator": dict(evaluator),
    }
    fresh = rule.begin(models)  # what cannot begin leaves no file
    with state_file.opened(path, "selection", head) as file:
        yield Saved(file, _read(file, models) or fresh)


def _read(file: state_file.StateFile, models: Sequence[str]) -> State | None:
    tree = file.read(_FREE)
    if tree is None:
        return None
    try:
        state = states.from_dict(tree)
    except DataError as error:
        raise file.damaged(error) from None
    file.refuse_other("models", sorted(models), sorted(state.models))
    return state
