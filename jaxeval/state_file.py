"""The state of work that can be resumed: a file written whole, and locked meanwhile."""

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxeval import errors, files
from jaxeval.errors import ConfigError, argument
from jaxeval.files import Json

RECORDED = "what has been trained is in the runs database, and is not trained again"
Head = Mapping[str, Mapping[str, Json]]  # what the work is: another head is other work


@dataclasses.dataclass(frozen=True)
class StateFile:
    """An open state file."""

    path: Path
    work: str  # what it is the state of, such as "selection", for messages
    head: Head

    def read(self) -> Any:
        """What stands beside the head; None where there is no file yet.

        Raises ConfigError: it is no such file, or its head is another.
        """
        if not self.path.exists():
            return None
        with self.parsing():
            tree = json.loads(self.path.read_text(encoding="utf-8"))
            known, body = {part: dict(tree[part]) for part in self.head}, tree["state"]
        for part, mine in self.head.items():
            for key in mine:
                self._refuse_other(key, mine[key], known[part].get(key))
        return body

    def write(self, body: Json) -> None:
        """Replaces the file by one with this state."""
        whole = json.dumps({**self.head, "state": body}, indent=1, allow_nan=False)
        with files.replacing(self.path, "w") as stream:
            stream.write(whole + "\n")

    def _refuse_other(self, what: str, mine: Json, known: Json) -> None:
        """Raises ConfigError where the file has something else, or the same in another order.

        The order of a table counts: a search space's is that of its dimensions.
        """
        if mine != known and what == "higher_is_better":
            known, mine = ("lower", "higher") if mine else ("higher", "lower")
            flag = argument("lower_is_better")
            difference = f"scores of which {known} is better, not {mine} ({flag})"
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
        """Makes what is raised where the file cannot be read a ConfigError."""
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
def opened(path: Path, work: str, head: Head) -> Iterator[StateFile]:
    """Holds the state of some work for this process; RunError: another process works on it."""
    if not path.name:
        raise ConfigError(f"{argument('state')}: expected the name of a file")
    # as JSON gives it again: tuples are lists there
    plain = json.loads(json.dumps(head))
    lock = path.with_name(f".{path.name}.lock")
    with files.locked(lock, f"{path}: another process works on this {work}"):
        yield StateFile(path, work, plain)
