"""Searches over a function or a command: asks, evaluates side by side, tells.

A worker that is free gets the next proposal at once, which counts on what still runs.
"""

import contextlib
import difflib
import functools
import inspect
import json
import re
import threading
from collections.abc import Callable, Collection, Iterator
from typing import Any

from jaxeval.bandits import commands
from jaxeval.bandits.commands import EvaluationFailed, Report
from jaxeval.errors import ConfigError, argument
from jaxeval.space.space import Space
from jaxeval.tuning.history import Evaluation, Result, Setting, Stopped, Values
from jaxeval.tuning.search import Search, State, fresh_seeds

_BESIDE = ("seed", "values")
Job = tuple[int, int]  # number of the evaluation, seed


class Function:
    """Evaluates by a function of the values by name, and of `seed` and `report` if it has them."""

    def __init__(self, function: Callable[..., float]):
        names: Collection[str] = ()
        with contextlib.suppress(TypeError, ValueError):  # one written in C says nothing of them
            names = inspect.signature(function).parameters
        self.name = getattr(function, "__qualname__", type(function).__name__)
        self._function, self.seeded, self.reports = function, "seed" in names, "report" in names

    def __call__(self, values: Values, seed: int, report: Report | None = None) -> float:
        """The score."""
        more: dict[str, Any] = {"seed": seed} if self.seeded else {}
        if self.reports:
            more["report"] = report or (lambda step, score: False)
        return self._function(dict(values), **more)


class Command(commands.Command):
    """Evaluates by a command.

    The value of each hyperparameter goes where {its_name} stands, {seed} is the seed and {values}
    all values as JSON. A word that names a hyperparameter which is inactive is left out.

    Raises:
      ConfigError: the template names what is not in the space, or nothing of it.
    """

    reports = True

    def __init__(
        self, template: str, space: Space, field: str | None = None, limit: float | None = None
    ):
        names = [parameter.name for parameter in space.parameters]
        super().__init__(template, [*names, *_BESIDE], field, limit)
        placeholders = re.findall(r"\{([A-Za-z0-9_-]+)\}", template)
        for name in {*_BESIDE} & {*names}:
            raise ConfigError(f"command: {{{name}}} is taken; rename that hyperparameter")
        for name in placeholders:
            if name not in (*names, *_BESIDE):
                near = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean {{{near[0]}}}?" if near else f"there are {', '.join(names)}"
                raise ConfigError(f"command: {{{name}}}: no such hyperparameter; {hint}")
        lacking = [] if "values" in placeholders else [n for n in names if n not in placeholders]
        if lacking:
            raise ConfigError(
                f"command: expected {{values}}, or each hyperparameter by its name: "
                f"{{{lacking[0]}}} is missing in {template!r}"
            )
        self.seeded, self.name = "seed" in placeholders, template

    def __call__(self, values: Values, seed: int, report: Report | None = None) -> float:
        """The score; `report` hears of the lines {"step": 3, "score": 0.7} before it."""
        return self.score(self._texts(values, seed), report)

    def called(self, values: Values, seed: int) -> list[str]:
        """What is run."""
        return self.words(self._texts(values, seed))

    def _texts(self, values: Values, seed: int) -> dict[str, str]:
        """What stands for each place: true and false as in JSON; floats keep all digits."""
        shown = {k: v if isinstance(v, str) else json.dumps(v) for k, v in values.items()}
        plain = json.dumps(dict(values), ensure_ascii=False)
        return {**shown, "seed": str(seed), "values": plain}


def refuse_unfit(
    evaluate: Function | Command, seeds: bool, halving: int | None, steps: int | None
) -> None:
    """Raises ConfigError where something is to be evaluated in a way that it does not take.

    Args:
      seeds: whether with several of them.
      halving, steps: of a search.
    """
    if (halving is None) != (steps is None):
        both = f"{argument('halving')}, {argument('steps')}"
        raise ConfigError(f"{both}: expected both or neither")
    stopped = halving is not None and not evaluate.reports
    for name, wrong in (("seed", seeds and not evaluate.seeded), ("report", stopped)):
        if wrong:
            what = f"{{{name}}}" if isinstance(evaluate, Command) else f"an argument {name}"
            raise ConfigError(f"{evaluate.name}: expected {what}")


