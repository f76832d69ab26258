"""Parts that all verbs share on a command line: errors as one line, exit codes, signals, help.

The help of arguments is that of docstrings; many verbs share some of it.
"""

import argparse
import contextlib
import errno
import inspect
import io
import os
import signal
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import NoReturn

from jaxeval.errors import JaxevalError, printable

_LONGEST_ERROR = 600  # characters
_SIGNALLED = 128  # exit status, less the number of the signal
# of an output: without a reader, on a full disk, beyond a limit or quota
_UNWRITTEN = (errno.EPIPE, errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)
_HELP = {  # parameter -> its help, where a verb's docstring has none
    "config": "TOML file or name of a shipped config (default: small taggers, generated corpus).",
    "changes": "set a key of the config; key= unsets it.",
    "data": "the corpus: a folder, a text file, or tfds:NAME.",
    "out": "the runs folder.",
    "seeds": "N (seeds 1 to N), or a list such as 3,5,8.",
    "experiment": "name of an experiment, or at least the first 4 digits of its id.",
    "space": "the search space (TOML).",
    "score": "column of scores (default: score; in a runs folder: test).",
    "column": "ROLE=NAME, if columns have other names.",
    "metric": "use only this metric: its rows or its column.",
    "missing": (
        "what to do with missing, infinite or NaN scores: stop with an error, leave them out, or "
        "count them as 0."
    ),
    "lower_is_better": "lower scores are better (default: by the metric's name, else higher).",
    "alpha": "significance level, after correction for multiple tests.",
    "margin": "smallest difference that matters, in the unit of the scores.",
    "control": "compare all other models with this one, instead of all pairs.",
    "resamples": "number of permutations and bootstrap samples.",
    "seed": "seed of the random draws.",
    "rule": (
        "what to evaluate next. top-two: the likely leader or its challenger. batch: models drawn "
        "by their probability of being best. non-adaptive: every model once per round. "
        "sequential-halving: all survivors equally; each round drops the worse half."
    ),
    "delta": (
        "stop when a model is best with probability 1 - delta (default: .05; non-adaptive with a "
        "budget: never)."
    ),
    "budget": "maximum number of evaluations.",
    "method": "what proposes settings: a Gaussian process, Sobol points or random draws.",
    "trials": "number of settings to try.",
    "enqueue": "setting to evaluate first, with all its values; repeatable.",
    "correction": (
        "correction for many candidates in one ledger. none: alpha holds for each candidate by "
        "itself. e-lond: of those called better, an expected share of at most alpha is wrong. "
        "spending: with probability 1 - alpha no claim is wrong."
    ),
    "note": "what the candidate changes; the ledger keeps this note.",
    "statistic": (
        "t: compares means (exact for normal scores). wins: compares how many pairs each side "
        "wins, for any distribution; a failed seed is a lost pair. betting: compares means of "
        "scores from 0 to 1, for any distribution."
    ),
    "json_field": "field of the command's JSON output that holds the score, such as dev.f1.",
    "time_limit": "maximum seconds for one run of the command.",
    "launch": (
        "where to train: local:N (N processes; local:1 is this one), slurm, slurm:FILE.toml, ray "
        "or ray:ADDRESS."
    ),
    "dry_run": "show the plan and stop; nothing is written.",
    "runs": "the runs folder.",
    "host": "address to listen on; others than this machine's own need a token, which is printed.",
    "port": "TCP port.",
    "workers": "number of commands to run at once.",
    "vectors": "file of word vectors: GloVe, word2vec (text or binary), plain or gzipped.",
    "against": "further files of vectors, to compare.",
    "keep_case": "do not convert words to lower case.",
    "again": "settle a decided comparison again, with fresh seeds.",
    "part": "part whose score counts (default: test on random splits, else dev).",
    "pattern": "regular expression with one group, the score; the last match counts.",
    "power": "probability of detecting the difference.",
    "modes": "train with fixed vectors, with fine-tuned (tuned) vectors, or both.",
    "seconds": "maximum wall time of all calls, in seconds; then no more settings are proposed.",
    "quiet": "show no progress; leave signal handlers alone.",
}
_HEADS = ("Args:", "Returns:", "Raises:", "Examples:")
_ERRORS = "  ConfigError, DataError, RunError: an argument or the data cannot be used."


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


def docstring_sections(function: Callable[..., object]) -> dict[str, list[str]]:
    """Returns the lines of a docstring in Google's style by section; "" is the text."""
    found: dict[str, list[str]] = {"": []}
    head = ""
    for line in (inspect.getdoc(function) or "").splitlines():
        head = line if line in _HEADS else head
        found.setdefault(head, []).extend([] if line in _HEADS else [line])
    return found


def docstring_arguments(lines: Iterable[str]) -> dict[str, str]:
    """Returns the help of each argument in the lines of an Args section."""
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        if line.startswith("  ") and not line.startswith("    ") and ":" in line:
            name, _, line = line.strip().partition(":")
        for each in name.split(", ") if line.strip() else ():
            found[each] = f"{found.get(each, '')} {line.strip()}".strip()
    return found


def complete_docstring(function: Callable[..., object]) -> str:
    """Returns a verb's docstring with the help of shared arguments, and its errors."""
    found: dict[str, list[str]] = {"": [], "Args:": []} | docstring_sections(function)
    known = _HELP | docstring_arguments(found.get("Args:", ()))
    names = [name for name in inspect.signature(function).parameters if name in known]
    wrap = textwrap.TextWrapper(96, initial_indent="  ", subsequent_indent="    ")
    found["Args:"] = [line for name in names for line in wrap.wrap(f"{name}: {known[name]}")]
    found.setdefault("Raises:", [_ERRORS])
    parts = ["\n".join([head, *lines]).strip() for head, lines in found.items() if lines]
    return "\n\n".join(parts)
