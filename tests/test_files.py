"""Files are written whole or not at all."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from jaxeval import files
from jaxeval.errors import RunError


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
