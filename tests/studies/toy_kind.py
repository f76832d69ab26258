"""The toy problem of tests/population as a kind of task: trials that train in a moment."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from jaxeval.config import fields, reading
from jaxeval.data import checks
from jaxeval.population.settings import Training
from jaxeval.studies import cohorts, prepared
from jaxeval.studies.prepared import Trial
from jaxeval.tasks import registry
from jaxeval.tasks.kind import Kind, Source
from tests.population import toy

_TRAINING = toy.problem(patience=0, checkpoint_every=1, epochs=4).training


@reading.settings
class Data:
    """What is said of the corpus; `kept_out` only makes another one of it."""

    path: Annotated[str, fields.IMMATERIAL] = "toy"
    kept_out: int = 0


@reading.settings
class Model:
    """The rate is always traced; the others are of no use but to tell configs apart."""

    rate: Annotated[float, fields.Traced(limits=fields.FRACTION)] = 0.2
    noise: Annotated[float, fields.dropout("noise")] = 0.0
    smoothing: Annotated[float, fields.dropout("smoothing", alone=False)] = 0.0
    width: int = 8


@reading.settings
class Config:
    """One experiment."""

    name: Annotated[str, fields.IMMATERIAL] = "toy"
    task: Literal["toy"] = "toy"
    data: Data = Data()
    model: Model = Model()
    training: Training = _TRAINING


def _source(config: Config, fingerprint: str) -> Source:
    return Source(
        toy.corpus(),
        toy.split,
        fingerprint,
        config.data.path,
        {},
        lambda split: {"classes": ["a", "b", "c"], "split": split},
        toy.places(),
        {"shift": np.zeros(3, np.float32)},
        checks.Findings({}, ["a remark"], ["odd"]),
    )


KIND = Kind(
    Config,
    "data.path",
    lambda config: (config.data.kept_out,),
    lambda kept_out: f"d{kept_out}",
    lambda config, fingerprint: (_source(config, fingerprint), toy.TASK),
)
KINDS: Mapping[str, Kind] = {**registry.KINDS, "toy": KIND}


def config(model: Mapping[str, Any] | None = None, **training: Any) -> Config:
    """A config with changes to its model and its training."""
    changed = dataclasses.replace(_TRAINING, **training)
    return Config(model=Model(**(model or {})), training=changed)


def trials(seeds: Sequence[int] = (1, 2, 3), **training: Any) -> list[Trial]:
    """Trials of a config on the given split."""
    return prepared.seeds_by_splits(config(**training), seeds)


def planned(trials: Sequence[Trial]) -> list[cohorts.Cohort]:
    """Trials in cohorts."""
    return cohorts.by_program(cohorts.entries(trials, prepared.Loader()))


def cohort(trials: Sequence[Trial]) -> cohorts.Cohort:
    """Trials that are one cohort."""
    (only,) = planned(trials)
    return only
