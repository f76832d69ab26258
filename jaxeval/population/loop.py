"""Trains a population to its end: epochs, records, checkpoints.

Orbax writes checkpoints in the background: FOLDER/EPOCHS. Arrays are copied before they are handed
over: the next epoch overwrites them (donation), and on a CPU a device array shares the memory of
its host view. Orbax is imported with the first checkpoint: that takes longer than short trainings.
"""

import contextlib
import dataclasses
import functools
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import numpy as np

from jaxeval.contracts import Tree
from jaxeval.errors import RunError
from jaxeval.population import lanes, slots
from jaxeval.population.engine import Compiling
from jaxeval.population.host import Population, Report, Snapshot

if TYPE_CHECKING:
    import orbax.checkpoint as ocp

_SNAPSHOTS = 2  # the older one serves if the newer one is damaged
_SECONDS = 1.0  # least time between them: each takes some hundredths


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
        last = time.monotonic()
        every = population.problem.training.checkpoint_every
        while population.arrange():
            report = population.epoch()
            record(report)
            goes_on = bool(report.waiting) or any(slot.active for slot in report.slots)
            try:
                yield report
            except GeneratorExit:
                if goes_on:
                    saved.save(population.snapshot())
                else:
                    saved.remove()
                raise
            paused = any(end.status == "paused" for end in report.ended)
            due = goes_on and population.epochs % every == 0
            if paused or (due and _over(last + _SECONDS)):
                saved.save(population.snapshot())
                last = time.monotonic()
            if paused:
                return
        saved.remove()
    finally:
        saved.close()


def _over(end: float) -> bool:
    """True after a moment of the first process's clock: all processes save together."""
    return lanes.from_first_process([time.monotonic() >= end])[0]


class _Checkpoints:
    """The checkpoints of one cohort."""

    def __init__(self, folder: Path):
        self.folder, self._closing = folder.absolute(), contextlib.ExitStack()

    @functools.cached_property
    def _manager(self) -> "ocp.CheckpointManager":
        import orbax.checkpoint as ocp

        self._closing.enter_context(_quiet())
        self.folder.mkdir(parents=True, exist_ok=True)
        # each process of a population reads for itself; only the first one writes
        own = jax.process_index()
        active = {own} if jax.process_count() > 1 else None
        alone = ocp.options.MultiprocessingOptions(primary_host=own, active_processes=active)
        options = ocp.CheckpointManagerOptions(
            max_to_keep=_SNAPSHOTS, create=False, multiprocessing_options=alone
        )
        manager = ocp.CheckpointManager(self.folder, options=options)
        self._closing.callback(manager.close)
        self._closing.callback(manager.wait_until_finished)
        return manager

    def save(self, snapshot: Snapshot) -> None:
        """Starts writing a snapshot. Raises RunError if the previous one could not be written."""
        if jax.process_index():
            return
        import orbax.checkpoint as ocp

        leaves = [np.array(leaf) for leaf in jax.tree.leaves(snapshot.state)]
        each = [dataclasses.asdict(slot) for slot in snapshot.slots]
        args = {"state": ocp.args.StandardSave(leaves), "slots": ocp.args.JsonSave(each)}
        with self._explained():
            self._manager.save(snapshot.number, args=ocp.args.Composite(**args), force=True)

    def restore(self, like: Tree) -> Snapshot | None:
        """Returns the newest readable snapshot, or None if there is none at all.

        Newer ones that cannot be read are named on stderr and removed. `like` is a state of the
        same program with any number of lanes. Raises RunError if no snapshot can be read, or if it
        is of another model.
        """
        if not self.folder.exists():
            return None
        import orbax.checkpoint as ocp

        args = {"state": ocp.args.StandardRestore(), "slots": ocp.args.JsonRestore()}
        shapes = [leaf.shape[1:] for leaf in jax.tree.leaves(like)]
        damaged: list[Path] = []
        for number in sorted(self._manager.all_steps(), reverse=True):
            try:
                stored = self._manager.restore(number, args=ocp.args.Composite(**args))
                each = [slots.Slot.from_json(slot) for slot in stored["slots"]]
            except Exception as error:  # the readers of several formats raise a dozen kinds
                damaged.append(self.folder / str(number))
                shown = f"warning: checkpoint {damaged[-1]} cannot be read ({_reason(error)})"
                print(shown, file=sys.stderr)
                continue
            if [leaf.shape[1:] for leaf in stored["state"]] != shapes:
                break
            for path in damaged:
                shutil.rmtree(path, ignore_errors=True)
            self._manager.reload()
            state = jax.tree.unflatten(jax.tree.structure(like), stored["state"])
            return Snapshot(number, state, each)
        if not self._manager.all_steps():
            return None
        raise RunError(
            f"no checkpoint of this model in {self.folder} can be read; remove that folder to "
            "train its members from their first epoch"
        )

    def close(self) -> None:
        """Waits until everything is on disk. Raises RunError if it could not be written."""
        with self._explained():
            self._closing.close()

    def remove(self) -> None:
        """Closes and deletes the folder."""
        self.close()
        if not jax.process_index():
            shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            raise RunError(
                f"no checkpoint could be written to {self.folder} ({_reason(error)}); what is "
                "recorded is kept: make room and run the same command again"
            ) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps Orbax's own messages off stderr: its threads print errors before they are raised.

    If one array cannot be read or written, the threads of others meet a closed event loop.
    """
    logger = logging.getLogger("absl")
    before = sys.unraisablehook

    def is_foreign(record: logging.LogRecord) -> bool:
        return "orbax" not in Path(record.pathname).parts

    def hook(unraisable: "sys.UnraisableHookArgs") -> None:
        if str(unraisable.exc_value) != "Event loop is closed":
            before(unraisable)

    logger.addFilter(is_foreign)
    sys.unraisablehook = hook
    try:
        yield
    finally:
        logger.removeFilter(is_foreign)
        sys.unraisablehook = before


def _reason(error: Exception) -> str:
    """Shortens an error of Orbax, to that of the operating system if it names a code."""
    code = re.search(r"os_error_code='(\d+)'", str(error))
    return os.strerror(int(code[1])) if code else str(error).partition("\n")[0][:200]
