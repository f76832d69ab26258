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

_LONGEST_ERROR = 300  # characters
_SIGNALLED = 128  # exit status, less the number of the signal
# of an output: without a reader, on a full disk, beyond a limit or quota
_UNWRITTEN = (errno.EPIPE, errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)
_HELP = {  # parameter -> its help, where a verb's docstring has none
    "config": "TOML file, name of a shipped config, or nothing: the default.",
    "changes": "change a config's key; key= unsets it.",
    "data": "the corpus: a folder, a text file, or tfds:NAME.",
    "out": "the runs folder.",
    "seeds": "N (seeds 1 to N), or a list such as 3,5,8.",
    "experiment": "an experiment: its name, its id, or 4 or more first digits of its id.",
    "space": "the search space (TOML).",
    "score": "column of scores (score; test of a runs folder).",
    "column": "ROLE=NAME of columns with other names.",
    "metric": "only rows of this metric.",
    "missing": "how to treat scores that are missing, infinite or not a number.",
    "lower_is_better": "lower scores are better (as the metric's name says, else higher).",
    "alpha": "significance level, after the correction.",
    "margin": "smallest difference that matters, in the unit of the scores.",
    "control": "compare all others with this model only, not all pairs.",
    "resamples": "number of permutations and bootstrap samples.",
    "seed": "seed of the random draws.",
    "rule": (
        "top-two evaluates the probable leader or its challenger, batch draws each slot of a "
        "batch by the probability of being the best, non-adaptive evaluates every model once a "
        "round, sequential-halving spends the budget and halves the field in every round."
    ),
    "delta": (
        "stop when a model is the best with probability 1 - delta (.05; non-adaptive with a "
        "budget: never)."
    ),
    "budget": "maximum number of evaluations.",
    "method": "what proposes settings: a Gaussian process, Sobol points or random draws.",
    "trials": "number of settings.",
    "enqueue": "a setting to evaluate first, as 'NAME=VALUE NAME=VALUE'; may be repeated.",
    "correction": (
        "for many candidates in one ledger: none (alpha holds for each by itself), e-lond (of "
        "those called better, on average at most a share of alpha is wrong) or spending (with "
        "probability 1 - alpha none is wrong)."
    ),
    "note": "what the candidate changes, for the ledger.",
    "statistic": (
        "t compares mean scores (exact for normal scores); wins compares the pairs that each side "
        "wins, for any distribution, and counts a failed seed as lost; betting compares means of "
        "scores from 0 to 1, for any distribution."
    ),
    "json_field": "where the score is in the JSON that a command prints, such as dev.f1.",
    "time_limit": "maximum seconds of one run of a command.",
    "launch": (
        "where to train: local:N in N processes, slurm, slurm:FILE.toml, ray or ray:ADDRESS; "
        "local:1 is this process."
    ),
    "dry_run": "show the plan and stop; nothing is written.",
    "runs": "runs folder.",
    "host": "address to listen on. If it is not this machine's own, a token is needed (printed).",
    "port": "TCP port.",
    "workers": "number of commands at once.",
    "vectors": "a file of word vectors: text (GloVe, word2vec) or word2vec binary; plain or gzip.",
    "against": "further files of vectors.",
    "keep_case": "do not convert words to lower case.",
    "again": "settle a settled comparison of the ledger again, with fresh seeds.",
    "part": "part whose score counts (test on random splits, dev on the data's own split).",
    "pattern": "regular expression whose group is the score; its last match counts.",
    "power": "probability of showing the difference.",
    "modes": "fixed vectors, fine-tuned vectors, or both.",
    "seconds": "maximum wall time of all calls in seconds; then nothing more is proposed.",
    "quiet": "no progress output; signal handlers are left alone.",
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
