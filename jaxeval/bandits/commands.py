"""Commands that print a score."""

import contextlib
import json
import math
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from jaxeval.errors import ConfigError, RunError, argument
from jaxeval.files import Json
from jaxeval.runs import metrics

Report = Callable[[int, float], bool]  # (step, score) -> whether to stop there
PLACE = re.compile(r"\{([A-Za-z0-9_-]+)\}")
_ENDS = re.compile(rb"\r\n?|\n")
_LINGER = 1.0  # seconds in which children of a command that has ended may still print
# a last line such as "accuracy: 0.71"
_NAMED = re.compile(r"([A-Za-z][\w./ -]*)[:=]\s*([-+\w.]+)")


class EvaluationFailed(RunError):
    """An evaluation gave no score; another try may."""


class Command:
    """A program that prints a score, with places in its arguments: "./train.sh --seed={seed}".

    The template is split into words as a shell would, but no shell runs it: a value with spaces or
    quotes stays one argument. Several threads may call `score` at once.

    Args:
      names: places that values are put into; other text in braces stays as it is.
      field: dotted path into the JSON output, such as "test.median"; without it, and without a
        pattern, the last line is the score, as in "0.71" or "accuracy: 0.71".
      limit: seconds after which a command is stopped, with all processes that it started.
      needed: the place that must be there.
      pattern: instead of a field: regular expression with one group, which is the score where it
        matches last.
      folder: where the program runs.

    Raises:
      ConfigError: the template cannot be split or lacks a place, there is no such program, or the
        pattern is none.

    Attributes:
      assumed: says that higher is assumed to be better: then "loss: 0.71" is refused.
    """

    assumed = ""

    def __init__(
        self,
        template: str,
        names: Collection[str],
        field: str | None = None,
        limit: float | None = None,
        needed: str = "",
        pattern: str | None = None,
        folder: str | Path = ".",
    ):
        if field is not None and pattern is not None:
            both = argument("json_field", field), argument("pattern", pattern)
            raise ConfigError(f"expected {both[0]} or {both[1]}, found both")
        if needed and f"{{{needed}}}" not in template:
            raise ConfigError(f"command: expected {{{needed}}} somewhere in {template!r}")
        try:
            self._words = shlex.split(template)
        except ValueError as error:
            raise ConfigError(f"command: {template!r} cannot be split ({error})") from None
        if not self._words:
            raise ConfigError("command: expected a program and its arguments, got nothing")
        self.template = template
        self.folder = Path(folder)
        program = self._words[0]
        path = os.path.join(self.folder, program)  # not a Path, which would drop "./"
        found = shutil.which(path if "/" in program else program)
        if found is None and "{" not in program:
            raise ConfigError(f"command: {program}: no such program")
        self._names = frozenset(names)
        self._limit = limit
        self.field = field
        self.pattern = None if pattern is None else _compiled(pattern)
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen] = set()
        self._stopped = False

    def words(self, values: Mapping[str, str]) -> list[str]:
        """Returns the words to run, without those that name a place that has no value."""
        absent = self._names - set(values)
        return [
            PLACE.sub(lambda place: values.get(place[1], place[0]), word)
            for word in self._words
            if not absent & set(PLACE.findall(word))
        ]

    def score(self, values: Mapping[str, str], report: Report | None = None) -> float:
        """Runs the command with these values; returns its score, or raises EvaluationFailed.

        `report` receives the lines {"step": 3, "score": 0.7} that it prints, and may stop it.
        """
        late = threading.Event()
        with (
            tempfile.TemporaryFile() as errors,
            self._begin(self.words(values), errors) as process,
        ):

            def end() -> None:
                late.set()
                _kill(process)

            timer = threading.Timer(self._limit or threading.TIMEOUT_MAX, end)
            try:
                timer.start()
                output = _output(process, report)
                process.wait()
            finally:
                timer.cancel()
                _kill(process)  # its children may still run
                with self._lock:
                    self._processes.discard(process)
            if late.is_set():
                raise EvaluationFailed(f"no result within {self._limit:g} s")
            if process.returncode:
                errors.seek(0)
                said = errors.read().decode(errors="replace").strip().splitlines()
                last = (said or ["no message"])[-1][:200]
                raise EvaluationFailed(f"exit code {process.returncode} ({last})")
        if self.pattern is not None:
            return _matched(output, self.pattern)
        return _score(output, self.field, self.assumed)

    def start(self) -> None:
        """Allows commands to run again after `stop`."""
        self._stopped = False

    def stop(self) -> None:
        """Ends all running commands, and starts no other."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                _kill(process)

    def _begin(self, words: list[str], errors: Any) -> subprocess.Popen:
        with self._lock:
            if self._stopped:
                raise EvaluationFailed("stopped")
            try:
                process = subprocess.Popen(
                    words,
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,  # its children end with it
                )
            except OSError as error:
                raise ConfigError(f"command: {words[0]}: {error.strerror or error}") from None
            self._processes.add(process)
        return process


def _kill(process: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _output(process: subprocess.Popen, report: Report | None) -> str:
    """Reads what a command prints; passes its steps to `report` as they come."""
    lines = []
    for line in _lines(process):
        lines.append(line)
        known = _step(line) if report else None
        if report and known and report(*known):
            raise EvaluationFailed("stopped early")
    return "".join(lines)


def _lines(process: subprocess.Popen) -> Iterator[str]:
    """Yields lines of output until it closes; soon after the end even if a child keeps it open."""
    pipe = cast(IO[bytes], process.stdout)
    rest = b""
    last = math.inf
    with selectors.DefaultSelector() as readable:
        readable.register(pipe, selectors.EVENT_READ)
        while time.monotonic() < last:
            ready = readable.select(_LINGER)
            if process.poll() is not None:
                last = min(last, time.monotonic() + _LINGER)
            if ready:
                read = os.read(pipe.fileno(), 2**16)
                first, *more = _ENDS.split(read)
                *lines, rest = rest + first, *more
                yield from (f"{line.decode(errors='replace')}\n" for line in lines)
                if not read:
                    break
    yield rest.decode(errors="replace")


def _step(line: str) -> tuple[int, float] | None:
    try:
        tree = json.loads(line) if line.lstrip().startswith("{") else {}
        step, score = tree["step"], tree["score"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    numbers = not isinstance(step, bool) and isinstance(step, int) and step > 0
    return (step, float(score)) if numbers and isinstance(score, int | float) else None


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"{argument('pattern', pattern)}: not a pattern ({error})") from None
    if compiled.groups != 1:
        expected = f"expected one group, which is the score, found {compiled.groups}"
        raise ConfigError(f"{argument('pattern', pattern)}: {expected}")
    return compiled


def _matched(output: str, pattern: re.Pattern[str]) -> float:
    found = [match[1] for match in pattern.finditer(output)]
    with contextlib.suppress(TypeError, ValueError):  # TypeError: the group took no part
        if found:
            return float(found[-1])
    what = f"matches {found[-1]!r:.80}, not a number" if found else "does not match the output"
    raise EvaluationFailed(f"the pattern {pattern.pattern} {what}")


def _score(output: str, field: str | None, assumed: str) -> float:
    lines = output.strip().splitlines()
    if not lines:
        raise EvaluationFailed("no output; expected the score in the last line")
    last = lines[-1].strip()
    named = _NAMED.fullmatch(last)
    if named and field is None and assumed and metrics.higher_is_better(named[1]) is False:
        raise ConfigError(f"the last line is {last!r:.80}, yet {assumed}")
    value = _field(output, last, field) if field is not None else named[2] if named else last
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return float(value)
    where = f"field {field}" if field else "the last line"
    how = "" if field or not last.startswith("{") else f", or {argument('json_field', 'FIELD')}"
    raise EvaluationFailed(f"{where} is {str(value)[:80]!r}; expected a number{how}")


def _field(output: str, last: str, field: str) -> Json:
    """Returns a field of the JSON in the output or in its last line."""
    for text in (output, last):
        with contextlib.suppress(json.JSONDecodeError):
            tree = json.loads(text)
            break
    else:
        raise EvaluationFailed(f"the output is not JSON; expected a field {field}")
    for part in field.split("."):
        if isinstance(tree, list) and part.isdigit() and int(part) < len(tree):
            tree = tree[int(part)]
        elif isinstance(tree, Mapping) and part in tree:
            tree = tree[part]
        else:
            raise EvaluationFailed(f"the JSON has no field {field} ({part} is missing)")
    return tree
