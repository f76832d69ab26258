"""Saved models on a file of one's own: which are used, and what they say."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from jaxeval.errors import ConfigError, RunError
from jaxeval.studies import saved
from jaxeval.tasks import registry
from jaxeval.tasks.prediction import Options

Which = Literal["best", "all", "vote"]


class Choice(NamedTuple):
    """Models of one experiment.

    Attributes:
      used: those that predict, best of dev first.
      saved: how many were to choose from.
    """

    used: Sequence[saved.ModelFile]
    saved: int


def choose(
    folder: Path,
    which: Which,
    experiment: str | None = None,
    seed: int | None = None,
    members: Collection[saved.Identity] | None = None,
) -> Choice:
    """The models that predict: of one experiment, maybe of one seed; arguments as of `saved.find`.

    Raises:
      ConfigError: no such `which`.
      RunError: no such folder or models, or an experiment must be chosen; says what there is.
      DataError: a description that cannot be read.
    """
    if which not in get_args(Which):
        raise ConfigError(f"which: expected one of {', '.join(get_args(Which))}, got {which!r}")
    if not folder.is_dir():
        raise RunError(f"{folder}: no such folder; expected one that `train --out` has written")
    models = saved.find(folder, experiment, seed, members)
    return Choice(models[:1] if which == "best" else models, len(models))


def lines(models: Sequence[saved.ModelFile], file: Path, options: Options) -> list[str]:
    """What the models say of a file, in the form of their task.

    Raises:
      ConfigError: a task that predicts nothing, or an option that it does not have.
      DataError: naming the file and line that cannot be read.
    """
    task = models[0].about.task
    predict = registry.kind(task).predict
    if predict is None:
        raise ConfigError(f"task: models of {task} predict nothing")
    return list(predict(saved.load(models), file, options))
