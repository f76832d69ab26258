"""Trained models on disk: a member's best parameters, and beside them as JSON all that they mean.

RUNS/models/EXPERIMENT/seed1.npz         arrays, by name
RUNS/models/EXPERIMENT/seed1.json        config, seed, split, traced hyperparameters, dev score
RUNS/models/EXPERIMENT/vocabulary.json   what the numbers in the data's arrays stand for
                                         (vocabulary-split3.json: of the members of split 3)
RUNS/models/EXPERIMENT/tables.npz        arrays beside the parameters, such as word vectors
                                         that are not trained; absent where there are none
"""

import functools
import json
import math
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import pydantic

from jaxeval import files
from jaxeval.config import reading
from jaxeval.contracts import Member, Tree
from jaxeval.errors import ConfigError, DataError, RunError, argument
from jaxeval.population import parameter_files
from jaxeval.runs import experiments
from jaxeval.studies.cohorts import Entry
from jaxeval.tasks import kind, registry
from jaxeval.tasks.kind import Options, SavedModel
from jaxeval.version import VERSION

Identity = tuple[str, int, int]  # of a member: experiment, split, seed
Which = Literal["best", "all", "vote"]


@reading.settings
class _Description:
    """What a saved model is, as its JSON file says.

    Attributes:
      config: of the program that trained it, by whose sizes the parameters are padded.
      hparams: the member's own.
      vocabulary: name of the vocabulary's file.
      metric, higher_is_better, dev: by which members are ranked; dev None: unknown.
    """

    task: str
    name: str
    config: dict[str, Any]
    experiment: str
    data: str
    data_hash: str
    seed: int
    split: int
    hparams: dict[str, float]
    vocabulary: Annotated[str, pydantic.Field(pattern=r"^vocabulary[a-z0-9-]*\.json$")]
    metric: str
    higher_is_better: bool
    dev: float | None
    jaxeval: str


class ModelFile(NamedTuple):
    """A saved model whose parameters have not been read yet."""

    path: Path  # of the parameters
    about: _Description

    @property
    def identity(self) -> Identity:
        """Of its member."""
        return self.about.experiment, self.about.split, self.about.seed

    @property
    def rank(self) -> float:
        """Smaller is better; last where dev is unknown."""
        dev = self.about.dev
        if dev is None:
            return math.inf
        return -dev if self.about.higher_is_better else dev


def path_of(folder: Path, entry: Entry) -> Path:
    """Where a runs folder keeps a trial's best parameters."""
    trial = entry.trial
    name = f"seed{trial.seed}{_of_split(entry)}"
    name += f"-repeat{trial.repeat}" if trial.repeat else ""
    name += f"-{reading.digest(trial.hparams)}" if trial.values else ""
    return folder / "models" / entry.record.id / f"{name}.npz"


def save(
    folder: Path, entry: Entry, config: Any, member: Member, params: Tree, dev: float | None
) -> None:
    """Writes a trial's parameters, what they belong to and, once, the vocabulary.

    The parameters come last: where they are, all is.

    Args:
      config: of the program that trained it, by whose sizes the parameters are padded.
      dev: the score of these parameters.
    """
    path, vocabulary, tables = _files(folder, entry)
    source = entry.prepared.source
    if not vocabulary.is_file():
        files.write_json(str(vocabulary), source.vocabulary(member.split))
    if source.tables and not tables.is_file():
        parameter_files.save(tables, dict(source.tables))
    description = _Description(
        task=entry.record.task,
        name=entry.record.name,
        config=reading.to_dict(config),
        experiment=entry.record.id,
        data=entry.record.data,
        data_hash=entry.record.data_hash,
        seed=member.seed,
        split=member.split,
        hparams=dict(member.hparams),
        vocabulary=vocabulary.name,
        metric=entry.record.metric,
        higher_is_better=entry.record.higher_is_better,
        dev=dev,
        jaxeval=VERSION,
    )
    files.write_json(str(path.with_suffix(".json")), reading.to_dict(description))
    parameter_files.save(path, params)


def is_whole(folder: Path, entry: Entry) -> bool:
    """Whether a trial's model is there with all that it needs."""
    path, vocabulary, tables = _files(folder, entry)
    needed = [path, path.with_suffix(".json"), vocabulary]
    needed += [tables] if entry.prepared.source.tables else []
    return all(file.is_file() for file in needed)


