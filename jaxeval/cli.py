"""What all verbs share: errors as one line, exit codes, signals."""

import argparse
import contextlib
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from jaxeval.errors import JaxevalError, printable

_LONGEST_ERROR = 300  # characters
_SIGNALLED = 128  # exit status, less the number of the signal
_MODULE = "python -m jaxeval."  # and the verb
# of an output: without a reader, on a full disk, beyond a limit or quota
_UNWRITTEN = (errno.EPIPE, errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)


def run(main: Callable[[], int | None]) -> NoReturn:
    """Runs a verb, whose exit code is 0, or 2 after an error of the user (one line on stderr).

    130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP, which unwind as Ctrl-C does; a SIGHUP
    that is ignored, as by nohup, stays so. 141 (of SIGPIPE) where the reader of the output has
    gone: a gate's verdict may not have been read.
    """
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _terminate)
    # closed, as by >&-: not to be the next file that is opened
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):  # a terminal of few letters gets escapes, no traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _status(main)
    except OSError as error:
        if error.errno not in _UNWRITTEN:
            raise
        status = _unwritten(error)
    sys.exit(status)


def _status(main: Callable[[], int | None]) -> int:
    """The exit code of a verb, with all that it said written, or OSError."""
    status = 2
    try:
        status = main() or 0
    except JaxevalError as error:
        print(f"error: {_in_a_line(str(error))}", file=sys.stderr)
    except MemoryError as error:
        said = f"out of memory{f' ({error})' if str(error) else ''}"
        print(f"error: {said}; expected smaller data or a larger machine", file=sys.stderr)
    except (KeyboardInterrupt, SystemExit) as stop:
        code = stop.code if isinstance(stop, SystemExit) else _SIGNALLED + signal.SIGINT
        sys.stdout.flush()
        sys.stderr.flush()
        if isinstance(code, int) and code > _SIGNALLED:
            os._exit(code)  # all is closed; threads that still compile are not waited for
        raise
    sys.stdout.flush()
    return status


def _in_a_line(message: str) -> str:
    """A message without control characters; of a long one its beginning and its end, which says
    what to do."""
    line = printable(" ".join(message.split("\n")))
    if len(line) <= _LONGEST_ERROR:
        return line
    return f"{line[: _LONGEST_ERROR // 2 - 5]} ... {line[-_LONGEST_ERROR // 2 :]}"


def _unwritten(error: OSError) -> int:
    """The status where the output has no reader, or no room."""
    if error.errno != errno.EPIPE:
        named = error.filename or "the output"
        with contextlib.suppress(OSError):
            print(f"error: {named}: cannot be written ({error.strerror})", file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):  # what is left would fail again when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return _SIGNALLED + signal.SIGPIPE if error.errno == errno.EPIPE else 2


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """Says what is to be done after Ctrl-C or SIGTERM: all results so far are in a state file."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):  # as `run` has it
        print("\nstopped; the same command continues from here", file=sys.stderr)
        raise


@contextlib.contextmanager
def waiting(doing: str, seconds: float = 3.0) -> Iterator[None]:
    """Says on stderr what takes its time, once it has taken so many seconds."""
    options = {"file": sys.stderr, "flush": True}
    timer = threading.Timer(seconds, print, (f"{doing} ...",), options)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """Handles SIGTERM and SIGHUP."""
    raise SystemExit(_SIGNALLED + number)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as all errors are said, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        line = _in_a_line(f"{message}; --help lists the arguments")
        self.exit(2, f"error: {line}\n")


def parser(verb: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """The parser of a verb, "" of the command that takes one.

    Texts stand as they are written; examples begin with `python -m jaxeval.VERB`, and name verbs
    as they are called here.
    """
    prefix = called()
    return _Parser(
        f"{prefix}{verb}".strip(" ."),
        description=description.replace(_MODULE, prefix),
        epilog=epilog.replace(_MODULE, prefix),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def words(given: Sequence[str] | None) -> list[str]:
    """The words of a command: these, or those of the process."""
    return list(sys.argv[1:] if given is None else given)


def called() -> str:
    """How the user calls verbs, up to the verb, as told by what runs in this process."""
    program = Path(sys.argv[0])
    if program.stem == "jaxeval":  # the console script
        return "jaxeval "
    if program == Path(__file__).with_name("__main__.py"):
        return "python -m jaxeval "
    return _MODULE
