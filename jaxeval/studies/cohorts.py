"""Which trials share a compiled program, and with which arguments each of them calls it."""

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxeval import runs
from jaxeval.config import markers, reading
from jaxeval.contracts import Member
from jaxeval.population import engine
from jaxeval.population.engine import Problem
from jaxeval.studies import costs, prepared, programs
from jaxeval.studies.trial import Study, Trial
from jaxeval.tasks import registry

Key = tuple[str, int, int, int, str]  # experiment, seed, split, repeat, hparams


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """A trial with what it is trained on.

    Attributes:
      prepared: of its own config.
      record: under which it is recorded: its config's, or its study's.
    """

    trial: Trial
    prepared: prepared.Prepared
    record: runs.Experiment

    @property
    def key(self) -> Key:
        """Under what it is found in the runs database."""
        trial = self.trial
        return self.record.id, trial.seed, trial.split, trial.repeat, trial.hparams


class Cohort(NamedTuple):
    """Trials that are members of one population.

    Attributes:
      members: of each entry.
      config: of the program; sizes are those that it is padded to.
      program: of all that is compiled in, canonical JSON: cohorts with the same share programs.
      name: of its checkpoints and its lock.
      estimate: what it should cost, where that was asked for.
      steps: of an epoch that the program has room for, however few its members take.
    """

    entries: tuple[Entry, ...]
    members: tuple[Member, ...]
    config: Any
    problem: Problem
    program: str
    name: str
    estimate: costs.Estimate | None = None
    steps: int = 0

    @property
    def records(self) -> tuple[runs.Experiment, ...]:
        """Of all its entries, each once."""
        return tuple({entry.record.id: entry.record for entry in self.entries}.values())


def recorded(cohort: Cohort, records: Mapping[str, runs.Experiment]) -> Cohort:
    """A cohort with its experiments as they are recorded: a name may be an earlier one.

    Args:
      records: by id.
    """
    if all(records[record.id] == record for record in cohort.records):
        return cohort  # itself: its entries are known by what they are, not by what they say
    of = (dataclasses.replace(e, record=records[e.record.id]) for e in cohort.entries)
    return cohort._replace(entries=tuple(of))


def entries(trials: Iterable[Trial], loader: prepared.Loader) -> list[Entry]:
    """Trials with configs checked and data read, each config once.

    Raises:
      ConfigError, DataError: as `Loader.prepare`.
    """
    known: dict[tuple[str, bool], prepared.Prepared] = {}
    records: dict[Study, runs.Experiment] = {}

    def of(config: Mapping[str, Any], random_splits: bool) -> prepared.Prepared:
        key = reading.canonical(config), random_splits
        if key not in known:
            kind = registry.kind(config.get("task", "tagging"))
            known[key] = loader.prepare(reading.from_dict(kind.Config, config), random_splits)
        return known[key]

    def record(study: Study | None, own: runs.Experiment) -> runs.Experiment:
        if study is None:
            return own
        if study not in records:
            records[study] = prepared.record_of(of(study.config, False), study)
        return records[study]

    owned = [(trial, of(trial.config, bool(trial.split))) for trial in trials]
    return [Entry(trial, own, record(trial.study, own.record)) for trial, own in owned]


def by_program(of: Sequence[Entry]) -> list[Cohort]:
    """One cohort a program, of different trials; those that differ in word vectors share one.

    Those that would be the same member are trained apart: repeats of a seed, and configs that
    differ in what neither of them uses.
    """
    groups: dict[tuple[str, int], list[tuple[Entry, Member]]] = {}
    problems: dict[str, Problem] = {}
    alike: collections.Counter[tuple[str, Member]] = collections.Counter()
    entries = [*{entry.key: entry for entry in of}.values()]
    by_vectors = programs.of([entry.prepared for entry in entries])
    for entry, joint in zip(entries, by_vectors, strict=True):
        program = joint.program
        who = dataclasses.replace(member(entry), vectors=joint.vectors)
        again = program, dataclasses.replace(who, repeat=0)
        problems.setdefault(program, joint.problem)
        groups.setdefault((program, alike[again]), []).append((entry, who))
        alike[again] += 1
    cohorts = []
    for (program, _), group in groups.items():
        trained, members = zip(*group, strict=True)
        config = trained[0].prepared.config
        name = _name(trained)
        cohorts.append(Cohort(trained, members, config, problems[program], program, name))
    return cohorts


def _name(group: Sequence[Entry]) -> str:
    """Of the checkpoints: an experiment's id; where several share a program, a hash of all."""
    ids = sorted({entry.record.id for entry in group})
    return ids[0] if len(ids) == 1 else reading.digest(" ".join(ids))


def member(entry: Entry, more: Mapping[str, float] | None = None) -> Member:
    """What is trained for an entry: its config's traced values that change anything, and more."""
    values = {**(more or {}), **markers.active(entry.prepared.config)}
    trial = entry.trial
    return Member(trial.seed, trial.split, tuple(sorted(values.items())), trial.repeat)


# Members of several sizes: cohorts by cost.


