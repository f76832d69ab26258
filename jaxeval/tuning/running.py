"""Runs a search over a function or a command: asks, evaluates side by side, tells.

A worker that is free gets the next proposal at once, which counts on what still runs.
"""

import dataclasses
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxeval.bandits import workers as side_by_side
from jaxeval.bandits.workers import EvaluationFailed
from jaxeval.errors import DataError
from jaxeval.space.distributions import Value
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import Evaluation, History, Result
from jaxeval.tuning.search import Search

Evaluate = Callable[[Mapping[str, Value], int], float]
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


@dataclasses.dataclass
class _Running:
    """Scores of evaluations that have not ended, by seed, and failures so far."""

    scores: dict[int, dict[int, float]] = dataclasses.field(default_factory=dict)
    failures: dict[Job, int] = dataclasses.field(default_factory=dict)


def run(
    search: Search,
    history: History,
    evaluate: Evaluate,
    *,
    trials: int,
    workers: int = 1,
    retries: int = 0,
    stop: Callable[[History], str] = lambda history: "",
) -> Generator[Step, None, None]:
    """Goes on with a search until so many evaluations have ended, those that ran before first.

    Args:
      evaluate: (values, seed) -> score, as of `workers.desk`.
      trials: evaluations in all.
      retries: times that a failed seed is tried again; then the evaluation has failed.
      stop: why nothing more is to be proposed; "" while more is.

    Yields:
      a step after proposals, before they run, and after every result: the history can be saved.
    """
    if workers < 1 or retries < 0:
        raise DataError(f"workers, retries: expected at least 1 and 0, got {workers}, {retries}")
    running = _Running()
    settings = {e.number: e.values for e in history.evaluations}
    desk: side_by_side.Desk[Job]
    with side_by_side.desk(_ByNumber(evaluate, settings), workers) as desk:
        desk.waiting.extend(_jobs(histories.pending(history)))
        while True:
            # as many settings as keep all workers busy
            more = min(-(-desk.free // search.seeds), trials - len(history.evaluations))
            if more > 0 and not stop(history):
                history, proposed = searches.ask(search, history, more)
                settings.update((e.number, e.values) for e in proposed)
                desk.waiting.extend(_jobs(proposed))
                yield Step(history)
            if not histories.pending(history):
                return
            for job, result in desk.next_results():
                step = _told(history, running, job, result, retries, desk)
                if step is not None:
                    history = step.history
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
    left = dict.fromkeys(seeds, retries)
    desk: side_by_side.Desk[Job]
    with side_by_side.desk(_ByNumber(evaluate, {0: values}), workers) as desk:
        desk.waiting.extend((0, seed) for seed in seeds)
        while desk.busy:
            for (_, seed), result in desk.next_results():
                if not isinstance(result, float) and left[seed]:
                    left[seed] -= 1
                    desk.waiting.appendleft((0, seed))
                    continue
                yield seed, result if isinstance(result, float) else str(result)


class _ByNumber:
    """An evaluation by number and seed, which ends as what it calls does."""

    def __init__(self, evaluate: Evaluate, settings: Mapping[int, Mapping[str, Value]]):
        self._evaluate, self._settings = evaluate, settings
        self.stop = getattr(evaluate, "stop", lambda: None)

    def __call__(self, number: int, seed: int) -> float:
        return self._evaluate(self._settings[number], seed)


def _jobs(evaluations: list[Evaluation]) -> list[Job]:
    return [(evaluation.number, seed) for evaluation in evaluations for seed in evaluation.seeds]


def _told(
    history: History,
    running: _Running,
    job: Job,
    result: float | EvaluationFailed,
    retries: int,
    desk: side_by_side.Desk[Job],
) -> Step | None:
    """The step of a result; None while other seeds are awaited, or the evaluation has failed."""
    number, seed = job
    evaluation = history.evaluations[number]
    if evaluation.result is not None:
        return None
    if isinstance(result, float):
        scores = running.scores.setdefault(number, {})
        scores[seed] = result
        if len(scores) < len(evaluation.seeds):
            return None
        ended = Result(tuple(scores[seed] for seed in evaluation.seeds))
        return _ended(history, number, ended)
    running.failures[job] = running.failures.get(job, 0) + 1
    if running.failures[job] <= retries:
        desk.waiting.appendleft(job)
        return Step(history, evaluation, f"{result}; tried again")
    desk.drop(number)
    return _ended(history, number, Result(failure=str(result)))


def _ended(history: History, number: int, result: Result) -> Step:
    history = histories.tell(history, number, result)
    return Step(history, history.evaluations[number], result.failure)
