"""Where sweeps are read from: tables of any program, and runs folders of ours."""

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxeval.errors import ConfigError
from jaxeval.runs import checks, foreign, own
from jaxeval.runs.foreign import Columns
from jaxeval.runs.layout import Missing
from jaxeval.sensitivity import labels, recorded
from jaxeval.sensitivity.hyperparameters import Declared
from jaxeval.sensitivity.labels import Labels
from jaxeval.space.space import Space


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What is read of each place.

    Attributes:
      score: column; None: "score" of a table, "dev" of a recorded sweep.
      hyperparameters: columns; none: those of the recorded space.
      declared: before what a space says.
      rows: only the first so many.
      space: of the tables' columns; a recorded sweep has its own.
      file_name: pattern of labels (`labels.of_file_name`).
      experiments: names or ids, of runs folders only; none: all sweeps there.
    """

    score: str | None
    hyperparameters: Sequence[str]
    declared: Declared
    rows: int | None
    missing: Missing
    experiments: Sequence[str]
    space: Space | None = None
    file_name: str | None = None


class Source(NamedTuple):
    """One sweep as it was read.

    Attributes:
      details: tell it from another of the same name, the shortest first.
      scores: [n].
      values: hyperparameter -> [n] values.
      labels: what it may be grouped by.
      unusable: what was wrong with scores.
      seed: of a recorded sweep's draws.
      missing: runs of it that have not ended.
      place: runs folder of a recorded sweep.
      beside: names of experiments in its folder that are no sweeps and were left out.
    """

    name: str
    details: Sequence[str]
    scores: np.ndarray
    values: Mapping[str, Sequence[Any]]
    declared: Declared
    unusable: Sequence[checks.Unusable]
    labels: Labels
    data: str = ""  # where a recorded sweep's corpus came from
    seed: Any = None
    missing: int = 0
    place: str = ""
    beside: Sequence[str] = ()


def read(places: Sequence[str], wanted: Wanted) -> list[Source]:
    """All sweeps of some tables and runs folders, under names that tell them apart.

    Raises:
      ConfigError: a place that is there twice, no such experiment or hyperparameter, or a metric
        of which lower is better.
      DataError, RunError: naming file, row and column.
    """
    twice = [place for k, place in enumerate(places) if place in places[:k]]
    if twice:
        raise ConfigError(f"{twice[0]}: expected once, got twice")
    found = [source for place in places for source in _read(place, wanted)]
    _refuse_absent(found, places, wanted)
    names = labels.told_apart([one.name for one in found], [one.details for one in found])
    datasets = labels.readable({one.labels["dataset"]: one.data for one in found if one.data})
    return [
        one._replace(
            name=name,
            labels={**one.labels, "dataset": datasets[one.labels["dataset"]]}
            if one.data and one.labels["dataset"] in datasets
            else one.labels,
        )
        for one, name in zip(found, names, strict=True)
    ]


def _refuse_absent(found: Sequence[Source], places: Sequence[str], wanted: Wanted) -> None:
    """What was asked for must be a hyperparameter of some sweep."""
    there = list(dict.fromkeys(name for one in found for name in one.values))
    asked = (*wanted.hyperparameters, *wanted.declared.names)
    absent = [name for name in asked if name not in there]
    if absent:
        there = there or list(dict.fromkeys(n for place in places for n in _names(place)))
        raise ConfigError(f"{absent[0]}: no such hyperparameter; there are {', '.join(there)}")


def _read(place: str, wanted: Wanted) -> list[Source]:
    if not (Path(place).is_dir() or "://" in place):
        if wanted.experiments:
            raise ConfigError(f"--experiment: expected runs folders, got the table {place}")
        return [_of_table(place, foreign.read(place, wanted.rows), wanted)]
    table = _chosen(own.columns(place), wanted.experiments)
    configs = {
        experiment: (config, name)
        for experiment, config, name in zip(
            table["experiment"], table["config"], table["name"], strict=True
        )
    }
    spaces = {one: recorded.space_of(*said) for one, said in configs.items()}
    if not any(spaces.values()):
        if len(spaces) > 1 or wanted.score is None:
            raise ConfigError(f"{place}: no random sweep here; {_experiments(table)}")
        return [_of_table(place, foreign.head(table, wanted.rows), wanted)]
    plain = [configs[one][1] for one, space in spaces.items() if space is None]
    if plain and wanted.experiments:
        raise ConfigError(f"--experiment {plain[0]}: it is no sweep, others chosen are")
    return [
        _of_sweep(place, foreign.head(_of(table, one), wanted.rows), space, wanted)._replace(
            place=place, beside=plain
        )
        for one, space in spaces.items()
        if space is not None
    ]


def _chosen(table: Columns, experiments: Sequence[str]) -> Columns:
    """The rows of some experiments, named by name or id; all if none is named."""
    pairs = list(zip(table["name"], table["experiment"], strict=True))
    for one in experiments:
        if not any(one in pair for pair in pairs):
            names = ", ".join(dict.fromkeys(table["name"]))
            raise ConfigError(
                f"--experiment {one}: none of this name in {table.source}; there are {names}"
            )
    if not experiments:
        return table
    return foreign.pick(table, [k for k, pair in enumerate(pairs) if {*pair} & {*experiments}])


def _experiments(table: Columns) -> str:
    """What a runs folder holds instead of sweeps, and how one of it is read all the same."""
    counts = collections.Counter(zip(table["name"], table["experiment"], strict=True))
    shown = [f"{name!r} ({id_[:8]}, members: {count})" for (name, id_), count in counts.items()]
    return (
        f"it has {foreign.listed(shown)}. Members of one of them are read as runs with "
        "--experiment NAME --score test --hyperparameters A,B"
    )


def _of(table: Columns, experiment: str) -> Columns:
    places = [k for k, one in enumerate(table["experiment"]) if one == experiment]
    return foreign.pick(table, places)


def _of_table(place: str, table: Columns, wanted: Wanted) -> Source:
    scores, keep, unusable = checks.usable(table, wanted.score or "score", wanted.missing)
    cut = foreign.pick(table, keep.tolist())
    declared, space = wanted.declared, wanted.space
    drawn = [] if space is None else [one.name for one in space.parameters]
    chosen = wanted.hyperparameters or [name for name in drawn if name in cut.values]
    values = {name: cut[name] for name in chosen}
    if space is not None:
        declared = declared.over(recorded.declared_of_table(space))
    stem = Path(place).name.removesuffix(".gz")
    name = stem.rpartition(".")[0] or stem
    return Source(
        name,
        [str(Path(place).parent), place],
        scores[keep],
        values,
        declared.only(values),
        unusable,
        labels.of_table(place, table, wanted.file_name),
    )


def _names(place: str) -> list[str]:
    """Hyperparameters of the recorded sweeps of a place."""
    if not (Path(place).is_dir() or "://" in place):
        return []
    table = own.columns(place)
    spaces = map(recorded.space_of, table["config"], table["name"])
    return [one.name for space in spaces if space is not None for one in space.parameters]


def _of_sweep(place: str, table: Columns, of: Space, wanted: Wanted) -> Source:
    """A recorded sweep; what is wanted of hyperparameters it does not have is left out."""
    name, metric, column = table["name"][0], table["metric"][0], wanted.score or "dev"
    if column in ("dev", "test") and not table["higher_is_better"][0]:
        raise ConfigError(
            f"{name}: {column} is {metric}, of which lower is better; expected a fraction of "
            "which higher is better, such as accuracy or f1"
        )
    scores, keep, unusable = checks.usable(table, column, wanted.missing)
    cut = foreign.pick(table, keep.tolist())
    drawn = recorded.values(of, cut["hparams"])
    chosen = {n: drawn[n] for n in wanted.hyperparameters or drawn if n in drawn}
    experiment = table["experiment"][0]
    planned = recorded.planned(place, experiment) if wanted.rows is None else None
    return Source(
        name,
        [experiment[:8], table.source, f"{table.source}, {experiment[:8]}"],
        scores[keep],
        chosen,
        wanted.declared.over(recorded.declared(of)).only(chosen),
        unusable,
        labels.of_sweep(place, table, wanted.file_name),
        table["data"][0],
        recorded.seed_of(table["config"][0]),
        max(0, (planned or 0) - len(table["seed"])),
    )