class Runner:
    """Evaluates a search by a function or a command, in threads.

    Args:
      workers: evaluations at once.
      retries: times that a failed seed is tried again; then the evaluation has failed.
      steps: at which evaluations report, of a search with halving.
    """

    def __init__(
        self,
        search: Search,
        state: State,
        evaluate: Function | Command,
        workers: int = 1,
        retries: int = 0,
        steps: int | None = None,
    ):
        self.search, self.state, self.evaluate = search, state, evaluate
        self._workers, self._retries, self._steps = workers, retries, steps
        self._lock = threading.Lock()  # of the state, which evaluations that report change too
        self._scores: dict[int, dict[int, float]] = {}  # of evaluations that run
        self.stop = getattr(evaluate, "stop", lambda: None)

    def run(self) -> Iterator[tuple[Evaluation, str]]:
        """Goes on with the search, evaluations that ran before first; the state is always saved.

        Yields:
          an evaluation that has ended, or is tried again, and what went wrong.
        """
        state = self.state
        with commands.working(self, self._workers, self._retries) as desk:
            desk.waiting.extend(_jobs(state.history.pending))
            while True:
                # as many settings as keep all workers busy
                more = min(-(-desk.free // self.search.seeds), state.left)
                if more > 0:
                    with self._lock:
                        history, proposed = self.search.ask(state.history, more)
                        state.save(history)
                    desk.waiting.extend(_jobs(proposed))
                stopping = self.search.halving is not None and desk.busy
                if not state.history.pending and not stopping:
                    return
                for job, result in desk.next_results():
                    with self._lock:
                        said = self._told(job, result, desk)
                    if said is not None:
                        yield state.history.evaluations[job[0]], said

    def _told(
        self, job: Job, result: float | EvaluationFailed, desk: commands.Workers
    ) -> str | None:
        """What went wrong with a job; None while other seeds are awaited, or all is known."""
        number, seed = job
        state, evaluation = self.state, self.state.history.evaluations[number]
        if evaluation.result is not None:
            state.save(state.history)
            return "" if evaluation.result.stopped is not None else None
        if isinstance(result, float):
            known = self._scores.setdefault(number, {})
            known[seed] = result
            if len(known) < len(evaluation.seeds):
                return None
            ended = Result(tuple(known[seed] for seed in evaluation.seeds))
            state.save(state.history.told(number, ended))
            return ""
        if desk.try_again(job):
            return f"setting {number}: {result}; tried again"
        desk.drop(number)
        state.save(state.history.told(number, Result(failure=str(result))))
        return str(result)

    def __call__(self, number: int, seed: int) -> float:
        """The score of a seed of an evaluation, which may report on the way."""
        values = self.state.history.evaluations[number].values
        report = None if self._steps is None else functools.partial(self._report, number)
        return self.evaluate(values, seed, report)

    def _report(self, number: int, step: int, score: float) -> bool:
        """Whether an evaluation is to stop."""
        with self._lock:
            at = Stopped(step, self._steps or step)
            return self.state.report(self.search.halving, number, at, score)

    def again(self, setting: Setting, count: int) -> Iterator[tuple[int, float | str]]:
        """A setting with so many fresh seeds: those whose scores the state lacks.

        Yields:
          a seed with its score, or with the cause of its last failure.
        """
        known = self.state.fresh_of(setting)
        left = [seed for seed in fresh_seeds(count) if not isinstance(known.get(seed), float)]

        def called(seed: int) -> float:
            return self.evaluate(setting.values, seed)

        if isinstance(self.evaluate, Command):
            self.evaluate.start()
        with commands.working(called, self._workers, self._retries, self.stop) as desk:
            desk.waiting.extend((seed,) for seed in left)
            while desk.busy:
                for (seed,), result in desk.next_results():
                    if isinstance(result, float) or not desk.try_again((seed,)):
                        known[seed] = result if isinstance(result, float) else str(result)
                        self.state.save(self.state.history)
                        yield seed, known[seed]


def _jobs(evaluations: list[Evaluation]) -> list[Job]:
    return [(evaluation.number, seed) for evaluation in evaluations for seed in evaluation.seeds]
