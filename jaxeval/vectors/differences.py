"""Differences of two vector files on the same items, with what resamples of the items say."""

import dataclasses
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
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


class LeftOut(NamedTuple):
    """A file that the others are compared without, since it would leave nothing to compare on."""

    file: str
    compared_on: int  # items that all files cover, this one included: too few, or all equal


def comparable(
    covered: Mapping[str, np.ndarray],
    without_score: Callable[[Sequence[str], np.ndarray], Collection[str]],
) -> tuple[list[str], np.ndarray, tuple[LeftOut, ...]]:
    """Which files can be compared, on which items [n] bool, and which are left out.

    One file at a time is left out, of those without a score on the items that all remaining ones
    cover the one that covers fewest, until each has one.

    Args:
      covered: by file, which items it covers [n] bool.
      without_score: which of some files have no score on some items.
    """
    names, left_out = [*covered], list[LeftOut]()
    common = np.all([*covered.values()], axis=0)
    while len(names) > 1 and (without := without_score(names, common)):
        worst = min(without, key=lambda name: int(covered[name].sum()))
        names.remove(worst)
        left_out.append(LeftOut(worst, int(common.sum())))
        if len(names) > 1:
            common = np.all([covered[name] for name in names], axis=0)
    return names, common, tuple(left_out)


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
