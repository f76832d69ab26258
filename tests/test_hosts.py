"""One population over several processes, as on several hosts: two with two CPU devices each."""

import functools
import os
import signal
import time
from pathlib import Path

import pytest

from jaxeval import backend, tasks
from jaxeval.errors import RunError
from tests import launched, processes
from tests.studies import toy_kind
from tests.verbs import train

WORDS = [
    *("task=toy", "training.epochs=30", "training.checkpoint_every=2", "training.patience=0"),
    *("training.save_models=true", "--seeds", "4"),
]


def _meet(port: int, number: int) -> None:
    tasks.KINDS = toy_kind.KINDS
    os.environ["JAX_COORDINATOR_ADDRESS"] = f"localhost:{port}"
    os.environ |= {"JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": str(number)}


def _start(words: list[str]) -> list[processes.Running]:
    port, *_ = processes.free_ports()
    how = {"environment": {**os.environ, "JAX_NUM_CPU_DEVICES": "2"}}
    meets = [functools.partial(_meet, port, number) for number in range(2)]
    return [processes.start("train", *words, before=meet, **how) for meet in meets]


def test_two_processes_give_what_one_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a process trains other members than are its own, the second one writes, a killed
    population starts over, or a score or a model differs by a bit from that of one process."""
    monkeypatch.setattr(tasks, "KINDS", toy_kind.KINDS)
    assert train([*WORDS, "--out", str(tmp_path / "one")]) == 0
    folder = tmp_path / "two"
    killed, end = _start([*WORDS, "--out", str(folder)]), time.monotonic() + 120.0
    while not [*folder.glob("checkpoints/*/[0-9]*")] and time.monotonic() < end:
        time.sleep(0.02)
    for process in killed:
        process.send(signal.SIGKILL)
        process.wait()
    assert [*folder.glob("checkpoints/*/[0-9]*")]
    done = [process.wait() for process in _start([*WORDS, "--out", str(folder)])]
    assert [of.returncode for of in done] == [0, 0], done
    assert "\nepoch" not in done[1].stderr
    assert launched.rows(folder) == launched.rows(tmp_path / "one")
    models = sorted(folder.glob("models/*/*.npz"))
    assert len(models) == 5  # of four seeds, and a table
    for path in models:
        assert path.read_bytes() == (tmp_path / "one" / path.relative_to(folder)).read_bytes()


@pytest.mark.parametrize(
    ("address", "count", "message"),
    [
        ("localhost:1", "two", r"invalid literal .* 'two'"),
        ("localhost", "2", "expected HOST:PORT"),
    ],
)
def test_processes_that_cannot_meet(
    address: str, count: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a wrong variable ends in a traceback."""
    monkeypatch.setenv("JAX_COORDINATOR_ADDRESS", address)
    monkeypatch.setenv("JAX_NUM_PROCESSES", count)
    with pytest.raises(RunError, match=f"JAX_COORDINATOR_ADDRESS: {message}"):
        backend.join()
