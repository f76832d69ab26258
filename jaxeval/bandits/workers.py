"""Evaluations side by side: threads that work on jobs, and commands as what they work on."""

import contextlib
import json
import math
import os
import shlex
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from typing import Any, Generic, TypeVar

from jaxeval.bandits import state
from jaxeval.errors import ConfigError, DataError, RunError
from jaxeval.files import Json

Job = TypeVar("Job", bound=tuple[Any, ...])  # the arguments of an evaluation; jobs have an order


Report = Callable[[int, float], bool]  # step, score -> whether to stop there


class EvaluationFailed(RunError):
    """One evaluation gave no score; another try may."""


class Desk(Generic[Job]):
    """Jobs that wait for a free worker, and those being worked on."""

    def __init__(self, pool: futures.Executor, evaluate: Callable[..., float], workers: int):
        self._pool, self._evaluate, self._workers = pool, evaluate, workers
        self.waiting: deque[Job] = deque()
        self._running: dict[futures.Future, Job] = {}

    @property
    def free(self) -> int:
        """Workers for whom nothing waits."""
        return self._workers - len(self._running) - len(self.waiting)

    @property
    def busy(self) -> bool:
        """Whether anything waits or is being worked on."""
        return bool(self._running or self.waiting)

    def next_results(self) -> list[tuple[Job, float | EvaluationFailed]]:
        """Keeps all workers busy; waits until one or more have ended."""
        while self.waiting and len(self._running) < self._workers:
            job = self.waiting.popleft()
            self._running[self._pool.submit(self._evaluate, *job)] = job
        done, _ = futures.wait(self._running, return_when=futures.FIRST_COMPLETED)
        ended = sorted(((self._running.pop(future), future) for future in done), key=_job)
        return [(job, _result(job, future)) for job, future in ended]

    def drop(self, first: object) -> None:
        """Forgets jobs that wait whose first part is this."""
        self.waiting = deque(job for job in self.waiting if job[0] != first)


def _job(pair: tuple[Job, object]) -> Job:
    return pair[0]


def _result(job: Job, future: futures.Future) -> float | EvaluationFailed:
    try:
        result = future.result()
    except EvaluationFailed as error:
        return error
    score = state.as_number(result)
    if score is None:
        raise DataError(f"{job[0]}: expected a score as a number, got {result!r:.60}")
    return score if math.isfinite(score) else EvaluationFailed(f"the score is {score}")


@contextlib.contextmanager
def desk(evaluate: Callable[..., float], workers: int) -> Iterator[Desk]:
    """A desk whose workers go when the block ends.

    Args:
      evaluate: called with a job's parts, from threads; raises `EvaluationFailed` when there is no
        score. Its `stop()`, if it has one, is called at the end, when evaluations that no longer
        matter may still be running.
      workers: evaluations at once.
    """
    with futures.ThreadPoolExecutor(workers) as pool:
        try:
            yield Desk(pool, evaluate, workers)
        finally:
            getattr(evaluate, "stop", lambda: None)()
            pool.shutdown(wait=False, cancel_futures=True)


def words(template: str) -> list[str]:
    """The words of a command, split as a shell would; no shell runs it.

    Raises:
      ConfigError: it cannot be split, or there is no such program.
    """
    try:
        split = shlex.split(template)
    except ValueError as error:
        raise ConfigError(f"command: {template!r} cannot be split ({error})") from None
    if not split:
        raise ConfigError("command: expected a program and its arguments, got nothing")
    if shutil.which(split[0]) is None and "{" not in split[0]:
        raise ConfigError(f"command: {split[0]}: no such program")
    return split


class Processes:
    """Runs commands, whose output holds a score, from any number of threads.

    Args:
      field: dotted path into the JSON output, such as "test.median"; absent: the last line is the
        score.
      limit: seconds after which a command is stopped, with all that it started.
    """

    def __init__(self, field: str | None = None, limit: float | None = None):
        self._field, self._limit = field, limit
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen] = set()
        self._stopped = False

    def score(self, command: Sequence[str], report: Report | None = None) -> float:
        """Runs a command to its end.

        Args:
          report: hears of the lines {"step": 3, "score": 0.7} that it prints, and may have the
            command stopped.

        Raises:
          EvaluationFailed: with the cause.
        """
        with self._begin(command) as process:  # closes its pipes and waits for it
            try:
                output, errors = self._output(process, report)
            except subprocess.TimeoutExpired:
                raise EvaluationFailed(f"no result within {self._limit:g} s") from None
            finally:
                _kill(process)
                with self._lock:
                    self._processes.discard(process)
        if process.returncode:
            last = errors.strip().splitlines()[-1:] or ["no message"]
            raise EvaluationFailed(f"exit code {process.returncode} ({last[0][:200]})")
        return read_score(output, self._field)

    def _output(self, process: subprocess.Popen, report: Report | None) -> tuple[str, str]:
        """What it prints on stdout and stderr, reported as it comes."""
        if report is None:
            output, errors = process.communicate(timeout=self._limit)
            return output, errors
        assert process.stdout is not None and process.stderr is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            _kill(process)

        timer = threading.Timer(self._limit or 0, end)
        if self._limit is not None:
            timer.start()
        try:
            with futures.ThreadPoolExecutor(1) as beside:
                errors = beside.submit(process.stderr.read)
                lines = []
                for line in process.stdout:
                    lines.append(line)
                    known = _step(line)
                    if known is not None and report(*known):
                        _kill(process)
                        raise EvaluationFailed("stopped early")
                process.wait()
                if late.is_set():
                    raise subprocess.TimeoutExpired(process.args, self._limit or 0)
                return "".join(lines), errors.result()
        finally:
            timer.cancel()

    def stop(self) -> None:
        """Ends all commands that are running."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                _kill(process)

    def _begin(self, command: Sequence[str]) -> subprocess.Popen:
        with self._lock:
            if self._stopped:
                raise EvaluationFailed("stopped")
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    errors="replace",
                    start_new_session=True,  # so that all that it starts ends with it
                )
            except OSError as error:
                raise ConfigError(f"command: {command[0]}: {error.strerror or error}") from None
            self._processes.add(process)
        return process


def _kill(process: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


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


def read_score(output: str, field: str | None) -> float:
    """The score in a command's output.

    Raises:
      EvaluationFailed: there is none.
    """
    lines = output.strip().splitlines()
    if not lines:
        raise EvaluationFailed("no output; expected the score in the last line")
    if field is None:
        value: object = lines[-1].strip()
    else:
        value = _field(output, lines[-1], field)
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
