"""What signals do to any verb."""

import contextlib
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from jaxeval import observe
from tests.test_cli import ROOT

_WORKING = """
import time
from jaxeval import cli

def main():
    try:
        print("working", flush=True)
        time.sleep(60)
    finally:
        print("ended in order")

cli.run(main)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_any_verb_in_order_and_says_which(number: signal.Signals) -> None:
    """Dies if a verb leaves by one status after both signals, without undoing what it holds, or
    with a traceback."""
    words = [sys.executable, "-c", _WORKING]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": ROOT}, **pipes) as process:
        assert process.stdout is not None and process.stdout.readline() == "working\n"
        process.send_signal(number)
        said, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert said == "ended in order\n" and errors == ""


_IGNORING = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""


def test_a_hangup_that_is_ignored_ends_nothing() -> None:
    """Dies if nohup no longer keeps a verb when its terminal is closed."""
    words = [sys.executable, "-c", _IGNORING, _WORKING.replace("60", "1")]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": ROOT}, **pipes) as process:
        assert process.stdout is not None and process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGHUP)
        assert process.communicate(timeout=30) == ("ended in order\n", "")
    assert process.returncode == 0


def test_a_signal_that_a_callback_swallows_is_not_lost() -> None:
    """Dies if training goes on for good after Ctrl-C met Python's garbage collector in JAX."""
    signals = observe._Signals()
    with contextlib.suppress(KeyboardInterrupt):
        signals.note(signal.SIGINT, None)
    assert signals.caught == signal.SIGINT
