"""A search space: what is drawn for each run of a random sweep. docs/search.md describes the file.

A run's values depend on nothing but the sweep's seed, the run's number, and each hyperparameter's
own name and distribution: a longer sweep begins with the runs of a shorter one, and a further
hyperparameter changes no other draw.
"""

import dataclasses
import difflib
import hashlib
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.space import distributions
from jaxeval.space.distributions import Choices, Distribution, Integer, LogInteger, Value

_KEYS = ("key", *distributions.KINDS, "step", "ordered", "when")
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_KEY = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One hyperparameter.

    Attributes:
      key: of the config that it sets, such as "training.batch_size"; None: it sets nothing, and
        is there for conditions.
      when: (other, its values): drawn only in runs where all of these others have such a value.
    """

    name: str
    distribution: Distribution
    key: str | None = None
    when: tuple[tuple[str, tuple[Value, ...]], ...] = ()


@dataclasses.dataclass(frozen=True)
class Space:
    """All hyperparameters of a sweep, in the order of their file."""

    parameters: tuple[Parameter, ...]


def read(path: str | Path) -> Space:
    """The space of a TOML file; errors name the file, the table and key."""
    return from_dict(reading.read_toml(Path(path), "space"), str(path))


def of(space: str | Path | Mapping[str, object] | Space) -> tuple[Space, str]:
    """A space, or that of a file or of its tables; and what messages about it begin with."""
    if isinstance(space, str | Path):
        return read(space), str(space)
    if isinstance(space, Mapping):
        return from_dict(space), "space"
    if not isinstance(space, Space):
        raise ConfigError(f"space: expected a file, its tables or a Space, got {space!r:.60}")
    return space, "space"


def to_dict(space: Space) -> dict[str, Json]:
    """Plain data, as a space file would hold it; `from_dict` gives the space again."""
    tables: dict[str, Json] = {}
    for parameter in space.parameters:
        key = {} if parameter.key is None else {"key": parameter.key}
        when = {other: list(values) for other, values in parameter.when}
        drawn = distributions.to_dict(parameter.distribution)
        tables[parameter.name] = {**key, **drawn, **({"when": when} if when else {})}
    return tables


def from_dict(tree: Mapping[str, object], where: str = "space") -> Space:
    """The space of plain data, checked as a file is.

    Args:
      where: what messages begin with.

    Raises:
      ConfigError: a table or key that is wrong, a condition that never holds, or a cycle.
    """
    if not tree:
        raise ConfigError(
            f"{where}: no hyperparameter; expected a table for each, such as [learning_rate]"
        )
    parameters = {name: _parameter(name, table, where) for name, table in tree.items()}
    _refuse_shared_keys([*parameters.values()], where)
    fitted = {
        name: dataclasses.replace(parameter, when=tuple(_conditions(parameter, parameters, where)))
        for name, parameter in parameters.items()
    }
    for name in fitted:
        _required(name, fitted, where)
    return Space(tuple(fitted.values()))


def draw(space: Space, seed: int, run: int) -> dict[str, Value]:
    """The values of one run, by name; hyperparameters whose condition does not hold are absent.

    Args:
      seed: of the sweep.
      run: its number, from 0.
    """
    quantiles = {}
    for name in (parameter.name for parameter in space.parameters):
        word = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        quantiles[name] = float(np.random.default_rng([seed, run, word]).random())
    return at(space, quantiles)


def at(space: Space, quantiles: Mapping[str, float]) -> dict[str, Value]:
    """The same at one quantile in [0, 1) of each hyperparameter, by name."""
    when = {parameter.name: parameter.when for parameter in space.parameters}
    values = {of.name: of.distribution.at(quantiles[of.name]) for of in space.parameters}

    def is_drawn(name: str) -> bool:
        return all(values[o] in allowed and is_drawn(o) for o, allowed in when[name])

    return {name: value for name, value in values.items() if is_drawn(name)}


def changes(space: Space, values: Mapping[str, Value]) -> list[tuple[str, Value]]:
    """The keys of the config that a run's values set, and to what; in the order of the space."""
    return [
        (parameter.key, values[parameter.name])
        for parameter in space.parameters
        if parameter.key is not None and parameter.name in values
    ]


