"""Commands of any program that print a score, and workers that run evaluations side by side."""

import contextlib
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent import futures
from typing import Any, Generic, TypeVar

from jaxeval.bandits.state import as_number
from jaxeval.errors import ConfigError, DataError, RunError
from jaxeval.files import Json

Job = TypeVar("Job", bound=tuple[Any, ...])  # the arguments of an evaluation; jobs have an order
Report = Callable[[int, float], bool]  # step, score -> whether to stop there
_PLACE = re.compile(r"\{([A-Za-z0-9_-]+)\}")


class EvaluationFailed(RunError):
    """One evaluation gave no score; another try may."""


class Command:
    """A program with places such as {seed} in its arguments; its output has a score.

    The template is split into words as a shell would, but no shell runs it; then values are put
    into each word, so that a value with spaces or quotes stays one argument. Any number of
    threads may call `score` at once.

    Args:
      template: such as "./train.sh {model} --seed={seed}".
      names: places that values are put into; other text in braces stays as it is.
      field: dotted path into the JSON output, such as "test.median"; None: the last line is the
        score.
      limit: seconds after which a command is stopped, with all that it started.

    Raises:
      ConfigError: the template cannot be split, or there is no such program.
    """

    def __init__(
        self,
        template: str,
        names: Collection[str],
        field: str | None = None,
        limit: float | None = None,
    ):
        try:
            self._words = shlex.split(template)
        except ValueError as error:
            raise ConfigError(f"command: {template!r} cannot be split ({error})") from None
        if not self._words:
            raise ConfigError("command: expected a program and its arguments, got nothing")
        if shutil.which(self._words[0]) is None and "{" not in self._words[0]:
            raise ConfigError(f"command: {self._words[0]}: no such program")
        self._names, self._field, self._limit = frozenset(names), field, limit
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen] = set()
        self._stopped = False

    def words(self, values: Mapping[str, str]) -> list[str]:
        """What is run; a word with the name of a place that has no value is left out."""
        absent = self._names - set(values)
        return [
            _PLACE.sub(lambda place: values.get(place[1], place[0]), word)
            for word in self._words
            if not absent & set(_PLACE.findall(word))
        ]

    def score(self, values: Mapping[str, str], report: Report | None = None) -> float:
        """Runs the command with these values to its end.

        Args:
          report: hears of the lines {"step": 3, "score": 0.7} that it prints, and may have the
            command stopped.

        Raises:
          EvaluationFailed: with the cause.
        """
        late = threading.Event()
        with (
            tempfile.TemporaryFile() as errors,
            self._begin(self.words(values), errors) as process,
        ):

            def end() -> None:
                late.set()
                _kill(process)

            timer = threading.Timer(self._limit or 0, end)
            try:
                if self._limit is not None:
                    timer.start()
                output = _output(process, report)
                process.wait()
            finally:
                timer.cancel()
                _kill(process)  # what it started may still run
                with self._lock:
                    self._processes.discard(process)
            if late.is_set():
                raise EvaluationFailed(f"no result within {self._limit:g} s")
            if process.returncode:
                errors.seek(0)
                said = errors.read().decode(errors="replace").strip().splitlines()
                last = (said or ["no message"])[-1][:200]
                raise EvaluationFailed(f"exit code {process.returncode} ({last})")
        return _score(output, self._field)

    def start(self) -> None:
        """Lets commands run again, when all that were stopped have ended."""
        self._stopped = False

    def stop(self) -> None:
        """Ends all commands that are running, and lets none begin."""
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
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    errors="replace",
                    start_new_session=True,  # so that all that it starts ends with it
                )
            except OSError as error:
                raise ConfigError(f"command: {words[0]}: {error.strerror or error}") from None
            self._processes.add(process)
        return process


