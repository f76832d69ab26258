"""Sweeps as tables of trials, one trained setting a row, from files and from runs folders.

The config of a recorded sweep has the key `"sweep": {"space": .., "seed": ..}`. Each run is a
member, whose `hparams` are its drawn values.
"""

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxeval import space as spaces
from jaxeval.errors import ConfigError, DataError, RunError, argument, counted
from jaxeval.runs import columns, histories, layout, normal, records, store
from jaxeval.runs.layout import Missing
from jaxeval.runs.records import MemberRow
from jaxeval.sensitivity import analysis, metrics
from jaxeval.sensitivity.metrics import Axis
from jaxeval.space import Space
from jaxeval.tuning.history import Evaluation, History, Values

if TYPE_CHECKING:
    from jaxeval.tuning.insight import Importance

_MOST_MODELLED = 500  # runs: the model takes seconds for 400, and grows as their cube


@dataclasses.dataclass(frozen=True)
class Sweep:
    """One sweep of one architecture."""

    name: str
    scores: np.ndarray  # [n], one a run
    axes: Sequence[Axis]
    metric: str = "score"
    unit: str = "fraction"
    higher_is_better: bool = True
    lost: int = 0  # runs without a score that were left out
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    details: Sequence[str] = ()  # tell it from another of the same name
    seed: object = None  # of a recorded sweep
    unended: int = 0  # runs of a recorded sweep that have not ended
    notes: Sequence[str] = ()
    space: Space | None = None  # of a recorded sweep
    drawn: Sequence[Values] = ()  # of a recorded sweep, one a run

    @property
    def gain(self) -> np.ndarray:
        """[n] scores of which higher is better."""
        return self.scores if self.higher_is_better else -self.scores


class Request(NamedTuple):
    """Options for reading tables and runs folders."""

    score: str | None = None
    chosen: Sequence[str] = ()  # hyperparameters
    space: Space | None = None
    missing: Missing = "error"


def read(locations: Sequence[str], request: Request) -> list[Sweep]:
    """Reads the sweeps of tables and runs folders, with distinct names.

    Raises:
      ConfigError, DataError, RunError: naming the argument, or file, row and column.
    """
    if twice := [of for of, count in Counter(locations).items() if count > 1]:
        raise ConfigError(f"{twice[0]}: expected once, got twice")
    runs = {of: store.load(of) for of in locations if Path(of).is_dir()}
    datasets = records.dataset_names([row for members in runs.values() for row in members])
    sweeps: list[Sweep] = []
    for location in locations:
        if location in runs:
            sweeps += read_runs(location, runs[location], datasets, request)
        else:
            sweeps.append(_read_table(location, request))
    known = dict.fromkeys(axis.name for sweep in sweeps for axis in sweep.axes)
    for name in request.chosen:
        if name not in known:
            raise ConfigError(f"{name}: no such hyperparameter; there are {', '.join(known)}")
    sweeps = _distinct(sweeps)
    kept = [sweep for sweep in sweeps if len(sweep.scores) >= analysis.LEAST]
    for sweep in (sweep for sweep in sweeps if len(sweep.scores) < analysis.LEAST):
        found = f"expected at least {analysis.LEAST} scores, found {len(sweep.scores)}"
        if sweep.space is None or not kept:  # else one of a folder that was begun and left
            raise DataError(f"{sweep.name}: {found}", sweep.details[-1])
        note = f"{sweep.name} is left out: {found}"
        kept[0] = dataclasses.replace(kept[0], notes=[*kept[0].notes, note])
    return kept


def _distinct(sweeps: Sequence[Sweep]) -> list[Sweep]:
    """Adds details to names until they differ."""
    shown = [sweep.name for sweep in sweeps]
    for k in range(max((len(sweep.details) for sweep in sweeps), default=0)):
        shown = [
            f"{name} ({sweep.details[k]})" if shown.count(name) > 1 else name
            for name, sweep in zip(shown, sweeps, strict=True)
        ]
    return [dataclasses.replace(of, name=name) for of, name in zip(sweeps, shown, strict=True)]


