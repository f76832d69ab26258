"""Workers that run evaluations side by side, with retries."""

import math
from collections import Counter, deque
from collections.abc import Callable
from concurrent import futures
from typing import Any, Generic, Self, TypeVar

from jaxeval.bandits.commands import EvaluationFailed
from jaxeval.errors import DataError

_Job = TypeVar("_Job", bound=tuple[Any, ...])  # the arguments of an evaluation; jobs have an order


def as_number(score: Any) -> float | None:
    """Returns a score as a float, also of an array of one; None for anything else."""
    try:
        value = score.item() if getattr(score, "size", None) == 1 else score
        return None if isinstance(value, bool | str | bytes | bytearray) else float(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None


class Workers(Generic[_Job]):
    """Threads that run waiting jobs, a context manager.

    Args:
      evaluate: receives the parts of a job; raises `EvaluationFailed` if there is no score.
      count: jobs that run at once.
      retries: how often a failed job is tried again.
      stop: ends the evaluations that still run at the end.
    """

    def __init__(
        self,
        evaluate: Callable[..., float],
        count: int,
        retries: int = 0,
        stop: Callable[[], None] = lambda: None,
    ):
        self._evaluate, self._count, self._retries, self._stop = evaluate, count, retries, stop
        self.waiting: deque[_Job] = deque()
        self._pool = futures.ThreadPoolExecutor(count)
        self._running: dict[futures.Future, _Job] = {}
        self._failures: Counter[_Job] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stop()
        self._pool.shutdown(cancel_futures=True)

    @property
    def free(self) -> int:
        """Workers without a running or waiting job."""
        return self._count - len(self._running) - len(self.waiting)

    @property
    def busy(self) -> bool:
        """True if a job waits or runs."""
        return bool(self._running or self.waiting)

    def next_results(self) -> list[tuple[_Job, float | EvaluationFailed]]:
        """Starts waiting jobs and waits until one or more have ended."""
        while self.waiting and len(self._running) < self._count:
            job = self.waiting.popleft()
            self._running[self._pool.submit(self._evaluate, *job)] = job
        done, _ = futures.wait(self._running, return_when=futures.FIRST_COMPLETED)
        ended = sorted(((self._running.pop(of), of) for of in done), key=lambda pair: pair[0])
        return [(job, _result(job, future)) for job, future in ended]

    def try_again(self, job: _Job) -> bool:
        """Puts a failed job first in the queue; returns False if it has no try left."""
        self._failures[job] += 1
        if self._failures[job] > self._retries:
            return False
        self.waiting.appendleft(job)
        return True

    def drop(self, first: object) -> None:
        """Removes waiting jobs that begin with this part."""
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
