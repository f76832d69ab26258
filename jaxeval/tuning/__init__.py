"""The best setting of a search space, with few evaluations; no jax.

search = tuning.Search(space.from_dict({"x": {"uniform": [-5, 5]}}))
history = tuning.History(higher_is_better=False)
for _ in range(20):
    history, trials = search.ask(history, 4)
    for trial in trials:
        history = history.tell(trial.number, (trial.values["x"] - 2) ** 2)
print(search.best(history).values)
"""

import contextlib
import dataclasses
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from jaxeval import space as spaces
from jaxeval import state_files
from jaxeval.bandits.commands import EvaluationFailed
from jaxeval.bandits.running import Job
from jaxeval.errors import ConfigError, JaxevalError, argument, parsing
from jaxeval.files import Json
from jaxeval.parameters import MOST, SEED_LIMIT, Number
from jaxeval.space import Space
from jaxeval.tuning import candidates
from jaxeval.tuning.history import Evaluation, Halving, History, Values, identity

__all__ = ["Evaluation", "EvaluationFailed", "History", "Search"]
Method = Literal["gp", "sobol", "random"]
_LEAST = {"seed": 0, "seeds": 1}
_FRESH = 1_000_001  # beyond the seeds of all evaluations


@dataclasses.dataclass(frozen=True)
class Search:
    """Settings of a search: proposals depend on them and the history alone.

    ConfigError: they do not go together, or what is enqueued is not a setting of the space.
    """

    space: Space
    method: Method = "gp"
    seed: int = 0
    seeds: int = 1  # of each setting, which has as many scores
    halving: Halving | None = None  # stops poor trainings
    enqueued: Sequence[Values] = ()  # are evaluated before any other

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            expected = ", ".join(get_args(Method))
            raise ConfigError(f"method: expected one of {expected}, got {self.method!r}")
        if self.halving is not None and self.seeds > 1:
            raise ConfigError(f"{argument('seeds')}: expected 1 with {argument('halving')}")
        first = tuple(candidates.setting(self.space, values) for values in self.enqueued)
        object.__setattr__(self, "enqueued", first)  # as the space has them
        for name, least in _LEAST.items():
            object.__setattr__(self, name, _whole(name, getattr(self, name), least))

    def to_dict(self) -> dict[str, Json]:
        """Returns plain data for JSON."""
        plain: dict[str, Any] = {"space": spaces.to_dict(self.space)}
        plain |= {name: getattr(self, name) for name in ("method", "seed", "seeds")}
        if self.halving is not None:
            plain["halving"] = dataclasses.asdict(self.halving)
        return plain | ({"enqueued": [dict(of) for of in self.enqueued]} if self.enqueued else {})

    @staticmethod
    def from_dict(plain: Mapping[str, Any], where: str) -> "Search":
        """Reads what `to_dict` wrote; `where` names the file in messages."""
        stops = Halving(**plain["halving"]) if "halving" in plain else None
        space = spaces.from_dict(plain["space"], where)
        enqueued = plain.get("enqueued", ())
        return Search(
            space, plain["method"], plain["seed"], plain["seeds"], stops, tuple(enqueued)
        )

    def ask(self, history: History, count: int) -> tuple[History, list[Evaluation]]:
        """Adds new proposals to a history, enqueued ones first; fewer if the space has no more.

        Each has seeds of its own: no two settings share their luck.
        """
        first = len(history.evaluations)
        known = history.identities
        count = _whole("count", count, 0)
        waiting = {identity(values): values for values in self.enqueued}
        new = [values for key, values in waiting.items() if key not in known][:count]
        for values in new:
            history = history.propose(values, history.fresh_seeds(self.seeds))
        propose = {"random": candidates.random, "sobol": candidates.sobol}.get(self.method)
        if propose is None:
            from jaxeval.tuning import gp  # scipy's optimisers are slow to import

            propose = gp.propose
        more = (
            propose(self.space, history, count - len(new), self.seed) if count > len(new) else ()
        )
        for values in more:
            history = history.propose(values, history.fresh_seeds(self.seeds))
        return history, [*history.evaluations[first:]]

    def best(self, history: History) -> Evaluation | None:
        """Returns the setting with the best posterior mean, or mean; None before a score."""
        if self.method == "gp":
            from jaxeval.tuning import gp

            return gp.best(self.space, history)
        return next(iter(history.ranked()), None)


def _whole(name: str, value: object, least: int) -> int:
    try:
        return int(Number(least, SEED_LIMIT - 1 if name == "seed" else MOST).check(value, int))
    except ValueError as expected:
        raise ConfigError(f"{name}: expected {expected}, got {value!r:.60}") from None


