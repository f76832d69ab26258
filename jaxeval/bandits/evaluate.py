"""Runs a selection: asks the rule, evaluates side by side, tells; failures are tried again.

An evaluation is a function of (model, number) -> score. The k-th evaluation of every model shares
split k and seed k, so that a selection which is stopped and resumed, or whose results arrive late,
evaluates the same things.
"""

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
from typing import NamedTuple

from jaxeval.bandits import state as states
from jaxeval.bandits.rules import Rule
from jaxeval.bandits.state import State
from jaxeval.errors import ConfigError, DataError, RunError
from jaxeval.files import Json

Evaluate = Callable[[str, int], float]
Job = tuple[str, int]  # model, number of the evaluation


class EvaluationFailed(RunError):
    """One evaluation gave no score; another try may."""


class Told(NamedTuple):
    """What happened last, and the state after it."""

    state: State
    model: str
    number: int
    score: float | None  # None: the evaluation failed
    note: str


def run(
    rule: Rule, state: State, evaluate: Evaluate, *, workers: int = 1, retries: int = 1
) -> Iterator[Told]:
    """Goes on with a selection until the rule has its answer.

    Args:
      rule: decides what is evaluated next.
      state: of `rule.begin`, or of an earlier selection; what was pending then is done again.
      evaluate: (model, number) -> score, called from threads where `workers` > 1; raises
        `EvaluationFailed` when there is no score. Its `stop()`, if it has one, is called at the
        end, when evaluations that no longer matter may still be running.
      workers: evaluations at once; the rule's `batch_size` should be as large.
      retries: times that a failed evaluation is tried again; then its model is dropped.

    Yields:
      Told after every score and every failure. The state can be saved there.

    Raises:
      RunError: every model was dropped; with the last error of each.
    """
    if workers < 1 or retries < 0:
        raise DataError(f"workers, retries: expected at least 1 and 0, found {workers}, {retries}")
    state = states.forget_pending(state)
    failures: dict[Job, int] = {}
    with _workers(evaluate, workers) as desk:
        while rule.answer(state) is None:
            for model in rule.ask(state):
                state, number = states.start(state, model)
                desk.waiting.append((model, number))
            for job, result in desk.next_results():
                if job[0] in state.excluded:
                    continue
                if isinstance(result, float):
                    state = rule.tell(state, job[0], result, job[1])
                    yield Told(state, *job, result, "")
                    continue
                failures[job] = failures.get(job, 0) + 1
                if failures[job] <= retries:
                    desk.waiting.appendleft(job)
                    note = f"{result}; tried again"
                else:
                    reason = f"evaluation {job[1]} failed {failures[job]} times: {result}"
                    state = states.exclude(state, job[0], reason)
                    desk.drop(job[0])
                    note = f"{result}; {job[0]} was dropped"
                yield Told(state, *job, None, note)


class _Desk:
    """Jobs that wait for a free worker, and those being worked on."""

    def __init__(self, pool: futures.Executor, evaluate: Evaluate, workers: int):
        self._pool, self._evaluate, self._workers = pool, evaluate, workers
        self.waiting: deque[Job] = deque()
        self._running: dict[futures.Future, Job] = {}

    def next_results(self) -> list[tuple[Job, float | EvaluationFailed]]:
        """Keeps all workers busy; waits until one or more have ended."""
        while self.waiting and len(self._running) < self._workers:
            job = self.waiting.popleft()
            self._running[self._pool.submit(self._evaluate, *job)] = job
        done, _ = futures.wait(self._running, return_when=futures.FIRST_COMPLETED)
        ended = sorted((self._running.pop(future), future) for future in done)
        return [(job, _result(future)) for job, future in ended]

    def drop(self, model: str) -> None:
        """Forgets what waits of a model that is dropped."""
        self.waiting = deque(job for job in self.waiting if job[0] != model)


def _result(future: futures.Future) -> float | EvaluationFailed:
    try:
        score = float(future.result())
    except EvaluationFailed as error:
        return error
    return score if math.isfinite(score) else EvaluationFailed(f"the score is {score}")


@contextlib.contextmanager
def _workers(evaluate: Evaluate, workers: int) -> Iterator[_Desk]:
    with futures.ThreadPoolExecutor(workers) as pool:
        try:
            yield _Desk(pool, evaluate, workers)
        finally:
            getattr(evaluate, "stop", lambda: None)()
            pool.shutdown(wait=False, cancel_futures=True)


class Command:
    """Evaluates by a command: any program of any framework can be an arm.

    The template is split into words as a shell would, but no shell runs it; then {model}, {split}
    and {seed} are put into each word, so a name with spaces or quotes stays one argument. The
    score is the last line of the output, or a field of the JSON that the output is.

    Args:
      template: such as "train.sh {model} {split} {seed}".
      field: dotted path into the JSON output, such as "test.median"; absent: the last line.
      limit: seconds after which the command is stopped, with all that it started.
    """

    def __init__(self, template: str, field: str | None = None, limit: float | None = None):
        try:
            self._words = shlex.split(template)
        except ValueError as error:
            raise ConfigError(f"command: {template!r} cannot be split ({error})") from None
        if not any("{model}" in word for word in self._words):
            raise ConfigError(f"command: expected {{model}} somewhere in {template!r}")
        if shutil.which(self._words[0]) is None and "{" not in self._words[0]:
            raise ConfigError(f"command: {self._words[0]}: no such program")
        self._field, self._limit = field, limit
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen] = set()
        self._stopped = False

    def __call__(self, model: str, number: int) -> float:
        words = [_filled(word, model, number) for word in self._words]
        with self._begin(words) as process:  # closes its pipes and waits for it
            try:
                output, errors = process.communicate(timeout=self._limit)
            except subprocess.TimeoutExpired:
                raise EvaluationFailed(
                    f"{model}, evaluation {number}: no result within {self._limit:g} s"
                ) from None
            finally:
                _kill(process)
                with self._lock:
                    self._processes.discard(process)
        if process.returncode:
            last = errors.strip().splitlines()[-1:] or ["no message"]
            raise EvaluationFailed(
                f"{model}, evaluation {number}: exit code {process.returncode} ({last[0][:200]})"
            )
        return read_score(output, self._field)

    def stop(self) -> None:
        """Ends all commands that are running."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                _kill(process)

    def _begin(self, words: Sequence[str]) -> subprocess.Popen:
        with self._lock:
            if self._stopped:
                raise EvaluationFailed("stopped")
            try:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    errors="replace",
                    start_new_session=True,  # so that all that it starts ends with it
                )
            except OSError as error:
                raise ConfigError(f"command: {words[0]}: {error.strerror or error}") from None
            self._processes.add(process)
        return process


def _filled(word: str, model: str, number: int) -> str:
    for name, value in (("{split}", number), ("{seed}", number), ("{model}", model)):
        word = word.replace(name, str(value))
    return word


def _kill(process: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


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
