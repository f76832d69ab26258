"""Members of several sizes in one program: padded to the sizes that it holds."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from jaxeval.config import markers
from jaxeval.contracts import Member
from jaxeval.population import engine
from jaxeval.population.member import Problem
from jaxeval.studies import cohorts, costs, prepared
from jaxeval.studies.cohorts import Cohort, Entry


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

    def holds(self, other: "ProgramShape") -> bool:
        """Whether a member of this shape can be padded into the program as it is."""
        both = self.joined(other)
        return both is not None and both.sizes() == self.sizes()

    def sizes(self) -> Mapping[str, int]:
        """Of the model, by key; {} where `program` says all."""
        return {} if self.member_sizes is None else self.member_sizes.sizes()

    def operations(self, own: "ProgramShape") -> float:
        """Of a training step for a row of a trial of shape `own`; 0 where nothing is known."""
        return 0.0 if self.member_sizes is None else self.member_sizes.operations(own.member_sizes)

    def parameters(self) -> int:
        """Numbers of a member; 1 where nothing is known of it."""
        return 1 if self.member_sizes is None else self.member_sizes.parameters()

    def describe(self) -> str:
        """For people."""
        return "as configured" if self.member_sizes is None else self.member_sizes.describe()


def shape_of(own: prepared.Prepared) -> ProgramShape:
    """What the program of a run of a sweep must hold."""
    member_sizes = own.kind.member_sizes
    program = cohorts.program(own, ragged=member_sizes is not None, filled=True)
    return ProgramShape(program, member_sizes and member_sizes(own.config, own.data))


def jobs(each: Iterable[Entry]) -> list[costs.Job]:
    """What the cost model knows of trials."""
    known = []
    for entry in each:
        training, split = entry.prepared.config.training, entry.prepared.source.split(0)
        dev, test = (sum(map(len, rows)) for rows in (split.dev, split.test))
        evaluated = -(-training.epochs // training.evaluate_every) * dev + test
        shape = shape_of(entry.prepared)
        known.append(costs.Job(shape, training.batch_size, training.epochs, evaluated))
    return known


def bucket_sizes(own: prepared.Prepared) -> list[int]:
    """Train rows of each bucket of the corpus."""
    return [len(rows) for rows in own.source.split(0).train]


def by_estimates(
    each: Sequence[Entry],
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
    planned = []
    for number, estimate in enumerate(estimates):
        group = [each[k] for k in estimate.jobs]
        every = [*group, *(others[number] if others else ())]
        configs = [entry.prepared.config for entry in every]
        config = configs[0]
        padded = estimate.shape.sizes()
        if padded:
            config = _padded_config(config, padded, estimate.micro_batch)
        whole = loader.prepare(config)
        names = _padded_names(configs, whole.config) if padded else None
        alike = neutral(configs)
        members = tuple(
            cohorts.member(entry, {**alike, **_own_sizes(entry.prepared.config, names)})
            for entry in every
        )
        planned.append(
            Cohort(
                tuple(group),
                members[: len(group)],
                whole.config,
                whole.problem,
                cohorts.program(whole, filled=True),
                f"{group[0].record.id}-{part}{number}",
                estimate,
                engine.most_steps(members, whole.problem.split(0)) if others else 0,
            )
        )
    return planned


def neutral(configs: Iterable[Any]) -> dict[str, float]:
    """Values that change nothing, under all names that a run of a sweep may have."""
    return {
        hyperparameter.name: hyperparameter.marker.neutral
        for config in configs
        for hyperparameter in markers.traced(config).values()
        if cohorts.fills(hyperparameter) and hyperparameter.marker.neutral is not None
    }


def _padded_config(config: Any, sizes: Mapping[str, int], micro_batch: int) -> Any:
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


def _padded_names(configs: Sequence[Any], whole: Any) -> list[str]:
    """Sizes of a model that some member has smaller than the program; others are compiled in."""
    return [
        name
        for name in markers.keys(whole.model, markers.RAGGED)
        if any(getattr(c.model, name) != getattr(whole.model, name) for c in configs)
    ]


def _own_sizes(config: Any, names: Iterable[str] | None) -> dict[str, float]:
    """What a member of a padded population has beside: these of its sizes, its batch size.

    Args:
      names: None: the population is not padded.
    """
    if names is None:
        return {}
    sizes = {name: float(getattr(config.model, name)) for name in names}
    return {**sizes, "batch_size": float(config.training.batch_size)}


@dataclasses.dataclass(frozen=True, eq=False)
class OpenProgram:
    """A program, and which trials can join a population of it.

    Attributes:
      config: of the program; sizes are those that it is padded to.
      text: of all that is compiled in, canonical JSON.
      names: of the traced values that all members have.
      neutral: of those that a trial may have none of, the values that change nothing.
      shape: what members are padded into; None: they have the sizes of `config`.
      sizes: of a model, that padded members have each of its own; None: none are padded.
      rows: of the smallest batches that a padded one has room for: of these an epoch has most.
    """

    config: Any
    problem: Problem
    text: str
    names: tuple[str, ...]
    neutral: Mapping[str, float]
    shape: ProgramShape | None = None
    sizes: Collection[str] | None = None
    rows: int = 0

    def takes(self, entry: Entry) -> bool:
        """Whether a trial can be a member."""
        if _names(self.member(entry)) != self.names:
            return False
        if self.shape is None:
            return cohorts.program(entry.prepared, filled=True) == self.text
        room = entry.prepared.config.training.batch_size >= self.rows
        return room and self.shape.holds(shape_of(entry.prepared))

    def member(self, entry: Entry) -> Member:
        """What is trained for a trial."""
        own = _own_sizes(entry.prepared.config, self.sizes)
        return cohorts.member(entry, {**self.neutral, **own})

    def operations(self, entry: Entry) -> float:
        """Of a training step for a row of a trial; 0 where members are not padded."""
        return 0.0 if self.shape is None else self.shape.operations(shape_of(entry.prepared))

    def cohort(self, entries: Sequence[Entry], name: str) -> Cohort:
        """A cohort of trials that it takes, which others can join.

        Args:
          name: of its checkpoints.
        """
        members = tuple(map(self.member, entries))
        steps = 0
        if self.shape is not None:
            smallest = in_batches(entries[0], self.rows)
            steps = engine.most_steps([self.member(smallest)], self.problem.split(0))
        return Cohort(
            tuple(entries), members, self.config, self.problem, self.text, name, steps=steps
        )


def open_program(entry: Entry, others: Mapping[str, float]) -> OpenProgram:
    """The program of a trial at its own size.

    Args:
      others: values of other trials of the study that change nothing, as of `neutral`.
    """
    own, known = entry.prepared, {**others, **neutral([entry.prepared.config])}
    text, names = cohorts.program(own, filled=True), _names(cohorts.member(entry, known))
    return OpenProgram(own.config, own.problem, text, names, known)


def open_padded(
    shape: ProgramShape,
    micro_batch: int,
    sample: Sequence[Entry],
    loader: prepared.Loader,
    others: Mapping[str, float],
    sizes: Collection[str],
    rows: int,
) -> OpenProgram:
    """The program that trials are padded into.

    Args:
      sample: trials that fit in.
      others: as of `open_program`.
      sizes: of a model, that trials of the study may differ in.
      rows: of the smallest batches.
    """
    configs = [entry.prepared.config for entry in sample]
    whole = loader.prepare(_padded_config(configs[0], shape.sizes(), micro_batch))
    names = sorted({*sizes, *_padded_names(configs, whole.config)})
    text = cohorts.program(whole, filled=True)
    program = OpenProgram(whole.config, whole.problem, text, (), others, shape, names, rows)
    return dataclasses.replace(program, names=_names(program.member(sample[0])))


def in_batches(entry: Entry, rows: int) -> Entry:
    """A trial with batches of so many rows."""
    config = entry.prepared.config
    training = dataclasses.replace(config.training, batch_size=rows)
    config = dataclasses.replace(config, training=training)
    return dataclasses.replace(entry, prepared=entry.prepared._replace(config=config))


def _names(who: Member) -> tuple[str, ...]:
    return tuple(name for name, _ in who.hparams)
