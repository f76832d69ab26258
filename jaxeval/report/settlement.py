"""The outcome of `settle`: a claim that holds whenever one stops."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from jaxeval.bandits.evaluate import Evaluated
from jaxeval.bandits.rules import State
from jaxeval.bandits.settling import Settle
from jaxeval.report import scores, text
from jaxeval.report.document import Document, Result, Table
from jaxeval.stats import describe, sequential
from jaxeval.stats.results import Interval

Verdict = Literal["better", "worse", "equal", "undecided", "failed"]
EXIT_CODES: Mapping[Verdict, int] = MappingProxyType(
    {"better": 0, "undecided": 1, "failed": 1, "worse": 3, "equal": 4}
)
_PLANNED = (3, 5, 10, 20, 30)  # seeds for which the smallest difference is shown


@dataclasses.dataclass(frozen=True, repr=False)
class Settlement(Result):
    """What may be said of a candidate and a base, however often one has looked."""

    verdict: Verdict  # of the candidate
    base: str
    candidate: str
    difference: float | None  # candidate - base at the last look; None before the first
    interval: Interval | None  # confidence sequence of the difference
    p_value: float | None  # anytime-valid, of equal means
    looks: int  # scores of the candidate that the last look saw
    scores: Mapping[str, Sequence[float]]  # side -> those that the last look saw
    first_seed: int | None
    sds: Mapping[str, Interval]  # side -> interval of its standard deviation over seeds
    smallest: Mapping[int, float]  # seeds of each side -> smallest difference that they settle
    needed: int | None  # seeds of each side that settle the observed difference
    margin: float
    level: float  # probability of any wrong claim in this comparison
    paired: bool
    known: int  # scores of the base that were there before
    failures: Mapping[str, str]  # side -> why it has no score
    seconds: Mapping[str, float]  # side -> of its new evaluations
    higher_is_better: bool
    signature: str
    metric: str | None = None
    unit: str = ""
    direction_assumed: bool = False
    comparison: int | None = None  # its number in the ledger
    notes: Sequence[str] = ()

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """0 better, 1 undecided or failed, 3 worse, 4 equal."""
        return EXIT_CODES[self.verdict]

    def document(self) -> Document:
        """Returns the verdict, a row for each side, and what more seeds would settle."""
        ...
