"""Trained models on disk: a member's best parameters, and beside them as JSON all that they mean.

RUNS/models/EXPERIMENT/seed1.npz         arrays, by name
RUNS/models/EXPERIMENT/seed1.json        config, seed, split, traced hyperparameters
RUNS/models/EXPERIMENT/vocabulary.json   what the numbers in the data's arrays stand for
                                         (vocabulary-split3.json: of the members of split 3)
RUNS/models/EXPERIMENT/tables.npz        arrays beside the parameters, such as word vectors
                                         that are not trained; absent where there are none
"""

from pathlib import Path
from typing import Any

from jaxeval import __version__, cli
from jaxeval.config import reading
from jaxeval.contracts import Member, Tree
from jaxeval.population import kept
from jaxeval.studies.cohorts import Entry


def path_of(folder: Path, of: Entry) -> Path:
    """Where a runs folder keeps a trial's best parameters."""
    trial = of.trial
    name = f"seed{trial.seed}{_of_split(of)}"
    name += f"-repeat{trial.repeat}" if trial.repeat else ""
    name += f"-{reading.digest(trial.hparams)}" if trial.values else ""
    return folder / "models" / of.record.id / f"{name}.npz"


def save(folder: Path, of: Entry, config: Any, member: Member, params: Tree) -> None:
    """Writes a trial's parameters, what they belong to and, once, the vocabulary.

    The parameters come last: where they are, all is.

    Args:
      config: of the program that trained it, by whose sizes the parameters are padded.
    """
    path, vocabulary, tables = _files(folder, of)
    source = of.prepared.source
    if not vocabulary.is_file():
        cli.write_json(str(vocabulary), source.vocabulary(member.split))
    if source.tables and not tables.is_file():
        kept.save(tables, dict(source.tables))
    description = {
        "task": of.record.task,
        "config": reading.to_dict(config),
        "experiment": of.record.id,
        "data": of.record.data,
        "data_hash": of.record.data_hash,
        "seed": member.seed,
        "split": member.split,
        "hparams": dict(member.hparams),
        "vocabulary": vocabulary.name,
        "jaxeval": __version__,
    }
    cli.write_json(str(path.with_suffix(".json")), description)
    kept.save(path, params)


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
