"""Members of several sizes in one program, padded to the sizes that it holds.

A search proposes settings batch by batch. If a population were padded to the largest sizes of its
own batch, nearly every one would be compiled anew. So the programs of a whole search are chosen
before its first batch: the cost model is asked once, for a sample of the space, and the sizes of
its cohorts are the shape buckets that every batch is padded to.
"""

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from jaxeval import space as spaces
from jaxeval.config import fields
from jaxeval.contracts import Member
from jaxeval.population import engine
from jaxeval.population.member import Problem
from jaxeval.space import Space
from jaxeval.space.distributions import Choices, Distribution, Value
from jaxeval.studies import cohorts, costs, prepared
from jaxeval.studies.cohorts import Cohort, Entry, shape_of
from jaxeval.studies.costs import Estimate, Job, Machine, Shape

SAMPLE = 64  # settings
_Bucket = tuple[Shape, int]  # what settings are padded to, and rows that are computed at once


def jobs(each: Iterable[Entry]) -> list[Job]:
    """Returns what the cost model knows of trials."""
    known = []
    for own in [entry.prepared for entry in each]:
        training = own.config.training
        split = own.data.split(0)
        dev, test = (sum(map(len, rows)) for rows in (split.dev, split.test))
        evaluated = -(-training.epochs // training.evaluate_every) * dev + test
        known.append(Job(shape_of(own), training.batch_size, training.epochs, evaluated))
    return known


def neutral(configs: Iterable[Any]) -> dict[str, float]:
    """Returns neutral values under all names that a run of a sweep may have."""
    return {
        hyperparameter.name: hyperparameter.marker.neutral
        for config in configs
        for hyperparameter in fields.traced(config).values()
        if cohorts.fills(hyperparameter) and hyperparameter.marker.neutral is not None
    }


@dataclasses.dataclass(frozen=True, eq=False)
class OpenProgram:
    """A program, and the test of which trials can join a population of it."""

    config: Any  # of the program, with the sizes that members are padded to
    problem: Problem
    text: str  # canonical JSON of all that is compiled in
    names: tuple[str, ...]  # of the traced values that all members have
    neutral: Mapping[str, float]  # of those that a trial may lack
    shape: Shape | None = None  # None: members have the program's sizes
    sizes: Collection[str] = ()  # keys of the model in which padded members differ
    rows: int = 0  # of the smallest batches that a padded program has room for

    def takes(self, entry: Entry) -> bool:
        """True if a trial can be a member."""
        if _names(self.member(entry)) != self.names:
            return False
        if self.shape is None:
            return cohorts.program(entry.prepared, filled=True) == self.text
        room = entry.prepared.config.training.batch_size >= self.rows
        return room and self.shape.holds(shape_of(entry.prepared))

    def member(self, entry: Entry) -> Member:
        """Returns a trial's member; if padded, its sizes and batch size are traced."""
        own = dict(self.neutral)
        config = entry.prepared.config
        if self.shape is not None:
            own |= {name: float(getattr(config.model, name)) for name in self.sizes}
            own["batch_size"] = float(config.training.batch_size)
        return cohorts.member(entry, own)

    def operations(self, entry: Entry) -> float:
        """Operations of a training step, per row of a trial; 0 if members are not padded."""
        return 0.0 if self.shape is None else self.shape.operations(shape_of(entry.prepared))

    def cohort(self, entries: Sequence[Entry], name: str) -> Cohort:
        """Returns a cohort of trials, which others can join; `name` is that of its checkpoints."""
        members = tuple(map(self.member, entries))
        steps = 0
        if self.rows:
            smallest = self.member(_in_batches(entries[0], self.rows))
            steps = engine.most_steps([smallest], self.problem.split(0))
        return Cohort(
            tuple(entries),
            members,
            self.config,
            self.problem,
            self.text,
            name,
            steps=steps,
            filled=True,
        )


def open_program(entry: Entry, others: Mapping[str, float]) -> OpenProgram:
    """Returns the program of a trial's own size; `others`: `neutral` values of the whole study."""
    own = entry.prepared
    known = {**others, **neutral([entry.prepared.config])}
    text = cohorts.program(own, filled=True)
    names = _names(cohorts.member(entry, known))
    return OpenProgram(own.config, own.problem, text, names, known)


def open_padded(
    shape: Shape,
    micro_batch: int,
    sample: Sequence[Entry],
    loader: prepared.Loader,
    others: Mapping[str, float],
    sizes: Collection[str] = (),
    rows: int = 0,
) -> OpenProgram:
    """Returns the program that trials are padded into.

    Unless the config says otherwise, members of several sizes run one after the other on
    accelerators too: under `vmap` each would wait for the one with the most rows and steps.

    Args:
      sample: trials that fit in.
      sizes: keys of the model in which trials may differ, in addition to those of the sample.
      rows: of the smallest batches; 0: those of the sample.
    """
    configs = [entry.prepared.config for entry in sample]
    own = configs[0].training
    mode = "map" if own.lane_mode == "auto" else own.lane_mode
    batches = {"batch_size": micro_batch, "micro_batch": micro_batch, "lane_mode": mode}
    model = dataclasses.replace(configs[0].model, **shape.sizes())
    training = dataclasses.replace(own, **batches)
    whole = loader.prepare(dataclasses.replace(configs[0], model=model, training=training))
    smaller = {  # than the program, in some member; other sizes are compiled in
        name
        for name in fields.keys(whole.config.model, fields.RAGGED)
        if any(getattr(c.model, name) != getattr(whole.config.model, name) for c in configs)
    }
    text = cohorts.program(whole, filled=True)
    names = sorted({*sizes, *smaller})
    program = OpenProgram(whole.config, whole.problem, text, (), others, shape, names, rows)
    return dataclasses.replace(program, names=_names(program.member(sample[0])))


def by_estimates(
    each: Sequence[Entry], estimates: Sequence[Estimate], loader: prepared.Loader
) -> list[Cohort]:
    """Returns the cohorts of a cost model's estimates, padded to the sizes of their shapes."""
    planned = []
    for number, estimate in enumerate(estimates):
        group = [each[k] for k in estimate.jobs]
        alike = neutral(entry.prepared.config for entry in group)
        if estimate.shape.sizes():
            shape, micro_batch = estimate.shape, estimate.micro_batch
            program = open_padded(shape, micro_batch, group, loader, alike)
        else:
            program = open_program(group[0], alike)
        cohort = program.cohort(group, f"{group[0].record.id}-{number}")
        planned.append(cohort._replace(estimate=estimate))
    return planned


def _in_batches(entry: Entry, rows: int) -> Entry:
    """Returns a trial with another batch size."""
    config = entry.prepared.config
    training = dataclasses.replace(config.training, batch_size=rows)
    config = dataclasses.replace(config, training=training)
    return dataclasses.replace(entry, prepared=entry.prepared._replace(config=config))


def _names(who: Member) -> tuple[str, ...]:
    return tuple(name for name, _ in who.hparams)


def sample(
    space: Space, ragged: Collection[str]
) -> tuple[list[dict[str, Value]], list[dict[str, Value]]]:
    """Draws settings as a sweep does; also returns them with the largest sizes.

    `ragged`: keys of sizes, such as "model.hidden".
    """
    largest = {
        parameter.name: max(_ends(parameter.distribution))  # numbers, or texts: no config
        for parameter in space.parameters
        if parameter.key in ragged
    }
    drawn = [spaces.draw(space, 0, run) for run in range(SAMPLE)]
    return drawn, [
        {name: largest.get(name, value) for name, value in values.items()} for values in drawn
    ]


def smallest_batch(space: Space, entries: Iterable[Entry]) -> int:
    """Returns the rows of the smallest batch of any setting; the sample may lack it."""
    rows = [entry.prepared.config.training.batch_size for entry in entries]
    for parameter in space.parameters:
        if parameter.key == "training.batch_size":
            rows += [v for v in _ends(parameter.distribution) if isinstance(v, int) and v > 0]
    return min(rows, default=1)


def _ends(distribution: Distribution) -> Sequence[Any]:
    """Values with the smallest and the largest one among them."""
    if isinstance(distribution, Choices):
        return distribution.values
    return [distribution.at(0.0), distribution.at(1.0 - 1e-12)]


def choose_buckets(
    drawn: Sequence[Entry], largest: Sequence[Entry], machine: Machine, trainings: int
) -> list[tuple[_Bucket, list[Entry]]]:
    """Returns the buckets of a search of so many trainings, with the settings that chose them.

    Args:
      drawn, largest: of `sample`; those returned are in the smallest batches.
    """
    distinct = dict(zip((job.shape for job in jobs(largest)), largest, strict=True))
    entries = [*drawn, *distinct.values()]
    count = len(drawn)
    each = jobs(entries)
    # the largest must only fit: none of them is trained
    each[count:] = [job._replace(epochs=1, evaluated=0) for job in each[count:]]
    scaled = machine.compile_seconds * count / max(trainings, 1)  # to the sample
    rows = min((job.batch_size for job in each), default=1)
    chosen = []
    for e in costs.plan(each, dataclasses.replace(machine, compile_seconds=scaled)):
        held = [_in_batches(entries[k], rows) for k in e.jobs]
        chosen.append(((e.shape, e.micro_batch), held))
    return chosen


def place(buckets: Sequence[_Bucket], jobs: Sequence[Job], machine: Machine) -> list[Estimate]:
    """Returns the populations of a batch, by the buckets of a search.

    A trial goes to the bucket that holds it with the least arithmetic; those that fit into none
    are grouped by themselves. All of a bucket's trials move to another one as long as that saves
    time: populations run one after the other, and in each some devices may idle.
    """
    groups: dict[int, list[int]] = {}
    unheld = []
    for number, job in enumerate(jobs):
        holding = [k for k, (shape, _) in enumerate(buckets) if shape.holds(job.shape)]
        if holding:
            best = min(holding, key=lambda k: buckets[k][0].operations(job.shape))
            groups.setdefault(best, []).append(number)
        else:
            unheld.append(number)

    def estimate(k: int, numbers: Sequence[int]) -> Estimate:
        shape, rows = buckets[k]
        return costs.as_grouped(jobs, machine, [numbers], [rows], [shape])[0]

    while True:
        saved = {
            (a, b): estimate(a, groups[a]).seconds
            + estimate(b, groups[b]).seconds
            - estimate(b, groups[a] + groups[b]).seconds
            for a, b in itertools.permutations(groups, 2)
            if buckets[b][0].holds(buckets[a][0])
        }
        if not saved or max(saved.values()) <= 0:
            break
        gone, larger = max(saved, key=lambda pair: saved[pair])
        groups[larger] = sorted([*groups[larger], *groups.pop(gone)])
    placed = [estimate(k, numbers) for k, numbers in groups.items()]
    for alone in costs.plan([jobs[number] for number in unheld], machine):
        placed.append(alone._replace(jobs=tuple(unheld[n] for n in alone.jobs)))
    return sorted(placed, key=lambda e: e.jobs)
