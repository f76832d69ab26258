"""Checkpoints of a population, written by Orbax in the background, one folder an experiment.

The arrays are copied to the host before they are handed over: the next epoch overwrites them
(donation), and on a CPU a device array and its host view are the same memory.
"""

import contextlib
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

_SNAPSHOTS = 2  # the older one serves when the machine stops while the newer one is written


class Snapshot(NamedTuple):
    """A population between two epochs."""

    number: int  # epochs of the population so far
    state: Tree  # numpy leaves [S, ...]
    slots: Sequence[slots.Slot]


class Checkpoints:
    """The checkpoints of one experiment."""

    def __init__(self, folder: Path):
        self.folder = folder.absolute()
        options = ocp.CheckpointManagerOptions(max_to_keep=_SNAPSHOTS, create=True)
        with contextlib.ExitStack() as closing:
            closing.enter_context(_silenced())
            self._manager = ocp.CheckpointManager(self.folder, options=options)
            closing.callback(self._manager.close)
            closing.callback(self._manager.wait_until_finished)
            self._closing = closing.pop_all()

    def save(self, snapshot: Snapshot) -> None:
        """Starts to write a snapshot; waits for the one before."""
        state = jax.tree.leaves(jax.tree.map(np.array, snapshot.state))
        host = {"slots": [slots.to_json(slot) for slot in snapshot.slots]}
        arguments = ocp.args.Composite(
            state=ocp.args.StandardSave(state), host=ocp.args.JsonSave(host)
        )
        try:
            self._manager.save(snapshot.number, args=arguments, force=True)
        except (OSError, ValueError) as error:
            raise self._failed(error) from error

    def restore(self, like: Tree) -> Snapshot | None:
        """The newest snapshot that can be read, or None if there are none.

        Newer ones that cannot are said on stderr and removed: what follows is written anew.

        Args:
          like: a state of the same program and any number of lanes (leaves or shapes).

        Raises:
          RunError: none of those that there are can be read, or they are of another model.
        """
        damaged: list[int] = []
        for number in sorted(self._manager.all_steps(), reverse=True):
            try:
                snapshot = self._read(number, like)
            # whatever the readers of a dozen formats make of a file that ends too early
            except Exception as error:
                damaged.append(number)
                print(
                    f"warning: checkpoint {number} in {self.folder} cannot be read "
                    f"({_reason(error)})",
                    file=sys.stderr,
                )
                continue
            _check_shapes(snapshot.state, like, self.folder)
            self._forget(damaged)
            return snapshot
        if damaged:
            raise RunError(
                f"no checkpoint in {self.folder} can be read; remove that folder to train its "
                "members from their first epoch"
            )
        return None

    def _read(self, number: int, like: Tree) -> Snapshot:
        arguments = ocp.args.Composite(
            state=ocp.args.StandardRestore(), host=ocp.args.JsonRestore()
        )
        restored = self._manager.restore(number, args=arguments)
        state = jax.tree.unflatten(jax.tree.structure(like), restored["state"])
        return Snapshot(number, state, [slots.from_json(s) for s in restored["host"]["slots"]])

    def _forget(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            shutil.rmtree(self.folder / str(number), ignore_errors=True)
        if numbers:
            self._manager.reload()

    def close(self) -> None:
        """Waits until everything is on disk."""
        try:
            self._closing.close()
        except (OSError, ValueError) as error:
            raise self._failed(error) from error

    def remove(self) -> None:
        """Closes and deletes: nobody is left to resume."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _failed(self, error: Exception) -> RunError:
        return RunError(
            f"no checkpoint could be written to {self.folder} ({_reason(error)}); what is "
            "recorded is kept: make room and run the same command again"
        )


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Keeps Orbax off stderr: it tells every step it takes, and each of its threads prints an
    error's traceback before the error itself arrives here.

    Where one array cannot be read or written, Python would print too that the others come too
    late: their event loop is closed by then.
    """
    logger, before = logging.getLogger("absl"), sys.unraisablehook

    def kept(record: logging.LogRecord) -> bool:
        return "orbax" not in Path(record.pathname).parts or record.levelno >= logging.CRITICAL

    def hook(unraisable: "sys.UnraisableHookArgs") -> None:
        if str(unraisable.exc_value) != "Event loop is closed":
            before(unraisable)

    logger.addFilter(kept)
    sys.unraisablehook = hook
    try:
        yield
    finally:
        logger.removeFilter(kept)
        if sys.unraisablehook is hook:
            sys.unraisablehook = before


def _reason(error: Exception) -> str:
    """An error of Orbax in a few words: the operating system's where it names its code."""
    code = re.search(r"os_error_code='(\d+)'", str(error))
    return os.strerror(int(code[1])) if code else str(error).partition("\n")[0][:200]


def _check_shapes(state: Tree, like: Tree, folder: Path) -> None:
    shapes = [leaf.shape[1:] for leaf in jax.tree.leaves(state)]
    expected = [leaf.shape[1:] for leaf in jax.tree.leaves(like)]
    if shapes != expected:
        raise RunError(f"the checkpoint in {folder} is of another model; remove that folder")
