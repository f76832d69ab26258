"""What is kept on disk: checkpoints, also damaged ones, and parameters."""

import resource
import shutil
from pathlib import Path

import numpy as np
import pytest

from jaxeval.contracts import Member
from jaxeval.errors import DataError, RunError
from jaxeval.population import host, loop, member, slots

# a thread of a reader or writer that failed tells an event loop that is gone
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def _snapshot(number: int) -> host.Snapshot:
    state = {"a": np.arange(9, dtype=np.float32) * number, "b": np.full((9, 2), number)}
    return host.Snapshot(number, state, [slots.Slot(Member(1), epoch=number)] * 9)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints 4 and 10: two are kept."""
    folder = tmp_path_factory.mktemp("saved")
    each = loop._Checkpoints(folder)
    for number in (2, 4, 10):
        each.save(_snapshot(number))
    each.close()
    assert sorted(path.name for path in folder.iterdir()) == ["10", "4"]
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return shutil.copytree(saved, tmp_path / "c")


def _restored(folder: Path, like: object) -> host.Snapshot | None:
    """What is restored, after which 10 is written again."""
    each = loop._Checkpoints(folder)
    try:
        snapshot = each.restore(like)
        if snapshot is not None and snapshot.number == 4:
            each.save(_snapshot(10))
        return snapshot
    finally:
        each.close()


@pytest.mark.parametrize("share", [None, 0.0, 0.5])
@pytest.mark.parametrize("name", ["slots/metadata", "state/manifest.ocdbt", "state/_METADATA"])
def test_the_older_one_serves(
    folder: Path, name: str, share: float | None, capfd: pytest.CaptureFixture
) -> None:
    """Dies if a damaged newest checkpoint ends the training, is taken for whole, or stands in the
    way of the next one of its number."""
    file = folder / "10" / name
    content = file.read_bytes()
    file.unlink()
    if share is not None:
        file.write_bytes(content[: int(share * len(content))])
    snapshot, expected = _restored(folder, _snapshot(1).state), _snapshot(4)
    assert snapshot is not None
    assert (snapshot.number, [*snapshot.slots]) == (4, expected.slots)
    for key, leaf in expected.state.items():
        np.testing.assert_array_equal(snapshot.state[key], leaf)
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"warning: checkpoint {folder / '10'} cannot be read (")
    assert sorted(path.name for path in folder.iterdir()) == ["10", "4"]


def test_damage_to_all_and_other_models_are_refused(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    """Dies if training begins anew in silence, another model's state is taken, threads talk, or
    what is damaged is removed."""
    like = _snapshot(1).state
    assert _restored(tmp_path / "none", like) is None
    for other in ({"a": np.zeros((9, 1)), "b": np.zeros((9, 2))}, {"a": np.zeros(9)}):
        with pytest.raises(RunError, match=r"no checkpoint of this model .*; remove that folder"):
            _restored(folder, other)
    for number in ("4", "10"):
        (folder / number / "state" / "manifest.ocdbt").write_bytes(b"")
    with pytest.raises(RunError, match="no checkpoint of this model"):
        _restored(folder, like)
    assert len(capfd.readouterr().err.splitlines()) == 2
    assert sorted(path.name for path in folder.iterdir()) == ["10", "4"]


def test_a_full_disk_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    """Dies if what could not be written is not said, at the latest when all is closed, or the
    writer's threads print their tracebacks."""
    state = {"params": np.random.default_rng(0).random((2, 200_000)).astype(np.float32)}
    saved = loop._Checkpoints(tmp_path / "c")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(RunError, match=r"no checkpoint .* \(File too large\); what is record"):
            saved.save(host.Snapshot(1, state, [slots.Slot(), slots.Slot()]))
            saved.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert capfd.readouterr().err == ""


PARAMS = {"layer": {"kernel": np.arange(6.0, dtype=np.float32).reshape(2, 3)}, "b": np.ones(2)}


def _load(path: Path, like: dict) -> dict:
    return member.to_params(path, member.read_arrays(path), like)


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
