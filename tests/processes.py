"""Processes of verbs that begin with everything imported: forks of one server.

A verb's own process imports jax for three seconds and trains for one. The server imports it once,
before any device exists in it, and each process is a fork: it has its own devices, can be killed
at any moment, and ends as `jaxeval VERB` does.
"""

import ast
import contextlib
import functools
import multiprocessing
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import reduction
from pathlib import Path
from typing import IO, Any, NamedTuple

_FORKS = multiprocessing.get_context("forkserver")
_IMPORTED = ["pytest", "tests.processes_imported"]
_SECONDS = 240.0  # that a process may take


class Running(NamedTuple):
    """A verb's process.

    Attributes:
      out, err: what it writes; files without a name, which nobody needs to remove.
    """

    words: Sequence[str]
    process: Any
    out: IO[bytes]
    err: IO[bytes]

    def errors(self) -> str:
        """What it has written to stderr so far."""
        return _text(self.err)

    def ended(self) -> bool:
        """Whether it has ended."""
        return self.process.exitcode is not None

    def send(self, number: signal.Signals) -> None:
        """Sends it a signal."""
        os.kill(self.process.pid, number)

    def wait(self, seconds: float = _SECONDS) -> subprocess.CompletedProcess[str]:
        """Its exit status, negative where a signal ended it, and all that it has written."""
        with contextlib.ExitStack() as files:
            files.enter_context(self.out)
            files.enter_context(self.err)
            self.process.join(seconds)
            if not self.ended():
                self.process.kill()
                self.process.join()
                raise subprocess.TimeoutExpired([*self.words], seconds, _text(self.out))
            status: int = self.process.exitcode
            written = _text(self.out), _text(self.err)
        self.process.close()
        return subprocess.CompletedProcess([*self.words], status, *written)


def start(
    verb: str,
    *words: str,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    before: Callable[[], object] | None = None,
) -> Running:
    """Begins a verb.

    Args:
      verb: its module.
      words: arguments.
      folder: in which it runs; None: this process's.
      environment: all of it; None: this process's.
      before: is called in the new process first; a function of a module, or a partial of one.
    """
    _FORKS.set_forkserver_preload(_IMPORTED)
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
    process = _FORKS.Process(
        target=_run,
        args=(verb, words, folder or Path.cwd(), dict(environment or os.environ), before),
        kwargs={"streams": (_Stream(out), _Stream(err))},
        daemon=verb != "vectors",  # ends with the tests, if it needs no children of its own
    )
    process.start()
    return Running([verb, *words], process, out, err)


def run(verb: str, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a verb to its end; arguments as of `start`."""
    return start(verb, *words, **options).wait()


def free_ports() -> list[int]:
    """Returns two ports that nobody listens on."""
    with socket.socket() as first, socket.socket() as second:
        for each in (first, second):
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in (first, second)]


class _Stream:
    """A file that is given to a process when it is started."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __reduce__(self) -> Any:
        return _detach, (reduction.DupFd(self._file.fileno()),)


def _detach(duplicate: Any) -> int:
    number: int = duplicate.detach()
    return number


def _text(file: IO[bytes]) -> str:
    """What is in a file that another process writes, whose position is shared with it."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode()


def _run(
    verb: str,
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    before: Callable[[], object] | None,
    streams: tuple[int, int],
) -> None:
    """What the new process does."""
    from jax._src import xla_bridge

    from jaxeval import cli
    from jaxeval.__main__ import main
    from jaxeval.population import loop

    loop._SECONDS = 0.0  # epochs of tests are short
    assert not xla_bridge.backends_are_initialized()
    for number, stream in zip(streams, (1, 2), strict=True):
        os.dup2(number, stream)
        os.close(number)
    os.chdir(folder)
    _take(environment)
    if before is not None:
        before()
    cli.run(functools.partial(main, [verb, *words]))


def _take(environment: Mapping[str, str]) -> None:
    """Makes an environment this process's; jax, imported before, has read another."""
    import jax

    changed = {name for name in environment if environment[name] != os.environ.get(name)}
    os.environ.clear()
    os.environ.update(environment)
    for name in changed:
        if name.startswith("JAX_"):
            jax.config.update(name.lower(), _value(environment[name]))


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
