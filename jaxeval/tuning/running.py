"""A search under way, and its state on disk."""

import contextlib
import dataclasses
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxeval import files
from jaxeval.bandits.running import Job
from jaxeval.errors import ConfigError, JaxevalError, argument, parsing
from jaxeval.files import Json
from jaxeval.parameters import MOST
from jaxeval.tuning import Search, candidates
from jaxeval.tuning.history import Evaluation, History, identity

_FRESH = 1_000_001  # beyond the seeds of all evaluations


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
    file: files.StateFile | None = None
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
        self.before, seeds = float(tree.pop("seconds")), tree.pop("fresh")
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
    with files.open_state(path, "search", head) as file:
        tree: Any = file.read()
        state.file = file
        if tree is not None:
            with file.parsing():
                state.load(tree)
                candidates.refuse_others(search.space, state.history)
            if state.history.higher_is_better != higher:
                if higher_is_better is None or search.halving:  # which has stopped the best
                    known, flag = "lower" if higher else "higher", argument("lower_is_better")
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
