"""The best setting of a search space, with few evaluations; no jax.

search = tuning.Search(space.from_dict({"x": {"uniform": [-5, 5]}}))
history = tuning.History(higher_is_better=False)
for _ in range(20):
    history, trials = search.ask(history, 4)
    for trial in trials:
        history = history.tell(trial.number, (trial.values["x"] - 2) ** 2)
print(search.best(history).values)
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from jaxeval import space as spaces
from jaxeval.bandits.commands import EvaluationFailed
from jaxeval.errors import ConfigError, argument
from jaxeval.files import Json
from jaxeval.parameters import MOST, SEED_LIMIT, Number
from jaxeval.space import Space
from jaxeval.space.distributions import Value
from jaxeval.tuning import candidates
from jaxeval.tuning.history import Evaluation, Halving, History, Values, identity

__all__ = ["Evaluation", "EvaluationFailed", "History", "Search"]
Method = Literal["gp", "sobol", "random"]
_LEAST = {"seed": 0, "seeds": 1}


@dataclasses.dataclass(frozen=True)
class Search:
    """Settings of a search: proposals depend on them and the history alone.

    ConfigError: they do not go together, or what is enqueued is no setting of the space.
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
        fixed = plain["method"], plain["seed"], plain["seeds"], stops
        space = spaces.from_dict(plain["space"], where)
        return Search(space, *fixed, tuple(plain.get("enqueued", ())))

    def ask(self, history: History, count: int) -> tuple[History, list[Evaluation]]:
        """Adds new proposals to a history, enqueued ones first; fewer if the space has no more.

        Each has seeds of its own: no two settings share their luck.
        """
        first, known = len(history.evaluations), history.identities
        count = _whole("count", count, 0)
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


def _whole(name: str, value: object, least: int) -> int:
    try:
        return int(Number(least, SEED_LIMIT - 1 if name == "seed" else MOST).check(value, int))
    except ValueError as expected:
        raise ConfigError(f"{name}: expected {expected}, got {value!r:.60}") from None