@dataclasses.dataclass(frozen=True)
class ProgramShape:
    """What a program must hold: a `costs.Shape` with all else that its members share.

    Attributes:
      program: canonical JSON of what is compiled in.
      member_sizes: of a task whose members may differ in size; None: `program` says all.
    """

    program: str
    member_sizes: Any

    def joined(self, other: "ProgramShape") -> "ProgramShape | None":
        """What holds both; None: they cannot share a program."""
        if self.program != other.program:
            return None
        if self.member_sizes is None:
            return self
        both = self.member_sizes.joined(other.member_sizes)
        return both and dataclasses.replace(self, member_sizes=both)

    def operations(self, own: "ProgramShape") -> float:
        """Of a training step for a row of a trial of shape `own`; 0 where nothing is known."""
        return 0.0 if self.member_sizes is None else self.member_sizes.operations(own.member_sizes)

    def parameters(self) -> int:
        """Numbers of a member; 1 where nothing is known of it."""
        return 1 if self.member_sizes is None else self.member_sizes.parameters()

    def describe(self) -> str:
        """For people."""
        return "as configured" if self.member_sizes is None else self.member_sizes.describe()


def shape_of(of: prepared.Prepared) -> ProgramShape:
    """What the program of a run of a sweep must hold."""
    member_sizes = of.kind.member_sizes
    if member_sizes is None:
        return ProgramShape(programs.text(of, filled=True), None)
    program = programs.text(of, ragged=True, filled=True)
    return ProgramShape(program, member_sizes(of.config, of.data))


def jobs(of: Sequence[Entry]) -> list[costs.Job]:
    """What the cost model knows of trials."""
    known = []
    for entry in of:
        training, split = entry.prepared.config.training, entry.prepared.source.split(0)
        dev, test = (sum(map(len, rows)) for rows in (split.dev, split.test))
        evaluated = -(-training.epochs // training.evaluate_every) * dev + test
        shape = shape_of(entry.prepared)
        known.append(costs.Job(shape, training.batch_size, training.epochs, evaluated))
    return known


def bucket_sizes(of: prepared.Prepared) -> list[int]:
    """Train rows of each bucket."""
    return [len(rows) for rows in of.source.split(0).train]


def by_estimates(
    of: Sequence[Entry],
    estimates: Sequence[costs.Estimate],
    loader: prepared.Loader,
    part: str = "",
    others: Sequence[Sequence[Entry]] = (),
) -> list[Cohort]:
    """The cohorts that a cost model proposes, padded to the sizes of its shapes.

    Args:
      part: for names of checkpoints, where an experiment is not planned all at once.
      others: for each estimate, trials that its program has room for beside its own.
    """
    cohorts = []
    for number, estimate in enumerate(estimates):
        group = [of[k] for k in estimate.jobs]
        whole = loader.prepare(_config(estimate, group[0]))
        every = [*group, *(others[number] if others else ())]
        configs = [entry.prepared.config for entry in every]
        sizes: list[dict[str, float]] = [{}] * len(every)
        if _member_sizes(estimate) is not None:
            names = padded_names(configs, whole.config)
            sizes = [own_sizes(config, names) for config in configs]
        alike, pairs = neutral(configs), zip(every, sizes, strict=True)
        members = tuple(member(entry, {**alike, **own}) for entry, own in pairs)
        cohorts.append(
            Cohort(
                tuple(group),
                members[: len(group)],
                whole.config,
                whole.problem,
                programs.text(whole, filled=True),
                f"{group[0].record.id}-{part}{number}",
                estimate,
                engine.most_steps(members, whole.problem.split(0)) if others else 0,
            )
        )
    return cohorts


def neutral(configs: Iterable[Any]) -> dict[str, float]:
    """Values that change nothing, under all names that a run of a sweep may have."""
    values = {}
    for config in configs:
        for hyperparameter in markers.traced(config).values():
            value = hyperparameter.marker.neutral
            if value is not None and programs.fills(hyperparameter):
                values[hyperparameter.name] = value
    return values


def _member_sizes(estimate: costs.Estimate) -> Any:
    return estimate.shape.member_sizes  # type: ignore[attr-defined]


def _config(estimate: costs.Estimate, first: Entry) -> Any:
    """The config of a cohort's program: its first trial's at the cohort's sizes."""
    config, sizes = first.prepared.config, _member_sizes(estimate)
    return config if sizes is None else padded_config(config, sizes.sizes(), estimate.micro_batch)


def padded_config(config: Any, sizes: Mapping[str, int], micro_batch: int) -> Any:
    """A config at the sizes that members are padded to.

    Where nothing else is asked for, members of several sizes are computed one after the other on
    accelerators too: under `vmap` each would wait for the one with the most rows and steps.
    """
    mode = config.training.lane_mode
    training = dataclasses.replace(
        config.training,
        batch_size=micro_batch,
        micro_batch=micro_batch,
        lane_mode="map" if mode == "auto" else mode,
    )
    model = dataclasses.replace(config.model, **sizes)
    return dataclasses.replace(config, model=model, training=training)


def padded_names(configs: Sequence[Any], whole: Any) -> list[str]:
    """Sizes of a model that some member has smaller than the program; others are compiled in."""
    return [
        name
        for name in markers.keys(whole.model, markers.RAGGED)
        if any(getattr(c.model, name) != getattr(whole.model, name) for c in configs)
    ]


def own_sizes(config: Any, names: Iterable[str]) -> dict[str, float]:
    """What a member of a padded population has beside: these of its sizes, its batch size."""
    sizes = {name: float(getattr(config.model, name)) for name in names}
    return {**sizes, "batch_size": float(config.training.batch_size)}
