"""A search space: the distributions that a random sweep draws from (format: docs/search.md).

The values of a run depend only on the sweep's seed, the run's number, and each hyperparameter's
own name and distribution. A longer sweep therefore begins with the runs of a shorter one, and a
further hyperparameter changes no other draw.
"""

import dataclasses
import graphlib
import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.space import distributions
from jaxeval.space.distributions import Choices, Distribution, Value

_KEYS = ("key", *distributions.KINDS, "step", "ordered", "when")
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_KEY = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One hyperparameter."""

    name: str
    distribution: Distribution
    # config key that it sets, such as "training.batch_size"; None: it only serves conditions
    key: str | None = None
    # (other parameter, its values): drawn only if every condition holds
    when: tuple[tuple[str, tuple[Value, ...]], ...] = ()


@dataclasses.dataclass(frozen=True)
class Space:
    """All hyperparameters of a sweep, in the order of their file."""

    parameters: tuple[Parameter, ...]


def load(space: str | Path | Mapping[str, object] | Space) -> tuple[Space, str]:
    """Returns the space of a file, of tables or itself, and its name for messages."""
    if isinstance(space, str | Path):
        return from_dict(reading.read_toml(Path(space), "space"), str(space)), str(space)
    if isinstance(space, Mapping):
        return from_dict(space), "space"
    if not isinstance(space, Space):
        raise ConfigError(f"space: expected a file, its tables or a Space, got {space!r:.60}")
    return space, "space"


def to_dict(space: Space) -> dict[str, Json]:
    """Returns the tables of a space file, from which `from_dict` makes the space."""
    tables: dict[str, Json] = {}
    for parameter in space.parameters:
        key = {} if parameter.key is None else {"key": parameter.key}
        when = {other: list(values) for other, values in parameter.when}
        drawn = distributions.to_dict(parameter.distribution)
        tables[parameter.name] = {**key, **drawn, **({"when": when} if when else {})}
    return tables


def from_dict(tree: Mapping[str, object], where: str = "space") -> Space:
    """Returns the space of a file's tables; `where` names the file in messages.

    Raises ConfigError: a wrong table or key, a condition on no such value, a cycle.
    """
    if not tree:
        expected = "expected a table for each, such as [learning_rate]"
        raise ConfigError(f"{where}: no hyperparameter; {expected}")
    parameters = {name: _parameter(name, table, where) for name, table in tree.items()}
    keyed = [(name, of.key) for name, of in parameters.items() if of.key]
    for (other, taken), (name, key) in itertools.combinations(keyed, 2):
        if f"{key}.".startswith(f"{taken}.") or f"{taken}.".startswith(f"{key}."):
            expected = f"a key of its own, got {key}; {other} sets {taken}"
            raise ConfigError(f"{where}: {name}.key: expected {expected}")
    fitted = {
        name: dataclasses.replace(parameter, when=tuple(_conditions(parameter, parameters, where)))
        for name, parameter in parameters.items()
    }
    parents = {name: [other for other, _ in of.when] for name, of in fitted.items()}
    try:
        graphlib.TopologicalSorter(parents).prepare()
    except graphlib.CycleError as error:
        *_, name = cycle = error.args[1]
        expected = f"conditions without a cycle, got {' -> '.join(cycle)}"
        raise ConfigError(f"{where}: {name}.when: expected {expected}") from None
    return Space(tuple(fitted.values()))


def draw(space: Space, seed: int, run: int) -> dict[str, Value]:
    """Draws a run (from 0): values by name, without parameters whose condition fails."""
    quantiles = {}
    for name in (parameter.name for parameter in space.parameters):
        word = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        quantiles[name] = float(np.random.default_rng([seed, run, word]).random())
    return at(space, quantiles)


def at(space: Space, quantiles: Mapping[str, float]) -> dict[str, Value]:
    """Returns the values by name at one quantile in [0, 1) of each parameter."""
    when = {parameter.name: parameter.when for parameter in space.parameters}
    values = {p.name: p.distribution.at(quantiles[p.name]) for p in space.parameters}

    def is_drawn(name: str) -> bool:
        return all(values[o] in allowed and is_drawn(o) for o, allowed in when[name])

    return {name: value for name, value in values.items() if is_drawn(name)}


def changes(space: Space, values: Mapping[str, Value]) -> list[tuple[str, Value]]:
    """Returns the config keys that a run's values set, with the values, in the space's order."""
    return [
        (parameter.key, values[parameter.name])
        for parameter in space.parameters
        if parameter.key is not None and parameter.name in values
    ]


def _parameter(name: str, table: Any, where: str) -> Parameter:
    """Checks one table; its conditions are not yet compared with the other parameters."""
    if not _WORD.fullmatch(name):
        raise ConfigError(f"{where}: {name!r}: expected a name of letters, digits, _ and -")
    path = f"{where}: {name}"
    if not isinstance(table, Mapping):
        raise ConfigError(f"{path}: expected a table such as [{name}], got {table!r}")
    for key in table:
        if key not in _KEYS:
            raise ConfigError(f"{path}.{key}: unknown key; a table has {', '.join(_KEYS)}")
    key = table.get("key")
    if key is not None and not (isinstance(key, str) and _KEY.fullmatch(key)):
        expected = "a key of the config such as training.batch_size"
        raise ConfigError(f"{path}.key: expected {expected}, got {key!r}")
    when = table.get("when", {})
    if not isinstance(when, Mapping) or ("when" in table and not when):
        raise ConfigError(f"{path}.when: expected {{ NAME = [values] }}, got {when!r}")
    for other, values in when.items():
        if not isinstance(values, list | tuple) or not values:
            raise ConfigError(f"{path}.when.{other}: expected a list of values, got {values!r}")
    conditions = tuple((other, tuple(values)) for other, values in when.items())
    return Parameter(name, distributions.parse(table, path), key, conditions)


def _conditions(
    parameter: Parameter, all_: Mapping[str, Parameter], where: str
) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Yields a parameter's conditions with the other's own values (1 where 1.0 is written)."""
    for other, values in parameter.when:
        path = f"{where}: {parameter.name}.when.{other}"
        if other not in all_:
            raise ConfigError(f"{path}: no such hyperparameter; there are {', '.join(all_)}")
        distribution = all_[other].distribution
        if not (isinstance(distribution, Choices) or getattr(distribution, "whole", False)):
            expected = "expected a hyperparameter of choices or integers"
            raise ConfigError(f"{path}: {expected}; {other} is drawn from a continuous range")
        for value in values:
            if not distribution.takes(value):
                drawn = reading.canonical(distributions.to_dict(distribution))
                raise ConfigError(f"{path}: {other} is never {value!r}; it is drawn from {drawn}")
        own = distribution.values if isinstance(distribution, Choices) else ()
        yield other, tuple(next((v for v in own if v == w), w) for w in values)
