"""Trials, and what a config needs to be trained: where data, models and populations meet."""

import dataclasses
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxeval import errors, runs, tasks
from jaxeval.config import fields, reading
from jaxeval.contracts import Member, Task
from jaxeval.data.corpora import Source
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.population.member import Problem
from jaxeval.tasks.kind import Kind

_REMEMBERED = 32  # configs
_LISTED = 8  # members in a message


@dataclasses.dataclass(frozen=True)
class Study:
    """Trials that are recorded together, apart from those of their config itself."""

    name: str  # added to the config's name, such as "sweep" or "noise"
    config: Mapping[str, Json]  # what the trials have in common
    # how they were proposed (a sweep's space and seed); {} if the name says all
    design: Mapping[str, Json] = dataclasses.field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(reading.canonical([self.name, self.config, dict(self.design)]))


@dataclasses.dataclass(frozen=True)
class Trial:
    """One training: plain data, which can be stored, hashed, sent elsewhere."""

    config: Mapping[str, Json]  # all keys, or those that differ from the task's defaults
    seed: int
    split: int = 0  # 0 is the data's own, k > 0 the k-th random one
    repeat: int = 0  # of the same seed; its draws are the same
    # distinguish the trials of a study; recorded with the scores
    values: Mapping[str, Json] = dataclasses.field(default_factory=dict)
    study: Study | None = None  # None: the trial belongs to its config
    # for the caller, such as `model` and `dataset`; not recorded
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.hparams, self.seed, self.split, self.repeat, self.study))

    @property
    def hparams(self) -> str:
        """`values` as recorded: canonical JSON."""
        return reading.canonical(dict(self.values))


def seeds_by_splits(
    config: Any,
    seeds: Sequence[int],
    splits: Sequence[int] = (0,),
    repeats: int = 1,
    **labels: str,
) -> list[Trial]:
    """Returns the trials of a config with every seed on every split.

    Repeats show the noise of the machine (Melis et al. 2018, section 7.2), and are recorded apart.
    """
    study = None if repeats == 1 else Study("noise", without_models(config))
    tree = reading.to_dict(config) if study is None else study.config
    cells = itertools.product(range(repeats), splits, seeds)
    return [Trial(tree, s, split, k, study=study, labels=labels) for k, split, s in cells]


def neighbourhood(config: Any, settings: Sequence[Mapping[str, float]]) -> list[Trial]:
    """Returns trials with other values of traced hyperparameters; setting k has seed k, from 1."""
    traced = fields.traced(config)
    study = Study("neighbourhood", without_models(config))
    trials = []
    for seed, setting in enumerate(settings, 1):
        changed = {name: v for name, v in setting.items() if v != traced[name].value}
        changes = [f"{traced[name].key}={json.dumps(value)}" for name, value in changed.items()]
        tree = without_models(reading.read(type(config), config, changes))
        trials.append(Trial(tree, seed, values=changed, study=study))
    return trials


def without_models(config: Any) -> dict[str, Any]:
    """Returns the config of a study's trials, whose models are not saved, as plain data."""
    training = dataclasses.replace(config.training, save_models=False)
    return reading.to_dict(dataclasses.replace(config, training=training))


class Prepared(NamedTuple):
    """A config with its data and its task."""

    kind: Kind
    config: Any
    data: Any  # what its kind has read, a Source
    task: Task
    record: runs.Experiment  # under which its members are recorded

    @property
    def problem(self) -> Problem:
        """What its members learn."""
        return Problem(self.task, self.data.corpus, self.data.split, self.config.training)


def read(
    source: reading.Source,
    changes: Sequence[str] = (),
    data: str | Path | None = None,
    origin: str | None = None,
) -> Any:
    """Reads the config of any task.

    Args:
      source: TOML file, shipped name, plain data or settings; None: the embedded default.
      changes: `key=value` each.
      data: where the data is, instead of where the config says.
      origin: of the changes, for messages; None: the caller.

    Raises ConfigError, naming every wrong key.
    """
    task = reading.tree_of(source, changes).get("task") or "tagging"
    in_file = isinstance(source, str | Path) and reading.tree_of(None, changes).get("task") is None
    cls = tasks.kind_of(task, f"{source}: " if in_file else "").Config
    changed = [*changes, *data_changes(task, data)]
    origin = errors.changes() if origin is None else origin
    config: Any = reading.read(cls, source, changed, origin)
    if not config.name.strip() or config.name.splitlines() != [config.name]:
        raise ConfigError(f"name: expected a name of one line, got {config.name!r}")
    if config.training.plateau is not None and config.training.optimiser.steps:
        raise ConfigError(
            "training.optimiser.steps: they replace the learning rate that training.plateau "
            "decays; training.plateau= leaves the plateau out"
        )
    return config


