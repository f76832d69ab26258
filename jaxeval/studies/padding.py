"""Members of several sizes in one program: padded to the sizes that it holds."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from jaxeval.config import fields
from jaxeval.contracts import Member
from jaxeval.population import engine
from jaxeval.population.member import Problem
from jaxeval.studies import cohorts, costs, prepared
from jaxeval.studies.cohorts import Cohort, Entry


@dataclasses.dataclass(frozen=True)
class ProgramShape:
    """What a program must hold: a `costs.Shape` with all else that its members share.

    Where `member_sizes` is None, `program` says all and nothing is known of operations.
    """

    program: str  # canonical JSON of what is compiled in
    member_sizes: Any  # of a task whose members may differ in size

    def joined(self, other: "ProgramShape") -> "ProgramShape | None":
        """What holds both; None: they cannot share a program."""
        if self.program != other.program or self.member_sizes is None:
            return self if self.program == other.program else None
        both = self.member_sizes.joined(other.member_sizes)
        return both and dataclasses.replace(self, member_sizes=both)

    def holds(self, other: "ProgramShape") -> bool:
        """Whether a member of this shape can be padded into the program as it is."""
        both = self.joined(other)
        return both is not None and both.sizes() == self.sizes()

    def sizes(self) -> Mapping[str, int]:
        """Of the model, by key."""
        return {} if self.member_sizes is None else self.member_sizes.sizes()

    def operations(self, own: "ProgramShape") -> float:
        """Of a training step for a row of a trial of shape `own`."""
        return 0.0 if self.member_sizes is None else self.member_sizes.operations(own.member_sizes)

    def parameters(self) -> int:
        """Numbers of a member."""
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
    for own in [entry.prepared for entry in each]:
        of, split = own.config.training, own.source.split(0)
        dev, test = (sum(map(len, rows)) for rows in (split.dev, split.test))
        evaluated = -(-of.epochs // of.evaluate_every) * dev + test
        known.append(costs.Job(shape_of(own), of.batch_size, of.epochs, evaluated))
    return known


def bucket_sizes(own: prepared.Prepared) -> list[int]:
    """Train rows of each bucket of the corpus."""
    return [len(rows) for rows in own.source.split(0).train]


def neutral(configs: Iterable[Any]) -> dict[str, float]:
    """Values that change nothing, under all names that a run of a sweep may have."""
    return {
        hyperparameter.name: hyperparameter.marker.neutral
        for config in configs
        for hyperparameter in fields.traced(config).values()
        if cohorts.fills(hyperparameter) and hyperparameter.marker.neutral is not None
    }


@dataclasses.dataclass(frozen=True, eq=False)
class OpenProgram:
    """A program, and which trials can join a population of it."""

    config: Any  # of the program; sizes are those that it is padded to
    problem: Problem
    text: str  # of all that is compiled in, canonical JSON
    names: tuple[str, ...]  # of the traced values that all members have
    neutral: Mapping[str, float]  # of those that a trial may have none of: they change nothing
    shape: ProgramShape | None = None  # what members are padded into; None: they have its sizes
    sizes: Collection[str] = ()  # of a model, that padded members have each of its own
    rows: int = 0  # of the smallest batches that a padded one has room for

    def takes(self, entry: Entry) -> bool:
        """Whether a trial can be a member."""
        if _names(self.member(entry)) != self.names:
            return False
        if self.shape is None:
            return cohorts.program(entry.prepared, filled=True) == self.text
        room = entry.prepared.config.training.batch_size >= self.rows
        return room and self.shape.holds(shape_of(entry.prepared))

    def member(self, entry: Entry) -> Member:
        """What is trained for a trial; of a padded one its sizes and batch size are traced."""
        own, config = dict(self.neutral), entry.prepared.config
        if self.shape is not None:
            own |= {name: float(getattr(config.model, name)) for name in self.sizes}
            own["batch_size"] = float(config.training.batch_size)
        return cohorts.member(entry, own)

    def operations(self, entry: Entry) -> float:
        """Of a training step for a row of a trial; 0 where members are not padded."""
        return 0.0 if self.shape is None else self.shape.operations(shape_of(entry.prepared))

    def cohort(self, entries: Sequence[Entry], name: str) -> Cohort:
        """A cohort of trials that it takes, which others can join; `name`: of its checkpoints."""
        members, steps = tuple(map(self.member, entries)), 0
        if self.rows:
            smallest = self.member(in_batches(entries[0], self.rows))
            steps = engine.most_steps([smallest], self.problem.split(0))
        return Cohort(
            tuple(entries), members, self.config, self.problem, self.text, name, steps=steps
        )


def open_program(entry: Entry, others: Mapping[str, float]) -> OpenProgram:
    """The program of a trial at its own size; `others`: as of `neutral`, of the whole study."""
    own, known = entry.prepared, {**others, **neutral([entry.prepared.config])}
    text, names = cohorts.program(own, filled=True), _names(cohorts.member(entry, known))
    return OpenProgram(own.config, own.problem, text, names, known)


def open_padded(
    shape: ProgramShape,
    micro_batch: int,
    sample: Sequence[Entry],
    loader: prepared.Loader,
    others: Mapping[str, float],
    sizes: Collection[str] = (),
    rows: int = 0,
) -> OpenProgram:
    """The program that trials are padded into.

    Unless the config says otherwise, members of several sizes are computed one after the other on
    accelerators too: under `vmap` each would wait for the one with the most rows and steps.

    Args:
      sample: trials that fit in.
      sizes: keys of the model in which trials may differ, beside those of the sample.
      rows: of the smallest batches; 0: those of the sample.
    """
    configs = [entry.prepared.config for entry in sample]
    of = configs[0].training
    mode = "map" if of.lane_mode == "auto" else of.lane_mode
    batches = {"batch_size": micro_batch, "micro_batch": micro_batch, "lane_mode": mode}
    model = dataclasses.replace(configs[0].model, **shape.sizes())
    training = dataclasses.replace(of, **batches)
    whole = loader.prepare(dataclasses.replace(configs[0], model=model, training=training))
    smaller = {  # than the program, in some member; other sizes are compiled in
        name
        for name in fields.keys(whole.config.model, fields.RAGGED)
        if any(getattr(c.model, name) != getattr(whole.config.model, name) for c in configs)
    }
    text, names = cohorts.program(whole, filled=True), sorted({*sizes, *smaller})
    program = OpenProgram(whole.config, whole.problem, text, (), others, shape, names, rows)
    return dataclasses.replace(program, names=_names(program.member(sample[0])))


def by_estimates(
    each: Sequence[Entry],
    estimates: Sequence[costs.Estimate],
    loader: prepared.Loader,
    part: str = "",
    others: Sequence[Sequence[Entry]] = (),
) -> list[Cohort]:
    """The cohorts that a cost model proposes, padded to the sizes of its shapes.

    Args:
      part: for names of checkpoints, where an experiment is planned in parts.
      others: for each estimate, trials that its program has room for beside its own.
    """
    planned = []
    for number, estimate in enumerate(estimates):
        group = [each[k] for k in estimate.jobs]
        every = [*group, *(others[number] if others else ())]
        alike = neutral(entry.prepared.config for entry in every)
        if estimate.shape.sizes():
            shape: Any = estimate.shape
            program = open_padded(shape, estimate.micro_batch, every, loader, alike)
        else:
            program = open_program(every[0], alike)
        cohort = program.cohort(group, f"{group[0].record.id}-{part}{number}")
        members = map(program.member, every) if others else ()
        steps = engine.most_steps([*members], program.problem.split(0))
        planned.append(cohort._replace(estimate=estimate, steps=steps))
    return planned


def in_batches(entry: Entry, rows: int) -> Entry:
    """A trial with batches of so many rows."""
    config = entry.prepared.config
    training = dataclasses.replace(config.training, batch_size=rows)
    config = dataclasses.replace(config, training=training)
    return dataclasses.replace(entry, prepared=entry.prepared._replace(config=config))


def _names(who: Member) -> tuple[str, ...]:
    return tuple(name for name, _ in who.hparams)
