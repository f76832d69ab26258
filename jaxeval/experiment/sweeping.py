"""Runs of a sweep: configs drawn from a space, grouped into cohorts that share a program."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxeval.config import reading
from jaxeval.contracts import Member
from jaxeval.errors import ConfigError
from jaxeval.experiment import base
from jaxeval.runs import Experiment
from jaxeval.sweep import cohorts, space
from jaxeval.sweep.space import Space

# what a member has that its own config leaves out: all members of a program have the same names
_NEUTRAL = {
    "warmup": 0.0,
    "plateau_factor": 1.0,
    "plateau_after": 1.0,
    "plateau_floor": 0.0,
    "dropout": 0.0,
    "label_smoothing": 0.0,
}
_RATES = ("model.dropout", "model.label_smoothing")  # 0 is none, whatever the default is
_SILENT = ("name", *(f"training.{k}" for k in ("micro_batch", "lanes", "checkpoint_every")))


class Run(NamedTuple):
    """One run of a sweep."""

    values: Mapping[str, space.Value]  # as drawn, by the names of the space
    config: Any


@dataclasses.dataclass(frozen=True)
class Room:
    """A `cohorts.Extent` with all else that runs must share.

    Attributes:
      static: canonical JSON of what is compiled in.
      extent: of a task whose members may differ in size; None: `static` says all.
    """

    static: str
    extent: Any

    def joined(self, other: "Room") -> "Room | None":
        """What holds both; None: they cannot share a program."""
        if self.static != other.static:
            return None
        both = None if self.extent is None else self.extent.joined(other.extent)
        return self if self.extent is None else both and dataclasses.replace(self, extent=both)

    def operations(self, own: "Room") -> float:
        """Of a training step for a row of a run of room `own`; 0 where nothing is known of it."""
        return 0.0 if self.extent is None else self.extent.operations(own.extent)

    def parameters(self) -> int:
        """Numbers of a member; 1 where nothing is known of it."""
        return 1 if self.extent is None else self.extent.parameters()

    def describe(self) -> str:
        """For people."""
        return "as configured" if self.extent is None else self.extent.describe()


def draw(
    path: str | None,
    changes: Sequence[str],
    module: Any,
    of: Space,
    seed: int,
    count: int,
    where: str = "space",
) -> list[Run]:
    """The first so many runs of a sweep.

    Args:
      path: of the base config.
      changes: `key=value` each, before what is drawn.
      module: of the task (`experiment.kind`).
      where: what messages begin with.

    Raises:
      ConfigError: a run's values are no config; with its number and values.
    """
    _refuse_leaks(module, reading.to_dict(reading.read(module.Config, path, changes)), of, where)
    made = []
    for number in range(count):
        values = space.draw(of, seed, number)
        drawn = [
            f"{key}={json.dumps(value, ensure_ascii=False)}"
            for key, value in space.changes(of, values)
        ]
        try:
            config = reading.read(module.Config, path, [*changes, *drawn])
        except ConfigError as error:
            said = json.dumps(values, ensure_ascii=False)
            raise ConfigError(f"{where}: run {number + 1}, drawn as {said}: {error}") from None
        made.append(Run(values, config))
    return made


def _refuse_leaks(module: Any, base_config: Mapping[str, Any], of: Space, where: str) -> None:
    """Refuses keys that a run without them has from elsewhere, that say nothing, and other data.

    Raises:
      ConfigError: naming the hyperparameter and its key.
    """
    plain = reading.to_dict(module.Config())
    for one in of.parameters:
        if one.key is None:
            continue
        if one.key in _SILENT:
            raise ConfigError(f"{where}: {one.name}: sets {one.key}, which changes no score here")
        if one.key.startswith("data."):
            raise ConfigError(
                f"{where}: {one.name}: sets {one.key}; a sweep is of one corpus, read in one way"
            )
        value = _at(base_config, one.key)
        neutral = 0.0 if one.key in _RATES else _at(plain, one.key)
        if one.when and value is not None and value != neutral:
            raise ConfigError(
                f"{where}: {one.name}: drawn in some runs only, but the config sets {one.key} to "
                f"{value}, which all others would have; leave it out of the config"
            )


def _at(tree: Any, key: str) -> Any:
    """The value of `a.b` in nested tables; None without one."""
    for part in key.split("."):
        tree = tree.get(part) if isinstance(tree, Mapping) else None
    return tree


def record_of(prepared: base.Prepared, of: Space, seed: int) -> Experiment:
    """The record of a sweep: the base config's with the space, under an id of its own."""
    sweep = {"space": space.to_dict(of), "seed": seed}
    tree = {**json.loads(prepared.record.config), "sweep": sweep}
    digest = reading.digest(f"{prepared.record.id} {reading.canonical(sweep)}")
    return dataclasses.replace(
        prepared.record,
        id=digest,
        name=f"{prepared.record.name}, sweep",
        config=reading.canonical(tree),
        config_hash=reading.digest(reading.canonical(tree)),
    )


