"""What verbs may write to: files that can be, and that nothing is lost with."""

import contextlib
from collections.abc import Collection, Iterable
from pathlib import Path

from jaxeval import files
from jaxeval.errors import ConfigError

_DATABASE = "runs.sqlite"  # of a runs folder, with the journals beside it
_JOURNALS = ("", "-wal", "-shm", "-journal")  # of SQLite, after the name of a database
_KEPT = ("ablations", "checkpoints", "models", "selections", "sweeps", "tunings")  # beside it


def refuse_unwritable(
    *targets: str | None,
    folder: str | None = None,
    reads: Iterable[str | Path | None] = (),
    runs: Iterable[str | Path | None] = (),
) -> None:
    """Refuses outputs that could not be written, before there is anything to write.

    Args:
      targets: of `files.write_out`; None: not asked for.
      folder: of figures.
      reads, runs: as of `refuse_replaced`.

    Raises:
      RunError: one cannot be written.
      ConfigError: two are the same file, of which the last written would be left; or one would
        replace what is read or kept.
    """
    paths = [Path(target) for target in targets if target and target != "-"]
    for path in paths:
        files.refuse_unwritable(path)
    if folder:
        files.refuse_unwritable(Path(folder), folder=True)
    of_file: dict[Path, Path] = {}
    for path in [*paths, Path(folder)] if folder else paths:
        other = of_file.setdefault(files.resolved(path), path)
        if other is not path and files.replaceable(path):
            raise ConfigError(f"{other} and {path}: two outputs, expected a file for each")
    refuse_replaced(paths, reads, runs, folder)


def refuse_replaced(
    outputs: Iterable[str | Path | None],
    reads: Iterable[str | Path | None] = (),
    runs: Iterable[str | Path | None] = (),
    folder: str | None = None,
) -> None:
    """Refuses outputs that would replace what a verb reads, or what a runs folder keeps.

    Args:
      reads: files, maybe none of which is there; folders stand for themselves alone.
      runs: folders, which need not be there yet, files of databases and URLs; other folders are
        known by their database.
      folder: of figures, which go beside what is in it.

    Raises:
      ConfigError: naming both.
    """
    paths = [Path(path) for path in outputs if path and path != "-"]
    replaced = [path for path in paths if files.replaceable(path)]
    if not replaced and not folder:
        return  # and nothing is looked for that is read
    read = [Path(path) for path in reads if path and path != "-"] if replaced else []
    places = [str(place) for place in runs if place]
    for path in replaced:
        same = next((other for other in read if _same(path, other)), None)
        if same is not None:
            raise ConfigError(
                f"{path}: would be replaced, and it is read (as {same}); expected another file"
            )
        _refuse_database(path, places)
    folders = [files.resolved(Path(place)) for place in places if "://" not in place]
    for path in [*replaced, Path(folder)] if folder else replaced:
        kept = _keeper(files.resolved(path), folders)
        if kept is not None:
            raise ConfigError(
                f"{path}: belongs to what the runs folder {kept} keeps; expected another place"
            )


def _refuse_database(path: Path, places: Iterable[str]) -> None:
    """Raises ConfigError where a file is one of SQLite's, of a database that a place names."""
    for place in places:
        database = _database(place)
        if database is not None:
            whole = files.resolved(database)  # beside it, not beside a link, are its journals
            if any(_same(path, whole.with_name(whole.name + end)) for end in _JOURNALS):
                raise ConfigError(
                    f"{path}: belongs to the runs database {database}; expected another place"
                )


def _database(place: str) -> Path | None:
    """The SQLite file that a place of runs names; None: a folder, or another database."""
    if "://" not in place:
        return Path(place) if Path(place).is_file() else None
    from jaxeval.runs import database  # takes half a second

    return database.file_of(place)


def _same(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by symlinks and hard links too."""
    with contextlib.suppress(OSError):  # one of them is not there
        return path.samefile(other)
    return files.resolved(path) == files.resolved(other)


def _keeper(target: Path, runs: Collection[Path]) -> Path | None:
    """The runs folder of whose own a path is; None: of none."""
    for folder in target.parents:
        if folder in runs or (folder / _DATABASE).is_file():
            first = target.relative_to(folder).parts[0]
            if first in _KEPT or first.startswith(_DATABASE):
                return folder
    return None
