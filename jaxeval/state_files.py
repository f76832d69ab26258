"""The state of work that is resumed, in a JSON file that one process holds."""

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxeval import errors, files
from jaxeval.errors import ConfigError, argument
from jaxeval.files import Json

_Head = Mapping[str, Mapping[str, Json]]  # says which work a state is of
RECORDED = "what has been trained is in the runs database, and is not trained again"


@dataclasses.dataclass(frozen=True)
class StateFile:
    """The state of some work, in a file that this process holds."""

    path: Path
    work: str  # for messages, such as "selection"
    head: _Head

    def read(self) -> Any:
        """Reads the state; None if there is no file yet.

        Raises ConfigError: the file is damaged, or is the state of other work.
        """
        if not self.path.exists():
            return None
        with self.parsing():
            tree = json.loads(self.path.read_text(encoding="utf-8"))
            known = {part: dict(tree[part]) for part in self.head}
            body = tree["state"]
        for part, mine in self.head.items():
            for key in mine:
                self._refuse_other(key, mine[key], known[part].get(key))
        return body

    def write(self, body: Json) -> None:
        """Replaces the file."""
        whole = json.dumps({**self.head, "state": body}, indent=1, allow_nan=False)
        files.write_text(self.path, whole + "\n")

    def _refuse_other(self, what: str, mine: Json, known: Json) -> None:
        """Refuses another value, or a table in another order, as of a search space."""
        if isinstance(mine, Mapping) and isinstance(known, Mapping) and mine != known:
            changed = [
                f"{key}: {known.get(key, 'absent')}, not {mine.get(key, 'absent')}"
                for key in {**known, **mine}
                if known.get(key) != mine.get(key)
            ]
            difference = f"another {what} ({'; '.join(changed)})"
        elif mine != known:
            difference = f"{what} {known}, not {mine}"
        elif isinstance(mine, Mapping) and isinstance(known, Mapping) and [*mine] != [*known]:
            difference = f"{what} in the order {', '.join(known)}, not {', '.join(mine)}"
        else:
            return
        raise ConfigError(
            f"{self.path} holds a {self.work} with {difference}; give another "
            f"{argument('state')}, or delete this file"
        )

    def parsing(self) -> contextlib.AbstractContextManager[None]:
        """Turns errors of reading the state into a ConfigError with a remedy."""
        of_command = "command" in self.head.get("evaluator", {})
        after = "the command then runs again" if of_command else RECORDED
        return errors.parsing(
            f"not the state of a {self.work}",
            self.path,
            error=ConfigError,
            passing=(MemoryError,),
            then=f"; give another {argument('state')}, "
            f"or delete this one if it was damaged: {after}",
        )


@contextlib.contextmanager
def open_state(path: Path, work: str, head: _Head) -> Iterator[StateFile]:
    """Holds the state file of some work; raises RunError if another process works on it."""
    plain = json.loads(json.dumps(head))  # tuples are lists in JSON
    busy = f"{path}: another process works on this {work}"
    with files.locked(files.lock_of(path, "state"), busy):
        yield StateFile(path, work, plain)