def _files(folder: Path, entry: Entry) -> tuple[Path, Path, Path]:
    """A trial's parameters, vocabulary and tables."""
    path = path_of(folder, entry)
    return path, path.with_name(f"vocabulary{_of_split(entry)}.json"), path.with_name("tables.npz")


def _of_split(entry: Entry) -> str:
    return f"-split{entry.trial.split}" if entry.trial.split else ""


# What was saved, read without the corpus.


class Choice(NamedTuple):
    """Models of one experiment.

    Attributes:
      used: those that predict, best of dev first; equal ones by seed.
      saved: how many were to choose from.
    """

    used: Sequence[ModelFile]
    saved: int


def choose(
    folder: Path,
    which: Which,
    experiment: str | None = None,
    seed: int | None = None,
    members: Collection[Identity] | None = None,
) -> Choice:
    """The models that predict: of one experiment, maybe of one seed.

    Args:
      which: the best of dev, or all; "vote": all, which say one thing together.
      experiment: id, beginning of one, or name; None: there must be one only.
      seed: only models of this seed.
      members: only models of these; None: of all.

    Raises:
      ConfigError: no such `which`.
      RunError: no such folder or models, or an experiment must be chosen; says what there is.
      DataError: a description that cannot be read.
    """
    if which not in get_args(Which):
        raise ConfigError(f"which: expected one of {', '.join(get_args(Which))}, got {which!r}")
    if not folder.is_dir():
        raise RunError(f"{folder}: no such folder; expected one that `train --out` has written")
    paths = sorted((folder / "models").glob("*/seed*.npz"))
    models = [ModelFile(path, _described(path.with_suffix(".json"))) for path in paths]
    if members is not None:
        models = [each for each in models if each.identity in members]
    if not models:
        whose = "" if members is None else " of these runs"
        raise RunError(
            f"{folder}: no saved model{whose}; train with training.save_models=true, and "
            f"{argument('again', True)} if that has ended without"
        )
    names = {each.about.experiment: each.about.name for each in models}
    ids = [*names] if experiment is None else experiments.ids_of(names, experiment)
    if len(ids) != 1:
        wrong = "" if experiment is None else f"; {experiment!r} is {len(ids)} of them"
        raise RunError(
            f"{folder}: saved models of {len(names)} experiments{wrong}; choose one with "
            f"{argument('experiment')}: {experiments.with_ids(names)}"
        )
    models = [each for each in models if each.about.experiment == ids[0]]
    chosen = [each for each in models if seed in (None, each.about.seed)]
    if not chosen:
        seeds = ", ".join(map(str, sorted({each.about.seed for each in models})[:20]))
        asked = argument("seed", seed)
        raise RunError(f"{asked}: no saved model of experiment {ids[0]}; seeds: {seeds}")
    chosen.sort(key=lambda each: (each.rank, each.about.seed, each.path.name))
    return Choice(chosen[:1] if which == "best" else chosen, len(chosen))


def predictions(models: Sequence[ModelFile], file: Path, options: Options) -> list[str]:
    """What the models say of a file, in the form of their task.

    Raises:
      ConfigError: a task that predicts nothing, or an option that it does not have.
      DataError: naming the file and line that cannot be read.
    """
    task = models[0].about.task
    predict = registry.kind(task).predict
    if predict is None:
        raise ConfigError(f"task: models of {task} predict nothing")
    return list(predict(load(models), file, options))


def load(chosen: Iterable[ModelFile]) -> list[SavedModel]:
    """The models, without the corpus that they were trained on; files that they share once.

    Raises:
      ConfigError: a description's config is of no task here.
      DataError: a file is not what was saved; names it.
    """
    read_json, read_arrays = functools.cache(_read_json), functools.cache(parameter_files.arrays)
    models = []
    for path, about in chosen:
        meanings, tables = path.with_name(about.vocabulary), path.with_name("tables.npz")
        cls = registry.kind(about.task).Config
        config: Any = reading.from_dict(cls, about.config, f"{path.with_suffix('.json')}: ")
        models.append(
            SavedModel(
                path,
                reading.canonical([about.config, str(meanings)]),
                config,
                read_json(meanings),
                meanings,
                read_arrays(tables) if tables.exists() else {},
                parameter_files.arrays(path),
                about.hparams,
            )
        )
    return models


def _described(path: Path) -> _Description:
    return kind.checked(_Description, _read_json(path), path)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", path) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON ({error}); damaged, or cut short", path) from None
