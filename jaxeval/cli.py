"""Parts that all verbs share on a command line: errors as one line, exit codes, signals."""

import argparse
import contextlib
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

from jaxeval.errors import JaxevalError, printable

_LONGEST_ERROR = 300  # characters
_SIGNALLED = 128  # exit status, less the number of the signal
# of an output: without a reader, on a full disk, beyond a limit or quota
_UNWRITTEN = (errno.EPIPE, errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)


def run(main: Callable[[], int | None]) -> NoReturn:
    """Runs a verb and exits with its code, or with 2 after an error of the user.

    An error is one line on stderr. Other codes: 130 after Ctrl-C, 143 after SIGTERM, 129 after
    SIGHUP (which stays ignored under nohup), and 141 (of SIGPIPE) where the reader of the output
    has gone, since a gate's verdict may not have been read.
    """
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _terminate)
    # streams that are closed, as by >&-, must not become the next file that is opened
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):  # an ASCII terminal gets escapes, not a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _status(main)
    except OSError as error:
        if error.errno not in _UNWRITTEN:
            raise
        if error.errno != errno.EPIPE:
            what = error.filename or "the output"
            with contextlib.suppress(OSError):
                say(f"error: {what}: cannot be written ({error.strerror})")
        for stream in (sys.stdout, sys.stderr):  # what is left would fail again when Python ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        status = _SIGNALLED + signal.SIGPIPE if error.errno == errno.EPIPE else 2
    sys.exit(status)


def _status(main: Callable[[], int | None]) -> int:
    """The exit code of a verb after all output is written; OSError if it cannot be."""
    status = 2
    try:
        status = main() or 0
    except JaxevalError as error:
        say(f"error: {_one_line(str(error))}")
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        say(f"error: {_one_line(str(error.filename))}: {error.strerror}")
    except MemoryError as error:
        say(f"error: out of memory ({error}); expected smaller data or a larger machine")
    except (KeyboardInterrupt, SystemExit) as stop:
        code = stop.code if isinstance(stop, SystemExit) else _SIGNALLED + signal.SIGINT
        sys.stdout.flush()
        sys.stderr.flush()
        if isinstance(code, int) and code > _SIGNALLED:
            os._exit(code)  # all is closed; threads that still compile are not waited for
        raise
    sys.stdout.flush()
    return status


def _one_line(message: str) -> str:
    """A message without control characters; a long one loses its middle."""
    line = printable(" ".join(message.split("\n")))
    if len(line) <= _LONGEST_ERROR:
        return line
    return f"{line[: _LONGEST_ERROR // 2 - 5]} ... {line[-_LONGEST_ERROR // 2 :]}"


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(_SIGNALLED + number)


def say(line: str, quiet: bool = False) -> None:
    """Prints a line of progress on stderr."""
    if not quiet:
        print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """Says how to go on after Ctrl-C or SIGTERM, where all results are in a state file."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        say("\nstopped; the same command continues from here")
        raise


@contextlib.contextmanager
def waiting(doing: str) -> Iterator[None]:
    """Says on stderr what is being done once it has taken three seconds."""
    timer = threading.Timer(3.0, say, (f"{doing} ...",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Says what is wrong in one line, without the usage before it."""
        line = _one_line(f"{message}; --help lists the arguments")
        self.exit(2, f"error: {line}\n")


def parser(verb: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """Returns the parser of a verb, or of the command itself for ""; texts stay as written."""
    return _Parser(
        f"jaxeval {verb}".strip(),
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # --seed 100 would be --seeds 100: 100 members
    )
