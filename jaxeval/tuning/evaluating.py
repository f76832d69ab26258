"""Evaluations of a search by a function or a command, side by side.

Every free worker gets the next proposal at once, which takes into account what still runs.
"""

import contextlib
import dataclasses
import inspect
import json
import threading
from collections.abc import Callable, Collection, Generator
from typing import Any

from jaxeval.bandits import commands, running
from jaxeval.bandits.commands import PLACE, Report
from jaxeval.bandits.running import Job
from jaxeval.errors import ConfigError
from jaxeval.space import Space
from jaxeval.tuning import State, fresh_seeds
from jaxeval.tuning.history import Evaluation, Stopped, Values

_BESIDE = ("seed", "values")


class Evaluator:
    """Evaluates by a function of the values, and of `seed` and `report` if it takes them.

    Or by a command with {seed}, and each {hyperparameter} or {values}, all as JSON; a word that
    names an inactive hyperparameter is left out. ConfigError if the command names what the space
    lacks, or lacks a hyperparameter.
    """

    def __init__(
        self,
        source: str | Callable[..., float],
        space: Space,
        field: str | None = None,
        limit: float | None = None,
    ):
        takes: Collection[str] = ()
        self.command = None
        if isinstance(source, str):
            self.name = source
            places = PLACE.findall(source)
            takes = {*places, "report"}
            names = [parameter.name for parameter in space.parameters]
            self.command = commands.Command(source, [*names, *_BESIDE], field, limit)
            for name in {*_BESIDE} & {*names}:
                raise ConfigError(f"command: {{{name}}} is taken; rename that hyperparameter")
            for name in (name for name in places if name not in (*names, *_BESIDE)):
                known = f"there are {', '.join(names)}"
                raise ConfigError(f"command: {{{name}}}: no such hyperparameter; {known}")
            for name in (name for name in names if not {name, "values"} & {*places}):
                expected = "expected {values}, or each hyperparameter by its name"
                raise ConfigError(f"command: {expected}: {{{name}}} is missing in {source!r}")
        else:
            self.name = getattr(source, "__qualname__", type(source).__name__)
            with contextlib.suppress(TypeError, ValueError):  # functions in C have no signature
                takes = inspect.signature(source).parameters
        self._source = source
        self.seeded = "seed" in takes
        self.reports = "report" in takes

    def __call__(self, values: Values, seed: int, report: Report | None = None) -> float:
        """Returns the score; raises EvaluationFailed if there is none."""
        if self.command is not None:
            return self.command.score(_texts(values, seed), report)
        more: dict[str, Any] = {"seed": seed} if self.seeded else {}
        if self.reports:
            more["report"] = report or (lambda step, score: False)
        assert callable(self._source)
        return self._source(dict(values), **more)

    def words(self, values: Values, seed: int) -> list[str]:
        """Returns the words of the command to run."""
        assert self.command is not None
        return self.command.words(_texts(values, seed))

    def stop(self) -> None:
        """Ends the commands that still run."""
        if self.command is not None:
            self.command.stop()


def _texts(values: Values, seed: int) -> dict[str, str]:
    shown = {k: v if isinstance(v, str) else json.dumps(v) for k, v in values.items()}
    plain = json.dumps(dict(values), ensure_ascii=False)
    return {**shown, "seed": str(seed), "values": plain}


@dataclasses.dataclass(eq=False)
class Runner(running.Proposer[tuple[Evaluation, str]]):
    """Evaluates a search by a function or a command, in threads; a proposer."""

    state: State
    evaluate: Evaluator
    workers: int = 1  # evaluations at once
    retries: int = 0  # of a failed seed, before the evaluation has failed
    steps: int | None = None  # at which evaluations report, for halving
    # of the state, which reports change too
    _lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    _best: dict[int, float] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self._waiting = _jobs(self.state.history.pending)  # of an earlier process

    def run(self) -> Generator[tuple[Evaluation, str], None, None]:
        """Continues the search; yields evaluations that end or are retried, with a note."""
        return running.run(
            self,
            self._evaluate,
            workers=self.workers,
            retries=self.retries,
            stop=self.evaluate.stop,
        )

    def ask(self, free: int) -> list[Job] | None:
        """Returns the seeds of as many settings as keep all workers busy."""
        state, jobs, self._waiting = self.state, self._waiting, []
        with self._lock:
            proposed = state.propose(-(-(free - len(jobs)) // state.search.seeds))
            if proposed:
                state.save()
        return [*jobs, *_jobs(proposed)] if state.history.pending or state.search.halving else None

    def tell(
        self, job: Job, result: float | str, again: bool = False
    ) -> tuple[Evaluation, str] | None:
        """Returns the evaluation and what went wrong with it; None while seeds are awaited."""
        number, seed = job
        with self._lock:
            before = self.state.history.evaluations[number]
            if again and not before.ended:
                return before, f"setting {number}: {result}; tried again"
            self.state.score(number, seed, result)
            self.state.save()
        evaluation = self.state.history.evaluations[number]
        note = ""
        if not before.ended and isinstance(result, str):
            note = result
        return (evaluation, note) if evaluation.stopped or evaluation != before else None

    def over(self, job: Job) -> bool:
        """Returns whether the evaluation has ended."""
        return self.state.history.evaluations[job[0]].ended

    def _evaluate(self, number: int, seed: int) -> float:
        def report(step: int, score: float) -> bool:
            halving, state = self.state.search.halving, self.state
            with self._lock:
                if halving is not None and self.steps is not None:
                    at = Stopped(step, self.steps)
                    state.history = halving.report(state.history, number, at, score, self._best)
                return state.history.evaluations[number].ended

        values = self.state.history.evaluations[number].values
        return self.evaluate(values, seed, None if self.steps is None else report)

    def again(
        self, setting: Evaluation, count: int
    ) -> Generator[tuple[int, float | str], None, None]:
        """Evaluates a setting with fresh seeds that have no score; yields score or failure."""
        if self.evaluate.command is not None:
            self.evaluate.command.start()
        known = self.state.fresh_scores(setting)
        left = [seed for seed in fresh_seeds(count) if not isinstance(known.get(seed), float)]
        return running.run(
            _Fresh(self.state, setting, left),
            lambda number, seed: self.evaluate(setting.values, seed),
            workers=self.workers,
            retries=self.retries,
            stop=self.evaluate.stop,
        )


class _Fresh(running.Proposer[tuple[int, float | str]]):
    """The fresh seeds of a setting."""

    def __init__(self, state: State, setting: Evaluation, left: list[int]):
        self._state = state
        self._known = state.fresh_scores(setting)
        self._jobs = [(setting.number, seed) for seed in left]

    def ask(self, free: int) -> list[Job]:
        jobs, self._jobs = self._jobs, []
        return jobs

    def tell(self, job: Job, result: float | str, again: bool) -> tuple[int, float | str] | None:
        if again:
            return None
        self._known[job[1]] = result
        self._state.save()
        return job[1], result


def _jobs(evaluations: list[Evaluation]) -> list[Job]:
    return [(evaluation.number, seed) for evaluation in evaluations for seed in evaluation.seeds]
