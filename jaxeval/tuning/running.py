"""A search under way: its state on disk, and evaluations by a function or a command.

Every free worker gets the next proposal at once, which takes into account what still runs.
"""

import contextlib
import dataclasses
import difflib
import functools
import inspect
import json
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxeval import files
from jaxeval.bandits import commands
from jaxeval.bandits.commands import PLACE, EvaluationFailed, Report
from jaxeval.bandits.workers import Workers
from jaxeval.errors import ConfigError, argument
from jaxeval.files import Json
from jaxeval.parameters import MOST
from jaxeval.space.space import Space
from jaxeval.tuning import Search, candidates
from jaxeval.tuning.history import Evaluation, History, Result, Stopped, Values, identity

_FRESH = 1_000_001  # beyond the seeds of all evaluations
_BESIDE = ("seed", "values")
_Job = tuple[int, int]  # number of the evaluation, seed


def fresh_seeds(count: int) -> range:
    """Returns seeds that no evaluation has, for the best setting."""
    return range(_FRESH, _FRESH + count)


@dataclasses.dataclass
class State:
    """A search under way; proposals are on disk before they run."""

    history: History
    trials: int = MOST
    limit: float | None = None  # seconds of wall time after which nothing is proposed
    file: files.StateFile | None = None
    fresh: dict[str, dict[int, float | str]] = dataclasses.field(default_factory=dict)
    before: float = 0.0  # seconds of earlier processes
    known: int = 0  # evaluations that had ended when this process began
    _begun: float = dataclasses.field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Wall time of all processes."""
        return self.before + time.monotonic() - self._begun

    @property
    def left(self) -> int:
        """Evaluations that may still be proposed."""
        spent = self.limit is not None and self.seconds >= self.limit
        return 0 if spent else self.trials - len(self.history.evaluations)

    @property
    def reason(self) -> str:
        """Why a search has ended."""
        if len(self.history.evaluations) >= self.trials:
            return "all trials have ended"
        return "the space has no more settings" if self.left else "the time is spent"

    def fresh_scores(self, setting: Evaluation) -> dict[int, float | str]:
        """Returns the scores of a setting by fresh seed, or why it failed."""
        return self.fresh.setdefault(identity(setting.values), {})

    def save(self, history: History) -> None:
        """Continues with this history, and replaces the file."""
        self.history = history
        if self.file is not None:
            seeds = {s: {str(k): v for k, v in of.items()} for s, of in self.fresh.items()}
            beside = {"seconds": round(self.seconds, 3), "fresh": seeds}
            self.file.write({**beside, **history.to_dict()})  # type: ignore[dict-item]


@contextlib.contextmanager
def opened(
    path: Path | None,
    search: Search,
    higher_is_better: bool,
    evaluator: Mapping[str, Json],
    trials: int,
    limit: float | None = None,
) -> Iterator[State]:
    """Opens the search in a file, or a new one; without a path nothing is kept.

    Args:
      evaluator: the source of the scores as plain data.

    Raises:
      ConfigError, RunError: the file holds another search or source, or another process uses it.
    """
    state = State(History((), higher_is_better), trials, limit)
    if path is None:
        yield state
        return
    directed = {**search.to_dict(), "higher_is_better": higher_is_better}
    with files.open_state(path, "search", {"search": directed, "evaluator": evaluator}) as file:
        tree: Any = file.read()
        state.file = file
        if tree is not None:
            with file.parsing():
                state.before, seeds = float(tree.pop("seconds")), tree.pop("fresh")
                state.fresh = {s: {int(k): v for k, v in of.items()} for s, of in seeds.items()}
                state.history = History.from_dict(tree)
                candidates.refuse_others(search.space, state.history)
                state.known = len(state.history.ended)
        yield state


class Function:
    """Evaluates by a function of the values, and of `seed` and `report` if it takes them."""

    def __init__(self, function: Callable[..., float]):
        names: Collection[str] = ()
        with contextlib.suppress(TypeError, ValueError):  # functions in C have no signature
            names = inspect.signature(function).parameters
        self.name = getattr(function, "__qualname__", type(function).__name__)
        self._function, self.seeded, self.reports = function, "seed" in names, "report" in names

    def __call__(self, values: Values, seed: int, report: Report | None = None) -> float:
        """Returns the score."""
        more: dict[str, Any] = {"seed": seed} if self.seeded else {}
        if self.reports:
            more["report"] = report or (lambda step, score: False)
        return self._function(dict(values), **more)

    def start(self) -> None:
        """Does nothing: functions cannot be stopped."""

    stop = start


class Command(commands.Command):
    """Evaluates by a command with {seed}, and each {hyperparameter} or {values}, all as JSON.

    A word that names an inactive hyperparameter is left out. ConfigError if the template names
    what the space lacks, or lacks a hyperparameter.
    """

    reports = True

    def __init__(
        self, template: str, space: Space, field: str | None = None, limit: float | None = None
    ):
        names = [parameter.name for parameter in space.parameters]
        super().__init__(template, [*names, *_BESIDE], field, limit)
        places = PLACE.findall(template)
        for name in {*_BESIDE} & {*names}:
            raise ConfigError(f"command: {{{name}}} is taken; rename that hyperparameter")
        for name in places:
            if name not in (*names, *_BESIDE):
                near = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean {{{near[0]}}}?" if near else f"there are {', '.join(names)}"
                raise ConfigError(f"command: {{{name}}}: no such hyperparameter; {hint}")
        lacking = [] if "values" in places else [name for name in names if name not in places]
        if lacking:
            raise ConfigError(
                f"command: expected {{values}}, or each hyperparameter by its name: "
                f"{{{lacking[0]}}} is missing in {template!r}"
            )
        self.seeded, self.name = "seed" in places, template

    def __call__(self, values: Values, seed: int, report: Report | None = None) -> float:
        """Runs the command and returns its score; see `score`."""
        return self.score(self._texts(values, seed), report)

    def command(self, values: Values, seed: int) -> list[str]:
        """Returns the words to run."""
        return self.words(self._texts(values, seed))

    def _texts(self, values: Values, seed: int) -> dict[str, str]:
        shown = {k: v if isinstance(v, str) else json.dumps(v) for k, v in values.items()}
        plain = json.dumps(dict(values), ensure_ascii=False)
        return {**shown, "seed": str(seed), "values": plain}


def refuse_unfit(
    evaluate: Function | Command, seeds: bool, halving: int | None, steps: int | None
) -> None:
    """Raises ConfigError if a function or command does not take the seeds or reports it needs."""
    if (halving is None) != (steps is None):
        both = f"{argument('halving')}, {argument('steps')}"
        raise ConfigError(f"{both}: expected both or neither")
    if seeds and not evaluate.seeded:
        what = "{seed}" if isinstance(evaluate, Command) else "an argument seed"
        raise ConfigError(f"{evaluate.name}: expected {what}")
    if halving is not None and not evaluate.reports:
        raise ConfigError(f"{evaluate.name}: expected an argument report")


class Runner:
    """Evaluates a search by a function or a command, in threads.

    Args:
      workers: evaluations at once.
      retries: how often a failed seed is tried again before the evaluation has failed.
      steps: at which evaluations report, for halving.
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
        self._how, self._steps = (workers, retries, evaluate.stop), steps
        self._lock = threading.Lock()  # of the state, which reports change too
        self._scores: dict[int, dict[int, float]] = {}  # of running evaluations
        self._best: dict[int, float] = {}

    def run(self) -> Iterator[tuple[Evaluation, str]]:
        """Continues the search; yields evaluations that end or are retried, with a note."""
        state = self.state
        with Workers[_Job](self._evaluate, *self._how) as desk:
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
                        note = self._tell(job, result, desk)
                    if note is not None:
                        yield state.history.evaluations[job[0]], note

    def _tell(self, job: _Job, result: float | EvaluationFailed, desk: Workers) -> str | None:
        """Returns what went wrong with a job; None while other seeds are awaited."""
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
            ended, note = Result(tuple(known[seed] for seed in evaluation.seeds)), ""
        elif desk.try_again(job):
            return f"setting {number}: {result}; tried again"
        else:
            desk.drop(number)
            ended, note = Result(failure=str(result)), str(result)
        state.save(state.history.tell(number, ended))
        return note

    def _evaluate(self, number: int, seed: int) -> float:
        values = self.state.history.evaluations[number].values
        report = None if self._steps is None else functools.partial(self._report, number)
        return self.evaluate(values, seed, report)

    def _report(self, number: int, step: int, score: float) -> bool:
        halving, state = self.search.halving, self.state
        with self._lock:
            if halving is not None and self._steps is not None:
                at = Stopped(step, self._steps)
                state.history = halving.report(state.history, number, at, score, self._best)
            return state.history.evaluations[number].result is not None

    def again(self, setting: Evaluation, count: int) -> Iterator[tuple[int, float | str]]:
        """Evaluates a setting with fresh seeds that have no score; yields score or failure."""
        known = self.state.fresh_scores(setting)
        left = [seed for seed in fresh_seeds(count) if not isinstance(known.get(seed), float)]
        evaluate = functools.partial(self.evaluate, setting.values)
        self.evaluate.start()
        with Workers[tuple[int]](evaluate, *self._how) as desk:
            desk.waiting.extend((seed,) for seed in left)
            while desk.busy:
                for (seed,), result in desk.next_results():
                    if isinstance(result, float) or not desk.try_again((seed,)):
                        known[seed] = result if isinstance(result, float) else str(result)
                        self.state.save(self.state.history)
                        yield seed, known[seed]


def _jobs(evaluations: list[Evaluation]) -> list[_Job]:
    return [(evaluation.number, seed) for evaluation in evaluations for seed in evaluation.seeds]
