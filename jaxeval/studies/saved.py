"""Trained models on disk: a member's best parameters, and beside them as JSON all that they mean.

RUNS/models/EXPERIMENT/seed1.npz         arrays, by name
RUNS/models/EXPERIMENT/seed1.json        config, seed, split, traced hyperparameters
RUNS/models/EXPERIMENT/vocabulary.json   what the numbers in the data's arrays stand for
                                         (vocabulary-split3.json: of the members of split 3)
RUNS/models/EXPERIMENT/tables.npz        arrays beside the parameters, such as word vectors
                                         that are not trained; absent where there are none
"""

from pathlib import Path

from jaxeval import __version__, cli
from jaxeval.config import reading
from jaxeval.contracts import Member, Tree
from jaxeval.experiment import base
from jaxeval.population import kept


def path_of(folder: Path, prepared: base.Prepared, who: Member) -> Path:
    """Where a runs folder keeps a member's best parameters."""
    *_, differing = base.key_of(prepared, who)
    name = f"seed{who.seed}{_of_split(who)}"
    name += f"-{reading.digest(differing)}" if differing != "{}" else ""
    return folder / "models" / prepared.record.id / f"{name}.npz"


def save(folder: Path, prepared: base.Prepared, who: Member, params: Tree) -> None:
    """Writes a member's parameters, what they belong to and, once, the vocabulary.

    The parameters come last: where they are, all is.
    """
    path, vocabulary, tables = _files(folder, prepared, who)
    if not vocabulary.is_file():
        cli.write_json(str(vocabulary), prepared.read.vocabulary(who.split))
    if prepared.read.tables and not tables.is_file():
        kept.save(tables, dict(prepared.read.tables))
    description = {
        "task": prepared.record.task,
        "config": reading.to_dict(prepared.config),
        "experiment": prepared.record.id,
        "data": prepared.record.data,
        "data_hash": prepared.record.data_hash,
        "seed": who.seed,
        "split": who.split,
        "hparams": dict(who.hparams),
        "vocabulary": vocabulary.name,
        "jaxeval": __version__,
    }
    cli.write_json(str(path.with_suffix(".json")), description)
    kept.save(path, params)


def is_whole(folder: Path, prepared: base.Prepared, who: Member) -> bool:
    """Whether a member's model is there with all that it needs."""
    path, vocabulary, tables = _files(folder, prepared, who)
    needed = [path, path.with_suffix(".json"), vocabulary]
    needed += [tables] if prepared.read.tables else []
    return all(file.is_file() for file in needed)


def _files(folder: Path, prepared: base.Prepared, who: Member) -> tuple[Path, Path, Path]:
    """A member's parameters, vocabulary and tables."""
    path = path_of(folder, prepared, who)
    return path, path.with_name(f"vocabulary{_of_split(who)}.json"), path.with_name("tables.npz")


def _of_split(who: Member) -> str:
    return f"-split{who.split}" if who.split else ""
