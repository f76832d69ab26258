"""Files are written whole or not at all."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from jaxeval import files
from jaxeval.errors import RunError


def test_what_cannot_be_written_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    """Dies if a file in place of a folder is no error, or the question leaves anything behind."""
    (tmp_path / "a.txt").touch()
    before = [*tmp_path.iterdir()]
    for path in ("b.txt", "new/deep/b.txt", "a.txt"):
        files.refuse_unwritable(tmp_path / path)
    files.refuse_unwritable(tmp_path / "new", folder=True)
    inside = tmp_path / "a.txt" / "new"
    for path, folder in ((inside / "b", False), (inside, True), (tmp_path / "a.txt", True)):
        with pytest.raises(RunError, match=r"cannot be written \(Not a directory\)"):
            files.refuse_unwritable(path, folder=folder)
    with pytest.raises(RunError, match=r"cannot be written \(Is a directory\)"):
        files.refuse_unwritable(tmp_path)
    with pytest.raises(RunError, match=r"cannot be written \(File name too long\)"):
        files.refuse_unwritable(tmp_path / ("a" * 300) / "b")
    assert [*tmp_path.iterdir()] == before


def test_a_write_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if half a file, or a temporary one, stays behind when there is no room."""
    path = tmp_path / "new" / "a.txt"
    with files.replacing(path, "w") as stream:
        stream.write("before")
    with pytest.raises(RunError, match="cannot be written") as caught, files.replacing(path, "w"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert str(caught.value) == f"{path}: cannot be written (No space left on device)"
    with pytest.raises(ValueError, match="mine"), files.replacing(path, "wb") as stream:
        raise ValueError("mine")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(RunError, match="No space"), files.replacing(path, "w") as stream:
        stream.write("after")
    assert [p.name for p in path.parent.iterdir()] == ["a.txt"]
    assert path.read_text() == "before"
