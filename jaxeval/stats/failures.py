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

from jaxeval.runs.scores import ModelScores, Scores, Status
from jaxeval.stats import multiple
from jaxeval.stats.rules import Method


class Counts(NamedTuple):
    """Runs of one model on one data set."""

    failed: int
    finished: int

    @property
    def runs(self) -> int:
        """All of them."""
        return self.failed + self.finished


class FailureTest(NamedTuple):
    """Fisher's exact test, two-sided, of equal probabilities to fail."""

    a: str
    b: str
    data_set: str
    higher: int  # 1: A fails more often, -1: B does, 0: equally often
    p_value: float
    p_adjusted: float  # over all pairs of models and data sets


@dataclasses.dataclass(frozen=True)
class Failures:
    """Runs that failed: counts by model and data set; tests, a family of their own."""

    counts: Mapping[tuple[str, str], Counts]
    tests: tuple[FailureTest, ...]

    def of(self, model: str, dataset: str = "") -> Counts:
        """On a data set; over all of them for none."""
        each = self.counts.items()
        mine = [of for (name, on), of in each if name == model and dataset in ("", on)]
        return Counts(sum(of.failed for of in mine), sum(of.finished for of in mine))


def _failed(of: ModelScores) -> np.ndarray:
    return np.asarray(of.status[0, :, 0] == Status.FAILED)


def of_runs(
    scores: Scores, control: str | None = None, correction: Method = "holm"
) -> Failures | None:
    """The runs of models on data sets, pairs with the control alone; None where none failed."""
    counts = {}
    for model in scores.models:
        for data in sorted(scores.data_sets, key=lambda data: data.name):
            if of := data.models.get(model):
                failed = _failed(of)
                finished = int(np.sum(of.finished & ~failed))
                counts[model, data.name] = Counts(int(failed.sum()), finished)
    pairs = itertools.combinations(scores.models, 2)
    return failures(counts, [pair for pair in pairs if control in (None, *pair)], correction)


def failed_of(scores: Scores) -> dict[str, int]:
    """Model -> its runs that failed, of those that have some."""
    counts = Counter[str]()
    for data in scores.data_sets:
        for model, of in data.models.items():
            counts[model] += int(_failed(of).sum())
    return {model: count for model, count in counts.items() if count}


def rows_of(scores: Scores) -> set[int]:
    """Rows of the file that hold runs that failed."""
    every = (of for data in scores.data_sets for of in data.models.values())
    return {row for of in every for row in of.rows[_failed(of)].tolist()}


def failures(
    counts: Mapping[tuple[str, str], Counts],
    pairs: Sequence[tuple[str, str]],
    correction: Method = "holm",
) -> Failures | None:
    """The tests of these pairs of models on all data sets; None where no run failed."""
    from scipy import stats

    if not any(of.failed for of in counts.values()):
        return None
    found = []
    for dataset in dict.fromkeys(dataset for _, dataset in counts):
        for a, b in pairs:
            x, y = counts.get((a, dataset)), counts.get((b, dataset))
            if x and y and x.runs and y.runs:
                p = min(1.0, float(stats.fisher_exact([x, y]).pvalue))
                more = x.failed * y.runs - y.failed * x.runs
                found.append(FailureTest(a, b, dataset, (more > 0) - (more < 0), p, p))
    adjusted = multiple.adjust_p_values([test.p_value for test in found], correction).tolist()
    tests = (test._replace(p_adjusted=p) for test, p in zip(found, adjusted, strict=True))
    return Failures(counts, tuple(tests))
