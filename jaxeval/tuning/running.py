"""A search under way: its state on disk, and evaluations by a function or a command.

Every free worker gets the next proposal at once, which takes into account what still runs.
"""

import contextlib
import dataclasses
import functools
import inspect
import json
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxeval import files
from jaxeval.bandits import commands, pool
from jaxeval.bandits.commands import PLACE, EvaluationFailed, Report
from jaxeval.errors import ConfigError, JaxevalError, parsing
from jaxeval.files import Json
from jaxeval.parameters import MOST
from jaxeval.space import Space
from jaxeval.tuning import Search, candidates
from jaxeval.tuning.history import Evaluation, History, Stopped, Values, identity

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

    def load(self, tree: dict[str, Any]) -> None:
        """Continues with what `save` wrote."""
        self.before, seeds = float(tree.pop("seconds")), tree.pop("fresh")
        self.fresh = {s: {int(k): v for k, v in of.items()} for s, of in seeds.items()}
        self.history = History.from_dict(tree)
        self.known = len(self.history.ended)


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
                state.load(tree)
                candidates.refuse_others(search.space, state.history)
        yield state


def read(path: Path) -> tuple[Search, State]:
    """Returns the search of a file that another process may go on with, and its state so far.

    Raises:
      ConfigError: the file holds none.
    """
    passing, state = (JaxevalError, MemoryError), State(History())
    with parsing("not the state of a search", path, error=ConfigError, passing=passing):
        tree: Any = json.loads(path.read_text(encoding="utf-8"))
        search = Search.from_dict(tree["search"], str(path))
        state.load(tree["state"])
    state.trials = len(state.history.evaluations)
    return search, state


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
        self.name, places = template, PLACE.findall(template)
        self.seeded = "seed" in places
        for name in {*_BESIDE} & {*names}:
            raise ConfigError(f"command: {{{name}}} is taken; rename that hyperparameter")
        for name in (name for name in places if name not in (*names, *_BESIDE)):
            known = f"there are {', '.join(names)}"
            raise ConfigError(f"command: {{{name}}}: no such hyperparameter; {known}")
        for name in (name for name in names if not {name, "values"} & {*places}):
            expected = "expected {values}, or each hyperparameter by its name"
            raise ConfigError(f"command: {expected}: {{{name}}} is missing in {template!r}")

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
        self.search, self.state, self.evaluate, self._steps = search, state, evaluate, steps
        self._how: Any = {"workers": workers, "retries": retries, "stop": evaluate.stop}
        self._lock = threading.Lock()  # of the state, which reports change too
        self._scores: dict[int, dict[int, float]] = {}  # of running evaluations
        self._best: dict[int, float] = {}

    def run(self) -> Iterator[tuple[Evaluation, str]]:
        """Continues the search; yields evaluations that end or are retried, with a note."""
        state, begun = self.state, _jobs(self.state.history.pending)

        def ask(free: int) -> list[_Job] | None:
            jobs = [*begun]
            begun.clear()
            # as many settings as keep all workers busy
            more = min(-(-(free - len(jobs)) // self.search.seeds), state.left)
            if more > 0:
                with self._lock:
                    history, proposed = self.search.ask(state.history, more)
                    state.save(history)
                jobs += _jobs(proposed)
            return jobs if state.history.pending or self.search.halving else None

        def over(job: _Job) -> bool:
            return state.history.evaluations[job[0]].ended

        with contextlib.closing(pool.run(self._evaluate, ask, dropped=over, **self._how)) as ended:
            for job, result, again in ended:
                with self._lock:
                    note = self._tell(*job, result, again)
                if note is not None:
                    yield state.history.evaluations[job[0]], note

    def _tell(
        self, number: int, seed: int, result: float | EvaluationFailed, again: bool
    ) -> str | None:
        """Returns what went wrong with a job; None while other seeds are awaited."""
        state, evaluation = self.state, self.state.history.evaluations[number]
        if evaluation.ended:
            state.save(state.history)
            return "" if evaluation.stopped else None
        if not isinstance(result, float):
            if again:
                return f"setting {number}: {result}; tried again"
            state.save(state.history.tell(number, str(result)))
            return str(result)
        known = self._scores.setdefault(number, {})
        known[seed] = result
        if len(known) < len(evaluation.seeds):
            return None
        state.save(state.history.tell(number, [known[seed] for seed in evaluation.seeds]))
        return ""

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
            return state.history.evaluations[number].ended

    def again(self, setting: Evaluation, count: int) -> Iterator[tuple[int, float | str]]:
        """Evaluates a setting with fresh seeds that have no score; yields score or failure."""
        known, seeds = self.state.fresh_scores(setting), fresh_seeds(count)
        left = iter([[(seed,) for seed in seeds if not isinstance(known.get(seed), float)]])
        evaluate = functools.partial(self.evaluate, setting.values)
        self.evaluate.start()
        trials = pool.run(evaluate, lambda free: next(left, []), **self._how)
        with contextlib.closing(trials):
            for (seed,), result, again in trials:
                if not again:
                    known[seed] = result if isinstance(result, float) else str(result)
                    self.state.save(self.state.history)
                    yield seed, known[seed]


def _jobs(evaluations: list[Evaluation]) -> list[_Job]:
    return [(evaluation.number, seed) for evaluation in evaluations for seed in evaluation.seeds]
