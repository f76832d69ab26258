"""What all verbs share: errors as one line, exit codes, JSON output."""

import argparse
import contextlib
import errno
import io
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from jaxeval import outputs as writing
from jaxeval.config.arguments import MOST
from jaxeval.errors import JaxevalError, printable

_LONGEST_ERROR = 300  # characters
_SIGNALLED = 128  # exit status, less the number of the signal
SEEDS = 8  # where no number of them is given
_MODULE = "python -m jaxeval."  # and the verb
# of an output: without a reader, on a full disk, beyond a limit or quota
_UNWRITTEN = (errno.EPIPE, errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)


def run(main: Callable[[], int | None]) -> NoReturn:
    """Runs a verb: 0 done, 2 for the user's errors (one line on stderr), 130 after Ctrl-C, 143
    after SIGTERM, 129 after SIGHUP, which unwind as Ctrl-C does: what the verb has started ends
    with it, temporary files too; a SIGHUP that is ignored, as by nohup, stays so. 141 (of SIGPIPE)
    where the reader of its output has gone: a gate's verdict may not have been read.

    A verb that a signal has stopped in good order leaves by SystemExit, 128 and its number.
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
    """How a verb ends, with all that it said written, or OSError."""
    try:
        status = main() or 0
    except JaxevalError as error:
        print(f"error: {_in_a_line(str(error))}", file=sys.stderr)
        status = 2
    except MemoryError as error:
        said = f"out of memory{f' ({error})' if str(error) else ''}"
        print(f"error: {said}; expected smaller data or a larger machine", file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        status = _SIGNALLED + signal.SIGINT
    except SystemExit as stop:
        sys.stdout.flush()
        sys.stderr.flush()
        if isinstance(stop.code, int) and stop.code > _SIGNALLED:
            os._exit(stop.code)  # all is closed; threads that still compile are not waited for
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
def resumable(without: str = "") -> Iterator[None]:
    """Says what is to be done after Ctrl-C or SIGTERM: all results so far are in a state file.

    Args:
      without: the flag that the same command is to leave out then, if there is one.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit):  # as `run` has it
        again = f", without {without}" if without else ""
        print(f"\nstopped; the same command{again} continues from here", file=sys.stderr)
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
    """A verb's parser; its texts are shown as they are written, but for how verbs are called.

    Args:
      verb: its name, "" for the command that takes a verb.
      description, epilog: with examples that begin with `python -m jaxeval.VERB`.
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


def add_config(parser: argparse.ArgumentParser) -> None:
    """Adds what names an experiment: config, changes, data, runs folder; and --json."""
    parser.add_argument("config", nargs="?", help="TOML file; absent: the embedded default")
    parser.add_argument(
        "changes", nargs="*", metavar="key=value", help="change a config's key; key= unsets it"
    )
    parser.add_argument("--out", default="runs", metavar="RUNS", help="runs folder (runs)")
    parser.add_argument(
        "--data", metavar="PATH", help="the corpus: a folder, for a text also a file, or tfds:NAME"
    )
    parser.add_argument("--json", metavar="PATH", help="the result as JSON, - for stdout")


def add_details(parser: argparse.ArgumentParser) -> None:
    """Adds --details, which means the same of every verb that has an answer."""
    parser.add_argument(
        "--details",
        action="store_true",
        help="print all that was computed: every test, interval and note, and the methods",
    )


def say_default(args: argparse.Namespace) -> None:
    """Says on stderr that no config is named, of verbs that then train the embedded one."""
    if args.config is None:
        beside = " with these changes" if args.changes else ""
        print(f"no CONFIG is named: this is the embedded default{beside}", file=sys.stderr)


def add_seeds(parser: argparse.ArgumentParser) -> None:
    """Adds which seeds; `seeds_of` reads them."""
    which = parser.add_mutually_exclusive_group()
    about = f"seeds 1 .. N ({SEEDS})"
    which.add_argument("--seeds", type=positive, default=SEEDS, metavar="N", help=about)
    which.add_argument("--seed-list", type=_numbers, metavar="A,B,..", help="these seeds")


def add_splits(parser: argparse.ArgumentParser) -> None:
    """Adds which random splits; `splits_of` reads them."""
    which = parser.add_mutually_exclusive_group()
    about = "random splits 1 .. N instead of the given"
    which.add_argument("--splits", type=positive, metavar="N", help=about)
    which.add_argument(
        "--split-list", type=_from_one, metavar="A,B,..", help="these random splits"
    )


def add_again(parser: argparse.ArgumentParser) -> None:
    """Adds --again, of verbs that can keep models."""
    about = "train members again that have ended without what is to be kept of them"
    parser.add_argument("--again", action="store_true", help=about)


def seeds_of(args: argparse.Namespace) -> list[int]:
    """The seeds that were asked for."""
    return args.seed_list or list(range(1, args.seeds + 1))


def splits_of(args: argparse.Namespace) -> list[int]:
    """The splits that were asked for; 0: the data's own."""
    drawn = range(1, args.splits + 1) if args.splits else [0]
    return args.split_list or list(drawn)


def parse_config(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    outputs: Sequence[str] = (),
    reads: Sequence[str] = (),
    runs: Sequence[str] = ("out", "store"),
) -> argparse.Namespace:
    """Parses the arguments of a verb that takes `add_config`'s.

    Args:
      outputs: other arguments that name files to write; one called figures names a folder.
      reads: other arguments that name files to read.
      runs: arguments that name places of runs.

    Raises:
      ConfigError, RunError: as `refuse_unwritable`.
    """
    args = parser.parse_intermixed_args(arguments)
    if args.config and "=" in args.config and not os.path.exists(args.config):  # only changes
        args.config, args.changes = None, [args.config, *args.changes]
    writing.refuse_unwritable(
        *(getattr(args, name) for name in ("json", *outputs)),
        folder=getattr(args, "figures", None),
        reads=(getattr(args, name) for name in ("config", "data", *reads)),
        runs=(getattr(args, name, None) for name in runs),
    )
    return args


def positive(text: str) -> int:
    """A whole number from 1 to a million, for argparse: a list of so many members can be made."""
    if not text.isdecimal() or len(text) > 7 or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {MOST}, got {text}")
    return int(text)


def number(low: float, high: float = math.inf) -> Callable[[str], float]:
    """A number from `low` to `high`, finite, for argparse."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (low <= value <= high and math.isfinite(value)):
            upto = f" to {high:g}" if math.isfinite(high) else ""
            raise argparse.ArgumentTypeError(f"expected a number from {low:g}{upto}, got {text!r}")
        return value

    return read


def _numbers(text: str) -> list[int]:
    parts = text.split(",")
    # Python's int refuses thousands of digits
    if not all(p.strip().isdecimal() and len(p) < 20 and int(p) < 2**32 for p in parts):
        raise argparse.ArgumentTypeError(
            f"expected whole numbers below 2^32, such as 3,5,8, got {text!r}"
        )
    return list(dict.fromkeys(int(part) for part in parts))


def _from_one(text: str) -> list[int]:
    numbers = _numbers(text)
    if 0 in numbers:
        raise argparse.ArgumentTypeError(f"expected numbers from 1, such as 3,5,8, got {text!r}")
    return numbers
