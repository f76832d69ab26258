"""How a tuner proposes settings, and which of them it takes in the end: by name."""

import functools
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, get_args

from jaxeval.errors import ConfigError
from jaxeval.space.distributions import Value
from jaxeval.space.space import Space
from jaxeval.tuning import history as histories
from jaxeval.tuning import sampling
from jaxeval.tuning.history import History

Name = Literal["gp", "sobol", "random", "optuna:tpe", "optuna:gp", "botorch"]
NAMES: tuple[Name, ...] = get_args(Name)


Propose = Callable[[Space, History, int, int], list[dict[str, Value]]]


class Method(NamedTuple):
    """Pure functions of a space and a history.

    Attributes:
      propose: (space, history, number of proposals, seed) -> settings, none of them twice and none
        of the history; fewer where the space has no more. They depend on the seed and the history,
        and with it on the number of the next proposal, and on nothing else.
      best: (space, history) -> the evaluated setting to take; None before the first score.
    """

    propose: Propose
    best: Callable[[Space, History], Mapping[str, Value] | None]


def method(name: str) -> Method:
    """The method of a name.

    Raises:
      ConfigError: no such method.
    """
    if name == "gp":
        from jaxeval.tuning import gp  # scipy's optimisers take a while to load

        return Method(gp.propose, gp.best_setting)
    if name == "optuna:tpe" or name == "optuna:gp":
        from jaxeval.tuning import with_optuna

        sampler: with_optuna.Sampler = "tpe" if name == "optuna:tpe" else "gp"
        return Method(functools.partial(with_optuna.propose, sampler=sampler), _best_mean)
    if name == "botorch":
        from jaxeval.tuning import with_botorch

        return Method(with_botorch.propose, _best_mean)
    samplers = {"random": sampling.random, "sobol": sampling.sobol}
    if name not in samplers:
        raise ConfigError(f"method: expected one of {', '.join(NAMES)}, got {name!r}")
    return Method(samplers[name], _best_mean)


def _best_mean(space: Space, history: History) -> Mapping[str, Value] | None:
    best = histories.best(history)
    return None if best is None else best.values
