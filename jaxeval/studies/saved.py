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
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pydantic

from jaxeval import files
from jaxeval.config import markers, reading
from jaxeval.contracts import Member, Tree
from jaxeval.errors import DataError, RunError, argument
from jaxeval.population import parameter_files
from jaxeval.runs import Experiment, experiments
from jaxeval.studies.cohorts import Entry
from jaxeval.tasks import prediction, registry
from jaxeval.tasks.prediction import SavedModel
from jaxeval.version import VERSION

Identity = tuple[str, int, int]  # of a member: experiment, split, seed


@reading.settings
class Description:
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
    about: Description

    @property
    def rank(self) -> float:
        """Smaller is better; last where dev is unknown."""
        dev = self.about.dev
        if dev is None:
            return math.inf
        return -dev if self.about.higher_is_better else dev


def path_of(folder: Path, of: Entry) -> Path:
    """Where a runs folder keeps a trial's best parameters."""
    trial = of.trial
    name = f"seed{trial.seed}{_of_split(of)}"
    name += f"-repeat{trial.repeat}" if trial.repeat else ""
    name += f"-{reading.digest(trial.hparams)}" if trial.values else ""
    return folder / "models" / of.record.id / f"{name}.npz"


def save(
    folder: Path, of: Entry, config: Any, member: Member, params: Tree, dev: float | None
) -> None:
    """Writes a trial's parameters, what they belong to and, once, the vocabulary.

    The parameters come last: where they are, all is.

    Args:
      config: of the program that trained it, by whose sizes the parameters are padded.
      dev: the score of these parameters.
    """
    path, vocabulary, tables = _files(folder, of)
    source = of.prepared.source
    if not vocabulary.is_file():
        files.write_json(str(vocabulary), source.vocabulary(member.split))
    if source.tables and not tables.is_file():
        parameter_files.save(tables, dict(source.tables))
    description = Description(
        task=of.record.task,
        name=of.record.name,
        config=reading.to_dict(config),
        experiment=of.record.id,
        data=of.record.data,
        data_hash=of.record.data_hash,
        seed=member.seed,
        split=member.split,
        hparams=dict(member.hparams),
        vocabulary=vocabulary.name,
        metric=of.record.metric,
        higher_is_better=of.record.higher_is_better,
        dev=dev,
        jaxeval=VERSION,
    )
    files.write_json(str(path.with_suffix(".json")), reading.to_dict(description))
    parameter_files.save(path, params)


def is_whole(folder: Path, of: Entry) -> bool:
    """Whether a trial's model is there with all that it needs."""
    path, vocabulary, tables = _files(folder, of)
    needed = [path, path.with_suffix(".json"), vocabulary]
    needed += [tables] if of.prepared.source.tables else []
    return all(file.is_file() for file in needed)


def _files(folder: Path, of: Entry) -> tuple[Path, Path, Path]:
    """A trial's parameters, vocabulary and tables."""
    path = path_of(folder, of)
    return path, path.with_name(f"vocabulary{_of_split(of)}.json"), path.with_name("tables.npz")


def _of_split(of: Entry) -> str:
    return f"-split{of.trial.split}" if of.trial.split else ""


# What was saved, read without the corpus.


def find(
    folder: Path,
    experiment: str | None = None,
    seed: int | None = None,
    members: Collection[Identity] | None = None,
) -> list[ModelFile]:
    """The saved models of an experiment, best of dev first; equal ones by seed.

    Args:
      experiment: id, beginning of one, or name; None: there must be one only.
      seed: only models of this seed.
      members: only models of these; None: of all.

    Raises:
      RunError: none there, or an experiment must be chosen; says what there is.
      DataError: a description that cannot be read.
    """
    files = (p for p in sorted((folder / "models").glob("*/seed*.npz")))
    models = [ModelFile(path, _described(path.with_suffix(".json"))) for path in files]
    if members is not None:
        models = [each for each in models if _identity(each.about) in members]
    if not models:
        of = "" if members is None else " of these runs"
        raise RunError(
            f"{folder}: no saved model{of}; train with training.save_models=true, and "
            f"{argument('again', True)} if that has ended without"
        )
    chosen = _chosen(models, folder, experiment)
    of_it = [each for each in models if each.about.experiment == chosen]
    of_seed = [each for each in of_it if seed in (None, each.about.seed)]
    if not of_seed:
        seeds = ", ".join(map(str, sorted({each.about.seed for each in of_it})[:20]))
        asked = argument("seed", seed)
        raise RunError(f"{asked}: no saved model of experiment {chosen}; seeds: {seeds}")
    return sorted(of_seed, key=lambda each: (each.rank, each.about.seed, each.path.name))


def of_other_data(folder: Path, record: Experiment) -> str | None:
    """The id of saved models of an experiment's name and place, whose data was another then."""
    files = sorted((folder / "models").glob("*/seed*.json"))
    about = {file.parent: file for file in files}.values()  # one an experiment
    for known in (_described(file) for file in about):
        same = (known.task, known.name, known.data) == (record.task, record.name, record.data)
        if same and known.data_hash != record.data_hash:
            return known.experiment
    return None


def _chosen(models: Sequence[ModelFile], folder: Path, experiment: str | None) -> str:
    """The id of the one experiment that is meant; RunError where it is none, or one of several."""
    names = {each.about.experiment: each.about.name for each in models}
    chosen = [*names] if experiment is None else experiments.ids_of(names, experiment)
    if len(chosen) == 1:
        return chosen[0]
    wrong = "" if experiment is None else f"; {experiment!r} is {len(chosen)} of them"
    raise RunError(
        f"{folder}: saved models of {len(names)} experiments{wrong}; choose one with "
        f"{argument('experiment')}: {experiments.with_ids(names)}"
    )


def _identity(about: Description) -> Identity:
    return about.experiment, about.split, about.seed


def _described(path: Path) -> Description:
    return prediction.checked(Description, _read_json(path), path)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", path) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON ({error}); damaged, or cut short", path) from None


def load(chosen: Iterable[ModelFile]) -> list[SavedModel]:
    """The models, without the corpus that they were trained on; files that they share once.

    Raises:
      ConfigError: a description's config is of no task here.
      DataError: a file is not what was saved; names it.
    """
    read_json, read_arrays = functools.cache(_read_json), functools.cache(_tables)
    models = []
    for path, about in chosen:
        meanings = path.with_name(about.vocabulary)
        vocabulary, tables = read_json(meanings), read_arrays(path.with_name("tables.npz"))
        cls = registry.kind(about.task).Config
        config: Any = reading.from_dict(cls, about.config, f"{path.with_suffix('.json')}: ")
        program = reading.canonical([about.config, str(meanings)])
        arrays = parameter_files.arrays(path)
        hparams = {**_neutral(config), **about.hparams}
        models.append(
            SavedModel(path, program, config, vocabulary, meanings, tables, arrays, hparams)
        )
    return models


def _neutral(config: Any) -> dict[str, float]:
    """Values that change nothing: of what a config says and its member, trained before that was a
    hyperparameter, did not have."""
    values = {name: h.marker.neutral for name, h in markers.traced(config).items() if h.active}
    return {name: value for name, value in values.items() if value is not None}


def _tables(path: Path) -> Mapping[str, np.ndarray]:
    return parameter_files.arrays(path) if path.exists() else {}
