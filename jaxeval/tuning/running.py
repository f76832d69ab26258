"""Runs a search over a function or a command: asks, evaluates side by side, tells.

A worker that is free gets the next proposal at once, which counts on what still runs.
"""

import functools
import math
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxeval.bandits import commands
from jaxeval.bandits.commands import EvaluationFailed
from jaxeval.errors import DataError
from jaxeval.space.distributions import Value
from jaxeval.tuning import halving as halvings
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import Evaluation, History, Result, Stopped
from jaxeval.tuning.search import Search

# values, seed -> score; of a search with halving also a `commands.Report`
Evaluate = Callable[..., float]
Job = tuple[int, int]  # number of the evaluation, seed


class Step(NamedTuple):
    """What happened last, and the history after it.

    Attributes:
      evaluation: that has ended, or was tried again; None: new ones were proposed.
      note: of what went wrong.
    """

    history: History
    evaluation: Evaluation | None = None
    note: str = ""


def run(
    search: Search,
    history: History,
    evaluate: Evaluate,
    *,
    trials: int,
    workers: int = 1,
    retries: int = 0,
    steps: int | None = None,
    stop: Callable[[History], str] = lambda history: "",
) -> Generator[Step, None, None]:
    """Goes on with a search until so many evaluations have ended, those that ran before first.

    Args:
      evaluate: as of `commands.working`.
      trials: evaluations in all.
      steps: at which evaluations report, of a search with halving.
      retries: times that a failed seed is tried again; then the evaluation has failed.
      stop: why nothing more is to be proposed; "" while more is.

    Yields:
      a step after proposals, before they run, and after every result: the history can be saved.
    """
    if workers < 1 or retries < 0:
        raise DataError(f"workers, retries: expected at least 1 and 0, got {workers}, {retries}")
    scores: dict[int, dict[int, float]] = {}  # of evaluations that have not ended, by seed
    live = _Live(search, history, evaluate, steps)
    desk: commands.Workers[Job]
    with commands.working(live, workers, retries) as desk:
        desk.waiting.extend(_jobs(histories.pending(history)))
        while True:
            # as many settings as keep all workers busy
            more = min(-(-desk.free // search.seeds), trials - len(live.history.evaluations))
            if more > 0 and not stop(live.history):
                with live.lock:
                    live.history, proposed = searches.ask(search, live.history, more)
                desk.waiting.extend(_jobs(proposed))
                yield Step(live.history)
            stopping = search.halving is not None and desk.busy
            if not histories.pending(live.history) and not stopping:
                return
            for job, result in desk.next_results():
                with live.lock:
                    step = _told(live.history, scores, job, result, desk)
                    live.history = live.history if step is None else step.history
                if step is not None:
                    yield step


def again(
    evaluate: Evaluate,
    values: Mapping[str, Value],
    seeds: Sequence[int],
    workers: int = 1,
    retries: int = 0,
) -> Iterator[tuple[int, float | str]]:
    """One setting with several seeds.

    Args:
      retries: times that a failed seed is tried again.

    Yields:
      a seed with its score, or with the cause of its last failure.
    """
    desk: commands.Workers[Job]
    with commands.working(_Again(evaluate, values), workers, retries) as desk:
        desk.waiting.extend((0, seed) for seed in seeds)
        while desk.busy:
            for job, result in desk.next_results():
                if isinstance(result, float):
                    yield job[1], result
                elif not desk.try_again(job):
                    yield job[1], str(result)


class _Live:
    """A search under way: its history, which worker threads add to as evaluations report."""

    def __init__(self, search: Search, history: History, evaluate: Evaluate, steps: int | None):
        self.search, self.history, self.steps = search, history, steps
        self.lock = threading.Lock()
        self._evaluate, self._best = evaluate, dict[int, float]()
        self.stop = getattr(evaluate, "stop", lambda: None)

    def __call__(self, number: int, seed: int) -> float:
        self._best.pop(number, None)
        values = self.history.evaluations[number].values
        if self.steps is None:
            return self._evaluate(values, seed)
        return self._evaluate(values, seed, functools.partial(self._report, number))

    def _report(self, number: int, step: int, score: float) -> bool:
        """Whether an evaluation is to stop; what does not report in time is not looked at."""
        with self.lock:
            result = self.history.evaluations[number].result
            if self.search.halving is None or self.steps is None or not math.isfinite(score):
                return result is not None
            best = histories.better(self.history, self._best.get(number), score)
            self._best[number] = best
            at = Stopped(min(step, self.steps), self.steps)
            if result is None:
                self.history = halvings.reported(
                    self.search.halving, self.history, number, at, best
                )
            return self.history.evaluations[number].result is not None


class _Again:
    """The evaluation of one setting, which ends as what it calls does."""

    def __init__(self, evaluate: Evaluate, values: Mapping[str, Value]):
        self._evaluate, self._values = evaluate, values
        self.stop = getattr(evaluate, "stop", lambda: None)

    def __call__(self, number: int, seed: int) -> float:
        return self._evaluate(self._values, seed)


def _jobs(evaluations: list[Evaluation]) -> list[Job]:
    return [(evaluation.number, seed) for evaluation in evaluations for seed in evaluation.seeds]


def _told(
    history: History,
    scores: dict[int, dict[int, float]],
    job: Job,
    result: float | EvaluationFailed,
    desk: commands.Workers[Job],
) -> Step | None:
    """The step of a result; None while other seeds are awaited, or the evaluation has failed."""
    number, seed = job
    evaluation = history.evaluations[number]
    if evaluation.result is not None:
        stopped = evaluation.result.stopped is not None
        return Step(history, evaluation) if stopped else None
    if isinstance(result, float):
        of_seeds = scores.setdefault(number, {})
        of_seeds[seed] = result
        if len(of_seeds) < len(evaluation.seeds):
            return None
        ended = Result(tuple(of_seeds[seed] for seed in evaluation.seeds))
        return _ended(history, number, ended)
    if desk.try_again(job):
        return Step(history, evaluation, f"{result}; tried again")
    desk.drop(number)
    return _ended(history, number, Result(failure=str(result)))


def _ended(history: History, number: int, result: Result) -> Step:
    history = histories.tell(history, number, result)
    return Step(history, history.evaluations[number], result.failure)
