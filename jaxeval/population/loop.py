"""Trains a population to its end: epochs, records, checkpoints.

A checkpoint is the file FOLDER/EPOCHS.npz of arrays, written in the background. They are copied
before: the next epoch overwrites them (donation), and on a CPU a device array shares the memory of
its host view.
"""

import dataclasses
import json
import shutil
import sys
from collections.abc import Callable, Generator, Sequence
from concurrent import futures
from pathlib import Path

import jax
import numpy as np

from jaxeval import files
from jaxeval.contracts import Tree
from jaxeval.errors import DataError, RunError, parsing
from jaxeval.population import member, slots
from jaxeval.population.engine import Compiling
from jaxeval.population.host import Population, Report, Snapshot

_SNAPSHOTS = 2  # the older one serves if the newer one is damaged


def train(
    population: Population,
    folder: Path,
    record: Callable[[Report], None],
    resumed: Callable[[Sequence[slots.Slot]], None] = lambda restored: None,
) -> Generator[Compiling | Report, None, None]:
    """Trains all members; yields compilations, then a report after every epoch of the population.

    Closing the generator early saves the state; after an exception in `record` the epoch repeats.

    Args:
      folder: of checkpoints, from which training resumes; removed at the end, but for a pause.
      record: stores a report durably, before its state is checkpointed: after a kill, epochs are
        repeated and equal records rewritten.
      resumed: called with the slots of a checkpoint; may raise.
    """
    saved = _Checkpoints(folder)
    try:
        snapshot = saved.restore(population.state)
        if snapshot is not None:
            population.restore(snapshot)
            resumed(population.slots)
        yield from population.compile()
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
            paused = any(end.status == "paused" for end in report.ended)
            if paused or population.epochs % population.problem.training.checkpoint_every == 0:
                saved.save(population.snapshot())
            if paused:
                return
        saved.remove()
    finally:
        saved.wait()


class _Checkpoints:
    """The checkpoints of one cohort."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._written: futures.Future[None] | None = None

    def _each(self) -> list[Path]:
        """The files of all checkpoints, the oldest one first."""
        return sorted(self.folder.glob("[0-9]*.npz"), key=lambda path: int(path.stem))

    def save(self, snapshot: Snapshot) -> None:
        """Starts writing a snapshot. Raises RunError if the previous one could not be written."""
        if jax.process_index():  # the first process writes for all
            return
        self.wait()
        leaves = [np.array(leaf) for leaf in jax.tree.leaves(snapshot.state)]
        each = json.dumps([dataclasses.asdict(slot) for slot in snapshot.slots])
        pool = futures.ThreadPoolExecutor(1)
        self._written = pool.submit(self._write, snapshot.number, leaves, each)
        pool.shutdown(wait=False)

    def _write(self, number: int, leaves: Sequence[np.ndarray], each: str) -> None:
        with files.replacing(self.folder / f"{number}.npz", "wb") as stream:
            np.savez(stream, *leaves, slots=np.array(each), allow_pickle=False)
        for old in self._each()[:-_SNAPSHOTS]:
            old.unlink(missing_ok=True)

    def restore(self, like: Tree) -> Snapshot | None:
        """Returns the newest readable snapshot, or None if there is none at all.

        Newer ones that cannot be read are named on stderr and removed. `like` is a state of the
        same program with any number of lanes. Raises RunError if no snapshot can be read, or if it
        is of another model.
        """
        shapes = [leaf.shape[1:] for leaf in jax.tree.leaves(like)]
        damaged: list[Path] = []
        for path in reversed(self._each()):
            try:
                stored = member.read_arrays(path)
                with parsing("no slots", path):
                    each = [*map(slots.Slot.from_json, json.loads(str(stored.pop("slots"))))]
            except DataError as error:
                damaged.append(path)
                print(f"warning: checkpoint {error}", file=sys.stderr)
                continue
            if [leaf.shape[1:] for leaf in stored.values()] != shapes:
                break
            for newer in damaged:
                newer.unlink(missing_ok=True)
            state = jax.tree.unflatten(jax.tree.structure(like), [*stored.values()])
            return Snapshot(int(path.stem), state, each)
        if not self._each():
            return None
        raise RunError(
            f"no checkpoint of this model in {self.folder} can be read; remove that folder to "
            "train its members from their first epoch"
        )

    def wait(self) -> None:
        """Waits until everything is on disk. Raises RunError if it could not be written."""
        written, self._written = self._written, None
        try:
            if written is not None:
                written.result()
        except RunError as error:
            then = "what is recorded is kept: make room and run the same command again"
            raise RunError(f"checkpoint {error}; {then}") from None

    def remove(self) -> None:
        """Deletes the folder."""
        self.wait()
        if not jax.process_index():
            shutil.rmtree(self.folder, ignore_errors=True)
