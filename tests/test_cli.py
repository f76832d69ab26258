"""What people meet first: help, errors, the dry run; and what signals do to any verb."""

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxeval import cli, observe
from jaxeval.__main__ import main
from jaxeval.errors import JaxevalError

ROOT = str(Path(__file__).parents[1])


@pytest.mark.parametrize("words", [["jaxeval.train"], ["jaxeval", "report"]], ids=" ".join)
def test_help_is_fast_and_teaches(words: list[str]) -> None:
    """Dies if `python -m jaxeval.train` does nothing, or help needs more than .5 s of CPU, jax or
    the figures."""
    code = (
        f"import runpy, sys, time; sys.argv = [*{words}, '--help']\n"
        f"try: runpy.run_module({words[0]!r}, run_name='__main__')\n"
        "except SystemExit as end:\n"
        "    print(end.code, time.process_time(), *sys.modules, file=sys.stderr)"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120
        )
        status, seconds, *loaded = done.stderr.split()
        assert status == "0" and "examples:" in done.stdout and "jaxeval.cli" in loaded
        assert not {*loaded} & {"jax", "flax", "optax", "matplotlib"}
        if float(seconds) < 0.5:
            return
    raise AssertionError(seconds)


ERRORS = {
    "key": (["train", "training.batch_sise=8"], "did you mean training.batch_size"),
    "value": (["train", "training.batch_size=0"], "training.batch_size"),
    "config": (["train", "nowhere.toml"], "nowhere.toml: no such config file"),
    "folder": (["train", "--data", "nowhere"], "nowhere: no such file or folder"),
    "vectors": (["train", "data.vectors=nowhere.txt"], "nowhere.txt: no such file"),
    "blank": (["train", "--data", " "], "--data: expected a path, not an empty one"),
    "flag": (
        ["train", "seeds=3"],
        "seeds=3: no change of a config; expected the argument ",
    ),
    "runs": (["report", "nowhere"], "nowhere: no runs here"),
    "no_runs": (["compare", "."], "jaxeval compare logs reads logs"),
    "export": (["runs", "export", "nowhere"], "nowhere: no runs here"),
    "subcommand": (["runs", "exprt"], "exprt: expected one of export"),
    "base": (["settle", "a=1"], "expected BASE, found only a=1"),
}