def _parameter(name: str, table: Any, where: str) -> Parameter:
    """One table, its conditions not yet compared with the others."""
    if not _WORD.fullmatch(name):
        raise ConfigError(f"{where}: {name!r}: expected a name of letters, digits, _ and -")
    path = f"{where}: {name}"
    if not isinstance(table, Mapping):
        raise ConfigError(f"{path}: expected a table such as [{name}], got {table!r}")
    for key in table:
        if key not in _KEYS:
            hint = _nearest(key, _KEYS, "a table has")
            raise ConfigError(f"{path}.{key}: unknown key; {hint}")
    key = table.get("key")
    if key is not None and not (isinstance(key, str) and _KEY.fullmatch(key)):
        expected = "a key of the config such as training.batch_size"
        raise ConfigError(f"{path}.key: expected {expected}, got {key!r}")
    when = table.get("when", {})
    if not isinstance(when, Mapping) or ("when" in table and not when):
        raise ConfigError(f"{path}.when: expected {{ NAME = [values] }}, got {when!r}")
    for other, values in when.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"{path}.when.{other}: expected a list of values, got {values!r}")
    conditions = tuple((other, tuple(values)) for other, values in when.items())
    return Parameter(name, distributions.parse(table, path), key, conditions)


def _nearest(name: str, names: Collection[str], otherwise: str) -> str:
    near = difflib.get_close_matches(name, names, 1)
    return f"did you mean {near[0]}?" if near else f"{otherwise} {', '.join(names)}"


def _refuse_shared_keys(parameters: Sequence[Parameter], where: str) -> None:
    """No two set one key, or a table and a key inside it."""
    keyed = [(of.name, of.key) for of in parameters if of.key is not None]
    for (other, taken), (name, key) in itertools.combinations(keyed, 2):
        if f"{key}.".startswith(f"{taken}.") or f"{taken}.".startswith(f"{key}."):
            expected = f"a key of its own, got {key}; {other} sets {taken}"
            raise ConfigError(f"{where}: {name}.key: expected {expected}")


def _conditions(
    parameter: Parameter, all_: Mapping[str, Parameter], where: str
) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """A parameter's conditions with the others' own values (1 where 1.0 is written)."""
    for other, values in parameter.when:
        path = f"{where}: {parameter.name}.when.{other}"
        if other not in all_:
            raise ConfigError(
                f"{path}: no such hyperparameter; {_nearest(other, all_, 'there are')}"
            )
        of = all_[other].distribution
        if not isinstance(of, Integer | LogInteger | Choices):
            raise ConfigError(
                f"{path}: expected a hyperparameter of choices or integers; {other} is drawn "
                "from a continuous range, where no single value ever comes"
            )
        wrong = [value for value in values if not of.takes(value)]
        if wrong:
            drawn = reading.canonical(distributions.to_dict(of))
            raise ConfigError(f"{path}: {other} is never {wrong[0]!r}; it is drawn from {drawn}")
        own = of.values if isinstance(of, Choices) else ()
        yield other, tuple(next((v for v in own if v == w), w) for w in values)


def _required(
    name: str, all_: Mapping[str, Parameter], where: str, above: Sequence[str] = ()
) -> dict[str, list[Value]]:
    """What must hold for a parameter to be drawn, that of the others it waits for included."""
    if name in above:
        cycle = " -> ".join((*above[above.index(name) :], name))
        expected = f"conditions without a cycle, got {cycle}"
        raise ConfigError(f"{where}: {name}.when: expected {expected}")
    needed: dict[str, list[Value]] = {}
    for other, allowed in all_[name].when:
        inner = _required(other, all_, where, (*above, name))
        for of, values in [(other, list(allowed)), *inner.items()]:
            both = [value for value in values if value in needed.get(of, values)]
            if not both:
                raise ConfigError(
                    f"{where}: {name}.when: never holds: {of} would have to be one of "
                    f"{needed[of]} and one of {values}"
                )
            needed[of] = both
    return needed
