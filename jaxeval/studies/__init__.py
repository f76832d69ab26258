"""From a config to something that can be trained: the page where all rooms meet."""

import json
from collections.abc import Sequence
from typing import Any

from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.experiment import language, memory, seq2seq, tagging
from jaxeval.experiment.base import (
    Prepared,
    hparams_json,
    key_of,
    locked,
    members,
    parameters,
    plan,
    study,
)

__all__ = [
    "KINDS",
    "Prepared",
    "hparams_json",
    "key_of",
    "kind",
    "locked",
    "members",
    "parameters",
    "plan",
    "prepare",
    "read",
    "study",
]
KINDS: dict[str, Any] = {  # task -> its module
    "tagging": tagging,
    "language": language,
    "seq2seq": seq2seq,
}


def kind(task: str) -> Any:
    """The module of a task: its Config, `prepare`, and DATA, the key that says where its data is.

    Raises:
      ConfigError: no such task.
    """
    if task not in KINDS:
        raise ConfigError(f"task: expected one of {', '.join(KINDS)}, got {task!r}")
    return KINDS[task]


def read(path: str | None, changes: Sequence[str] = (), data: str | None = None) -> Any:
    """The config of a file (None: the embedded default), whatever its task.

    Args:
      path: TOML file.
      changes: `key=value` each.
      data: where the data is, instead of where the config says.

    Raises:
      ConfigError: naming every key that is wrong; an empty `data`.
    """
    if data is not None and not data.strip():
        raise ConfigError(
            f"--data: got {data!r}, an empty path (a shell variable that is not set?); expected a "
            "folder, a file or tfds:NAME, or no --data"
        )
    module = kind(reading.peek(path, changes, "task") or "tagging")
    place = [] if data is None else [f"{module.DATA}={json.dumps(data, ensure_ascii=False)}"]
    return reading.read(module.Config, path, [*changes, *place])


def prepare(config: Any, random_splits: bool = False) -> Prepared:
    """Reads the data and builds the task.

    Args:
      random_splits: for members of random splits of all the data instead of the given split.

    Raises:
      ConfigError: random splits of a task that has none, or a model too large for this machine.
      DataError: the data cannot be read or used.
    """
    made: Prepared = kind(config.task).prepare(config, random_splits)
    memory.refuse_too_large(made)
    return made
