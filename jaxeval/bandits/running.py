"""Evaluations side by side: the one loop of `select`, `settle` and `tune`.

A proposer is asked for jobs, and told their results; its state is plain data, which it keeps on
disk as it likes. The k-th evaluation of a model has split k and seed k, so that work that was
stopped begins again and finds the scores that it had.
"""

import contextlib
import dataclasses
import math
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent import futures
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from jaxeval import state_files
from jaxeval.bandits.commands import EvaluationFailed
from jaxeval.bandits.confidence import Confident
from jaxeval.bandits.rules import Answer, Rule, State
from jaxeval.errors import DataError, counted
from jaxeval.files import Json
from jaxeval.stats import Sample, sample

Job = tuple[Any, int]  # a model, a side or the number of a setting; and its evaluation, or seed
_Outcome = TypeVar("_Outcome")


class Proposer(Generic[_Outcome]):
    """Says what to evaluate next."""

    def ask(self, free: int) -> Iterable[Job] | None:
        """Returns jobs for this many free workers, or more; None ends all at once."""
        raise NotImplementedError

    def tell(self, job: Job, result: float | str, again: bool) -> _Outcome | None:
        """Receives a score, or why there is none and whether the job is tried again."""
        raise NotImplementedError

    def over(self, job: Job) -> bool:
        """Returns whether a job need not begin any more."""
        return False


def run(
    proposer: Proposer[_Outcome],
    evaluate: Callable[..., float],
    *,
    workers: int = 1,
    retries: int = 0,
    stop: Callable[[], None] | None = None,
) -> Generator[_Outcome, None, None]:
    """Evaluates jobs in threads until none is left; yields what the proposer says of each result.

    Args:
      evaluate: receives both parts of a job; raises `EvaluationFailed` if there is no score.
      workers: jobs that run at once.
      retries: how often a failed job is tried again.
      stop: ends the evaluations that still run at the end.
    """
    waiting = deque[Job]()
    running: dict[futures.Future, Job] = {}
    failures = Counter[Job]()
    with contextlib.ExitStack() as ending:
        pool = futures.ThreadPoolExecutor(workers)
        ending.callback(pool.shutdown, cancel_futures=True)
        if stop is not None:
            ending.callback(stop)
        while (new := proposer.ask(workers - len(running) - len(waiting))) is not None:
            waiting.extend(new)
            while waiting and len(running) < workers:
                job = waiting.popleft()
                running[pool.submit(evaluate, *job)] = job
            if not running:
                return
            done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
            ended = {running.pop(future): future for future in done}
            for job in sorted(ended):
                result = _result(job, ended[job], proposer.over(job))
                failures[job] += isinstance(result, str)
                if again := isinstance(result, str) and failures[job] <= retries:
                    waiting.appendleft(job)
                told = proposer.tell(job, result, again)
                if told is not None:
                    yield told
            waiting = deque(job for job in waiting if not proposer.over(job))


def _result(job: Job, future: futures.Future, over: bool) -> float | str:
    """Returns the score or why there is none; what is over, as by halving, need not have one."""
    try:
        result = future.result()
    except EvaluationFailed as error:
        return str(error)
    score = as_number(result)
    if score is None and over:
        return "stopped early"
    if score is None:
        whose = f"setting {job[0]}" if isinstance(job[0], int) else job[0]
        raise DataError(f"{whose}: expected a score as a number, got {result!r:.60}")
    return score if math.isfinite(score) else f"the score is {score}"


