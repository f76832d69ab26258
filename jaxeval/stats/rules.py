"""How models are compared: one set of rules, of whole runs and of items."""

import dataclasses
import math
from typing import Literal, get_args

from jaxeval.errors import ConfigError
from jaxeval.stats.multiple import Method
from jaxeval.stats.results import between, count, fraction

Factor = Literal["items", "runs"]


@dataclasses.dataclass(frozen=True)
class Rules:
    """How models are compared.

    Attributes:
      alpha: level of all tests, after correction.
      correction: over the pairs and data sets; of items always Holm's.
      margin: smallest difference that matters, in the unit of the scores; None: none.
      power: with which a difference is said to be detected.
      confidence: of intervals.
      resamples, seed: of permutations and bootstraps.
      over: of items, what is generalised over; None: items and, where all models have several,
        runs.
      complete: of items, whether nothing is shown where answers or data sets are missing.
    """

    alpha: float = 0.05
    correction: Method = "holm"
    margin: float | None = None
    power: float = 0.8
    confidence: float = 0.95
    resamples: int = 9999
    seed: int = 0
    over: tuple[Factor, ...] | None = None
    complete: bool = False

    def __post_init__(self) -> None:
        if self.correction not in get_args(Method):
            allowed = ", ".join(get_args(Method))
            raise ConfigError(f"correction: expected one of {allowed}, got {self.correction!r}")
        for name in ("alpha", "confidence"):
            object.__setattr__(self, name, fraction(getattr(self, name), name, ConfigError))
        if self.margin is not None:
            if not between(self.margin, 0, math.inf):
                raise ConfigError(f"margin: expected a number above 0, got {self.margin}")
            object.__setattr__(self, "margin", float(self.margin))
        for name, value, least in (("resamples", self.resamples, 1), ("seed", self.seed, 0)):
            object.__setattr__(self, name, count(value, name, least, ConfigError))
