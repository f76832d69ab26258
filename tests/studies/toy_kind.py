"""The toy problem of tests/population as a kind of task: trials that train in a moment."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from jaxeval import tasks
from jaxeval.config import fields, reading
from jaxeval.contracts import Findings, Split
from jaxeval.data import corpora
from jaxeval.population import Training
from jaxeval.studies import cohorts, prepared
from jaxeval.studies.prepared import Trial
from jaxeval.tasks.kind import Kind
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


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Toys(corpora.Source):
    """The toy corpus, whose splits are drawn elsewhere."""

    def split(self, number: int) -> Split:
        """As the toy problem's."""
        return toy.split(len(self.corpus.buckets), number)

    def vocabulary(self, number: int) -> dict[str, Any]:
        """Names of the classes."""
        return {"classes": ["a", "b", "c"], "split": number}

    def tables(self, config: Config) -> dict[str, np.ndarray]:
        """One that nothing reads."""
        return {"shift": np.zeros(3, np.float32)}


def source(fingerprint: str, name: str = "toy", buckets: int = 1) -> Toys:
    """The toy corpus under a name."""
    return Toys(
        corpus=toy.corpus(buckets),
        given_split={},
        name=name,
        fingerprint=fingerprint,
        facts={},
        positions=toy.places()[:buckets],
        findings=Findings({}, ["a remark"], ["odd"]),
    )


def kind(buckets: int) -> Kind:
    """The toy task on a corpus of so many buckets."""
    return Kind(
        Config,
        "data.path",
        lambda config: (config.data.kept_out, config.data.path),
        lambda kept_out, path: source(f"d{kept_out}", path, buckets),
        lambda config, data: (data, toy.TASK),
    )


KIND = kind(1)
KINDS: Mapping[str, Kind] = {**tasks.KINDS, "toy": KIND}


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
