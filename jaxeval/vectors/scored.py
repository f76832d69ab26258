"""Scores of vector files on the same items, and their differences on resamples of the items."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from jaxeval.stats import multiple, resampled
from jaxeval.stats.results import Effect, HypothesisTest, Interval

Score = TypeVar("Score")
_CONFIDENCE = 0.95


class Resampling(NamedTuple):
    """How often items are resampled, from which seed, and what they are."""

    resamples: int = 9999
    seed: int = 0
    items: str = "items"

    @property
    def method(self) -> str:
        """As intervals name it."""
        return f"bootstrap of {self.items}, {self.resamples} resamples, seed {self.seed}"

    def interval(self, draws: np.ndarray) -> Interval:
        """Of a score, from its draws [B]."""
        return resampled.interval(draws, _CONFIDENCE, self.method)


@dataclasses.dataclass(frozen=True)
class Difference:
    """File A's score minus file B's; p is adjusted over all differences of a verb (Holm)."""

    a: str
    b: str
    effect: Effect
    test: HypothesisTest
    p_adjusted: float


class LeftOut(NamedTuple):
    """A file that the others are compared without, since it would leave nothing to compare on.

    Attributes:
      compared_on: items that all files cover, this one included: too few, or all equal.
    """

    file: str
    compared_on: int


@dataclasses.dataclass(frozen=True)
class Scored(Generic[Score]):
    """All files on one set of items, by one method.

    Attributes:
      total: items of the set.
      scores: by file.
      compared_on: items by which files are compared.
      differences: of any two files on those.
    """

    name: str
    method: str
    total: int
    scores: Mapping[str, Score]
    compared_on: int
    differences: tuple[Difference, ...]
    left_out: tuple[LeftOut, ...]


def compare(
    covered: Mapping[str, np.ndarray],
    score: Callable[[str, np.ndarray], float | None],
    draws: Callable[[Sequence[str], np.ndarray], np.ndarray],
    resampling: Resampling,
) -> tuple[int, tuple[Difference, ...], tuple[LeftOut, ...]]:
    """Differences of any two files on the items that all files cover; p not yet adjusted.

    Files without a score on these are left out one at a time, first the one that covers fewest.

    Args:
      covered: by file, which items it covers [n] bool.
      score: of a file on some items [n] bool; None where it has none.
      draws: of several files on some items: their scores [B, V] on the same resamples.
    """
    names, left_out = [*covered], list[LeftOut]()
    while True:
        common = np.all([covered[name] for name in names], axis=0)
        scores = [score(name, common) for name in names]
        without = [name for name, of in zip(names, scores, strict=True) if of is None]
        if len(names) < 2 or not without:
            break
        worst = min(without, key=lambda name: int(covered[name].sum()))
        names.remove(worst)
        left_out.append(LeftOut(worst, int(common.sum())))
    n, found = int(common.sum()), list[Difference]()
    drawn = draws(names, common) if len(names) > 1 else np.zeros((0, 1))
    for a, b in itertools.combinations(range(len(names)), 2):
        effect, test = resampled.difference(
            (scores[a] or 0.0, scores[b] or 0.0),
            (drawn[:, a], drawn[:, b]),
            n,
            method=resampling.method,
            confidence=_CONFIDENCE,
        )
        found.append(Difference(names[a], names[b], effect, test, test.p_value))
    return n, tuple(found), tuple(left_out)


def adjusted(results: Sequence[Scored[Score]]) -> tuple[Scored[Score], ...]:
    """The same results, the p-values of their differences adjusted together by Holm's method."""
    p_values = [d.test.p_value for result in results for d in result.differences]
    corrected = iter(multiple.adjust_p_values(p_values) if p_values else ())
    return tuple(
        dataclasses.replace(
            result,
            differences=tuple(
                dataclasses.replace(d, p_adjusted=float(next(corrected)))
                for d in result.differences
            ),
        )
        for result in results
    )