def _ended(capsys: pytest.CaptureFixture, verb: str, *words: str) -> tuple[object, str, str]:
    """How a verb ends that is called in this process: its status, and what it writes."""
    with pytest.raises(SystemExit) as stopped:
        cli.run(functools.partial(main, [verb, *words]))
    return stopped.value.code, *capsys.readouterr()


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_one_line_and_touch_nothing(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a user's mistake is a traceback, or leaves a folder behind."""
    (verb, *words), expected = ERRORS[name]
    monkeypatch.chdir(tmp_path)
    status, _, errors = _ended(capsys, verb, *words)
    assert status == 2, errors
    lines = errors.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: ") and expected in lines[0]
    assert [*tmp_path.iterdir()] == []


def test_a_long_error_keeps_what_to_do() -> None:
    """Dies if long names cost the end, or a message of usual length loses anything."""
    usual, long = (f"found {'x' * size}: do this" for size in (500, 5000))
    assert cli._one_line(usual) == usual
    assert cli._one_line(long).startswith("found x") and cli._one_line(long).endswith(": do this")


def test_all_errors_of_a_config_at_once(capsys: pytest.CaptureFixture) -> None:
    """Dies if only the first mistake is told."""
    words = ["training.patience=-1", "model.casing=onehot", "model.layers=[]", "x=1"]
    status, _, errors = _ended(capsys, "train", *words)
    assert status == 2
    expected = ("training.patience", "'one_hot'", "model.layers", "x: unknown key")
    assert all(word in errors for word in expected)


def test_dry_run(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if the dry run trains, writes, or leaves out what would be compiled."""
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--dry-run", "--json", "-", "--seeds", "3", "model.layers=[7]"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["members"] == 3 and plan["config"]["model"]["layers"] == [7]
    assert plan["parameters"] > 1000 and plan["batches"][0]["nominal"] == 32
    assert [*tmp_path.iterdir()] == []


_WRITING = """
from jaxeval import cli, parsers
from jaxeval.errors import DataError
from jaxeval.report import render
from jaxeval.report import Document

def main():
    {}

cli.run(main)
"""
_WRITES = {
    "printed": "print('worse'); return 3",
    "by rich": "render.to_terminal(Document(['worse'])); return 3",
    "stopped": "print('worse'); raise SystemExit(143)",
    "an error": "print('worse'); raise DataError('no such model')",
}


@pytest.mark.parametrize("case", _WRITES)
def test_an_output_that_is_not_read_is_no_verdict(case: str) -> None:
    """Dies if a gate whose reader has gone, or whose disk is full, exits with a verdict's code."""
    words = [sys.executable, "-c", _WRITING.format(_WRITES[case])]
    environment = {**os.environ, "PYTHONPATH": ROOT, "PYTHONUNBUFFERED": "1" * (case == "printed")}
    options: dict[str, Any] = {"env": environment, "text": True, "timeout": 60}
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        gone = subprocess.run(words, stdout=pipe, stderr=subprocess.PIPE, **options)
    assert gone.returncode == 128 + signal.SIGPIPE
    with Path("/dev/full").open("w") as disk:
        full = subprocess.run(words, stdout=disk, stderr=subprocess.PIPE, **options)
    assert full.returncode == 2
    assert "error: the output: cannot be written (No space left on device)\n" in full.stderr
    assert "Traceback" not in gone.stderr + full.stderr


LONG = [
    ("train", []), ("sweep", ["--space", "s.toml"]), ("ablation", ["--variants", "v.toml"]),
    ("select", ["a", "b"]), ("tune", ["--space", "s.toml"]), ("report", ["runs"]),
    ("vectors", ["svd", "c.txt", "--output", "v.txt"]),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "words"), LONG, ids=[" ".join([v, *of]) for v, of in LONG])
def test_an_output_that_cannot_be_written_is_refused_first(
    verb: str, words: list[str], tmp_path: Path
) -> None:
    """Dies if a verb finds it out when all is done; nothing that it would read is there."""
    (tmp_path / "file").touch()
    with pytest.raises(JaxevalError, match=r"file/a\.json: cannot be written"):
        main([verb, *words, "--json", str(tmp_path / "file" / "a.json")])


_COMPILING = """
import time
from concurrent import futures
from jaxeval import cli, parsers

def main():
    futures.ThreadPoolExecutor().submit(time.sleep, 60)
    raise SystemExit(143)

cli.run(main)
"""


def test_a_stopped_verb_does_not_wait_for_its_threads() -> None:
    """Dies if a process that a signal has stopped stays until its programs are compiled."""
    done = subprocess.run(
        [sys.executable, "-c", _COMPILING], env={**os.environ, "PYTHONPATH": ROOT}, timeout=30
    )
    assert done.returncode == 143


_WORKING = """
import time
from jaxeval import cli

def main():
    try:
        print("working", flush=True)
        for _ in range(600):  # one long sleep misses a signal that comes just before it
            time.sleep(0.1)
    finally:
        print("ended in order")

cli.run(main)
"""


# else the tests' own action counts, which nohup has changed
_WITH_ACTION = """
import os, signal, sys
signal.signal(signal.SIGHUP, getattr(signal, sys.argv[1]))
os.execv(sys.executable, [sys.executable, "-c", sys.argv[2]])
"""


@pytest.mark.parametrize(
    ("number", "hangup", "status"),
    [
        (signal.SIGINT, "SIG_DFL", 130),
        (signal.SIGTERM, "SIG_DFL", 143),
        (signal.SIGHUP, "SIG_DFL", 129),
        (signal.SIGHUP, "SIG_IGN", 0),
    ],
)
def test_a_signal_ends_any_verb_in_order_and_says_which(
    number: signal.Signals, hangup: str, status: int
) -> None:
    """Dies if a verb leaves by one status after all signals, without undoing what it holds, or
    with a traceback; or if nohup no longer keeps a verb when its terminal is closed."""
    working = _WORKING if status else _WORKING.replace("600", "10")
    words = [sys.executable, "-c", _WITH_ACTION, hangup, working]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": ROOT}, **pipes) as process:
        assert process.stdout is not None and process.stdout.readline() == "working\n"
        process.send_signal(number)
        assert process.communicate(timeout=30) == ("ended in order\n", "")
    assert process.returncode == status


def test_a_signal_that_a_callback_swallows_is_not_lost() -> None:
    """Dies if training goes on for good after Ctrl-C met Python's garbage collector in JAX."""
    signals = observe._Signals()
    with contextlib.suppress(KeyboardInterrupt):
        signals.note(signal.SIGINT, None)
    assert signals.caught == signal.SIGINT
