"""The config that a search is over, with its data, and the programs that its settings share."""

import contextlib
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from jaxeval import runs, studies
from jaxeval.config import markers, reading
from jaxeval.errors import ConfigError, argument
from jaxeval.files import Json
from jaxeval.space import space as spaces
from jaxeval.space.space import Space
from jaxeval.studies import buckets, cohorts, costs, memory, padding, prepared, proposers, sweeps
from jaxeval.studies.buckets import ShapeBucket
from jaxeval.studies.cohorts import Entry
from jaxeval.studies.padding import OpenProgram
from jaxeval.tuning.history import Evaluation
from jaxeval.tuning.search import Search

_DRAWS = 16  # settings of which it is seen what is traced: that can depend on conditions


@dataclasses.dataclass(frozen=True)
class Target:
    """A config that is tuned.

    Attributes:
      source, changes: of the config, before what a search sets.
      record: under which its evaluations are recorded.
      compiled: hyperparameters whose values are compiled in: neither traced nor sizes that are
        padded, in any of some draws.
    """

    source: reading.Source
    changes: Sequence[str]
    space: Space
    base: prepared.Prepared
    record: runs.Experiment
    design: Mapping[str, Json]
    session: studies.Session
    compiled: tuple[str, ...] = ()

    def config(self, values: Mapping[str, Any]) -> Any:
        """The config of a setting; ConfigError: the values are none."""
        return proposers.configured(self.source, self.changes, self.space, values)

    def entries(self, evaluation: Evaluation) -> list[Entry]:
        """What is trained for an evaluation, one a seed; ConfigError: it is no config."""
        config = self.config(evaluation.values)
        setting = (evaluation.values, evaluation.seeds)
        trials = proposers.evaluations(self.base.config, [config], [setting], self.design)
        return cohorts.entries(trials, self.session.loader)

    def drawn(self, settings: Sequence[Mapping[str, Any]]) -> list[Entry]:
        """Entries of one seed of each setting that is a config."""
        found = []
        for values in settings:
            with contextlib.suppress(ConfigError):
                found += self.entries(Evaluation(0, values, (1,)))
        return found

    def refuse_too_large(self, entry: Entry) -> None:
        """Raises ConfigError as `memory.refuse_too_large`; traces a model only where it must."""
        own, shape = entry.prepared, padding.shape_of(entry.prepared)
        known = shape.member_sizes is not None
        if not (known and memory.fits(shape.parameters(), own.config.training, 1)):
            memory.refuse_too_large(own.problem, [prepared.member_of(own)])

    def buckets(self, trainings: int, lanes: int) -> list[ShapeBucket]:
        """The shapes that settings are padded to: those of which so many lanes fit into memory."""
        if self.base.kind.member_sizes is None:
            return []
        config = self.base.config
        ragged = {f"model.{key}" for key in markers.keys(config.model, markers.RAGGED)}
        drawn, largest = map(self.drawn, buckets.settings(self.space, ragged))
        sizes, machine = padding.bucket_sizes(self.base), sweeps.machine_of(self.base)
        chosen = buckets.choose(drawn, largest, sizes, machine, trainings)
        return [b for b in chosen if memory.fits(b.shape.parameters(), config.training, lanes)]

    def padded(self, trainings: int, lanes: int) -> list[OpenProgram]:
        """The programs of `buckets`."""
        each = self.buckets(trainings, lanes)
        if not each:
            return []
        keys = {parameter.key for parameter in self.space.parameters}
        ragged = markers.keys(self.base.config.model, markers.RAGGED)
        sizes = [key for key in ragged if f"model.{key}" in keys]
        rows, neutral = buckets.smallest_batch(self.space, each), self._neutral
        loader = self.session.loader
        return [padding.open_padded(*bucket, loader, neutral, sizes, rows) for bucket in each]

    @functools.cached_property
    def _neutral(self) -> dict[str, float]:
        """Values that change nothing, under all names that a setting of the space may have."""
        configs = []
        for run in range(buckets.SAMPLE):
            with contextlib.suppress(ConfigError):
                configs.append(self.config(spaces.draw(self.space, 0, run)))
        return padding.neutral(configs)

    def program(self, entries: Sequence[Entry], padded: Sequence[OpenProgram]) -> OpenProgram:
        """The cheapest program that some settings fit into, or else the first one's own."""
        for fitting in (entries, entries[:1]):
            holding = [program for program in padded if all(map(program.takes, fitting))]
            if holding:
                return min(holding, key=lambda program: program.operations(entries[0]))
        return padding.open_program(entries[0], self._neutral)

    def together(
        self, entries: Mapping[int, Entry], padded: Sequence[OpenProgram]
    ) -> dict[int, Entry]:
        """Those of some settings that are to share a population with the first, by cost."""
        if not padded:
            return dict(entries)
        numbers = [*entries]
        first = self.estimates([*entries.values()], padded)[0]
        return {numbers[job]: entries[numbers[job]] for job in first.jobs}

    def estimates(
        self, entries: Sequence[Entry], padded: Sequence[OpenProgram]
    ) -> list[costs.Estimate]:
        """Settings in populations, by what compiling, padding and waiting cost."""
        known = [
            ShapeBucket(program.shape, program.config.training.micro_batch, ())
            for program in padded
            if program.shape is not None
        ]
        sizes, machine = padding.bucket_sizes(self.base), sweeps.machine_of(self.base)
        return [e for e, _ in buckets.place(known, padding.jobs(entries), sizes, machine)]


