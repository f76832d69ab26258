"""`jaxeval select command`: kill and resume, failures, other rules."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import jaxeval
from tests import in_process, processes

TRAIN = """\
import random, sys, time
model, split = sys.argv[1], sys.argv[2]
with open("calls", "a") as calls:
    calls.write(f"{model} {split}\\n")
time.sleep(float(sys.argv[3]))
if model == "broken":
    sys.exit("no such model")
random.seed(model + split)
print("training ...")
print({"good": 0.7, "fair": 0.68}[model] + random.gauss(0, 0.01))
"""


def _words(folder: Path, seconds: float, *words: str) -> list[str]:
    """Arguments of a selection among commands, which are in the folder."""
    (folder / "train.py").write_text(TRAIN)
    return ["command", f"{sys.executable} train.py {{model}} {{split}} {seconds}", *words]


def _run(folder: Path, words: list[str], status: int = 0) -> subprocess.CompletedProcess[str]:
    """The verb in a process of its own, which ends with a status."""
    ended = processes.run("select", *words, folder=folder)
    assert ended.returncode == status, ended.stderr
    return ended


def test_a_failing_model_is_given_up_with_a_note(tmp_path: Path) -> None:
    """Dies if a broken model ends the selection, or is left out in silence."""
    words = _words(tmp_path, 0, "good", "fair", "broken", "--workers", "2", "--json", "out.json")
    ended = _run(tmp_path, words)
    tree = json.loads((tmp_path / "out.json").read_text())
    assert tree["best"] == "good" and "no such model" in tree["excluded"]["broken"]
    assert "broken was dropped" in ended.stdout and "tried again" in ended.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    state = json.loads((tmp_path / "selection.json").read_text())["state"]
    again = _run(tmp_path, words)
    more = (tmp_path / "calls").read_text().splitlines()[len(calls) :]
    assert not {*more} & {f"{model} {k}" for model, of in state.items() for k in of}
    assert "evaluations known" in again.stderr
    assert json.loads((tmp_path / "out.json").read_text())["best"] == "good"


def _told(state: Path) -> int:
    if not state.exists():
        return 0
    return sum(map(len, json.loads(state.read_text())["state"].values()))


def test_a_killed_selection_goes_on_with_the_same_scores(tmp_path: Path) -> None:
    """Dies if kill -9 loses a score, or the same command starts anew."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    words = ["good", "fair", "--json", "out.json"]
    _run(whole, _words(whole, 0, *words))
    slow = _words(killed, 0.15, *words)
    process = processes.start("select", *slow, folder=killed)
    state = killed / "selection.json"
    deadline = time.monotonic() + 60
    while _told(state) < 3:
        assert time.monotonic() < deadline and not process.ended()
        time.sleep(0.02)
    process.send(signal.SIGKILL)
    assert process.wait().returncode == -signal.SIGKILL
    assert _told(state) >= 3
    _run(killed, slow)
    a, b = (json.loads((folder / "out.json").read_text()) for folder in (whole, killed))
    assert a["scores"] == b["scores"] and a["best"] == b["best"]


def test_a_signal_ends_the_commands_too(tmp_path: Path) -> None:
    """Dies if a command runs on when its selection has been stopped, if a status names another
    signal, or nothing says that the selection goes on."""
    (tmp_path / "train.py").write_text(
        "import os, sys, time\n"
        "open(f'{sys.argv[1]}.new', 'w').write(str(os.getpid()))\n"
        "os.rename(f'{sys.argv[1]}.new', f'{sys.argv[1]}.pid')\n"
        "time.sleep(60)\n"
    )
    words = ["command", f"{sys.executable} train.py {{model}}", "a", "b"]
    process = processes.start("select", *words, folder=tmp_path)
    deadline = time.monotonic() + 60
    while not (begun := [*tmp_path.glob("*.pid")]):
        assert time.monotonic() < deadline and not process.ended()
        time.sleep(0.02)
    process.send(signal.SIGTERM)
    ended = process.wait(30)
    assert ended.returncode == 143 and "Traceback" not in ended.stderr
    assert ended.stderr.endswith("\nstopped; the same command continues from here\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun[0].read_text()), 0)


@pytest.mark.parametrize(
    "options", [{"rule": "sequential-halving"}, {"delta": 1e-9}], ids=["halving", "top-two"]
)
def test_another_budget_goes_on_as_if_begun_with_it(
    tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if scores are evaluated again or lost, or if what the old budget led to stays."""
    train = TRAIN.replace('{"good": 0.7, "fair": 0.68}[model]', '{"g": 0.7, "f": 0.68}[model[0]]')
    results: dict[str, dict[str, Any]] = {}
    for name, budgets in (("anew", (40,)), ("on", (16, 40, 24))):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        _, command = _words(folder, 0)
        (folder / "train.py").write_text(train)
        for budget in budgets:
            with in_process.programs():
                found = jaxeval.select_command(
                    command, "good", "fair", "good2", "fair2", budget=budget, quiet=True, **options
                )
            results[f"{name}{budget}"] = found.to_dict()
    assert results["on40"] == results["anew40"]
    assert results["on16"]["evaluations"] < results["on24"]["evaluations"] <= 24
    calls = (tmp_path / "on" / "calls").read_text().splitlines()
    assert len(calls) == len({*calls})  # nothing twice
    anew = (tmp_path / "anew" / "calls").read_text().splitlines()
    assert {*anew} <= {*calls} and len(calls) < 16 + 40
