"""Sweeps that a runs database holds: experiments whose config has the space they were drawn from.

Such a config has a key more than others: `"sweep": {"space": .., "seed": ..}`. Each run is a
member whose `hparams` are its drawn values; what its conditions left out is absent.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

from jaxeval.sensitivity import hyperparameters
from jaxeval.sensitivity.hyperparameters import Declared, HyperparameterScale
from jaxeval.space import distributions, space
from jaxeval.space.distributions import Distribution
from jaxeval.space.space import Space

ABSENT = ""  # of a value that was not drawn


def space_of(config: str, name: str) -> Space | None:
    """The space that an experiment's config records; None for one that is no sweep.

    Args:
      config: JSON, as recorded.
      name: of the experiment, for messages.

    Raises:
      ConfigError: the recorded space is none that this version reads.
    """
    tree = _said(config).get("space")
    if not isinstance(tree, Mapping):
        return None
    return space.from_dict(tree, f"{name}: the recorded space")


def seed_of(config: str) -> object:
    """The seed of a recorded sweep's draws."""
    return _said(config).get("seed")


def _said(config: str) -> Mapping[str, object]:
    tree = json.loads(config)
    said = tree.get("sweep") if isinstance(tree, Mapping) else None
    return said if isinstance(said, Mapping) else {}


def planned(folder: str, experiment: str) -> int | None:
    """Runs that a sweep of a runs folder has in all, ended or not; None where nothing says so."""
    path = Path(folder) / "sweeps" / f"{experiment}.json"
    try:
        return len(json.loads(path.read_text(encoding="utf-8"))["runs"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def values(of: Space, hparams: Sequence[str]) -> dict[str, list[object]]:
    """Each hyperparameter's values, one a run; ABSENT where it was not drawn.

    What was drawn in no run is left out.

    Args:
      hparams: JSON of each run's drawn values, as recorded.
    """
    drawn = [json.loads(text) for text in hparams]
    names = [
        parameter.name
        for parameter in of.parameters
        if any(parameter.name in run for run in drawn)
    ]
    return {name: [run.get(name, ABSENT) for run in drawn] for name in names}


def declared(of: Space) -> Declared:
    """The orders, conditions and scales of a space, for runs whose absent values are ABSENT.

    A number that is absent has no effect by itself. A category has one where it was drawn at all,
    which is where its conditions hold: so it needs no column of what they name.
    """
    conditions = {
        parameter.name: {parameter.name: _texts(parameter.distribution.values)}
        for parameter in of.parameters
        if parameter.when and _has_words(parameter.distribution)
    }
    return Declared(_orders(of), conditions, _scales(of))


def declared_of_table(of: Space) -> Declared:
    """The same for a table, whose columns may have a value where it has no effect.

    A condition holds only where those of the hyperparameters that it names hold too.
    """
    conditions = {
        parameter.name: {
            other: _texts(values) for other, values in space.required(of, parameter.name).items()
        }
        for parameter in of.parameters
        if parameter.when
    }
    return Declared(_orders(of), conditions, _scales(of))


def _orders(of: Space) -> dict[str, list[str]]:
    return {
        parameter.name: _texts(parameter.distribution.values)
        for parameter in of.parameters
        if _has_words(parameter.distribution) and parameter.distribution.ordered
    }


def _scales(of: Space) -> dict[str, HyperparameterScale]:
    return {parameter.name: scale(parameter.distribution) for parameter in of.parameters}


def scale(of: Distribution) -> HyperparameterScale:
    """How figures show values of a distribution."""
    if isinstance(of, distributions.Choices):
        return HyperparameterScale(tuple(hyperparameters.text(value) for value in of.in_order))
    log, whole = (
        isinstance(of, kinds)
        for kinds in (
            distributions.LogUniform | distributions.LogInteger,
            distributions.Integer | distributions.LogInteger,
        )
    )
    return HyperparameterScale(None, of.low, of.high, log, whole)


def _has_words(of: Distribution) -> TypeGuard[distributions.Choices]:
    """Whether it is one of texts or booleans, which have no order by themselves."""
    return isinstance(of, distributions.Choices) and isinstance(of.values[0], str | bool)


def _texts(values: Sequence[object]) -> list[str]:
    return [str(value) for value in values]