def target(
    source: reading.Source,
    changes: Sequence[str],
    data: str | None,
    search: Search,
    where: str = "space",
) -> Target:
    """Reads a config and its data; nothing is trained.

    Args:
      where: what messages about the space begin with.

    Raises:
      ConfigError, DataError: the config or the space is wrong, or the data cannot be used.
    """
    base = studies.read(source, changes, data)
    _refuse_unscored_rungs(base, search, where)
    for parameter in search.space.parameters:
        if parameter.key is not None:  # else every setting would be a failure
            reading.refuse_unknown(type(base), parameter.key, f"{where}: {parameter.name}")
    changes = [*changes, *prepared.data_changes(base.task, data)]
    proposers.refuse_leaks(base, search.space, where)
    session, design = studies.Session(), search.to_dict()
    loaded = session.loader.prepare(base)
    study = proposers.evaluations(base, [base], [({}, [1])], design)[0].study
    assert study is not None
    record = prepared.record_of(loaded.record, study)
    found = Target(source, changes, search.space, loaded, record, design, session)
    padded = loaded.kind.member_sizes is not None
    changing = set(markers.keys(base, markers.RAGGED)) if padded else set()
    for run in range(_DRAWS):
        with contextlib.suppress(ConfigError):
            config = found.config(spaces.draw(search.space, 0, run))
            changing.update(number.key for number in markers.traced(config).values())
    keyed = [parameter for parameter in search.space.parameters if parameter.key]
    compiled = tuple(p.name for p in keyed if p.key not in changing)
    return dataclasses.replace(found, compiled=compiled)


def _refuse_unscored_rungs(base: Any, search: Search, where: str) -> None:
    """Raises ConfigError where a rung may be an epoch after which dev is not scored."""
    if search.halving is None:
        return
    every, key = base.training.evaluate_every, "training.evaluate_every"
    if search.halving.first % every:
        name, first = argument("min_epochs"), search.halving.first
        raise ConfigError(f"{name}: expected a multiple of {key}, which is {every}, got {first}")
    for parameter in search.space.parameters:
        if parameter.key == key:
            raise ConfigError(
                f"{where}: {parameter.name}: expected no {key} with {argument('halving')}, whose "
                "rungs are after epochs that score dev; fix it in the config"
            )
