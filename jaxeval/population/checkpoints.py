"""Checkpoints of a population: a file of arrays for each, written in the background.

The arrays are copied before they are handed over: the next epoch overwrites them (donation), and
on a CPU a device array and its host view are the same memory.
"""

import concurrent.futures
import dataclasses
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from jaxeval import files
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
    """The checkpoints of one cohort: FOLDER/EPOCHS.npz."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._pool = concurrent.futures.ThreadPoolExecutor(1)
        self._writing: concurrent.futures.Future[None] | None = None

    def save(self, snapshot: Snapshot) -> None:
        """Starts to write a snapshot; waits for the one before.

        Raises:
          RunError: that one could not be written.
        """
        self._wait()
        leaves = [np.array(leaf) for leaf in jax.tree.leaves(snapshot.state)]
        text = json.dumps([dataclasses.asdict(slot) for slot in snapshot.slots])
        self._writing = self._pool.submit(self._write, snapshot.number, leaves, text)

    def _write(self, number: int, leaves: Sequence[np.ndarray], text: str) -> None:
        with files.replacing(self.folder / f"{number}.npz", "wb") as stream:
            np.savez(stream, *leaves, slots=np.frombuffer(text.encode(), np.uint8))
        for path in self._paths()[_SNAPSHOTS:]:
            path.unlink()

    def _paths(self) -> list[Path]:
        """Of all snapshots, the newest first."""
        return sorted(self.folder.glob("*.npz"), key=lambda path: int(path.stem), reverse=True)

    def restore(self, like: Tree) -> Snapshot | None:
        """The newest snapshot that can be read, or None if there are none.

        A newer one that cannot be read is named on stderr and removed.

        Args:
          like: a state of the same program and any number of lanes (leaves or shapes).

        Raises:
          RunError: none of those that there are can be read, or they are of another model.
        """
        paths = self._paths()
        for path in paths:
            try:
                snapshot = _read(path, like)
            except Exception as error:  # zipfile and numpy raise a dozen kinds
                reason = str(error).partition("\n")[0]
                print(f"warning: checkpoint {path} cannot be read ({reason})", file=sys.stderr)
                continue
            shapes = [leaf.shape[1:] for leaf in jax.tree.leaves(snapshot.state)]
            if shapes != [leaf.shape[1:] for leaf in jax.tree.leaves(like)]:
                break
            for damaged in paths[: paths.index(path)]:
                damaged.unlink()
            return snapshot
        if not paths:
            return None
        raise RunError(
            f"no checkpoint of this model in {self.folder} can be read; remove that folder to "
            "train its members from their first epoch"
        )

    def _wait(self) -> None:
        if self._writing is None:
            return
        try:
            self._writing.result()
        except (RunError, OSError) as error:
            raise RunError(
                f"no checkpoint could be written: {error}; what is recorded is kept: make room "
                "and run the same command again"
            ) from None
        finally:
            self._writing = None

    def close(self) -> None:
        """Waits until everything is on disk.

        Raises:
          RunError: the last one could not be written.
        """
        self._pool.shutdown()
        self._wait()

    def remove(self) -> None:
        """Closes and deletes: nobody is left to resume."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _read(path: Path, like: Tree) -> Snapshot:
    """A snapshot; whatever numpy raises of a damaged file."""
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        leaves = [stored[f"arr_{k}"] for k in range(len(stored.files) - 1)]
        each = [slots.from_json(slot) for slot in json.loads(stored["slots"].tobytes())]
    state = jax.tree.unflatten(jax.tree.structure(like), leaves)
    return Snapshot(int(path.stem), state, each)
