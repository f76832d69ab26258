"""A selection on disk: written whole after every result, locked while a process works on it."""

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jaxeval import cli, files
from jaxeval.bandits import state as states
from jaxeval.bandits.rules import Rule
from jaxeval.bandits.state import State
from jaxeval.errors import ConfigError, DataError
from jaxeval.files import Json

_FREE = {"batch_size"}  # may differ when a selection goes on


@dataclasses.dataclass
class Saved:
    """An open state file."""

    path: Path
    head: dict[str, dict[str, Json]]
    state: State

    def save(self, state: State) -> None:
        """Replaces the file by one with this state."""
        tree = {**self.head, "state": states.to_dict(state)}
        cli.write_text(self.path, json.dumps(tree, indent=1, allow_nan=False) + "\n")
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
    if not path.name:
        raise ConfigError("--state: expected the name of a file")
    lock = path.with_name(f".{path.name}.lock")
    with files.locked(lock, f"{path}: another process works on this selection"):
        yield Saved(path, head, _read(path, head, models) if path.exists() else fresh)


def _read(path: Path, head: dict[str, dict[str, Json]], models: Sequence[str]) -> State:
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        known = {key: dict(tree[key]) for key in head}
        state = states.from_dict(tree["state"])
    except (OSError, ValueError, KeyError, TypeError, DataError) as error:
        raise ConfigError(
            f"{path}: not the state of a selection ({error}); name another file with --state"
        ) from None
    for what, mine, old in (
        ("models", sorted(models), sorted(state.models)),
        *((key, head[of][key], known[of].get(key)) for of in head for key in head[of]),
    ):
        if mine != old and what not in _FREE:
            raise ConfigError(
                f"{path} holds a selection with {what} {old}, not {mine}; name another file with "
                "--state, or delete this one"
            )
    return state
