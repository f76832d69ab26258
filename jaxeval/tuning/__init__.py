"""The best setting of a search space, with few evaluations; no jax."""

import contextlib
import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from jaxeval import space as spaces
from jaxeval.bandits.commands import EvaluationFailed
from jaxeval.bandits.running import as_number
from jaxeval.errors import ConfigError, DataError, called_from_python
from jaxeval.files import Json
from jaxeval.parameters import MOST, SEED_LIMIT, Number
from jaxeval.runs import metrics
from jaxeval.space import Space
from jaxeval.space.distributions import Value
from jaxeval.tuning import candidates
from jaxeval.tuning.history import Evaluation, Halving, History, Values, identity

__all__ = ["Evaluation", "EvaluationFailed", "History", "Search", "Tuner"]
Method = Literal["gp", "sobol", "random"]


@dataclasses.dataclass(frozen=True)
class Search:
    """Settings of a search: proposals depend on them and the history alone."""

    space: Space
    method: Method = "gp"
    seed: int = 0
    seeds: int = 1  # of each setting, which has as many scores
    halving: Halving | None = None  # stops poor trainings
    enqueued: tuple[Values, ...] = ()  # are evaluated before any other

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            expected = ", ".join(get_args(Method))
            raise ConfigError(f"method: expected one of {expected}, got {self.method!r}")
        if self.halving is not None and self.seeds > 1:
            raise ConfigError("halving: expected one seed a setting, got several")

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
        fixed = plain["method"], plain["seed"], plain["seeds"], stops
        space = spaces.from_dict(plain["space"], where)
        return Search(space, *fixed, tuple(plain.get("enqueued", ())))

    def ask(self, history: History, count: int) -> tuple[History, list[Evaluation]]:
        """Adds new proposals to a history, enqueued ones first; fewer if the space has no more.

        Each has seeds of its own: no two settings share their luck.
        """
        first, known = len(history.evaluations), history.identities
        waiting = {identity(values): values for values in self.enqueued}
        new = [values for key, values in waiting.items() if key not in known][:count]
        for values in new:
            history = history.propose(values, history.fresh_seeds(self.seeds))
        for values in self._propose(history, count - len(new)):
            history = history.propose(values, history.fresh_seeds(self.seeds))
        return history, [*history.evaluations[first:]]

    def _propose(self, history: History, count: int) -> list[dict[str, Value]]:
        if not count:
            return []
        if self.method == "gp":
            from jaxeval.tuning import gp  # scipy's optimisers are slow to import

            return gp.propose(self.space, history, count, self.seed)
        propose = candidates.random if self.method == "random" else candidates.sobol
        return propose(self.space, history, count, self.seed)

    def best(self, history: History) -> Evaluation | None:
        """Returns the setting with the best posterior mean, or mean; None before a score."""
        if self.method == "gp":
            from jaxeval.tuning import gp

            return gp.best(self.space, history)
        return next(iter(history.ranked()), None)


class Tuner:
    """Proposes settings and receives their scores.

        tuner = tuning.Tuner({"x": {"uniform": [-5, 5]}}, higher_is_better=False)
        for _ in range(20):
            for trial in tuner.ask(4):
                tuner.tell(trial.number, (trial.values["x"] - 2) ** 2)
        print(tuner.best().values)

    Args:
      space: a file (docs/search.md), its tables, or a Space.
      higher_is_better: default True, or as in the history.
      method, seed, seeds: see `Search`.
      history: of an earlier tuner, to continue; `History.from_dict` reads one.

    Raises:
      ConfigError: the space, the method or a number is wrong.
      DataError: the history has another direction, or a setting that the space lacks.
    """

    def __init__(
        self,
        space: str | Path | Mapping[str, object] | Space,
        *,
        higher_is_better: bool | None = None,
        method: Method = "gp",
        seed: int = 0,
        seeds: int = 1,
        history: History | None = None,
    ):
        known = spaces.load(space)[0]
        self.search = Search(known, method, _whole("seed", seed, 0), _whole("seeds", seeds, 1))
        asked = metrics.check_direction(higher_is_better)
        self.history = history or History((), asked is not False)
        if asked not in (None, self.history.higher_is_better):
            raise DataError(
                f"higher_is_better: {asked}, but that of the history is "
                f"{self.history.higher_is_better}; leave it out"
            )
        candidates.refuse_others(known, self.history)

    def ask(self, count: int = 1) -> list[Evaluation]:
        """Returns new settings, which run until told a score; fewer if the space has no more."""
        self.history, asked = self.search.ask(self.history, _whole("count", count, 0))
        return asked

    def enqueue(self, values: Values) -> None:
        """Proposes a setting before others, once; ConfigError names a wrong hyperparameter."""
        with called_from_python():
            new = candidates.setting(self.search.space, values)
        self.search = dataclasses.replace(self.search, enqueued=(*self.search.enqueued, new))

    def tell(self, number: int, result: float | Sequence[float] | np.ndarray | str) -> None:
        """Receives the score of an evaluation, or one a seed; or why it failed, in words."""
        self.history = self.history.tell(_whole("number", number, 0), _outcome(result))

    def best(self) -> Evaluation:
        """Returns the setting with the best posterior mean, or mean; DataError without a score."""
        best = self.search.best(self.history)
        if best is None:
            raise DataError("no setting has a score yet")
        return best


def _outcome(result: Any) -> tuple[float, ...] | str:
    """Reads a score, several, or the cause of a failure; a score that is not finite is one."""
    number = math.nan
    with contextlib.suppress(ValueError, TypeError):
        number = float(result)
    if isinstance(result, str) and not math.isfinite(number):  # "0.93" is no cause
        return result or "failed"
    several = isinstance(result, list | tuple) or getattr(result, "ndim", 0) == 1
    scores = tuple(as_number(score) for score in (result if several else [result]))
    if not scores or None in scores:
        expected = "expected a score, one a seed, or why there is none"
        raise DataError(f"result: {expected}, got {result!r:.60}")
    numbers = tuple(score for score in scores if score is not None)
    wrong = [score for score in numbers if not math.isfinite(score)]
    return f"the score is {wrong[0]}" if wrong else numbers


def _whole(name: str, value: object, least: int) -> int:
    try:
        return int(Number(least, SEED_LIMIT - 1 if name == "seed" else MOST).check(value, int))
    except ValueError as expected:
        raise ConfigError(f"{name}: expected {expected}, got {value!r:.60}") from None