def is_ragged(module: Any) -> bool:
    """Whether members of a program may differ in size and batch size."""
    return hasattr(module, "RAGGED")


def room_of(module: Any, config: Any, data: Any) -> Room:
    """What a run's program must hold."""
    tree = reading.to_dict(config)
    tree.pop("name")
    training, model = tree["training"], tree["model"]
    for key in ("hyperparameters", "clip_at", "warmup"):
        training["optimiser"].pop(key)
    training["optimiser"]["l2"] = bool(training["optimiser"]["l2"])
    training["plateau"] = (training["plateau"] or {}).get("latest")
    if isinstance(model.get("dropout"), dict):
        numbers = {k: v for k, v in model["dropout"].items() if isinstance(v, float)}
        model["dropout"].update({k: bool(v) for k, v in numbers.items()})
    if not is_ragged(module):
        return Room(reading.canonical(tree), None)
    for key in (*module.RAGGED, "dropout", "label_smoothing"):
        model.pop(key)
    for key in ("batch_size", "micro_batch"):
        training.pop(key)
    return Room(reading.canonical(tree), module.extent(config, data))


def asked(runs: Sequence[Run], module: Any, prepared: base.Prepared) -> list[cohorts.Run]:
    """What the planner knows of the runs."""
    split = prepared.read.split(0)
    dev, test = (sum(map(len, rows)) for rows in (split.dev, split.test))
    made = []
    for run in runs:
        training = run.config.training
        evaluations = -(-training.epochs // training.evaluate_every)
        room = room_of(module, run.config, prepared.data)
        evaluated = evaluations * dev + test
        made.append(cohorts.Run(room, training.batch_size, training.epochs, evaluated))
    return made


def sizes_of(prepared: base.Prepared) -> list[int]:
    """Train rows of each bucket."""
    return [len(rows) for rows in prepared.read.split(0).train]


def config_of(cohort: cohorts.Cohort, runs: Sequence[Run]) -> Any:
    """The config of a cohort's program: its first run's at the cohort's sizes.

    Where nothing else is asked for, members of several sizes are computed one after the other on
    accelerators too: under `vmap` each would wait for the one with the most rows and steps.
    """
    config = runs[cohort.runs[0]].config
    extent = cohort.extent.extent  # type: ignore[attr-defined]
    if extent is None:
        return config
    rows, mode = cohort.micro_batch, config.training.lane_mode
    sizes = {"batch_size": rows, "micro_batch": rows}
    return dataclasses.replace(
        config,
        model=dataclasses.replace(config.model, **extent.sizes()),
        training=dataclasses.replace(
            config.training, **sizes, lane_mode="map" if mode == "auto" else mode
        ),
    )


def members_of(
    cohort: cohorts.Cohort, runs: Sequence[Run], module: Any
) -> tuple[list[Member], dict[Member, str]]:
    """The members of a cohort, and what was drawn for each, as canonical JSON.

    Run k has seed k + 1: a sweep tries seeds as it tries everything else.
    """
    own = {number: traced(runs[number].config) for number in cohort.runs}
    if is_ragged(module):
        whole = config_of(cohort, runs).model
        for number, values in own.items():
            values |= _sizes(runs[number].config, module)
        for name in module.RAGGED:  # a size that all members have is compiled in
            if all(values[name] == getattr(whole, name) for values in own.values()):
                own = {n: {k: v for k, v in o.items() if k != name} for n, o in own.items()}
    members = {n: Member(n + 1, 0, tuple(sorted(values.items()))) for n, values in own.items()}
    drawn = {members[number]: reading.canonical(dict(runs[number].values)) for number in members}
    return list(members.values()), drawn


def traced(config: Any) -> dict[str, float]:
    """A run's traced values, under names that all runs have."""
    return {**_NEUTRAL, **dict(base.members(config, [1], [0])[0].hparams)}


def _sizes(config: Any, module: Any) -> dict[str, float]:
    """What a member of a ragged population has beside: its sizes, its batch size."""
    sizes = {name: float(getattr(config.model, name)) for name in module.RAGGED}
    return {**sizes, "batch_size": float(config.training.batch_size)}


def prepare(
    cohort: cohorts.Cohort, number: int, runs: Sequence[Run], module: Any, record: Experiment
) -> tuple[base.Prepared, list[Member]]:
    """A cohort ready for training."""
    prepared: base.Prepared = module.prepare(config_of(cohort, runs))
    members, drawn = members_of(cohort, runs, module)
    return prepared._replace(record=record, drawn=drawn, cohort=number), members
