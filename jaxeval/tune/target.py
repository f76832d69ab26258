"""The config that a search is over, with its data, and the programs that its settings share."""

import contextlib
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval import runs, studies
from jaxeval import space as spaces
from jaxeval.config import fields, reading
from jaxeval.errors import ConfigError, argument
from jaxeval.studies import cohorts, costs, padding, prepared, sweeps
from jaxeval.studies.cohorts import Entry
from jaxeval.studies.padding import OpenProgram
from jaxeval.tuning import Search
from jaxeval.tuning.history import Evaluation


@dataclasses.dataclass(frozen=True)
class Target:
    """A config that is tuned: its source and changes before those of a setting."""

    source: reading.Source
    changes: Sequence[str]
    search: Search
    base: prepared.Prepared
    study: prepared.Study  # that its evaluations belong to
    record: runs.Experiment  # of the study
    session: studies.Session

    def config(self, values: Mapping[str, Any]) -> Any:
        """Returns the config of a setting; ConfigError: it is none."""
        return sweeps.configured(self.source, self.changes, self.search.space, values)

    def entries(self, evaluation: Evaluation) -> list[Entry]:
        """Returns the trials of an evaluation, one a seed; ConfigError: it is no config."""
        tree = prepared.without_models(self.config(evaluation.values))
        values = evaluation.values
        seeds, study = evaluation.seeds, self.study
        trials = [studies.Trial(tree, seed, values=values, study=study) for seed in seeds]
        return cohorts.entries(trials, self.session.loader)

    def refuse_too_large(self, entry: Entry) -> None:
        """Raises ConfigError as `cohorts.refuse_too_large`; traces a model only where it must."""
        own = entry.prepared
        shape = cohorts.shape_of(entry.prepared)
        known = shape.member_sizes is not None
        if not (known and cohorts.fits(shape.parameters(), own.config.training, 1)):
            cohorts.refuse_too_large(own.problem, prepared.member_of(own))

    def padded(self, trainings: int, lanes: int) -> list[OpenProgram]:
        """Returns the programs to pad settings into, of which so many lanes fit into memory."""
        if self.base.kind.member_sizes is None:
            return []
        config, model = self.base.config, self.base.config.model
        ragged = fields.keys(model, fields.RAGGED)
        drawn, largest = (
            [entry for entry in map(self._drawn, sample) if entry is not None]
            for sample in padding.sample(self.search.space, {f"model.{key}" for key in ragged})
        )
        machine = sweeps.machine_of(self.base)
        chosen = padding.choose_buckets(drawn, largest, machine, trainings)
        each = [
            (bucket, entries)
            for bucket, entries in chosen
            if cohorts.fits(bucket[0].parameters(), config.training, lanes)
        ]
        keys = {parameter.key for parameter in self.search.space.parameters}
        names = [key for key in ragged if f"model.{key}" in keys]
        rows = padding.smallest_batch(
            self.search.space, [e for _, entries in each for e in entries]
        )
        open_in = functools.partial(padding.open_padded, loader=self.session.loader)
        open_in = functools.partial(open_in, others=self._neutral, sizes=names, rows=rows)
        return [open_in(*bucket, entries) for bucket, entries in each]

    def _drawn(self, values: Mapping[str, Any]) -> Entry | None:
        with contextlib.suppress(ConfigError):
            return self.entries(Evaluation(0, values, (1,)))[0]
        return None

    @functools.cached_property
    def _neutral(self) -> dict[str, float]:
        """Values that change nothing, under all names that a setting of the space may have."""
        configs = []
        for run in range(padding.SAMPLE):
            with contextlib.suppress(ConfigError):
                configs.append(self.config(spaces.draw(self.search.space, 0, run)))
        return padding.neutral(configs)

    def program(self, entries: Sequence[Entry], padded: Sequence[OpenProgram]) -> OpenProgram:
        """Returns the cheapest program that fits all trials, or the first, or its own."""
        for fitting in (entries, entries[:1]):
            holding = [program for program in padded if all(map(program.takes, fitting))]
            if holding:
                return min(holding, key=lambda program: program.operations(entries[0]))
        return padding.open_program(entries[0], self._neutral)

    def estimates(
        self, entries: Sequence[Entry], padded: Sequence[OpenProgram]
    ) -> list[costs.Estimate]:
        """Returns populations of trials by the costs of compiling, padding and waiting."""
        known = [(p.shape, p.config.training.micro_batch) for p in padded if p.shape is not None]
        return padding.place(known, padding.jobs(entries), sweeps.machine_of(self.base))


def target(
    source: reading.Source,
    changes: Sequence[str],
    data: str | Path | None,
    search: Search,
    where: str = "space",
) -> Target:
    """Reads a config and its data; nothing is trained.

    Args:
      where: the beginning of messages about the space.

    Raises:
      ConfigError, DataError: the config or the space is wrong, or the data cannot be used.
    """
    base = studies.read(source, changes, data)
    for parameter in search.space.parameters:
        path = parameter.key.split(".") if parameter.key else []
        if message := reading.unknown(type(base), path):  # every setting would be a failure
            raise ConfigError(f"{where}: {parameter.name}: {message}")
    every, key = base.training.evaluate_every, "training.evaluate_every"
    first = 0 if search.halving is None else search.halving.first  # rungs read scores of dev
    if first % every or (first and any(of.key == key for of in search.space.parameters)):
        expected = f"expected a multiple of {key}, which is {every} in all settings, got {first}"
        raise ConfigError(f"{argument('min_epochs')}: {expected}")
    epochs, key = base.training.epochs, "training.epochs"
    if first >= epochs and not any(of.key == key for of in search.space.parameters):
        expected = f"expected fewer than {key}, which is {epochs}, got {first}"
        raise ConfigError(f"{argument('min_epochs')}: {expected}")
    changes = [*changes, *prepared.data_changes(base.task, data)]
    sweeps.refuse_leaks(base, search.space, where)
    session = studies.Session()
    loaded = session.loader.prepare(base)
    study = studies.Study("tuning", prepared.without_models(base), search.to_dict())
    record = prepared.record_of(loaded.record, study)
    return Target(source, changes, search, loaded, study, record, session)
