"""How models are compared: one set of rules, of whole runs and of items."""

import dataclasses
from typing import Literal, get_args

from jaxeval.errors import ConfigError
from jaxeval.stats.results import count, fraction, positive

Factor = Literal["items", "runs"]
Method = Literal["bonferroni", "holm", "benjamini_hochberg"]


@dataclasses.dataclass(frozen=True)
class Rules:
    """How models are compared; numbers that are none raise a ConfigError."""

    alpha: float = 0.05  # level of all tests, after correction
    correction: Method = "holm"  # over pairs and data sets; of items always Holm's
    margin: float | None = None  # smallest difference that matters, in the unit of the scores
    power: float = 0.8  # with which a difference is said to be detected
    confidence: float = 0.95  # of intervals
    resamples: int = 9999  # of permutations and bootstraps
    seed: int = 0  # of these
    over: tuple[Factor, ...] | None = None  # of items; None: also runs where all have several
    complete: bool = False  # of items: nothing is shown where answers or data sets are missing

    def __post_init__(self) -> None:
        if self.correction not in get_args(Method):
            allowed = ", ".join(get_args(Method))
            raise ConfigError(f"correction: expected one of {allowed}, got {self.correction!r}")
        checked: dict[str, float] = {
            "alpha": fraction(self.alpha, "alpha", ConfigError),
            "confidence": fraction(self.confidence, "confidence", ConfigError),
            "resamples": count(self.resamples, "resamples", 1, ConfigError),
            "seed": count(self.seed, "seed", 0, ConfigError),
        }
        if self.margin is not None:
            checked["margin"] = positive(self.margin, "margin", ConfigError)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
