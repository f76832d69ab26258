"""Where sweeps are read from: tables of any program, and runs folders of ours."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxeval.errors import ConfigError
from jaxeval.runs import checks, foreign, own
from jaxeval.runs.foreign import Columns
from jaxeval.runs.layout import Missing
from jaxeval.sensitivity import recorded
from jaxeval.sensitivity.hyperparameters import Declared
from jaxeval.sweep.space import Space

MOST = 2  # sweeps that are put side by side


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What is read of each place.

    Attributes:
      score: column; None: "score" of a table, "dev" of a recorded sweep.
      hyperparameters: columns; none: those of the recorded space.
      declared: before what a recorded space says.
      rows: only the first so many.
      experiments: names or ids, of runs folders only; none: all sweeps there.
    """

    score: str | None
    hyperparameters: Sequence[str]
    declared: Declared
    rows: int | None
    missing: Missing
    experiments: Sequence[str]


class Source(NamedTuple):
    """One sweep as it was read.

    Attributes:
      detail: tells it from another of the same name.
      scores: [n].
      values: hyperparameter -> [n] values.
      unusable: what was wrong with scores.
      seed: of a recorded sweep's draws.
      missing: runs of it that have not ended.
    """

    name: str
    detail: str
    scores: np.ndarray
    values: Mapping[str, Sequence[Any]]
    declared: Declared
    unusable: Sequence[checks.Unusable]
    seed: Any = None
    missing: int = 0


def read(places: Sequence[str], wanted: Wanted) -> list[Source]:
    """All sweeps of some tables and runs folders, at most two.

    Raises:
      ConfigError: too many sweeps, no such experiment or hyperparameter, or a metric of which
        lower is better.
      DataError, RunError: naming file, row and column.
    """
    found = [one for place in places for one in _read(place, wanted)]
    if len(found) > MOST:
        names = ", ".join(repr(one.name) for one in found)
        raise ConfigError(
            f"{len(found)} sweeps: {names}; choose one or two with --experiment NAME (again for "
            "the second)"
        )
    there = list(dict.fromkeys(name for one in found for name in one.values))
    asked = (*wanted.hyperparameters, *wanted.declared.orders, *wanted.declared.conditions)
    absent = [name for name in asked if name not in there]
    if absent:
        there = there or list(dict.fromkeys(n for place in places for n in _names(place)))
        raise ConfigError(f"{absent[0]}: no such hyperparameter; there are {', '.join(there)}")
    alike = len({one.name for one in found}) < len(found)
    return [one._replace(name=f"{one.name} ({one.detail})") if alike else one for one in found]


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
        return [_of_table(place, foreign.head(table, wanted.rows), wanted)]
    plain = [configs[one][1] for one, space in spaces.items() if space is None]
    if plain and wanted.experiments:
        raise ConfigError(f"--experiment {plain[0]}: it is no sweep, others chosen are")
    return [
        _of_sweep(place, foreign.head(_of(table, one), wanted.rows), space, wanted)
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


def _of(table: Columns, experiment: str) -> Columns:
    places = [k for k, one in enumerate(table["experiment"]) if one == experiment]
    return foreign.pick(table, places)


def _of_table(place: str, table: Columns, wanted: Wanted) -> Source:
    scores, keep, unusable = checks.usable(table, wanted.score or "score", wanted.missing)
    cut = foreign.pick(table, keep.tolist())
    values = {name: cut[name] for name in wanted.hyperparameters}
    stem = Path(place).name.removesuffix(".gz")
    name = stem.rpartition(".")[0] or stem
    return Source(name, table.source, scores[keep], values, wanted.declared, unusable)


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
    said, given = recorded.declared(of), wanted.declared
    declared = Declared(
        {n: v for n, v in {**said.orders, **given.orders}.items() if n in chosen},
        {n: v for n, v in {**said.conditions, **given.conditions}.items() if n in chosen},
    )
    experiment = table["experiment"][0]
    detail = f"{table.source}, {experiment[:8]}"
    planned = recorded.planned(place, experiment) if wanted.rows is None else None
    missing = max(0, (planned or 0) - len(table["seed"]))
    seed = recorded.seed_of(table["config"][0])
    return Source(name, detail, scores[keep], chosen, declared, unusable, seed, missing)
