"""Checks where verbs write, before they work: nothing that is read or kept is replaced."""

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from jaxeval import files
from jaxeval.errors import ConfigError

_DATABASE = "runs.sqlite"  # of a runs folder
_ENDINGS = (".json", ".html", ".md", ".tex", ".csv")  # of outputs
_JOURNALS = ("", "-wal", "-shm", "-journal")  # of SQLite, after the name of a database
_KEPT = ("ablations", "checkpoints", "models", "sweeps", "tunings")  # beside the database


def refuse_unwritable(
    *targets: str | None,
    folder: str | None = None,
    reads: Iterable[str | Path | None] = (),
    runs: Iterable[str | Path | None] = (),
) -> None:
    """Refuses outputs that cannot be written or would replace something.

    Args:
      targets: files, "-" for stdout, None for none.
      folder: of figures.
      reads: files that a verb reads.
      runs: runs folders and databases; other runs folders are known by their database.

    Raises:
      RunError, ConfigError: one cannot be written, two are the same file, or one would replace
        what is read, or what a runs folder keeps.
    """
    paths = [Path(target) for target in targets if target and target != "-"]
    for path in paths:
        files.refuse_unwritable(path)
    if folder:
        files.refuse_unwritable(Path(folder), folder=True)
    read = [Path(path) for path in reads if path and path != "-"]
    places = [Path(place) for place in runs if place]
    written: dict[Path, Path] = {}
    for path in filter(files.replaceable, [*paths, Path(folder)] if folder else paths):
        other = written.setdefault(files.resolved(path), path)
        if other is not path:
            raise ConfigError(f"{other} and {path}: two outputs, expected a file for each")
        same = next((other for other in read if path in paths and _is_same(path, other)), None)
        if same is not None:
            raise ConfigError(
                f"{path}: would be replaced, and it is read (as {same}); expected another file"
            )
        if owner := _owner(path, places):
            raise ConfigError(f"{path}: belongs to {owner}; expected another place")


def _owner(path: Path, places: Sequence[Path]) -> str:
    """Returns the runs folder or database that a file belongs to; "" for none."""
    for place in places:
        whole = files.resolved(place)  # the journals are beside the file, not the link
        journals = (whole.with_name(whole.name + end) for end in _JOURNALS)
        if place.is_file() and any(_is_same(path, journal) for journal in journals):
            return f"the runs database {place}"
    folders = [*map(files.resolved, places)]
    target = files.resolved(path)
    for folder in target.parents:
        if folder in folders or (folder / _DATABASE).is_file():
            first = target.relative_to(folder).parts[0]
            if first in _KEPT or first.startswith(_DATABASE):
                return f"what the runs folder {folder} keeps"
    return ""


def _is_same(path: Path, other: Path) -> bool:
    """True if two paths are one file, also by links; or `path` is in the folder `other`.

    A file in a folder that is read is an input, unless it ends as outputs do.
    """
    if other.is_dir() and path.is_file() and path.suffix not in _ENDINGS:
        return files.resolved(other) in files.resolved(path).parents
    with contextlib.suppress(OSError):  # one of them does not exist
        return path.samefile(other)
    return files.resolved(path) == files.resolved(other)
