"""The programs of a whole search, chosen before its first batch, so that later ones compile none.

A search proposes settings batch by batch. Were a population padded to the largest sizes of its own
batch, nearly each would be compiled anew. So the cost model is asked once, for a sample of the
space that stands for all settings of the search: its cohorts weigh arithmetic wasted on padding
against seconds of compiling, and their sizes are the shape buckets that every batch is padded to.
"""

import dataclasses
import itertools
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, cast

from jaxeval.space import space as spaces
from jaxeval.space.distributions import Choices, Distribution, Value
from jaxeval.space.space import Space
from jaxeval.studies import costs, padding
from jaxeval.studies.cohorts import Entry
from jaxeval.studies.costs import Estimate, Job, Machine
from jaxeval.studies.padding import ProgramShape

SAMPLE = 64  # settings


class ShapeBucket(NamedTuple):
    """A program that settings are padded into."""

    shape: ProgramShape  # what its arrays hold
    micro_batch: int  # rows that are computed at once
    entries: tuple[Entry, ...]  # of the sample, in the smallest batches: they fit in


def settings(
    space: Space, ragged: Collection[str]
) -> tuple[list[dict[str, Value]], list[dict[str, Value]]]:
    """Values of a sample as a sweep draws it; then the same at the largest sizes.

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


def smallest_batch(space: Space, buckets: Sequence[ShapeBucket]) -> int:
    """Rows of the smallest batch that a setting of a space can have; a sample need not hold it."""
    entries = [entry for bucket in buckets for entry in bucket.entries]
    rows = [entry.prepared.config.training.batch_size for entry in entries]
    for parameter in space.parameters:
        if parameter.key == "training.batch_size":
            rows += [v for v in _ends(parameter.distribution) if isinstance(v, int) and v > 0]
    return min(rows, default=1)


def _ends(distribution: Distribution) -> Sequence[Any]:
    """Among them the smallest and the largest value."""
    if isinstance(distribution, Choices):
        return distribution.values
    return [distribution.at(0.0), distribution.at(1.0 - 1e-12)]


def choose(
    drawn: Sequence[Entry],
    largest: Sequence[Entry],
    sizes: Sequence[int],
    machine: Machine,
    trainings: int,
) -> list[ShapeBucket]:
    """The buckets of a search of so many trainings; `drawn`, `largest`: as of `settings`."""
    distinct = dict(zip((job.shape for job in padding.jobs(largest)), largest, strict=True))
    entries, count = [*drawn, *distinct.values()], len(drawn)
    # the largest are there to be held: they stand for nothing that is trained
    jobs = padding.jobs(entries)
    jobs[count:] = [job._replace(epochs=1, evaluated=0) for job in jobs[count:]]
    of_sample = machine.compile_seconds * count / max(trainings, 1)
    scaled = dataclasses.replace(machine, compile_seconds=of_sample)
    rows = min((job.batch_size for job in jobs), default=1)
    chosen = []
    for estimate in costs.plan(jobs, sizes, scaled):
        held = tuple(padding.in_batches(entries[k], rows) for k in estimate.jobs)
        chosen.append(ShapeBucket(cast(ProgramShape, estimate.shape), estimate.micro_batch, held))
    return chosen


def place(
    buckets: Sequence[ShapeBucket], jobs: Sequence[Job], sizes: Sequence[int], machine: Machine
) -> list[tuple[Estimate, Sequence[Entry]]]:
    """A batch in populations, each with the sample's entries that its program has room for.

    A trial goes to the bucket of the least arithmetic that holds it; those that none holds are
    grouped by themselves. All of a bucket's trials move to another one as long as that saves time:
    populations are trained one after the other, and of several devices some would idle in each.
    """
    groups: dict[int, list[int]] = {}
    unheld = []
    for number, job in enumerate(jobs):
        own = cast(ProgramShape, job.shape)
        holding = [k for k, bucket in enumerate(buckets) if bucket.shape.holds(own)]
        if holding:
            best = min(holding, key=lambda k: buckets[k].shape.operations(own))
            groups.setdefault(best, []).append(number)
        else:
            unheld.append(number)

    def estimate(k: int, numbers: Sequence[int]) -> Estimate:
        shapes, rows = [buckets[k].shape], [buckets[k].micro_batch]
        return costs.as_grouped(jobs, sizes, machine, [numbers], rows, shapes)[0]

    while True:
        saved = {
            (a, b): estimate(a, groups[a]).seconds
            + estimate(b, groups[b]).seconds
            - estimate(b, groups[a] + groups[b]).seconds
            for a, b in itertools.permutations(groups, 2)
            if buckets[b].shape.holds(buckets[a].shape)
        }
        if not saved or max(saved.values()) <= 0:
            break
        gone, larger = max(saved, key=lambda pair: saved[pair])
        groups[larger] = sorted([*groups[larger], *groups.pop(gone)])
    placed: list[tuple[Estimate, Sequence[Entry]]] = [
        (estimate(k, numbers), buckets[k].entries) for k, numbers in groups.items()
    ]
    for alone in costs.plan([jobs[number] for number in unheld], sizes, machine):
        placed.append((alone._replace(jobs=tuple(unheld[n] for n in alone.jobs)), ()))
    return sorted(placed, key=lambda pair: pair[0].jobs)
