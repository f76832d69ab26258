"""Differences of two vector files on the same items, with what resamples of the items say."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from jaxeval.stats import multiple, resampled
from jaxeval.stats.results import Effect, HypothesisTest


@dataclasses.dataclass(frozen=True)
class Difference:
    """File A's score minus file B's."""

    a: str
    b: str
    effect: Effect
    test: HypothesisTest
    p_adjusted: float  # over all differences of the command, by Holm's method


class Resampling(NamedTuple):
    """How often, from which seed, and the intervals' confidence."""

    resamples: int = 9999
    seed: int = 0
    confidence: float = 0.95

    def method(self, items: str) -> str:
        return f"bootstrap of {items}, {self.resamples} resamples, seed {self.seed}"


def between(
    names: Sequence[str],
    estimates: Sequence[float],
    draws: np.ndarray,
    n: int,
    resampling: Resampling,
    items: str,
) -> tuple[Difference, ...]:
    """Of any two of the named scores, of which draws [B, V] are at hand; p not yet adjusted."""
    differences = []
    for a, b in itertools.combinations(range(len(names)), 2):
        effect, test = resampled.difference(
            (estimates[a], estimates[b]),
            (draws[:, a], draws[:, b]),
            n,
            method=resampling.method(items),
            confidence=resampling.confidence,
        )
        differences.append(Difference(names[a], names[b], effect, test, test.p_value))
    return tuple(differences)


class _HasDifferences(Protocol):
    @property
    def differences(self) -> tuple[Difference, ...]:
        """Of one set."""


Result = TypeVar("Result", bound=_HasDifferences)


def adjusted(results: Sequence[Result]) -> list[Result]:
    """The same results, the p-values of their differences adjusted together."""
    p_values = [d.test.p_value for result in results for d in result.differences]
    corrected = iter(multiple.adjust_p_values(p_values) if p_values else ())
    return [
        dataclasses.replace(  # type: ignore[type-var]
            result,
            differences=tuple(
                dataclasses.replace(d, p_adjusted=float(next(corrected)))
                for d in result.differences
            ),
        )
        for result in results
    ]
