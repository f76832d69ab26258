"""How a space is searched, as plain data, and what follows from it for a history."""

import dataclasses
import functools
from collections.abc import Collection, Mapping

from jaxeval.config import arguments
from jaxeval.errors import ConfigError, DataError
from jaxeval.files import Json
from jaxeval.space import space as spaces
from jaxeval.space.distributions import Distribution, LogUniform, Uniform, Value
from jaxeval.space.space import Space
from jaxeval.tuning import history as histories
from jaxeval.tuning import methods, threads
from jaxeval.tuning.halving import Halving
from jaxeval.tuning.history import Evaluation, History, Setting


@dataclasses.dataclass(frozen=True)
class Search:
    """What is proposed depends on this, the history, and nothing else.

    Attributes:
      method: as `methods.NAMES`.
      seed: of the proposals.
      seeds: of each evaluation: it has as many scores.
      adaptive: each evaluation is one seed, of a new setting or one more of an old one, whichever
        is worth more to the final choice (`replicates`).
      halving: stops trainings that are not promoted; None: all go on to the end.
    """

    space: Space
    method: methods.Name = "gp"
    seed: int = 0
    seeds: int = 1
    adaptive: bool = False
    halving: Halving | None = None

    def __post_init__(self) -> None:
        methods.method(self.method)
        arguments.whole("seed", self.seed, 0)
        arguments.whole("seeds", self.seeds, 1, arguments.MOST)
        if self.adaptive and (self.method != "gp" or self.seeds > 1):
            raise ConfigError("adaptive seeds: expected method gp, and one seed an evaluation")
        if self.halving is not None and (self.adaptive or self.seeds > 1):
            raise ConfigError("halving: expected one seed a setting, got several")
        if self.halving is not None and self.method == "botorch":
            raise ConfigError(
                "halving: expected another method than botorch, whose process would take scores "
                "of stopped trainings for those of whole ones; gp knows better"
            )

    def to_dict(self) -> dict[str, Json]:
        """Plain data for JSON."""
        return {
            "space": spaces.to_dict(self.space),
            "method": self.method,
            "seed": self.seed,
            "seeds": self.seeds,
            "adaptive": self.adaptive,
            # left out where there is none, as searches of before it have it
            **({} if self.halving is None else {"halving": self.halving.to_dict()}),
        }


def ask(
    search: Search, history: History, count: int, compiled: Collection[str] = ()
) -> tuple[History, list[Evaluation]]:
    """The history with so many new proposals; fewer where the space has no more.

    They run from now on. Each has seeds of its own: no two settings share their luck.

    Args:
      compiled: hyperparameters whose values are compiled in, as of `gp.propose`; other methods
        do without.
    """
    first = len(history.evaluations)
    propose = _propose(search, compiled)  # which loads the libraries that are limited
    with threads.one():
        proposed = propose(search.space, history, count, search.seed)
    for values in proposed:
        history = histories.propose(history, values, histories.fresh_seeds(history, search.seeds))
    return history, [*history.evaluations[first:]]


def _propose(search: Search, compiled: Collection[str]) -> methods.Propose:
    if search.adaptive:
        from jaxeval.tuning import replicates

        return functools.partial(replicates.propose, compiled=compiled)
    if search.method == "gp":
        from jaxeval.tuning import gp

        return functools.partial(gp.propose, compiled=compiled)
    return methods.method(search.method).propose


def best(search: Search, history: History) -> Setting | None:
    """The setting to take, with all its scores; None before the first score."""
    values = methods.method(search.method).best(search.space, history)
    if values is None:
        return None
    identity = histories.identity(values)
    return next(
        setting
        for setting in histories.settings(history)
        if histories.identity(setting.values) == identity
    )


def refuse_others(space: Space, history: History) -> None:
    """Refuses a history of another space.

    Raises:
      DataError: naming the first evaluation that is no setting of this one.
    """
    for evaluation in history.evaluations:
        if not is_setting(space, evaluation.values):
            raise DataError(
                f"history: evaluation {evaluation.number} is no setting of the space: "
                f"{dict(evaluation.values)}"
            )


def is_setting(space: Space, values: Mapping[str, Value]) -> bool:
    """Whether a space can propose such values: no others, and none missing that is active."""
    active = {
        parameter.name: parameter.distribution
        for parameter in space.parameters
        if all(values.get(other) in allowed for other, allowed in parameter.when)
    }
    return values.keys() == active.keys() and all(
        _takes(distribution, values[name]) for name, distribution in active.items()
    )


def _takes(distribution: Distribution, value: Value) -> bool:
    if not isinstance(distribution, Uniform | LogUniform):
        return distribution.takes(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and distribution.low <= value <= distribution.high  # type: ignore[operator]
