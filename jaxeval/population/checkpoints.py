"""Checkpoints of a population, written by Orbax in the background: FOLDER/EPOCHS.

The arrays are copied before they are handed over: the next epoch overwrites them (donation), and
on a CPU a device array and its host view are the same memory.
"""

import contextlib
import dataclasses
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import orbax.checkpoint as ocp

from jaxeval.contracts import Tree
from jaxeval.errors import RunError
from jaxeval.population import slots

_SNAPSHOTS = 2  # the older one serves where the newer one is damaged


class Snapshot(NamedTuple):
    """A population between two epochs."""

    number: int  # epochs of the population so far
    state: Tree  # numpy leaves [S, ...]
    slots: Sequence[slots.Slot]


class Checkpoints:
    """The checkpoints of one cohort."""

    def __init__(self, folder: Path):
        self.folder = folder.absolute()
        with contextlib.ExitStack() as closing:
            closing.enter_context(_quiet())
            options = ocp.CheckpointManagerOptions(max_to_keep=_SNAPSHOTS, create=True)
            self._manager = ocp.CheckpointManager(self.folder, options=options)
            closing.callback(self._manager.close)
            closing.callback(self._manager.wait_until_finished)
            self._closing = closing.pop_all()

    def save(self, snapshot: Snapshot) -> None:
        """Starts to write a snapshot; RunError: the one before could not be written."""
        leaves = [np.array(leaf) for leaf in jax.tree.leaves(snapshot.state)]
        each = [dataclasses.asdict(slot) for slot in snapshot.slots]
        args = {"state": ocp.args.StandardSave(leaves), "slots": ocp.args.JsonSave(each)}
        with self._explained():
            self._manager.save(snapshot.number, args=ocp.args.Composite(**args), force=True)

    def restore(self, like: Tree) -> Snapshot | None:
        """The newest snapshot that can be read, or None if there are none.

        A newer one that cannot be read is named on stderr and removed. `like`: a state of the same
        program and any number of lanes. Raises RunError: none can be read, or of another model.
        """
        args = {"state": ocp.args.StandardRestore(), "slots": ocp.args.JsonRestore()}
        shapes = [leaf.shape[1:] for leaf in jax.tree.leaves(like)]
        damaged: list[Path] = []
        for number in sorted(self._manager.all_steps(), reverse=True):
            try:
                stored = self._manager.restore(number, args=ocp.args.Composite(**args))
                each = [slots.from_json(slot) for slot in stored["slots"]]
            except Exception as error:  # the readers of several formats raise a dozen kinds
                damaged.append(self.folder / str(number))
                said = f"warning: checkpoint {damaged[-1]} cannot be read ({_why(error)})"
                print(said, file=sys.stderr)
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
        """Waits until everything is on disk; RunError: it could not be written."""
        with self._explained():
            self._closing.close()

    def remove(self) -> None:
        """Closes and deletes: nobody is left to resume."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            raise RunError(
                f"no checkpoint could be written to {self.folder} ({_why(error)}); what is "
                "recorded is kept: make room and run the same command again"
            ) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Orbax's own messages stay off stderr: its threads print an error before it arrives here.

    Where one array cannot be read or written, the others tell an event loop that is closed.
    """
    logger, before = logging.getLogger("absl"), sys.unraisablehook

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


def _why(error: Exception) -> str:
    """An error of Orbax in a few words: the operating system's where it names its code."""
    code = re.search(r"os_error_code='(\d+)'", str(error))
    return os.strerror(int(code[1])) if code else str(error).partition("\n")[0][:200]
