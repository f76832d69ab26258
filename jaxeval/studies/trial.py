"""What is asked to be trained: plain data, which can be stored, hashed, sent elsewhere."""

import dataclasses
from collections.abc import Mapping

from jaxeval.config import reading
from jaxeval.files import Json


@dataclasses.dataclass(frozen=True)
class Study:
    """Trials that are recorded together, apart from those of their config itself.

    Attributes:
      name: what is added to the config's name, such as "sweep" or "noise".
      config: what the trials have in common, as plain data.
      design: how they were proposed, as plain data (a sweep's space and seed); {} where `name`
        says all.
    """

    name: str
    config: Mapping[str, Json]
    design: Mapping[str, Json] = dataclasses.field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(reading.canonical([self.name, self.config, dict(self.design)]))


@dataclasses.dataclass(frozen=True)
class Trial:
    """One training: a config with a seed, on a split.

    Attributes:
      config: plain data, all keys or those that differ from the task's defaults.
      split: 0 is the data's own, k > 0 the k-th random one.
      repeat: of the same seed; its draws are the same.
      values: what a study tells its trials apart by, by name; recorded with the scores.
      study: None: the trial belongs to its config.
      labels: for whoever asked, such as `model` and `dataset`; recorded nowhere.
    """

    config: Mapping[str, Json]
    seed: int
    split: int = 0
    repeat: int = 0
    values: Mapping[str, Json] = dataclasses.field(default_factory=dict)
    study: Study | None = None
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.hparams, self.seed, self.split, self.repeat, self.study))

    @property
    def hparams(self) -> str:
        """`values` as they are recorded: canonical JSON."""
        return reading.canonical(dict(self.values))
