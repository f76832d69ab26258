"""Evaluations side by side, with retries: the loop of `select`, `settle` and `tune`."""

import contextlib
import math
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable
from concurrent import futures
from typing import Any, TypeVar

from jaxeval.bandits.commands import EvaluationFailed
from jaxeval.errors import DataError

_Result = float | EvaluationFailed
_Job = TypeVar("_Job", bound=tuple[Any, ...])  # the arguments of an evaluation; jobs have an order


def as_number(score: Any) -> float | None:
    """Returns a score as a float, also of an array of one; None for anything else."""
    try:
        value = score.item() if getattr(score, "size", None) == 1 else score
        return None if isinstance(value, bool | str | bytes | bytearray) else float(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None


def run(
    evaluate: Callable[..., float],
    ask: Callable[[int], Iterable[_Job] | None],
    *,
    workers: int = 1,
    retries: int = 0,
    stop: Callable[[], None] = lambda: None,
    dropped: Callable[[_Job], bool] = lambda job: False,
) -> Generator[tuple[_Job, _Result, bool], None, None]:
    """Evaluates jobs in threads; yields each result, and whether a failed job is tried again.

    Args:
      evaluate: receives the parts of a job; raises `EvaluationFailed` if there is no score.
      ask: receives the number of free workers; returns further jobs, or None to end at once.
      workers: jobs that run at once.
      retries: how often a failed job is tried again.
      stop: ends the evaluations that still run at the end.
      dropped: True for a job that need not begin any more.
    """
    waiting, running, failures = deque[_Job](), dict[futures.Future, _Job](), Counter[_Job]()
    with contextlib.ExitStack() as ending:
        pool = futures.ThreadPoolExecutor(workers)
        ending.callback(pool.shutdown, cancel_futures=True)
        ending.callback(stop)
        while (new := ask(workers - len(running) - len(waiting))) is not None:
            waiting.extend(new)
            while waiting and len(running) < workers:
                job = waiting.popleft()
                running[pool.submit(evaluate, *job)] = job
            if not running:
                return
            done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
            ended = {running.pop(future): future for future in done}
            for job in sorted(ended):
                result = _result(job, ended[job])
                failures[job] += not isinstance(result, float)
                if again := not isinstance(result, float) and failures[job] <= retries:
                    waiting.appendleft(job)
                yield job, result, again
            waiting = deque(job for job in waiting if not dropped(job))


def _result(job: tuple[Any, ...], future: futures.Future) -> _Result:
    try:
        result = future.result()
    except EvaluationFailed as error:
        return error
    score = as_number(result)
    if score is None:
        raise DataError(f"{job[0]}: expected a score as a number, got {result!r:.60}")
    return score if math.isfinite(score) else EvaluationFailed(f"the score is {score}")