def fresh_seeds(count: int) -> range:
    """Returns seeds that no evaluation has, for the best setting."""
    return range(_FRESH, _FRESH + count)


@dataclasses.dataclass
class State:
    """A search under way; proposals are on disk before they run."""

    search: Search
    history: History
    trials: int = MOST
    limit: float | None = None  # seconds of wall time after which nothing is proposed
    file: state_files.StateFile | None = None
    fresh: dict[str, dict[int, float | str]] = dataclasses.field(default_factory=dict)
    before: float = 0.0  # seconds of earlier processes
    known: int = 0  # evaluations that had ended when this process began
    _begun: float = dataclasses.field(default_factory=time.monotonic)
    _scores: dict[Job, float] = dataclasses.field(default_factory=dict)

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

    def best(self) -> Evaluation | None:
        """Returns the setting to take so far; None before a score."""
        return self.search.best(self.history)

    def fresh_scores(self, setting: Evaluation) -> dict[int, float | str]:
        """Returns the scores of a setting by fresh seed, or why it failed."""
        return self.fresh.setdefault(identity(setting.values), {})

    def propose(self, count: int) -> list[Evaluation]:
        """Adds so many proposals, or as many as may be made."""
        if (count := min(count, self.left)) <= 0:
            return []
        self.history, proposed = self.search.ask(self.history, count)
        return proposed

    def score(self, number: int, seed: int, result: float | str) -> None:
        """Receives the score of a seed, or why there is none, which ends the evaluation."""
        evaluation = self.history.evaluations[number]
        if evaluation.ended:
            return
        if isinstance(result, str):
            self.history = self.history.tell(number, result)
            return
        self._scores[number, seed] = result
        scores = [self._scores.get((number, each)) for each in evaluation.seeds]
        known = [score for score in scores if score is not None]
        if len(known) == len(scores):
            self.history = self.history.tell(number, known)

    def save(self) -> None:
        """Replaces the file."""
        if self.file is not None:
            seeds = {s: {str(k): v for k, v in of.items()} for s, of in self.fresh.items()}
            beside = {"seconds": round(self.seconds, 3), "fresh": seeds}
            self.file.write({**beside, **self.history.to_dict()})  # type: ignore[dict-item]

    def load(self, tree: dict[str, Any]) -> None:
        """Continues with what `save` wrote."""
        self.before = float(tree.pop("seconds"))
        seeds = tree.pop("fresh")
        self.fresh = {s: {int(k): v for k, v in of.items()} for s, of in seeds.items()}
        self.history = History.from_dict(tree)
        self.known = len(self.history.ended)


@contextlib.contextmanager
def opened(
    path: Path | None,
    search: Search,
    higher_is_better: bool | None,
    evaluator: Mapping[str, Json],
    trials: int,
    limit: float | None = None,
) -> Iterator[State]:
    """Opens the search in a file, or a new one; without a path nothing is kept.

    Args:
      higher_is_better: None if it is assumed; else it holds for the scores of the file too.
      evaluator: the source of the scores as plain data.

    Raises:
      ConfigError, RunError: the file holds another search or source, or another process uses it.
    """
    higher = higher_is_better is not False
    state = State(search, History((), higher), trials, limit)
    if path is None:
        yield state
        return
    head = {"search": search.to_dict(), "evaluator": evaluator}
    with state_files.open_state(path, "search", head) as file:
        tree: Any = file.read()
        state.file = file
        if tree is not None:
            with file.parsing():
                state.load(tree)
                candidates.refuse_others(search.space, state.history)
            if state.history.higher_is_better != higher:
                if higher_is_better is None or search.halving:  # which has stopped the best
                    known = "lower" if higher else "higher"
                    flag = argument("lower_is_better")
                    raise ConfigError(
                        f"{path} holds a search for {known} scores; expected "
                        f"{flag if higher else f'no {flag}'}, or another {argument('state')}"
                    )
                state.history = dataclasses.replace(state.history, higher_is_better=higher)
        yield state


def read(path: Path) -> State:
    """Returns the search of a file that another process may go on with, as it is so far.

    Raises:
      ConfigError: the file holds none.
    """
    passing = (JaxevalError, MemoryError)
    with parsing("not the state of a search", path, error=ConfigError, passing=passing):
        tree: Any = json.loads(path.read_text(encoding="utf-8"))
        state = State(Search.from_dict(tree["search"], str(path)), History())
        state.load(tree["state"])
    state.trials = len(state.history.evaluations)
    return state
