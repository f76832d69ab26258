"""Checkpoints that are damaged (the older one serves) or cannot be written."""

import resource
from pathlib import Path

import numpy as np
import pytest

from jaxeval.contracts import Member
from jaxeval.errors import RunError
from jaxeval.population import checkpoints, slots


def _snapshot(number: int) -> checkpoints.Snapshot:
    state = {"a": np.arange(9, dtype=np.float32) * number, "b": np.full((9, 2), number)}
    return checkpoints.Snapshot(number, state, [slots.Slot(Member(1), epoch=number)] * 9)


def _saved(folder: Path, *numbers: int) -> None:
    saved = checkpoints.Checkpoints(folder)
    for number in numbers:
        saved.save(_snapshot(number))
    saved.close()


def _restored(folder: Path) -> checkpoints.Snapshot | None:
    return checkpoints.Checkpoints(folder).restore(_snapshot(1).state)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_the_older_one_serves(tmp_path: Path, share: float, capfd: pytest.CaptureFixture) -> None:
    """Dies if a damaged newest checkpoint ends the training, is taken for whole, or stands in the
    way of the next one of its number; or if more than two are kept."""
    _saved(tmp_path, 2, 4, 10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10.npz", "4.npz"]
    content = (tmp_path / "10.npz").read_bytes()
    (tmp_path / "10.npz").write_bytes(content[: int(share * len(content))])
    snapshot, expected = _restored(tmp_path), _snapshot(4)
    assert snapshot is not None
    assert (snapshot.number, [*snapshot.slots]) == (4, expected.slots)
    for key, leaf in expected.state.items():
        np.testing.assert_array_equal(snapshot.state[key], leaf)
    assert f"warning: checkpoint {tmp_path / '10.npz'} cannot be read" in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["4.npz"]


def test_damage_to_all_and_other_models_are_refused(tmp_path: Path) -> None:
    """Dies if training begins anew in silence, or another model's state is taken."""
    assert _restored(tmp_path) is None
    _saved(tmp_path, 2)
    other = {"a": np.zeros((9, 1)), "b": np.zeros((9, 2))}
    for like in (other, {"a": np.zeros(9)}):
        with pytest.raises(RunError, match=r"no checkpoint of this model .*; remove that folder"):
            checkpoints.Checkpoints(tmp_path).restore(like)
    (tmp_path / "2.npz").write_bytes(b"")
    with pytest.raises(RunError, match="no checkpoint of this model"):
        _restored(tmp_path)


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    """Dies if what could not be written is not said, at the latest when all is closed."""
    state = {"params": np.random.default_rng(0).random((2, 200_000)).astype(np.float32)}
    saved = checkpoints.Checkpoints(tmp_path / "c")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(RunError, match=r"1\.npz: cannot be written \(File too large\)"):
            saved.save(checkpoints.Snapshot(1, state, [slots.Slot(), slots.Slot()]))
            saved.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
