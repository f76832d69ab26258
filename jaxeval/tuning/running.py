"""Searches over a function or a command: asks, evaluates side by side, tells.

A worker that is free gets the next proposal at once, which counts on what still runs.
"""

import contextlib
import difflib
import functools
import inspect
import json
import math
import re
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol

from jaxeval.bandits import commands
from jaxeval.bandits.commands import EvaluationFailed, Report
from jaxeval.errors import ConfigError
from jaxeval.space.space import Space
from jaxeval.tuning.history import Evaluation, Result, Setting, Stopped, Values
from jaxeval.tuning.search import End, Search, State

_PLACE = re.compile(r"\{([A-Za-z0-9_-]+)\}")
_BESIDE = ("seed", "values")
Job = tuple[int, int]  # number of the evaluation, seed


class Evaluate(Protocol):
    """Values and a seed -> a score; `report` hears of intermediate scores.

    Attributes:
      seeded: whether it is told its seed; if not, all seeds of a setting are the same run.
    """

    seeded: bool

    def __call__(self, values: Values, seed: int, report: Report | None = None) -> float:
        """Raises EvaluationFailed where there is no score."""
        ...


class Function:
    """Evaluates by a function, called with what its arguments are named.

    Args:
      function: called with the values by name, and with `seed=` and `report=` where it has
        arguments of these names.

    Attributes:
      seeded, reports: whether it has these arguments.
    """

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


class Command:
    """Evaluates by a command.

    The value of each hyperparameter goes where {its_name} stands, {seed} is the seed and {values}
    all values as JSON. A word that names a hyperparameter which is inactive is left out.

    Args:
      template: such as "./train.sh --rate={rate} --seed={seed}".
      field, limit: as of `commands.Command`.

    Raises:
      ConfigError: it names what is not in the space, or nothing of it.
    """

    def __init__(
        self, template: str, space: Space, field: str | None = None, limit: float | None = None
    ):
        names = [parameter.name for parameter in space.parameters]
        self._made = lambda: commands.Command(template, [*names, *_BESIDE], field, limit)
        self._command = self._made()
        for name in _BESIDE:
            if name in names:
                raise ConfigError(f"command: {{{name}}} is taken; name that hyperparameter else")
        placeholders = _PLACE.findall(template)
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
        self.seeded = "seed" in placeholders

    def __call__(self, values: Values, seed: int, report: Report | None = None) -> float:
        """The score; `report` hears of the lines {"step": 3, "score": 0.7} before it."""
        return self._command.score(_texts(values, seed), report)

    def stop(self) -> None:
        """Ends all commands that are running."""
        stopped, self._command = self._command, self._made()
        stopped.stop()

    def words(self, values: Values, seed: int) -> list[str]:
        """What is run."""
        return self._command.words(_texts(values, seed))


def _texts(values: Values, seed: int) -> dict[str, str]:
    """What stands for each place: true and false as in TOML and JSON; floats keep all digits."""
    shown = {k: v if isinstance(v, str) else json.dumps(v) for k, v in values.items()}
    plain = json.dumps(dict(values), ensure_ascii=False)
    return {**shown, "seed": str(seed), "values": plain}


def run(
    search: Search,
    state: State,
    evaluate: Evaluate,
    end: End,
    *,
    workers: int = 1,
    retries: int = 0,
    steps: int | None = None,
) -> Iterator[tuple[Evaluation, str]]:
    """Goes on with a search, evaluations that ran before first; the state is always saved.

    Args:
      retries: times that a failed seed is tried again; then the evaluation has failed.
      steps: at which evaluations report, of a search with halving.

    Yields:
      an evaluation that has ended, or is tried again, and what went wrong.
    """
    live, scores = _Live(search, state, evaluate, steps), dict[int, dict[int, float]]()
    desk: commands.Workers[Job]
    with commands.working(live, workers, retries) as desk:
        desk.waiting.extend(_jobs(state.history.pending))
        while True:
            # as many settings as keep all workers busy
            more = min(-(-desk.free // search.seeds), end.left(state))
            if more > 0:
                with live.lock:
                    history, proposed = search.ask(state.history, more)
                    state.save(history)
                desk.waiting.extend(_jobs(proposed))
            stopping = search.halving is not None and desk.busy
            if not state.history.pending and not stopping:
                return
            for job, result in desk.next_results():
                with live.lock:
                    said = _told(state, scores, job, result, desk)
                if said is not None:
                    yield state.history.evaluations[job[0]], said


def _jobs(evaluations: list[Evaluation]) -> list[Job]:
    return [(evaluation.number, seed) for evaluation in evaluations for seed in evaluation.seeds]


def _told(
    state: State,
    scores: dict[int, dict[int, float]],
    job: Job,
    result: float | EvaluationFailed,
    desk: commands.Workers[Job],
) -> str | None:
    """What went wrong with a job; None while other seeds are awaited, or all is known."""
    number, seed = job
    evaluation = state.history.evaluations[number]
    if evaluation.result is not None:
        state.save(state.history)
        return "" if evaluation.result.stopped is not None else None
    if isinstance(result, float):
        known = scores.setdefault(number, {})
        known[seed] = result
        if len(known) < len(evaluation.seeds):
            return None
        ended = Result(tuple(known[seed] for seed in evaluation.seeds))
        state.save(state.history.told(number, ended))
        return ""
    if desk.try_again(job):
        return f"{result}; tried again"
    desk.drop(number)
    state.save(state.history.told(number, Result(failure=str(result))))
    return str(result)


class _Live:
    """A search under way, whose history worker threads add to as evaluations report."""

    def __init__(self, search: Search, state: State, evaluate: Evaluate, steps: int | None):
        self._search, self._state, self._evaluate, self._steps = search, state, evaluate, steps
        self.lock, self._best = threading.Lock(), dict[int, float]()
        self.stop = getattr(evaluate, "stop", lambda: None)

    def __call__(self, number: int, seed: int) -> float:
        self._best.pop(number, None)
        values = self._state.history.evaluations[number].values
        report = None if self._steps is None else functools.partial(self._report, number)
        return self._evaluate(values, seed, report)

    def _report(self, number: int, step: int, score: float) -> bool:
        """Whether an evaluation is to stop; what does not report in time is not looked at."""
        with self.lock:
            state, halving, steps = self._state, self._search.halving, self._steps
            running = state.history.evaluations[number].result is None
            if running and halving is not None and steps is not None and math.isfinite(score):
                best = state.history.better(score, self._best.get(number))
                self._best[number] = best
                at = Stopped(min(step, steps), steps)
                state.history = halving.reported(state.history, number, at, best)
            return state.history.evaluations[number].result is not None


def again(
    evaluate: Evaluate,
    state: State,
    setting: Setting,
    seeds: Sequence[int],
    workers: int = 1,
    retries: int = 0,
) -> Iterator[tuple[int, float | str]]:
    """One setting with several seeds: those whose scores the state lacks.

    Yields:
      a seed with its score, or with the cause of its last failure.
    """
    known = state.fresh_of(setting)

    def called(number: int, seed: int) -> float:
        return evaluate(setting.values, seed)

    called.stop = getattr(evaluate, "stop", lambda: None)  # type: ignore[attr-defined]
    desk: commands.Workers[Job]
    with commands.working(called, workers, retries) as desk:
        desk.waiting.extend((0, seed) for seed in seeds if not isinstance(known.get(seed), float))
        while desk.busy:
            for job, result in desk.next_results():
                if isinstance(result, float) or not desk.try_again(job):
                    known[job[1]] = result if isinstance(result, float) else str(result)
                    state.save(state.history)
                    yield job[1], known[job[1]]
