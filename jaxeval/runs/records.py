"""What is recorded: experiments, how members ended, and their scores by epoch."""

import dataclasses
import math
from typing import Literal, NamedTuple

import numpy as np

Status = Literal["finished", "early_stopped", "diverged", "failed"]


@dataclasses.dataclass(frozen=True)
class Experiment:
    """What a set of members has in common; no member of one `id` is trained twice."""

    id: str  # hash of config and data
    name: str
    task: str
    metric: str
    higher_is_better: bool
    unit: str  # of the metric: "fraction", "bits" ...
    margin: float  # difference of the metric below which two models count as equal
    config: str  # full canonical JSON
    config_hash: str
    data: str  # where it came from
    data_hash: str
    facts: str = "{}"  # canonical JSON: sizes of the data, coverage of vectors, unseen symbols


@dataclasses.dataclass(frozen=True)
class _OfMember:
    """What says whose a record is."""

    experiment: str
    seed: int
    split: int
    repeat: int  # 0, unless the same seed is trained several times
    hparams: str  # canonical JSON of what differs from the config, "{}" if nothing


@dataclasses.dataclass(frozen=True)
class MemberResult(_OfMember):
    """How a member ended. Scores are fractions, at the epoch that is scored."""

    status: Status
    epochs: int
    best_epoch: int | None
    dev: float | None
    test: float | None
    wall_seconds: float  # the member's share of the time its population took
    lanes: str  # mode and width, such as "map:8"
    jax: str
    flax: str
    jaxeval: str
    device: str
    message: str = ""

    def __post_init__(self) -> None:
        for name in ("dev", "test", "wall_seconds"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} is {value}; a score that is not finite is None")


@dataclasses.dataclass(frozen=True)
class EpochScore(_OfMember):
    """One metric of a member after an epoch (from 1) on a part of the corpus."""

    epoch: int
    part: str  # train, dev or test
    metric: str
    value: float | None  # None where it was not finite


@dataclasses.dataclass(frozen=True)
class Outcomes(_OfMember):
    """What a member got right or wrong on a part of the data, item by item."""

    part: str
    names: tuple[str, ...]  # of the counts, whose sums over the items give the part's score
    counts: np.ndarray  # [items, names] float32, in the order of the part's items in the data


@dataclasses.dataclass(frozen=True)
class PackedOutcomes(_OfMember):
    """The same as a database has it."""

    part: str
    names: str
    items: int
    counts: bytes


def key(row: "MemberRow | CurveRow | Outcomes") -> tuple[str, int, int, int, str]:
    """What identifies a member: experiment, seed, split, repeat, hparams."""
    return row.experiment, row.seed, row.split, row.repeat, row.hparams


class MemberRow(NamedTuple):
    """A member with its experiment: one row of the tidy table."""

    name: str
    experiment: str
    task: str
    metric: str
    higher_is_better: bool
    unit: str
    margin: float
    split: int
    seed: int
    repeat: int
    hparams: str
    status: str
    epochs: int
    best_epoch: int | None
    dev: float | None
    test: float | None
    wall_seconds: float
    lanes: str
    jax: str
    flax: str
    jaxeval: str
    device: str
    message: str
    config: str
    config_hash: str
    data: str
    data_hash: str

    @property
    def never_learned(self) -> bool:
        """Whether no epoch was best, as dev never left 0: the test score is the last epoch's."""
        return self.test is not None and self.best_epoch is None


class CurveRow(NamedTuple):
    """One score by epoch, with its experiment."""

    name: str
    experiment: str
    split: int
    seed: int
    repeat: int
    hparams: str
    epoch: int
    part: str
    metric: str
    value: float | None
