"""Sweeps that a runs database holds: experiments whose config has the space they were drawn from.

Such a config has a key more than others: `"sweep": {"space": .., "seed": ..}`. Each run is a
member whose `hparams` are its drawn values; what its conditions left out is absent.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval.sensitivity.hyperparameters import Declared
from jaxeval.sweep import distributions, space
from jaxeval.sweep.space import Space

ABSENT = ""  # of a value that was not drawn


def space_of(config: str, name: str) -> Space | None:
    """The space that an experiment's config records; None for one that is no sweep.

    Args:
      config: JSON, as recorded.
      name: of the experiment, for messages.

    Raises:
      ConfigError: the recorded space is none that this version reads.
    """
    said = _said(config)
    if not isinstance(said.get("space"), Mapping):
        return None
    return space.from_dict(said["space"], f"{name}: the recorded space")


def seed_of(config: str) -> Any:
    """The seed of a recorded sweep's draws."""
    return _said(config).get("seed")


def _said(config: str) -> Mapping[str, Any]:
    tree = json.loads(config)
    said = tree.get("sweep") if isinstance(tree, Mapping) else None
    return said if isinstance(said, Mapping) else {}


def planned(folder: str, experiment: str) -> int | None:
    """Runs that a sweep of a runs folder has in all, ended or not; None where nothing says so."""
    path = Path(folder) / "sweeps" / f"{experiment}.json"
    try:
        return len(json.loads(path.read_text(encoding="utf-8"))["runs"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def values(of: Space, hparams: Sequence[str]) -> dict[str, list[Any]]:
    """Each hyperparameter's values, one a run; ABSENT where it was not drawn.

    What was drawn in no run is left out.

    Args:
      hparams: JSON of each run's drawn values, as recorded.
    """
    drawn = [json.loads(text) for text in hparams]
    names = [one.name for one in of.parameters if any(one.name in run for run in drawn)]
    return {name: [run.get(name, ABSENT) for run in drawn] for name in names}


def declared(of: Space) -> Declared:
    """The orders and conditions of a space.

    A number that is absent has no effect by itself. A category has one where it was drawn at all,
    which is where its conditions hold: so it needs no column of what they name.
    """
    orders: dict[str, list[str]] = {}
    conditions: dict[str, dict[str, list[str]]] = {}
    for one in of.parameters:
        found = one.distribution
        if isinstance(found, distributions.Choices) and isinstance(found.values[0], str | bool):
            texts = [str(value) for value in found.values]
            if found.ordered:
                orders[one.name] = texts
            if one.when:
                conditions[one.name] = {one.name: texts}
    return Declared(orders, conditions)
