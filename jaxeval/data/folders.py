"""Finds the files of a corpus in its folder."""

from fnmatch import fnmatch
from pathlib import Path

from jaxeval.errors import DataError


def only(folder: Path, pattern: str, part: str, key: str) -> Path:
    """The one file of a folder whose name fits the pattern of a part.

    Raises:
      DataError: none or several; names the files there are, and the key that chooses.
    """
    names = sorted(file.name for file in folder.iterdir() if file.is_file())
    fitting = [name for name in names if fnmatch(name, pattern)]
    if len(fitting) != 1:
        count = f"{len(fitting)} files fit: {', '.join(fitting)}" if fitting else "no file fits"
        raise DataError(
            f"{count} the {part} pattern {pattern!r}; the folder holds {', '.join(names[:8])}; "
            f"set {key}=NAME",
            folder,
        )
    return folder / fitting[0]
