"""From a config to something that can be trained: the page where all rooms meet."""

import json
from collections.abc import Sequence
from typing import Any

from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.experiment import language, memory, seq2seq, tagging
from jaxeval.experiment.base import (
    Prepared,
    Recorder,
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
    "Recorder",
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
      ConfigError: naming every key that is wrong.
    """
    module = kind(reading.peek(path, changes, "task") or "tagging")
    place = [f"{module.DATA}={json.dumps(data, ensure_ascii=False)}"] if data else []
    return reading.read(module.Config, path, [*changes, *place])


def prepare(config: Any) -> Prepared:
    """Reads the data and builds the task.

    Raises:
      ConfigError, DataError: what cannot be read, or a model that is too large for this machine.
    """
    made: Prepared = kind(config.task).prepare(config)
    memory.refuse_too_large(made)
    return made
