"""From a config to something that can be trained: the page where all rooms meet."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxeval import errors, runs
from jaxeval.config import markers, reading
from jaxeval.contracts import Member, Task
from jaxeval.errors import ConfigError, argument
from jaxeval.population.member import Problem
from jaxeval.studies.trial import Study
from jaxeval.tasks import registry
from jaxeval.tasks.kind import Kind, Source

_REMEMBERED = 32  # configs
_LISTED = 8  # members in a message


class Prepared(NamedTuple):
    """A config with its data and its task.

    Attributes:
      data: what its kind has read.
      record: under which its members are recorded.
    """

    kind: Kind
    config: Any
    data: Any
    source: Source
    task: Task
    record: runs.Experiment

    @property
    def problem(self) -> Problem:
        """What its members learn."""
        return Problem(self.task, self.source.corpus, self.source.split, self.config.training)


def read(
    source: reading.Source,
    changes: Sequence[str] = (),
    data: str | None = None,
    origin: str | None = None,
) -> Any:
    """The config of a file (None: the embedded default), whatever its task.

    Args:
      source: TOML file, shipped name, plain data or settings.
      changes: `key=value` each.
      data: where the data is, instead of where the config says.
      origin: of the changes, for messages; None: who called made them.

    Raises:
      ConfigError: naming every key that is wrong; an empty `data`; a name that is no line; two
        schedules of the learning rate.
    """
    if data is not None and not data.strip():
        named = argument("data")
        raise ConfigError(
            f"{named}: got {data!r}, an empty path (a shell variable that is not set?); expected "
            f"a folder, a file or tfds:NAME, or no {named}"
        )
    task = reading.peek(source, changes, "task") or "tagging"
    changed = [*changes, *data_changes(task, data)]
    origin = errors.changes() if origin is None else origin
    config: Any = reading.read(registry.kind(task).Config, source, changed, origin)
    if not config.name.strip() or config.name.splitlines() != [config.name]:
        raise ConfigError(f"name: expected a name of one line, got {config.name!r}")
    if config.training.plateau is not None and config.training.optimiser.steps:
        raise ConfigError(
            "training.optimiser.steps: they replace the learning rate that training.plateau "
            "decays; training.plateau= leaves the plateau out"
        )
    return config


def data_changes(task: str, data: str | None) -> list[str]:
    """The changes of a config that say where its data is; none where that is not given."""
    if data is None:
        return []
    return [f"{registry.kind(task).data_key}={json.dumps(data, ensure_ascii=False)}"]


class Loader:
    """Prepares configs; those with the same data share it.

    The last ones are remembered: a selection asks for the same few again and again, and what jax
    has traced of a task serves only the same task.
    """

    def __init__(self) -> None:
        self._data: dict[str, Any] = {}
        self._prepared: dict[str, Prepared] = {}

    def prepare(self, config: Any, random_splits: bool = False) -> Prepared:
        """Reads the data and builds the task, unless that has been done.

        Args:
          random_splits: for members of random splits of all the data instead of the given split.

        Raises:
          ConfigError: random splits of a task that has none, or batches that cannot be cut.
          DataError: the data cannot be read or used.
        """
        key = reading.canonical([reading.to_dict(config), random_splits])
        prepared = self._prepared.pop(key, None) or self._build(config, random_splits)
        self._prepared[key] = prepared
        if len(self._prepared) > _REMEMBERED:
            del self._prepared[next(iter(self._prepared))]
        return prepared

    def _build(self, config: Any, random_splits: bool) -> Prepared:
        kind = registry.kind(config.task)
        if random_splits:
            config = kind.random_splits(config)
        data = self._read(kind, config)
        source, task = kind.build(config, data)
        prepared = Prepared(kind, config, data, source, task, _record(config, source, task))
        training = config.training
        if (training.micro_batch or training.batch_size) < training.batch_size:
            prepared.problem.refuse_cut_batches("training.micro_batch")
        return prepared

    def _read(self, kind: Kind, config: Any) -> Any:
        arguments = kind.arguments(config)
        plain = [reading.to_dict(a) if dataclasses.is_dataclass(a) else a for a in arguments]
        key = reading.canonical([config.task, plain])
        if key not in self._data:
            self._data[key] = kind.read(*arguments)
        return self._data[key]


def prepare(config: Any, random_splits: bool = False) -> Prepared:
    """One config alone; arguments and errors as of `Loader.prepare`."""
    return Loader().prepare(config, random_splits)


def _record(config: Any, source: Source, task: Task) -> runs.Experiment:
    tree = reading.to_dict(config)
    text = reading.canonical(tree)
    for key in markers.keys(config, markers.IMMATERIAL):
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
    """The record of a study of a config: the config's, under an id of its own."""
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


def member_of(prepared: Prepared, seed: int = 1) -> Member:
    """A member of the first split with the hyperparameters of its config."""
    hparams = markers.active(prepared.config)
    return Member(seed, 0, tuple(sorted(hparams.items())))


def listed(members: Iterable[tuple[int, int]]) -> str:
    """Seeds, and splits other than the given one; the first of them where there are many.

    Args:
      members: (split, seed) each.
    """
    shown = [
        f"seed {seed}{f' of split {split}' if split else ''}"
        for split, seed in dict.fromkeys(members)
    ]
    return ", ".join(shown[:_LISTED]) + (" ..." if len(shown) > _LISTED else "")


def at(tree: Mapping[str, Any], key: str) -> Any:
    """The value of `a.b` in nested tables; None without one."""
    branch: Any = tree
    for part in key.split("."):
        branch = branch.get(part) if isinstance(branch, Mapping) else None
    return branch
