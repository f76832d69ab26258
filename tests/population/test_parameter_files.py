"""Kept parameters: written whole, read back equal, and nothing else is taken for them."""

from pathlib import Path

import numpy as np
import pytest

from jaxeval.errors import DataError
from jaxeval.population import member

PARAMS = {"layer": {"kernel": np.arange(6.0, dtype=np.float32).reshape(2, 3)}, "b": np.ones(2)}


def _load(path: Path, like: dict) -> dict:
    return member.fit(path, member.read_arrays(path), like)


def test_parameters_come_back(tmp_path: Path) -> None:
    """Dies if a leaf is lost, renamed or cast."""
    path = tmp_path / "folder" / "seed1.npz"
    member.save(path, PARAMS)
    actual = _load(path, PARAMS)
    np.testing.assert_array_equal(actual["layer"]["kernel"], PARAMS["layer"]["kernel"])
    assert actual["layer"]["kernel"].dtype == np.float32 and actual["b"].dtype == np.float64
    assert [file.name for file in path.parent.iterdir()] == ["seed1.npz"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    """Dies if another model's parameters, or a pickle, are loaded."""
    path = tmp_path / "seed1.npz"
    member.save(path, PARAMS)
    with pytest.raises(DataError, match="b is float64\\[2\\], expected nothing"):
        _load(path, {"layer": PARAMS["layer"]})
    with pytest.raises(DataError, match="expected float64"):
        _load(path, {**PARAMS, "b": np.ones(3)})
    np.savez(path, b=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError, match="no readable parameters"):
        _load(path, {"b": np.ones(1)})
    for content in (b"", b"PK nonsense", b"\x93NUMPY\x01\x00", b"\x80\x04N."):
        path.write_bytes(content)
        with pytest.raises(DataError, match="no readable parameters"):
            _load(path, PARAMS)
