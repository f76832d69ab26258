"""Finds the files of a corpus in its folder."""

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path

from jaxeval.data import text
from jaxeval.errors import DataError

# for a line that is not of the format that a config names
OTHER_FORMAT = (
    "data.source.format=auto goes by the file's name (vectors judge: TASK:data.source.format=auto)"
)
_MOST = 8  # names in a message


def parts(
    path: str | Path,
    patterns: Mapping[str, str | None],
    key: str,
    required: Collection[str] = ("train", "dev", "test"),
    alone: bool = False,
) -> dict[str, Path]:
    """The file of each part: the one in a folder whose name fits the pattern of the part.

    Args:
      path: folder, or file where one may stand alone.
      patterns: part -> pattern, or the absolute path of the file; None: no file.
      key: of a config that holds the patterns' keys, such as "data.source".
      required: parts that must be there.
      alone: whether one file, or the only one of a folder, is train.

    Raises:
      DataError: no file or several of a part, or a part is lacking beside unread files.
    """
    folder = Path(path)
    if folder.is_file() and alone:
        return {"train": folder}
    names = _names(folder)
    others = [pattern for part, pattern in patterns.items() if part != "train" and pattern]
    single = alone and len(names) == 1
    if single and not any(Path(p).is_absolute() or fnmatch(names[0], p) for p in others):
        return {"train": folder / names[0]}
    files = {}
    for part, pattern in patterns.items():
        file = _only(folder, names, part, pattern, key) if pattern else None
        if file is not None:
            files[part] = file
        elif part in required:
            raise DataError(_lacking(folder, names, part, pattern, key), folder)
    read = {file.name for file in files.values()}
    unread = [n for n in names if n not in read and n.endswith(files["train"].suffix)]
    for part, pattern in patterns.items():
        if pattern and part not in files and unread:
            message = f"{_lacking(folder, unread, part, pattern, key)}, or null: there is none"
            raise DataError(message, folder)
    return files


def _names(folder: Path) -> list[str]:
    """The names of a folder's files, sorted."""
    if folder.is_file():
        message = f"a file; expected the folder of the corpus' files: {folder.parent}"
        raise DataError(message, folder)
    if not folder.is_dir():
        raise text.no_file(folder, "no such file or folder; expected one that holds the corpus")
    return sorted(file.name for file in folder.iterdir() if file.is_file())


def _only(folder: Path, names: list[str], part: str, pattern: str, key: str) -> Path | None:
    """The file that fits a pattern; None: there is none."""
    if Path(pattern).is_absolute():
        if not Path(pattern).is_file():
            said = f"no such file; {key}.{part} names it as the {part} part"
            raise text.no_file(pattern, said)
        return Path(pattern)
    fitting = [name for name in names if fnmatch(name, pattern)]
    if len(fitting) > 1:
        found = f"{len(fitting)} files fit the {part} pattern {pattern!r}"
        raise DataError(f"{found}: {_listed(fitting)}; set {key}.{part}=NAME", folder)
    return folder / fitting[0] if fitting else None


def _lacking(folder: Path, names: list[str], part: str, pattern: str | None, key: str) -> str:
    lacking = f"no file fits the {part} pattern {pattern!r}"
    if names:
        return f"{lacking}; the folder holds {_listed(names)}; set {key}.{part}=NAME"
    inside = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    beside = f", but the folders {_listed(inside)}; name one of them" if inside else ""
    return f"{lacking}: the folder holds no file{beside}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_MOST])


def format_of(file: Path, suffixes: Mapping[str, str], formats: Iterable[str]) -> str:
    """The format that a file's name tells, by its suffix before .gz.

    Args:
      suffixes: suffix -> format.
      formats: all there are, those that no name tells as well.

    Raises:
      DataError: it tells none.
    """
    suffix = suffix_of(file)
    if suffix not in suffixes:
        raise DataError(
            f"its name does not tell its format; expected {', '.join(suffixes)}, or "
            f"data.source.format=FORMAT, one of {', '.join(formats)}",
            file,
        )
    return suffixes[suffix]


def suffix_of(file: Path) -> str:
    """The end of a file's name before .gz, such as ".tsv"."""
    return Path(file.name.lower().removesuffix(".gz")).suffix
