"""A side of a comparison: a command in a folder, with the version of the code that it runs."""

import hashlib
import json
import os
import re
import shlex
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jaxeval.bandits.commands import Command
from jaxeval.errors import ConfigError

_LARGEST = 2**30  # bytes of a file that is read to tell two versions apart
_MOST = 10_000  # files of code outside git
_CODE = re.compile(
    r"\.(c|cc|cfg|cpp|cuh?|go|h|hpp|ini|ipynb|java|jl|js|lua|pl|pyx?|[rR]|rs|sh|toml|ts|ya?ml)$"
)
_NO_CODE = re.compile(  # folders of packages and of what programs write
    r"(^|/)(\..*|__pycache__|node_modules|site-packages|outputs|wandb|mlruns|lightning_logs)/"
)


class Side(NamedTuple):
    """What produces the scores of one side."""

    id: str  # a hash of the command and of the code that it runs
    name: str  # the command, or the name of a config
    commit: str  # Git's commit, with "+" if tracked files have changed since; "" outside git
    notes: tuple[str, ...] = ()
    # the files that the id covers, and their hashes
    files: frozenset[tuple[str, str]] = frozenset()

    @property
    def described(self) -> str:
        """The name and the commit."""
        return f"{self.name} ({self.commit})" if self.commit else self.name


def program(
    template: str,
    folder: str | Path,
    field: str | None,
    pattern: str | None,
    limit: float | None,
) -> Command:
    """Returns the command of a side, with {seed} and maybe {split}; raises as `Command`."""
    return Command(template, ("seed", "split"), field, limit, "seed", pattern, folder)


def side(program: Command) -> Side:
    """Returns the side of a command with the code as it is now.

    The id covers the command, the place of its score, the folder's place in its repository, all
    files that git tracks, other files of code and settings that git does not ignore, and files
    that the command names. All count as they are on disk, so that a commit changes no id. The
    environment, installed packages and other data do not count.

    Raises:
      ConfigError: there is no such folder, or a file of code cannot be read.
    """
    command, folder, pattern = program.template, program.folder, program.pattern
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder")
    top, commit, names, others = _version(folder)
    try:
        code = {name: _content(top / name) for name in sorted(names)}
        words = {part for word in shlex.split(command) for part in (word, word.partition("=")[2])}
        named = {word: _content(folder / word) for word in sorted(words)}
    except OSError as error:
        raise ConfigError(f"{error.filename}: cannot be read ({error.strerror})") from None
    notes = []
    if others:
        notes = [f"{folder}: untracked files are not part of the version: {_listed(others)}"]
    if not commit:
        apart = "its code and settings files define the version"
        notes = [f"folder {folder} has no git commit; {apart}"]
    place = str(folder.resolve().relative_to(top)) if commit else ""
    score = str([program.field, pattern and pattern.pattern])  # its place in the output
    found = [{name: digest for name, digest in of.items() if digest} for of in (code, named)]
    digest = hashlib.sha256(json.dumps([command, score, place, *found]).encode()).hexdigest()
    files = frozenset((name, of) for known in found for name, of in known.items())
    return Side(digest[:16], command, commit, tuple(notes), files)


def changed(before: Side, after: Side) -> str:
    """Returns names of files that differ in two versions of a side, "" if none does."""
    return _listed(sorted({name for name, _ in before.files ^ after.files}))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + " ..." * bool(names[3:])


def _content(path: Path) -> str:
    """Returns a hash of a file, "" if there is none; size and time of one too large to read."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # ValueError: no name of a file
        return ""
    if not stat.S_ISREG(found.st_mode):
        return os.readlink(path) if path.is_symlink() else ""
    if found.st_size > _LARGEST:
        return f"{found.st_size} {found.st_mtime_ns}"
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _version(folder: Path) -> tuple[Path, str, set[str], list[str]]:
    """Returns what tells versions of the code apart; only reads the repository.

    That is its top, or the folder; the commit; names of the files below that tell versions apart;
    and of untracked files that do not.
    """
    try:
        commit = _git(folder, "rev-parse", "--short", "HEAD").strip()
        top = Path(_git(folder, "rev-parse", "--show-toplevel").removesuffix("\n"))
        tracked = {*_names(_git(top, "ls-files", "--recurse-submodules", "-z"))}
        changed = _git(top, "--no-optional-locks", "status", "--porcelain", "--untracked-files=no")
        others = _names(_git(top, "ls-files", "--others", "--exclude-standard", "-z"))
    except (OSError, subprocess.CalledProcessError):
        return folder, "", _code(folder), []
    code = {*filter(_is_code, others)}
    for nested in (name for name in others if name.endswith("/")):  # repositories in this one
        code |= {nested + name for name in _code(top / nested)}
    rest = [name for name in others if name not in code and ".db" not in name]  # a ledger
    return top.resolve(), commit + "+" * bool(changed), tracked | code, rest


def _code(folder: Path) -> set[str]:
    """Returns the files of code and settings in a folder outside git, but not those of packages.

    Raises ConfigError: they are too many for a program.
    """
    found: set[str] = set()
    for path, folders, names in os.walk(folder):
        below = Path(path).relative_to(folder)
        folders[:] = [name for name in folders if not _NO_CODE.search(f"{name}/")]
        found.update(filter(_is_code, (str(below / name) for name in names)))
        if len(found) > _MOST:
            expected = "expected the program's own folder, or a git repository"
            raise ConfigError(f"{folder}: more than {_MOST:,} files of code; {expected}")
    return found


def _is_code(name: str) -> bool:
    return bool(_CODE.search(name)) and not _NO_CODE.search(name)


def _names(listed: str) -> list[str]:
    return [*filter(None, listed.split("\0"))]


def _git(folder: Path, *words: str) -> str:
    """Returns what git prints; a name that is not UTF-8 keeps its bytes."""
    ended = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=True)
    return os.fsdecode(ended.stdout)