def _read_table(location: str, request: Request) -> Sweep:
    table = columns.read(location)
    column = request.score or "score"
    histories.refuse_history(table)
    if request.score is None and column not in table.values:
        named = f"{argument('score', 'NAME')} names one of {columns.listed(table.values, 30)}"
        raise DataError(f"no column {column!r}; {named}", location)
    higher, says, metric = normal.column_direction(table.values, column, table.source)
    if not higher:
        raise _lower_is_better(location, metric)
    if column in request.chosen:
        raise ConfigError(f"{argument('hyperparameters', column)}: these are the scores")
    scores, keep, unusable = normal.usable_scores(table, column, request.missing)
    for k in keep.tolist():
        place = f"row {table.rows[k]}, column {column}"
        analysis.refuse_beyond(scores[k : k + 1], place, table.source)
    cut = table.select(keep)
    notes = [f"{column}: higher is better (assumed)"] * (says == "assumed" and column != "score")
    drawn = [of.name for of in request.space.parameters] if request.space else []
    values = {n: cut[n] for n in request.chosen or [n for n in drawn if n in cut.values]}
    constant = {name: of[0] for name, of in table.values.items() if len({*of}) == 1}
    labels = {name: str(value) for name, value in constant.items() if value not in ("", None)}
    if unusable:
        first = f"the first in row {unusable[0].row}, column {column} ({unusable[0].what})"
        notes.append(f"{_unusable(len(unusable), request.missing)}, {first}")
    if not request.chosen and (lacking := [name for name in drawn if name not in cut.values]):
        notes.append(f"no column of the space's {columns.listed(lacking)}: not analysed")
    others = [n for n, of in cut.values.items() if n not in {column, *values} and len({*of}) > 1]
    if unread := [name for name in others if not values or layout.role(name) == "model"]:
        notes.append(
            f"its {len(keep)} runs count as one sweep; not read: {columns.listed(unread)} "
            f"({argument('hyperparameters')} names those that were drawn)"
        )
    return Sweep(
        name=_stem(location),
        scores=scores[keep],
        axes=metrics.axes(values, len(keep), request.space, cut.values),
        lost=len(unusable) if request.missing == "drop" else 0,
        labels={**labels, **_name_parts(location)},
        details=[location],
        notes=notes,
    )


def _unusable(count: int, missing: Missing) -> str:
    done = "counted as 0" if missing == "zero" else "left out"
    return f"{counted(count, 'unusable score')} {done}"


def _lower_is_better(what: str, metric: str) -> ConfigError:
    expected = "a fraction for which higher is better, such as accuracy or f1"
    return ConfigError(f"{what}: {metric}, for which lower is better; expected {expected}")


def _stem(location: str) -> str:
    name = Path(location).name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def _name_parts(location: str) -> dict[str, str]:
    """Labels part1, part2 ..: the parts of a file's name between dashes."""
    return {f"part{number}": part for number, part in enumerate(_stem(location).split("-"), 1)}


def read_runs(
    location: str, members: Sequence[MemberRow], datasets: Mapping[str, str], request: Request
) -> list[Sweep]:
    """Returns the sweeps of a runs folder, given its members.

    Args:
      datasets: hash of data -> name.

    Raises:
      ConfigError, DataError, RunError: none is a sweep, or one cannot be used.
    """
    found: list[Sweep] = []
    for group in records.by_experiment(members):
        first = group[0]
        sweep = recorded_sweep(group, request)
        if sweep is None:
            continue
        if not first.higher_is_better:
            raise _lower_is_better(first.name, sweep.metric)
        analysis.refuse_beyond(sweep.scores, f"{first.name} ({first.experiment})", location)
        labels = {**sweep.labels, "dataset": datasets[first.data_hash], **_name_parts(location)}
        unended = max(0, (planned_runs(location, first.experiment) or 0) - len(group))
        details = [*sweep.details, location]
        found.append(dataclasses.replace(sweep, labels=labels, details=details, unended=unended))
    if not found:
        expected = "expected random sweeps, as jaxeval sweep makes them"
        raise RunError(f"{location}: {expected}; found {records.describe(members)}")
    return found