def _kill(process: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _output(process: subprocess.Popen, report: Report | None) -> str:
    """What a command prints; `report` hears of its steps as they come."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        known = _step(line) if report else None
        if report and known and report(*known):
            raise EvaluationFailed("stopped early")
    return "".join(lines)


def _step(line: str) -> tuple[int, float] | None:
    """The step and the score of a line of JSON that has both; None: it is another line."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        tree = json.loads(line)
        step, score = tree["step"], tree["score"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    numbers = not isinstance(step, bool) and isinstance(step, int) and step > 0
    return (step, float(score)) if numbers and isinstance(score, int | float) else None


def _score(output: str, field: str | None) -> float:
    """The score in a command's output.

    Raises:
      EvaluationFailed: there is none.
    """
    lines = output.strip().splitlines()
    if not lines:
        raise EvaluationFailed("no output; expected the score in the last line")
    value = lines[-1].strip() if field is None else _field(output, lines[-1], field)
    try:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    where = f"field {field}" if field else "the last line"
    raise EvaluationFailed(f"{where} is {str(value)[:80]!r}; expected a number")


def _field(output: str, last: str, field: str) -> Json:
    """A field of the JSON that the output or its last line is."""
    for text in (output, last):
        try:
            tree = json.loads(text)
            break
        except json.JSONDecodeError:
            continue
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


class Workers(Generic[Job]):
    """Jobs that wait for a free worker, and those that run.

    Args:
      evaluate: called with a job's parts, from threads; raises `EvaluationFailed` when there is no
        score.
      count: of jobs that run at once.
      retries: times that a failed job is tried again.
    """

    def __init__(
        self, pool: futures.Executor, evaluate: Callable[..., float], count: int, retries: int
    ):
        self._pool, self._evaluate, self._count, self.retries = pool, evaluate, count, retries
        self.waiting: deque[Job] = deque()
        self._running: dict[futures.Future, Job] = {}
        self._failures: Counter[Job] = Counter()

    @property
    def free(self) -> int:
        """Workers for whom nothing waits."""
        return self._count - len(self._running) - len(self.waiting)

    @property
    def busy(self) -> bool:
        """Whether any job waits or runs."""
        return bool(self._running or self.waiting)

    def next_results(self) -> list[tuple[Job, float | EvaluationFailed]]:
        """Keeps all workers busy; waits until one or more jobs have ended."""
        while self.waiting and len(self._running) < self._count:
            job = self.waiting.popleft()
            self._running[self._pool.submit(self._evaluate, *job)] = job
        done, _ = futures.wait(self._running, return_when=futures.FIRST_COMPLETED)
        ended = sorted(((self._running.pop(of), of) for of in done), key=lambda pair: pair[0])
        return [(job, _result(job, future)) for job, future in ended]

    def try_again(self, job: Job) -> bool:
        """Puts a job that failed before those that wait; False: it has no try left."""
        self._failures[job] += 1
        if self._failures[job] > self.retries:
            return False
        self.waiting.appendleft(job)
        return True

    def drop(self, first: object) -> None:
        """Removes waiting jobs whose first part is this."""
        self.waiting = deque(job for job in self.waiting if job[0] != first)


def _result(job: tuple[Any, ...], future: futures.Future) -> float | EvaluationFailed:
    try:
        result = future.result()
    except EvaluationFailed as error:
        return error
    score = as_number(result)
    if score is None:
        raise DataError(f"{job[0]}: expected a score as a number, got {result!r:.60}")
    return score if math.isfinite(score) else EvaluationFailed(f"the score is {score}")


@contextlib.contextmanager
def working(
    evaluate: Callable[..., float],
    count: int,
    retries: int = 0,
    stop: Callable[[], None] | None = None,
) -> Iterator[Workers]:
    """Workers that are gone when the block ends; arguments as of `Workers`.

    Then `stop()`, or that of the evaluation, is called: what no longer matters may still run.
    """
    with futures.ThreadPoolExecutor(count) as pool:
        try:
            yield Workers(pool, evaluate, count, retries)
        finally:
            (stop or getattr(evaluate, "stop", lambda: None))()  # type: ignore[misc]
            pool.shutdown(wait=False, cancel_futures=True)
