"""Trials for a question: pure functions of configs, which train nothing."""

import dataclasses
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from jaxeval.config import fields, reading
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.space import space as spaces
from jaxeval.space.distributions import Value
from jaxeval.space.space import Space
from jaxeval.studies.prepared import Study, Trial, at
from jaxeval.tasks import registry

_LEARNING_RATE = "training.optimiser.hyperparameters.learning_rate"


def seeds_by_splits(
    config: Any, seeds: Sequence[int], splits: Sequence[int] = (0,), **labels: str
) -> list[Trial]:
    """A config with every seed on every split."""
    tree = reading.to_dict(config)
    return [Trial(tree, seed, split, labels=labels) for split in splits for seed in seeds]


def crossed(
    config: Any, seeds: Sequence[int], splits: Sequence[int] = (0,), count: int = 1
) -> list[Trial]:
    """Every seed on every split: the members that `train` would train.

    Or those repeated so many times, for the noise of the machine (Melis et al. 2018, section 7.2).
    """
    if count == 1:
        return seeds_by_splits(config, seeds, splits)
    tree = _without_models(config)
    study = Study("noise", tree)
    cells = itertools.product(range(count), splits, seeds)
    return [Trial(tree, seed, split, repeat, study=study) for repeat, split, seed in cells]


def variants(configs: Mapping[str, Any], seeds: Sequence[int]) -> list[Trial]:
    """Several configs with the same seeds, labelled with their names as models."""
    return [
        trial
        for name, config in configs.items()
        for trial in seeds_by_splits(config, seeds, model=name)
    ]


def neighbourhood(config: Any, settings: Sequence[Mapping[str, float]]) -> list[Trial]:
    """A config with other values of traced hyperparameters; setting k has seed k, from 1."""
    traced, study = fields.traced(config), Study("neighbourhood", _without_models(config))
    trials = []
    for seed, setting in enumerate(settings, 1):
        changed = {name: v for name, v in setting.items() if v != traced[name].value}
        changes = [f"{traced[name].key}={json.dumps(value)}" for name, value in changed.items()]
        tree = _without_models(reading.read(type(config), config, changes))
        trials.append(Trial(tree, seed, values=changed, study=study))
    return trials


def draws(
    source: reading.Source,
    changes: Sequence[str],
    space: Space,
    seed: int,
    count: int,
    where: str = "space",
) -> list[Trial]:
    """The first so many runs of a random sweep; run k, from 1, has seed k.

    Args:
      source: of the base config.
      changes: `key=value` each, before what is drawn.
      seed: of the draws.
      where: what messages begin with.

    Raises ConfigError: a run's values are no config; with its number and values.
    """
    kind = registry.kind(reading.peek(source, changes, "task") or "tagging")
    base: Any = reading.read(kind.Config, source, changes)
    refuse_leaks(base, space, where)
    study = Study("sweep", reading.to_dict(base), {"space": spaces.to_dict(space), "seed": seed})
    trials = []
    for number in range(count):
        values = spaces.draw(space, seed, number)
        try:
            config = configured(source, changes, space, values)
        except ConfigError as error:
            shown = json.dumps(values, ensure_ascii=False)
            raise ConfigError(f"{where}: run {number + 1}, drawn as {shown}: {error}") from None
        trials.append(Trial(reading.to_dict(config), number + 1, values=values, study=study))
    return trials


def configured(
    source: reading.Source, changes: Sequence[str], space: Space, values: Mapping[str, Value]
) -> Any:
    """A base config with changes and then the values of a space; ConfigError: no config."""
    kind = registry.kind(reading.peek(source, changes, "task") or "tagging")
    drawn = [
        f"{key}={json.dumps(value, ensure_ascii=False)}"
        for key, value in spaces.changes(space, values)
    ]
    return reading.read(kind.Config, source, [*changes, *drawn])


def evaluations(
    base: Any,
    configs: Sequence[Any],
    settings: Sequence[tuple[Mapping[str, Value], Sequence[int]]],
    design: Mapping[str, Json],
) -> list[Trial]:
    """Settings of a tuner, each with its seeds; their models are not saved.

    Args:
      base: the config that they change.
      settings: (values, seeds) of each config.
      design: how they were proposed.
    """
    study = Study("tuning", _without_models(base), design)
    return [
        Trial(_without_models(config), seed, values=values, study=study)
        for config, (values, seeds) in zip(configs, settings, strict=True)
        for seed in seeds
    ]


def refuse_leaks(base: Any, space: Space, where: str) -> None:
    """Raises ConfigError for a space's keys that a run without them has from the config.

    Keys that change no score, keys of the data, and hyperparameters that set no key and are in no
    condition are refused too.
    """
    keys = [*fields.keys(base, fields.IMMATERIAL), "training.micro_batch"]
    silent = dict.fromkeys(keys, "changes no score here")
    if any(start <= 1 for start, _ in base.training.optimiser.steps):  # else it counts before
        silent[_LEARNING_RATE] = (
            "training.optimiser.steps of the config replaces from epoch 1 on; leave one of the "
            "two out"
        )
    neutral = {h.key: h.marker.neutral for h in fields.traced(base).values()}
    settings, defaults = reading.to_dict(base), reading.to_dict(type(base)())
    for parameter in space.parameters:
        key = parameter.key
        if key is None:
            if not any(name == parameter.name for p in space.parameters for name, _ in p.when):
                raise ConfigError(f"{where}: {parameter.name}: sets nothing; add key = ...")
            continue
        if key.startswith("data."):
            raise ConfigError(
                f"{where}: {parameter.name}: sets {key}; a sweep is of one corpus, read in one way"
            )
        if key in silent:
            raise ConfigError(f"{where}: {parameter.name}: sets {key}, which {silent[key]}")
        value, default = at(settings, key), at(defaults, key)
        nothing = (None, default) if neutral.get(key) is None else (None, neutral[key])
        if parameter.when and value not in nothing:
            raise ConfigError(
                f"{where}: {parameter.name}: drawn in some runs only, but the config sets {key} "
                f"to {value}, which all others would have; leave it out of the config"
            )


def _without_models(config: Any) -> dict[str, Any]:
    """A study's members differ from what their config says: their models are not saved."""
    training = dataclasses.replace(config.training, save_models=False)
    return reading.to_dict(dataclasses.replace(config, training=training))