def recorded_sweep(
    members: Sequence[MemberRow],
    request: Request = Request(missing="drop"),  # noqa: B008
) -> Sweep | None:
    """Returns the recorded sweep of an experiment's members, or None if it is no sweep.

    Labels are name, task, metric, and the keys of the config (`model.architecture`).

    Raises:
      ConfigError, DataError: a space of another version, an unknown score, a run without one.
    """
    first, score, missing = members[0], request.score or "dev", request.missing
    space = recorded_space(first.config, first.name)
    if space is None:
        return None
    if score not in ("dev", "test"):
        raise ConfigError(f"{argument('score', score)}: expected dev or test of recorded runs")
    scored = [row for row in members if getattr(row, score) is not None]
    kept, lost = members if missing == "zero" else scored, len(members) - len(scored)
    if lost and missing == "error":
        drop, zero = (argument("missing", how) for how in ("drop", "zero"))
        raise DataError(
            f"{first.name}: {lost} of {len(members)} runs have no {score} score; {drop} leaves "
            f"them out, {zero} counts them as 0"
        )
    drawn = [json.loads(row.hparams) for row in kept]
    occurring = [of.name for of in space.parameters if any(of.name in run for run in drawn)]
    values = {name: [run.get(name, "") for run in drawn] for name in occurring}
    own = {name: values[name] for name in request.chosen or values if name in values}
    config = {
        key: str(value)
        for key, value in records.leaves(json.loads(first.config))
        if isinstance(value, str | int | float) and not key.startswith("sweep.")
    }
    return Sweep(
        name=first.name,
        scores=np.array([getattr(row, score) or 0.0 for row in kept], float),
        axes=metrics.axes(own, len(kept), space, values),
        metric=f"{score} {first.metric}",
        unit=first.unit,
        higher_is_better=first.higher_is_better,
        lost=lost if missing == "drop" else 0,
        labels={**config, **{k: getattr(first, k) for k in ("name", "task", "metric")}},
        details=[first.experiment[:8]],
        seed=_recorded(first.config).get("seed"),
        notes=[_unusable(lost, missing)] if lost else [],
        space=space,
        drawn=drawn,
    )


def importance(sweep: Sweep) -> "list[Importance]":
    """Computes Sobol indices of the model that `tune` would fit to a recorded sweep.

    Of hyperparameters that varied. The list is empty if the space is unknown, scores do not
    differ, or the runs are too many.
    """
    if sweep.space is None or len(sweep.drawn) > _MOST_MODELLED:
        return []
    from jaxeval.tuning import insight  # scipy's distributions are slow to import

    runs = zip(sweep.drawn, sweep.scores.tolist(), strict=True)
    each = (Evaluation(k, values, (k,), (score,)) for k, (values, score) in enumerate(runs))
    found = insight.importance(sweep.space, History(tuple(each), sweep.higher_is_better))
    used = {name: {run[name] for run in sweep.drawn if name in run} for name, *_ in found}
    return [of for of in found if len(used[of.name]) > 1]


def recorded_sweeps(groups: Sequence[Sequence[MemberRow]]) -> list[Sweep]:
    """Returns the sweeps among experiments, with distinct names."""
    return _distinct([sweep for sweep in map(recorded_sweep, groups) if sweep is not None])


def recorded_space(config: str, name: str) -> Space | None:
    """Returns the space that an experiment's config (JSON) records, or None if it is no sweep.

    Raises:
      ConfigError: a space of another version.
    """
    tree = _recorded(config).get("space")
    if not isinstance(tree, Mapping):
        return None
    return spaces.from_dict(tree, f"{name}: the recorded space")


def _recorded(config: str) -> Mapping[str, Any]:
    sweep = json.loads(config).get("sweep")
    return sweep if isinstance(sweep, Mapping) else {}


def planned_runs(folder: str, experiment: str) -> int | None:
    """Returns the number of runs of a recorded sweep, ended or not, or None if it is unknown."""
    path = Path(folder) / "sweeps" / f"{experiment}.json"
    try:
        return len(json.loads(path.read_text(encoding="utf-8"))["runs"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
