"""How a space is searched, as plain data, and what follows from it for a history."""

import dataclasses
import difflib
import functools
import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from jaxeval.config import arguments
from jaxeval.errors import ConfigError, DataError
from jaxeval.files import Json
from jaxeval.space import distributions
from jaxeval.space import space as spaces
from jaxeval.space.distributions import Distribution, LogUniform, Stepped, Uniform, Value
from jaxeval.space.space import Space
from jaxeval.tuning import encoding, methods, threads
from jaxeval.tuning import history as histories
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
      enqueued: settings that are asked for before any other, such as known good ones.
    """

    space: Space
    method: methods.Name = "gp"
    seed: int = 0
    seeds: int = 1
    adaptive: bool = False
    halving: Halving | None = None
    enqueued: tuple[Mapping[str, Value], ...] = ()

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
            **({"enqueued": [dict(of) for of in self.enqueued]} if self.enqueued else {}),
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
    for values in _waiting(search, history)[:count]:
        history = histories.propose(history, values, histories.fresh_seeds(history, search.seeds))
    left = count - (len(history.evaluations) - first)
    with threads.one():
        proposed = propose(search.space, history, left, search.seed) if left else []
    for values in proposed:
        history = histories.propose(history, values, histories.fresh_seeds(history, search.seeds))
    return history, [*history.evaluations[first:]]


def _waiting(search: Search, history: History) -> list[Mapping[str, Value]]:
    """Enqueued settings that were not proposed yet, each once."""
    if not search.enqueued:
        return []
    known = {histories.identity(evaluation.values) for evaluation in history.evaluations}
    each = {histories.identity(values): values for values in search.enqueued}
    return [values for identity, values in each.items() if identity not in known]


def setting(space: Space, values: Mapping[str, object]) -> dict[str, Value]:
    """Given values as a setting of the space, in its order; whole numbers of ranges are floats.

    Raises:
      ConfigError: a hyperparameter that there is not, that lacks or is not drawn beside these
        others, or a value that it cannot have.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"enqueue: expected values by name, got {values!r:.60}")
    names = [parameter.name for parameter in space.parameters]
    for name in values:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            raise ConfigError(f"enqueue: {name}: no such hyperparameter; {hint}")
    found: dict[str, Value] = {}
    for name in encoding.parents_first(space):
        parameter = space.parameters[names.index(name)]
        active = all(found.get(other) in allowed for other, allowed in parameter.when)
        if active != (name in values):
            why = "is lacking" if active else "is not drawn beside these others; leave it out"
            raise ConfigError(f"enqueue: {name} {why}")
        if active:
            of = parameter.distribution
            value = _plain(of, values[name])
            if not _takes(of, value):
                raise ConfigError(
                    f"enqueue: {name}: expected a value of {distributions.to_dict(of)}, "
                    f"got {value!r:.60}"
                )
            found[name] = value
    return {name: found[name] for name in names if name in found}


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


def _plain(of: Distribution, value: Any) -> Any:
    """A given value as the space has it: numpy's numbers plain, .1 + .2 on a grid of tenths .3."""
    value = value.item() if isinstance(value, np.generic) else value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not isinstance(of, Uniform | LogUniform | Stepped):
        return value
    if isinstance(of, Stepped) and math.isfinite(value):
        nearest = of.value(round((value - of.low) / of.step))
        return nearest if math.isclose(nearest, value, abs_tol=1e-9 * of.step) else float(value)
    return float(value)


def steps(halving: int | None, count: int | None) -> int | None:
    """Steps of an evaluation, which halving takes to be known.

    Raises:
      ConfigError: one without the other, or no whole number.
    """
    if (halving is None) != (count is None):
        lacking = "steps" if count is None else "halving"
        raise ConfigError(f"halving, steps: expected both or neither, {lacking} is absent")
    return None if count is None else arguments.whole("steps", count, 2, arguments.MOST)


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
