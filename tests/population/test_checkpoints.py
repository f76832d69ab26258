"""Checkpoints that are damaged (the older one serves) or cannot be written."""

import logging
import resource
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from jaxeval.contracts import Member
from jaxeval.errors import RunError
from jaxeval.population import checkpoints, slots


def _snapshot(number: int) -> checkpoints.Snapshot:
    state = {"a": np.arange(9, dtype=np.float32) * number, "b": np.full((9, 2), number)}
    return checkpoints.Snapshot(number, state, [slots.Slot(Member(1), epoch=number)] * 9)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints 2 and 4."""
    folder = tmp_path_factory.mktemp("two") / "c"
    saved = checkpoints.Checkpoints(folder)
    for number in (2, 4):
        saved.save(_snapshot(number))
    saved.close()
    return folder


def _restored(folder: Path) -> checkpoints.Snapshot:
    """What is restored, after which the population goes on to checkpoint 4 and 6."""
    saved = checkpoints.Checkpoints(folder)
    try:
        snapshot = saved.restore(_snapshot(1).state)
        assert snapshot is not None
        for number in {4, 6} - {snapshot.number}:
            saved.save(_snapshot(number))
    finally:
        saved.close()
    return snapshot


@pytest.mark.parametrize("damage", ["empty", "half", "gone"])
@pytest.mark.parametrize("name", ["host/metadata", "state/manifest.ocdbt", "state/_METADATA"])
def test_the_older_one_serves(
    two: Path, tmp_path: Path, name: str, damage: str, capfd: pytest.CaptureFixture
) -> None:
    """Dies if a damaged newest checkpoint ends the training, is taken for whole, or stands in the
    way of the next one of its number."""
    folder = tmp_path / "c"
    shutil.copytree(two, folder)
    file = folder / "4" / name
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(content[: len(content) // 2] if damage == "half" else b"")
    snapshot = _restored(folder)
    expected = _snapshot(2)
    assert (snapshot.number, [*snapshot.slots]) == (2, expected.slots)
    for key, leaf in expected.state.items():
        np.testing.assert_array_equal(snapshot.state[key], leaf)
    (line,) = [s for s in capfd.readouterr().err.splitlines() if s.startswith("warning: ")]
    assert line.startswith(f"warning: checkpoint 4 in {folder} cannot be read (")
    assert sorted(path.name for path in folder.iterdir()) == ["4", "6"]


def test_damage_to_all_of_them_is_said(
    two: Path, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    """Dies if training begins anew in silence, threads talk, or the files are removed."""
    folder = tmp_path / "c"
    shutil.copytree(two, folder)
    for number in (2, 4):
        (folder / str(number) / "state" / "manifest.ocdbt").write_bytes(b"")
    with pytest.raises(RunError, match=r"no checkpoint in .* can be read; remove that folder"):
        _restored(folder)
    assert "Event loop" not in capfd.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == ["2", "4"]


# a writer's thread that ends after `close` tells an event loop that is gone
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    """Dies if the writer's threads print their tracebacks, or the error is a page long."""
    state = {"params": np.random.default_rng(0).random((2, 200_000)).astype(np.float32)}
    saved = checkpoints.Checkpoints(tmp_path / "c")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(RunError) as caught:  # here, or when the writer is waited for
            saved.save(checkpoints.Snapshot(1, state, [slots.Slot(), slots.Slot()]))
            saved.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(caught.value) == (
        f"no checkpoint could be written to {tmp_path / 'c'} (File too large); what is recorded "
        "is kept: make room and run the same command again"
    )
    assert capfd.readouterr().err == ""


def test_nothing_of_the_process_is_changed_for_good(tmp_path: Path) -> None:
    """Dies if others' messages are lost, or a program that imports jaxeval hears no more of its
    own errors."""
    absl, hook = logging.getLogger("absl"), sys.unraisablehook
    heard: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.name)  # type: ignore[method-assign]
    absl.addHandler(handler)
    before = absl.level, [*absl.filters]
    try:
        for number in (1, 2):
            saved = checkpoints.Checkpoints(tmp_path / str(number))
            absl.error("of somebody else")
            saved.close()
            saved.close()
            assert len(heard) == number
    finally:
        absl.removeHandler(handler)
    assert (absl.level, absl.filters) == before
    assert sys.unraisablehook is hook
