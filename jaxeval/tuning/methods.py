"""How a tuner proposes: by name."""

from collections.abc import Callable
from typing import Literal, get_args

from jaxeval.errors import ConfigError
from jaxeval.space.distributions import Value
from jaxeval.space.space import Space
from jaxeval.tuning import sampling
from jaxeval.tuning.history import History

Name = Literal["random", "sobol"]
NAMES: tuple[Name, ...] = get_args(Name)
# (space, history, number of proposals, seed) -> settings, none of them twice. Pure: they depend on
# the seed, the history, and with it the number of the next proposal.
Propose = Callable[[Space, History, int, int], list[dict[str, Value]]]


def propose(name: str) -> Propose:
    """The function that proposes.

    Raises:
      ConfigError: no such method.
    """
    if name == "random":
        return sampling.random
    if name == "sobol":
        return sampling.sobol
    raise ConfigError(f"method: expected one of {', '.join(NAMES)}, got {name!r}")