def data_changes(task: str, data: str | Path | None) -> list[str]:
    """Returns the changes of a config that name its data, or none if `data` is None."""
    if data is None:
        return []
    return [f"{tasks.kind_of(task).data_key}={json.dumps(str(data), ensure_ascii=False)}"]


class Loader:
    """Prepares configs. Data is read once; the last configs are remembered with their tasks.

    JAX reuses what it has traced only for the same task object.
    """

    def __init__(self) -> None:
        self._data: dict[str, Any] = {}
        self._prepared: dict[str, Prepared] = {}

    def prepare(self, config: Any, random_splits: bool = False) -> Prepared:
        """Reads the data and builds the task, unless done before.

        `random_splits`: for members of random splits of all the data. Raises ConfigError or
        DataError if config or data cannot be used.
        """
        key = reading.canonical([reading.to_dict(config), random_splits])
        if known := self._prepared.pop(key, None):
            self._prepared[key] = known
            return known
        kind = tasks.kind_of(config.task)
        if random_splits:
            config = kind.random_splits(config)
        arguments = kind.arguments(config)
        plain = [reading.to_dict(a) if dataclasses.is_dataclass(a) else a for a in arguments]
        source = reading.canonical([config.task, plain])
        if source not in self._data:
            self._data[source] = kind.read(*arguments)
        data, task = kind.build(config, self._data[source])
        prepared = Prepared(kind, config, data, task, _record(config, data, task))
        if config.training.at_once < config.training.batch_size:
            prepared.problem.refuse_cut_batches("training.micro_batch")
        self._prepared[key] = prepared
        if len(self._prepared) > _REMEMBERED:
            del self._prepared[next(iter(self._prepared))]
        return prepared


def prepare(config: Any, random_splits: bool = False) -> Prepared:
    """Prepares one config; arguments and errors as of `Loader.prepare`."""
    return Loader().prepare(config, random_splits)


def _record(config: Any, source: Source, task: Task) -> runs.Experiment:
    tree = reading.to_dict(config)
    text = reading.canonical(tree)
    for key in fields.keys(config, fields.IMMATERIAL):
        *parents, last = key.split(".")
        branch = tree
        for name in parents:
            branch = branch[name]
        branch.pop(last)
    config_hash = reading.digest(reading.canonical(tree))
    return runs.Experiment(
        id=reading.digest(config_hash + source.fingerprint + source.pretrained),
        name=config.name,
        task=config.task,
        metric=task.metric.name,
        higher_is_better=task.metric.higher_is_better,
        unit=task.metric.unit,
        margin=task.metric.margin,
        config=text,
        config_hash=config_hash,
        data=source.name,
        data_hash=source.fingerprint,
        facts=reading.canonical({**source.facts, **source.findings.facts}),
    )


def record_of(base: runs.Experiment, study: Study) -> runs.Experiment:
    """Returns the record of a study: that of its config, with an id of its own."""
    design = reading.canonical([study.name, dict(study.design)])
    tree = json.loads(base.config)
    if study.design:
        tree[study.name] = dict(study.design)
    return dataclasses.replace(
        base,
        id=reading.digest(base.id + design),
        name=f"{base.name}, {study.name}",
        config=reading.canonical(tree),
        config_hash=reading.digest(base.config_hash + design),
    )


def member_of(prepared: Prepared) -> Member:
    """Returns a member of the first split with the hyperparameters of its config."""
    return Member(1, 0, tuple(sorted(fields.active(prepared.config).items())))


def listed(members: Iterable[tuple[int, int]]) -> str:
    """Lists the first of some (split, seed), without the split if it is the given one."""
    shown = [
        f"seed {seed}{f' of split {split}' if split else ''}"
        for split, seed in dict.fromkeys(members)
    ]
    return ", ".join(shown[:_LISTED]) + (" ..." if len(shown) > _LISTED else "")


def at(tree: Mapping[str, Any], key: str) -> Any:
    """Returns the value of `a.b` in nested tables, or None."""
    branch: Any = tree
    for part in key.split("."):
        branch = branch.get(part) if isinstance(branch, Mapping) else None
    return branch
