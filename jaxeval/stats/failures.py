"""How often runs fail: counts of models on data sets, and Fisher's test of each two of them.

Tests of location and spread are of the runs that finished. How often a run is better counts those
that failed as the worst (`samples.with_failed`).
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.runs.scores import Scores, Status
from jaxeval.stats import multiple


class Counts(NamedTuple):
    """Runs of one model on one data set."""

    failed: int
    finished: int

    @property
    def runs(self) -> int:
        """All of them."""
        return self.failed + self.finished


@dataclasses.dataclass(frozen=True)
class FailureTest:
    """Fisher's exact test, two-sided, of equal probabilities to fail.

    Attributes:
      higher: 1: A fails more often, -1: B does, 0: equally often.
      p_adjusted: corrected over all pairs of models and data sets.
    """

    a: str
    b: str
    data_set: str
    higher: int
    p_value: float
    p_adjusted: float


@dataclasses.dataclass(frozen=True)
class Failures:
    """Runs that failed.

    Attributes:
      counts: (model, data set) -> its runs.
      tests: of each two models on each data set; a family of its own.
    """

    counts: Mapping[tuple[str, str], Counts]
    tests: tuple[FailureTest, ...]

    def of(self, model: str, dataset: str = "") -> Counts:
        """On a data set; over all of them for none."""
        mine = [
            counts
            for (name, place), counts in self.counts.items()
            if name == model and dataset in ("", place)
        ]
        return Counts(sum(of.failed for of in mine), sum(of.finished for of in mine))


def of_runs(
    scores: Scores, control: str | None = None, correction: multiple.Method = "holm"
) -> Failures | None:
    """The runs of models on data sets; None where none failed.

    Args:
      control: only pairs with this model.
    """
    counts = {}
    for data in scores.data_sets:
        for model, of in data.models.items():
            failed = of.status[0, :, 0] == Status.FAILED
            finished = int(np.sum(of.finished & ~failed))
            counts[model, data.name] = Counts(int(failed.sum()), finished)
    order = sorted(counts, key=lambda key: (scores.models.index(key[0]), key[1]))
    pairs = itertools.combinations(scores.models, 2)
    chosen = [pair for pair in pairs if control in (None, *pair)]
    return failures({key: counts[key] for key in order}, chosen, correction)


def failed_of(scores: Scores) -> dict[str, int]:
    """Model -> its runs that failed, of those that have some."""
    counts = Counter[str]()
    for data in scores.data_sets:
        for model, of in data.models.items():
            counts[model] += int(np.sum(of.status[0, :, 0] == Status.FAILED))
    return {model: count for model, count in counts.items() if count}


def rows_of(scores: Scores) -> set[int]:
    """Rows of the file that hold runs that failed."""
    every = (of for data in scores.data_sets for of in data.models.values())
    return {row for of in every for row in of.rows[of.status[0, :, 0] == Status.FAILED].tolist()}


def failures(
    counts: Mapping[tuple[str, str], Counts],
    pairs: Sequence[tuple[str, str]] | None = None,
    correction: multiple.Method = "holm",
) -> Failures | None:
    """The tests of all pairs of models on all data sets; None where no run failed.

    Args:
      counts: (model, data set) -> its runs.
      pairs: of models that are compared; None: all.
    """
    from scipy import stats

    if not any(of.failed for of in counts.values()):
        return None
    models = dict.fromkeys(model for model, _ in counts)
    each = list(itertools.combinations(models, 2)) if pairs is None else pairs
    found = []
    for dataset in dict.fromkeys(dataset for _, dataset in counts):
        for a, b in each:
            x, y = counts.get((a, dataset)), counts.get((b, dataset))
            if x and y and x.runs and y.runs:
                p = min(1.0, float(stats.fisher_exact([x, y]).pvalue))
                more = x.failed * y.runs - y.failed * x.runs
                found.append(FailureTest(a, b, dataset, (more > 0) - (more < 0), p, p))
    adjusted = multiple.adjust_p_values([test.p_value for test in found], correction)
    tests = (
        dataclasses.replace(test, p_adjusted=float(p))
        for test, p in zip(found, adjusted, strict=True)
    )
    return Failures(counts, tuple(tests))
