"""Finds the files of a corpus in its folder."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path

from jaxeval.data import text
from jaxeval.errors import DataError

# for a line that is not of the format that a config names
OTHER_FORMAT = (
    "data.source.format=auto goes by the file's name (vectors judge: TASK:data.source.format=auto)"
)


def existing(path: str | Path) -> Path:
    """A folder that is there.

    Raises:
      DataError: it is not, or is a file.
    """
    folder = Path(path)
    if folder.is_file():
        raise DataError(f"a file; expected the folder of the corpus' files: {folder.parent}", path)
    if not folder.is_dir():
        raise text.no_file(path, "no such folder; expected one that holds the corpus' files")
    return folder


def only(folder: Path, pattern: str, part: str, key: str) -> Path:
    """The one file of a folder whose name fits the pattern of a part.

    Raises:
      DataError: none or several; names the files there are, and the key that chooses.
    """
    file = at_most_one(folder, pattern, part, key)
    if file is None:
        raise DataError(_unfit(folder, [], pattern, part, key), folder)
    return file


def at_most_one(folder: Path, pattern: str, part: str, key: str) -> Path | None:
    """The same, None if there is none. An absolute path is no pattern: it is the file.

    Raises:
      DataError: several, or an absolute path without a file.
    """
    if Path(pattern).is_absolute():
        if not Path(pattern).is_file():
            raise text.no_file(pattern, f"no such file; {key} names it as the {part} part")
        return Path(pattern)
    fitting = [name for name in names(folder) if fnmatch(name, pattern)]
    if len(fitting) > 1:
        raise DataError(_unfit(folder, fitting, pattern, part, key), folder)
    return folder / fitting[0] if fitting else None


def names(folder: Path) -> list[str]:
    """The names of a folder's files, sorted."""
    return sorted(file.name for file in folder.iterdir() if file.is_file())


def _unfit(folder: Path, fitting: list[str], pattern: str, part: str, key: str) -> str:
    if fitting:
        count = f"{len(fitting)} files fit the {part} pattern {pattern!r}"
        return f"{count}: {', '.join(fitting[:8])}; set {key}=NAME"
    none, files = f"no file fits the {part} pattern {pattern!r}", names(folder)
    if not files:
        inside = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
        beside = f", but the folders {', '.join(inside[:8])}; name one of them" if inside else ""
        return f"{none}: the folder holds no file{beside}"
    listed = ", ".join(files[:8])
    return f"{none}; the folder holds {listed}; set {key}=NAME"


def format_of(file: Path, suffixes: Mapping[str, str], formats: Iterable[str]) -> str:
    """The format that a file's name tells, by its suffix before .gz.

    Args:
      suffixes: suffix -> format.
      formats: all there are, those that no name tells as well.

    Raises:
      DataError: it tells none.
    """
    suffix = Path(file.name.removesuffix(".gz")).suffix
    if suffix not in suffixes:
        raise DataError(
            f"its name does not tell its format; expected {', '.join(suffixes)}, or "
            f"data.source.format=FORMAT, one of {', '.join(formats)}",
            file,
        )
    return suffixes[suffix]
