"""Nothing that a test of this folder makes stays behind."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _temporary_files_with_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tfds makes folders for downloads that it does not remove."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
