"""How a space is searched, and the state of a search, on disk and in memory."""

import contextlib
import dataclasses
import functools
import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import threadpoolctl

from jaxeval import files
from jaxeval.errors import ConfigError, DataError
from jaxeval.files import Json
from jaxeval.parameters import MOST
from jaxeval.space import space as spaces
from jaxeval.space.distributions import Value
from jaxeval.space.space import Space
from jaxeval.tuning import candidates
from jaxeval.tuning import history as histories
from jaxeval.tuning.history import Evaluation, Halving, History, Setting, Stopped, Values

Method = Literal["gp", "sobol", "random"]
_FRESH = 1_000_001  # beyond the seeds of all evaluations


@dataclasses.dataclass(frozen=True)
class Search:
    """What is proposed depends on this, the history, and nothing else.

    Attributes:
      seeds: of each evaluation: it has as many scores.
      adaptive: each evaluation is one seed, of a new setting or one more of an old one, whichever
        is worth more to the final choice (`gp.propose_adaptive`).
      halving: stops trainings that are not promoted; None: all go on to the end.
      enqueued: settings that are asked for before any other, such as known good ones.
    """

    space: Space
    method: Method = "gp"
    seed: int = 0
    seeds: int = 1
    adaptive: bool = False
    halving: Halving | None = None
    enqueued: tuple[Values, ...] = ()

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            expected = ", ".join(get_args(Method))
            raise ConfigError(f"method: expected one of {expected}, got {self.method!r}")
        if self.adaptive and (self.method != "gp" or self.seeds > 1):
            raise ConfigError("adaptive seeds: expected method gp, and one seed an evaluation")
        if self.halving is not None and (self.adaptive or self.seeds > 1):
            raise ConfigError("halving: expected one seed a setting, got several")

    def to_dict(self) -> dict[str, Json]:
        """Plain data for JSON."""
        names = ("method", "seed", "seeds", "adaptive")
        plain: dict[str, Any] = {"space": spaces.to_dict(self.space)}
        plain |= {name: getattr(self, name) for name in names}
        if self.halving is not None:
            plain["halving"] = dataclasses.asdict(self.halving)
        return plain | ({"enqueued": [dict(of) for of in self.enqueued]} if self.enqueued else {})

    def ask(self, history: History, count: int) -> tuple[History, list[Evaluation]]:
        """The history with so many new proposals, or all there are, which run from now on.

        Each has seeds of its own: no two settings share their luck. Enqueued settings come first.
        """
        first = len(history.evaluations)
        waiting = {histories.identity(values): values for values in self.enqueued}
        for evaluation in history.evaluations if waiting else ():
            waiting.pop(histories.identity(evaluation.values), None)
        new = [*waiting.values()][:count]
        for values in new:
            history = history.proposed(values, history.fresh_seeds(self.seeds))
        for values in self._propose(history, count - len(new)):
            history = history.proposed(values, history.fresh_seeds(self.seeds))
        return history, [*history.evaluations[first:]]

    def _propose(self, history: History, count: int) -> list[dict[str, Value]]:
        if not count:
            return []
        if self.method != "gp":
            propose = candidates.random if self.method == "random" else candidates.sobol
            return propose(self.space, history, count, self.seed)
        from jaxeval.tuning import gp  # scipy's optimisers take a while to load

        by_model = gp.propose_adaptive if self.adaptive else gp.propose
        with one_thread():
            return by_model(self.space, history, count, self.seed)

    def best(self, history: History) -> Setting | None:
        """The setting of the best posterior mean, or mean; None before the first score."""
        if self.method == "gp":
            from jaxeval.tuning import gp

            return gp.best(self.space, history)
        return next(iter(histories.ranked(history)), None)


def one_thread() -> threadpoolctl.threadpool_limits:
    """Linear algebra in one thread: the matrices here are small, and threads wait for each other.

    Nor should what is proposed depend, in its last digits, on how many cores a machine has.
    """
    limited: threadpoolctl.threadpool_limits = _libraries().limit(limits=1, user_api="blas")
    return limited


@functools.cache
def _libraries() -> threadpoolctl.ThreadpoolController:
    """Those of numpy and scipy; to look for them takes milliseconds."""
    from scipy import linalg  # noqa: F401 - scipy's own library is not loaded before

    return threadpoolctl.ThreadpoolController()


def fresh_seeds(count: int) -> range:
    """So many seeds that no evaluation has, for the setting that is taken."""
    return range(_FRESH, _FRESH + count)


@dataclasses.dataclass
class State:
    """A search under way; proposals are on disk before they run.

    Attributes:
      trials, limit: evaluations in all, and seconds of wall time after which none is proposed.
      file: None: nothing is kept.
      fresh: setting (`history.identity`) -> fresh seed -> its score, or why it failed.
      before: seconds that earlier processes worked on it.
      known: evaluations that had ended when this one began.
    """

    history: History
    trials: int = MOST
    limit: float | None = None
    file: files.StateFile | None = None
    fresh: dict[str, dict[int, float | str]] = dataclasses.field(default_factory=dict)
    before: float = 0.0
    known: int = 0
    _begun: float = dataclasses.field(default_factory=time.monotonic)
    _best: dict[int, float] = dataclasses.field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Of wall time, of all processes."""
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

    def report(self, halving: Halving | None, number: int, at: Stopped, score: float) -> bool:
        """The score of an evaluation at a step; whether it has its result, and is to stop there.

        What is not finite is not looked at, nor steps beyond the last.
        """
        running = self.history.evaluations[number].result is None
        if running and halving is not None and math.isfinite(score):
            passed = self.history.evaluations[number].rungs
            before = self._best.get(number, passed[-1] if passed else None)
            best = self._best[number] = self.history.better(score, before)
            at = Stopped(min(at.epochs, at.of), at.of)
            self.history = halving.reported(self.history, number, at, best)
        return self.history.evaluations[number].result is not None

    def fresh_of(self, setting: Setting) -> dict[int, float | str]:
        """What fresh seeds of a setting gave."""
        return self.fresh.setdefault(histories.identity(setting.values), {})

    def save(self, history: History) -> None:
        """Goes on with this history, and replaces the file."""
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
    """The search in a file, or a new one; None: it is kept nowhere.

    Args:
      evaluator: what the scores come from, as plain data; another one cannot go on with them.
      trials, limit: as of `State`.

    Raises:
      ConfigError, RunError: the file holds another search, or another process works on it.
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
                state.fresh = {
                    str(s): {int(k): v for k, v in of.items()} for s, of in seeds.items()
                }
                state.history = History.from_dict(tree)
                candidates.refuse_others(search.space, state.history)
                state.known = len(state.history.ended)
                if state.history.higher_is_better != higher_is_better:
                    raise DataError("the direction of its history is not that of its search")
        yield state
