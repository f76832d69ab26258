"""A side of a comparison: a command in a folder, with the version of the code that it runs."""

import hashlib
import json
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from jaxeval.bandits.commands import Command
from jaxeval.errors import ConfigError

_LARGEST = 2**24  # bytes of a file that is read to tell two versions apart


class Side(NamedTuple):
    """What produces the scores of one side."""

    id: str
    """A hash of the command and of the code that it runs."""
    name: str
    """The command, or the name of a config."""
    commit: str
    """Git's commit, with "+" if tracked files have changed since; "" outside git."""
    notes: tuple[str, ...] = ()

    @property
    def described(self) -> str:
        """The name and the commit."""
        return f"{self.name} ({self.commit})" if self.commit else self.name


def describe(command: str, folder: Path, score: str) -> Side:
    """Returns the side of a command that runs in a folder.

    The id covers the command, the place of its score, all files that git tracks, committed or not,
    and the files that the command names. A candidate keeps its id when it is committed.

    Args:
      score: where the command's output has the score.

    Raises:
      ConfigError: there is no such folder.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder")
    tree, commit, untracked = _version(folder)
    notes = []
    if untracked:
        shown = ", ".join(untracked[:3]) + (" ..." if untracked[3:] else "")
        notes = [f"{folder}: untracked files do not tell versions apart: {shown}"]
    if not tree:
        notes = [f"{folder}: not under git: only the command and its files tell versions apart"]
    named = {word: _content(folder / word) for word in shlex.split(command)}
    parts = [command, score, tree, {word: digest for word, digest in named.items() if digest}]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return Side(digest[:16], command, commit, tuple(notes))


def _content(path: Path) -> str:
    """Returns a hash of a file in its folder, or "" if it is none, or too large to be code."""
    try:
        if path.is_file() and path.stat().st_size <= _LARGEST:
            return hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError):  # ValueError: no name of a file
        pass
    return ""


def _version(folder: Path) -> tuple[str, str, tuple[str, ...]]:
    """Returns git's tree of all tracked files, the commit, and untracked files; "" without git."""
    try:
        commit = _git(folder, "rev-parse", "--short", "HEAD")
        objects = _git(folder, "rev-parse", "--path-format=absolute", "--git-path", "objects")
        with tempfile.TemporaryDirectory() as scratch:  # the user's index and objects stay
            (Path(scratch) / "objects").mkdir()
            own = {
                "GIT_INDEX_FILE": f"{scratch}/index",
                "GIT_OBJECT_DIRECTORY": f"{scratch}/objects",
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects,
            }
            _git(folder, "read-tree", "HEAD", **own)
            _git(folder, "add", "--update", ":/", **own)
            tree = _git(folder, "write-tree", **own)
        others = _git(folder, "ls-files", "--others", "--exclude-standard", "-z")
    except (OSError, subprocess.CalledProcessError):
        return "", "", ()
    clean = tree == _git(folder, "rev-parse", "HEAD^{tree}")
    names = tuple(filter(None, others.split("\0")))
    return tree, commit + ("" if clean else "+"), names


def _git(folder: Path, *words: str, **variables: str) -> str:
    ended = subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
    )
    return ended.stdout.strip()


class Runner:
    """Evaluates the sides by their commands; known scores are not evaluated again.

    Args:
      commands: side -> its command, with {seed} and maybe {split}.
      known: side -> seed -> score.
      after: the k-th evaluation has seed and split after + k.
    """

    def __init__(
        self, commands: Mapping[str, Command], known: Mapping[str, Mapping[int, float]], after: int
    ):
        self._commands, self._known, self._after = commands, known, after
        self.seconds: dict[tuple[str, int], float] = {}

    def __call__(self, side: str, number: int) -> float:
        """Returns the score of an evaluation."""
        seed = self._after + number
        if seed in self._known[side]:
            return self._known[side][seed]
        begun = time.monotonic()
        score = self._commands[side].score({"seed": str(seed), "split": str(seed)})
        self.seconds[side, number] = time.monotonic() - begun
        return score

    def spent(self) -> dict[str, float]:
        """Returns the seconds of all new evaluations of each side."""
        total = dict.fromkeys(self._commands, 0.0)
        for (side, _), seconds in self.seconds.items():
            total[side] += seconds
        return total

    def stop(self) -> None:
        """Ends commands that still run."""
        for command in self._commands.values():
            command.stop()