def as_number(score: Any) -> float | None:
    """Returns a score as a float, also of an array of one; None for anything else."""
    try:
        value = score.item() if getattr(score, "size", None) == 1 else score
        return None if isinstance(value, bool | str | bytes | bytearray) else float(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None


class Evaluated(NamedTuple):
    """An evaluation that ended, and the state after it."""

    state: State
    model: str
    number: int
    score: float | None  # None: the evaluation failed
    note: str
    seconds: float = 0.0  # of training


@dataclasses.dataclass
class Selecting(Proposer[Evaluated]):
    """A rule under way, as a proposer; RunError if every model was dropped.

    Args:
      tries: of each evaluation, for messages.
      name: of an evaluation by its number, for messages.
    """

    rule: Rule
    state: State
    tries: int = 1
    name: Callable[[int], str] = "evaluation {}".format

    def ask(self, free: int) -> list[Job] | None:
        """Returns what the rule asks for, which is under way from now on."""
        if self.rule.answer(self.state) is not None:
            return None
        jobs: list[Job] = []
        for model in self.rule.ask(self.state):
            self.state, number = self.state.start(model)
            jobs.append((model, number))
        return jobs

    def tell(self, job: Job, result: float | str, again: bool = False) -> Evaluated | None:
        """Tells the rule; None if the model has been dropped."""
        model, number = job
        if self.over(job):
            return None
        if isinstance(result, float):
            self.state = self.state.tell(model, result, number)
            return Evaluated(self.state, model, number, result, "")
        if again:
            return Evaluated(self.state, model, number, None, f"{result}; tried again")
        times = f" {self.tries} times" * (self.tries > 1)
        why = f"{self.name(number)} failed{times}: {result}"
        self.state = self.state.lose(model, number, why)
        note = f"; {model} was dropped" * self.over(job)
        return Evaluated(self.state, model, number, None, f"{result}{note}")

    def over(self, job: Job) -> bool:
        """Returns whether the model has been dropped."""
        return job[0] not in self.rule.left(self.state)


class Replay:
    """Evaluations that draw each model's recorded scores without replacement.

    `most` says how many scores each model has. DataError if a score is not finite.
    """

    def __init__(self, scores: Mapping[str, Sample], seed: int = 0):
        arrays = {name: sample(values, name) for name, values in scores.items()}
        self.most = {name: len(values) for name, values in arrays.items()}
        self._drawn = {
            name: values[np.random.default_rng([seed, k, 0]).permutation(len(values))]
            for k, (name, values) in enumerate(arrays.items(), 1)
        }

    def __call__(self, model: str, number: int) -> float:
        """Returns the score of a model's evaluation with this number, from 1."""
        return float(self._drawn[model][number - 1])


def select(rule: Rule, replay: Replay) -> tuple[State, Answer]:
    """Runs a rule on recorded scores until it has its answer; DataError if they are too few."""
    confident = isinstance(rule, Confident) and rule.delta is not None
    for name, count in replay.most.items():
        if isinstance(rule, Confident) and count < rule.initial:
            raise DataError(
                f"{name}: {counted(count, 'recorded score')}; expected {rule.initial} or more, "
                "since fewer say too little about its spread"
            )
    state = rule.begin([*replay.most])
    while models := rule.ask(state):
        times = Counter(models)
        for model, most in replay.most.items():
            if state.begun(model) + times[model] > most:
                if confident:
                    return state, rule.leading(state, spent(model, most))
                said = (
                    f"the rule needs more scores of {model} than there are; give a smaller budget"
                )
                raise DataError(f"budget: {said}")
        for model in models:
            number = state.begun(model) + 1
            state = state.tell(model, replay(model, number), number)
    answer = rule.answer(state)
    assert answer is not None
    return state, answer


def spent(model: str, most: float) -> str:
    """Returns the reason why a replay ends before its rule does."""
    return f"the rule needs more scores of {model} than the {most:.0f} recorded"


@contextlib.contextmanager
def recorded(
    path: Path | None, source: Mapping[str, Json]
) -> Iterator[tuple[dict[Job, float], Callable[[], None]]]:
    """Opens the scores in a file, if any, and yields them with a function that writes them.

    Selections by any rule share those of one source. ConfigError if the file holds scores of
    another one, or something else; RunError if another process works on it.
    """
    if path is None:
        yield {}, lambda: None
        return
    with state_files.open_state(path, "selection", {"evaluator": source}) as file:
        tree = file.read() or {}
        with file.parsing():
            scores = {(m, int(k)): float(x) for m, of in tree.items() for k, x in of.items()}
            if not all(map(math.isfinite, scores.values())):
                raise DataError("expected finite scores")

        def write() -> None:
            body: dict[str, dict[str, float]] = {}
            for (model, number), score in sorted(scores.items()):
                body.setdefault(model, {})[str(number)] = score
            file.write(body)

        yield scores, write
