"""Where sweeps are read from: tables of any program, and runs folders of ours."""

import collections
import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.errors import ConfigError, DataError
from jaxeval.runs import checks, directions, imported, names, native, steps
from jaxeval.runs import experiments as held
from jaxeval.runs.imported import Columns
from jaxeval.runs.layout import Missing
from jaxeval.sensitivity import analysis, hyperparameters, labels, recorded
from jaxeval.sensitivity.hyperparameters import Declared
from jaxeval.sensitivity.labels import Labels
from jaxeval.space.space import Space


@dataclasses.dataclass(frozen=True)
class Request:
    """What is read of each table or runs folder.

    Attributes:
      score: column; None: "score" of a table, "dev" of a recorded sweep.
      hyperparameters: columns; none: those of the recorded space.
      declared: before what a space says.
      space: of the tables' columns; a recorded sweep has its own.
      file_name: pattern of labels (`labels.of_file_name`).
      experiments: names or ids, of runs folders only; none: all sweeps there.
    """

    score: str | None
    hyperparameters: Sequence[str]
    declared: Declared
    missing: Missing
    experiments: Sequence[str]
    space: Space | None = None
    file_name: str | None = None


class SweepScores(NamedTuple):
    """One sweep as it was read.

    Attributes:
      details: tell it from another of the same name, the shortest first.
      scores: [n].
      values: hyperparameter -> [n] values.
      labels: what it may be grouped by.
      unusable: what was wrong with scores.
      seed: of a recorded sweep's draws.
      missing: runs of it that have not ended.
      location: runs folder of a recorded sweep.
      beside: names of experiments in its folder that are no sweeps and were left out.
      unread: columns of a table in which its runs differ and that nothing reads: all but the
        scores where there are no hyperparameters, else those that name models.
    """

    name: str
    details: Sequence[str]
    scores: np.ndarray
    values: Mapping[str, Sequence[object]]
    declared: Declared
    unusable: Sequence[checks.Unusable]
    labels: Labels
    data: str = ""  # where a recorded sweep's corpus came from
    seed: object = None
    missing: int = 0
    location: str = ""
    beside: Sequence[str] = ()
    unread: Sequence[str] = ()


def read(locations: Sequence[str], request: Request) -> list[SweepScores]:
    """All sweeps of some tables and runs folders, under names that tell them apart.

    Raises:
      ConfigError: a place that is there twice, no such experiment or hyperparameter, or a metric
        of which lower is better.
      DataError, RunError: naming file, row and column.
    """
    twice = [location for k, location in enumerate(locations) if location in locations[:k]]
    if twice:
        raise ConfigError(f"{twice[0]}: expected once, got twice")
    sources = [source for location in locations for source in _read(location, request)]
    _refuse_absent(sources, locations, request)
    names = labels.told_apart(
        [source.name for source in sources], [source.details for source in sources]
    )
    datasets = labels.readable(
        {source.labels["dataset"]: source.data for source in sources if source.data}
    )
    return [
        source._replace(
            name=name,
            labels={**source.labels, "dataset": datasets[source.labels["dataset"]]}
            if source.data and source.labels["dataset"] in datasets
            else source.labels,
        )
        for source, name in zip(sources, names, strict=True)
    ]


def _refuse_absent(
    sources: Sequence[SweepScores], locations: Sequence[str], request: Request
) -> None:
    """What was asked for must be a hyperparameter of some sweep."""
    listed = list(dict.fromkeys(name for source in sources for name in source.values))
    names = (*request.hyperparameters, *request.declared.names)
    absent = [name for name in names if name not in listed]
    if absent:
        listed = listed or list(
            dict.fromkeys(n for location in locations for n in _names(location))
        )
        raise ConfigError(f"{absent[0]}: no such hyperparameter; there are {', '.join(listed)}")
    hyperparameters.refuse_unknown(
        request.declared, [(source.values, source.declared) for source in sources]
    )


def _read(location: str, request: Request) -> list[SweepScores]:
    if not _is_of_runs(location):
        if request.experiments:
            raise ConfigError(f"--experiment: expected runs folders, got the table {location}")
        return [_of_table(location, imported.read(location), request)]
    table = _chosen(native.columns(location), request.experiments)
    configs = {
        experiment: (config, name)
        for experiment, config, name in zip(
            table.texts("experiment"), table.texts("config"), table.texts("name"), strict=True
        )
    }
    spaces = {id_: recorded.space_of(*said) for id_, said in configs.items()}
    if not any(spaces.values()):
        if len(spaces) > 1 or request.score is None:
            raise ConfigError(f"{location}: no random sweep here; {_experiments(table)}")
        return [_of_table(location, table, request)]
    plain = [configs[id_][1] for id_, space in spaces.items() if space is None]
    if plain and request.experiments:
        raise ConfigError(f"--experiment {plain[0]}: it is not a sweep, but others are")
    return [
        _of_sweep(location, _of(table, id_), space, request)._replace(
            location=location, beside=plain
        )
        for id_, space in spaces.items()
        if space is not None
    ]


def _chosen(table: Columns, experiments: Sequence[str]) -> Columns:
    """The rows of some experiments, as `ids_of` finds them; all if none is named."""
    if not experiments:
        return table
    ids = table.texts("experiment")
    names = dict(zip(ids, table.texts("name"), strict=True))
    chosen: set[str] = set()
    for experiment in experiments:
        found = held.ids_of(names, experiment)
        if not found:
            raise ConfigError(
                f"--experiment {experiment}: no experiment of this name or id in {table.source}; "
                f"expected one of {held.with_ids(names)}"
            )
        chosen.update(found)
    return imported.pick(table, [k for k, key in enumerate(ids) if key in chosen])


