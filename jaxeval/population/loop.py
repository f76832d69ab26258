"""Trains a population to its end: epochs, records, checkpoints."""

import concurrent.futures
import queue
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import jax

from jaxeval.contracts import Member
from jaxeval.population import checkpoints, host, slots
from jaxeval.population.host import Feed, Population, Programs, Report
from jaxeval.population.member import Problem


class Compilation(NamedTuple):
    """A program is compiled now (seconds None), or has been."""

    program: str
    seconds: float | None


def train(
    problem: Problem,
    members: Sequence[Member],
    folder: Path,
    record: Callable[[Report], None],
    count: int,
    devices: Sequence[jax.Device] | None = None,
    resumed: Callable[[Sequence[slots.Slot]], None] = lambda restored: None,
    programs: Programs | None = None,
    count_rows: bool = False,
    feed: Feed = host.CLOSED,
    steps: int = 0,
) -> Generator[Compilation | Report, None, None]:
    """Trains all members; yields what is compiled, then after every epoch of the population.

    Closing the generator early saves the state; an exception in `record` does not, so that the
    epoch is repeated.

    Args:
      members: all different.
      folder: of the checkpoints; resumed from if there are any, removed when all is done.
      record: makes a report's records safe. It is called before the state they belong to is
        checkpointed: a killed process at worst repeats epochs and rewrites equal records.
      count: lanes, rounded up to a multiple of the devices. Under `vmap` the width can change last
        bits: a resumed population must have the width it began with.
      resumed: is called with those who go on from a checkpoint; may raise.
      programs: of populations of the same problem: those that fit are used, new ones are added.
      count_rows: reports hold what members that end count in each row of dev and test.
      steps: of an epoch that programs have room for at least, where members have batch sizes of
        their own.
    """
    if not members:
        return
    population = Population(problem, members, count, devices, programs, count_rows, feed, steps)
    saved = checkpoints.Checkpoints(folder)
    try:
        snapshot = saved.restore(population.state)
        if snapshot is not None:
            population.restore(snapshot)
            resumed(population.slots)
        yield from _compilations(population)
        while population.arrange():
            report = population.epoch()
            record(report)
            try:
                yield report
            except GeneratorExit:
                if report.waiting or any(slot.active for slot in report.slots):
                    saved.save(population.snapshot())
                else:
                    saved.remove()
                raise
            if population.epochs % problem.training.checkpoint_every == 0:
                saved.save(population.snapshot())
        saved.remove()
    finally:
        saved.close()


def _compilations(population: Population) -> Iterator[Compilation]:
    """Tells of compilations while they go on in other threads."""
    events: queue.SimpleQueue[Compilation | None] = queue.SimpleQueue()
    pool = concurrent.futures.ThreadPoolExecutor(1)
    compiling = pool.submit(population.compile, lambda *event: events.put(Compilation(*event)))
    compiling.add_done_callback(lambda _: events.put(None))
    pool.shutdown(wait=False)  # a signal need not wait for what runs
    yield from iter(events.get, None)
    compiling.result()