def _experiments(table: Columns) -> str:
    """What a runs folder holds instead of sweeps, and how one of it is read all the same."""
    counts = collections.Counter(zip(table.texts("name"), table.texts("experiment"), strict=True))
    shown = [f"{name!r} ({id_[:8]}, members: {count})" for (name, id_), count in counts.items()]
    return (
        f"it has {imported.listed(shown)}. Members of one of them are read as runs with "
        "--experiment NAME --score test --hyperparameters A,B"
    )


def _of(table: Columns, experiment: str) -> Columns:
    places = [k for k, other in enumerate(table["experiment"]) if other == experiment]
    return imported.pick(table, places)


def _of_table(location: str, table: Columns, request: Request) -> SweepScores:
    steps.refuse_history(table)
    column = request.score or "score"
    _refuse_losses(location, table, column)
    scores, keep, unusable = checks.usable(table, column, request.missing)
    _refuse_beyond(scores, keep, table, column)
    if column in request.hyperparameters:
        raise ConfigError(f"--hyperparameters {column}: these are the scores")
    cut = imported.pick(table, keep.tolist())
    declared, space = request.declared, request.space
    drawn = [] if space is None else [parameter.name for parameter in space.parameters]
    chosen = request.hyperparameters or [name for name in drawn if name in cut.values]
    values = {name: cut[name] for name in chosen}
    if space is not None:
        declared = declared.over(recorded.declared_of_table(space))
    stem = Path(location).name.removesuffix(".gz")
    name = stem.rpartition(".")[0] or stem
    return SweepScores(
        name,
        [str(Path(location).parent), location],
        scores[keep],
        values,
        declared.only(values),
        unusable,
        labels.of_table(location, table, request.file_name),
        unread=_unread(cut, {column, *values}, not values),
    )


def _refuse_beyond(
    scores: np.ndarray, keep: np.ndarray, table: Columns, column: str, sweep: str = ""
) -> None:
    """What `analysis.analyze` would refuse, with its place. keep: places of usable scores."""
    whose = f"{sweep}, " if sweep else ""
    wrong = [k for k in keep.tolist() if not 0 <= scores[k] <= 1]
    if wrong:
        place = f"{whose}row {table.rows[wrong[0]]}, column {column}"
        raise DataError(f"{place}: {analysis.no_fraction(scores[wrong[0]])}", table.source)
    if len(keep) < analysis.LEAST:
        least = f"expected at least {analysis.LEAST} scores, found {len(keep)}"
        raise DataError(f"{whose}column {column}: {least}", table.source)


def _refuse_losses(location: str, table: Columns, column: str) -> None:
    """What a runs folder records of its metric is about dev and test only."""
    of_others = _is_of_runs(location) and column not in ("dev", "test")
    columns = {} if of_others else table.values
    if directions.of_columns(columns, column, table.source) is False:
        metric = directions.metric_of(columns, column)
        raise ConfigError(_lower(location, column, metric or column))


def _is_of_runs(location: str) -> bool:
    return Path(location).is_dir() or "://" in location


def _unread(table: Columns, read: Collection[str], every: bool) -> list[str]:
    """Columns with several values that are not among those read; every one, or those of models."""
    return [
        name
        for name, column in table.values.items()
        if name not in read and len({*column}) > 1 and (every or names.role(name) == "model")
    ]


def _names(location: str) -> list[str]:
    """Hyperparameters of the recorded sweeps of a place."""
    if not _is_of_runs(location):
        return []
    table = native.columns(location)
    spaces = map(recorded.space_of, table.texts("config"), table.texts("name"))
    return [
        parameter.name for space in spaces if space is not None for parameter in space.parameters
    ]


def _lower(name: str, column: str, metric: str) -> str:
    what = metric if metric == column else f"{column} is {metric}"
    return (
        f"{name}: {what}, of which lower is better; expected a fraction of "
        "which higher is better, such as accuracy or f1"
    )


def _of_sweep(location: str, table: Columns, of: Space, request: Request) -> SweepScores:
    """A recorded sweep; what is wanted of hyperparameters it does not have is left out."""
    name, metric = table.texts("name")[0], table.texts("metric")[0]
    column = request.score or "dev"
    if column in ("dev", "test") and not table["higher_is_better"][0]:
        raise ConfigError(_lower(name, column, metric))
    scores, keep, unusable = checks.usable(table, column, request.missing)
    experiment = table.texts("experiment")[0]
    _refuse_beyond(scores, keep, table, column, f"{name} ({experiment[:8]})")
    cut = imported.pick(table, keep.tolist())
    drawn = recorded.values(of, cut.texts("hparams"))
    chosen = {n: drawn[n] for n in request.hyperparameters or drawn if n in drawn}
    planned = recorded.planned(location, experiment)
    return SweepScores(
        name=name,
        details=[experiment[:8], table.source, f"{table.source}, {experiment[:8]}"],
        scores=scores[keep],
        values=chosen,
        declared=request.declared.over(recorded.declared(of)).only(chosen),
        unusable=unusable,
        labels=labels.of_sweep(location, table, request.file_name),
        data=table.texts("data")[0],
        seed=recorded.seed_of(table.texts("config")[0]),
        missing=max(0, (planned or 0) - len(table["seed"])),
    )
