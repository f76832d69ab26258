"""Runs and items that failed: their counts, and tests of the failure rates."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from jaxeval.runs.scores import Scores, Status
from jaxeval.stats import multiple
from jaxeval.stats.results import Method, sign


class Counts(NamedTuple):
    """Runs of one model on one data set."""

    failed: int
    finished: int

    @property
    def runs(self) -> int:
        """All runs."""
        return self.failed + self.finished


class _FailureTest(NamedTuple):
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
    tests: tuple[_FailureTest, ...]

    def of(self, model: str, dataset: str = "") -> Counts:
        """Counts of a model on a data set, or over all data sets if it is ""."""
        each = self.counts.items()
        mine = [of for (name, on), of in each if name == model and dataset in ("", on)]
        return Counts(sum(of.failed for of in mine), sum(of.finished for of in mine))


def failed_runs(scores: Scores) -> dict[str, list[int]]:
    """Returns the rows of the failed runs of each model that has some."""
    rows: dict[str, list[int]] = {}
    for data in scores.data_sets:
        for model, of in data.models.items():
            if failed := of.rows[of.status[0, :, 0] == Status.FAILED].tolist():
                rows.setdefault(model, []).extend(failed)
    return rows


def compare(
    scores: Scores, control: str | None = None, correction: Method = "holm"
) -> Failures | None:
    """Tests the shares of failed runs of all pairs (with the control); None if none failed."""
    counts, data_sets = {}, sorted(scores.data_sets, key=lambda data: data.name)
    for model, data in itertools.product(scores.models, data_sets):
        if of := data.models.get(model):
            lost = of.status[0, :, 0] == Status.FAILED
            finished = int(np.sum(of.finished & ~lost))
            counts[model, data.name] = Counts(int(lost.sum()), finished)
    pairs = itertools.combinations(scores.models, 2)
    return compare_counts(counts, [pair for pair in pairs if control in (None, *pair)], correction)


def compare_counts(
    counts: Mapping[tuple[str, str], Counts],
    pairs: Sequence[tuple[str, str]],
    correction: Method = "holm",
) -> Failures | None:
    """Tests these pairs of models on all data sets; None if no run failed."""
    if not any(of.failed for of in counts.values()):
        return None
    found = []
    data_sets = dict.fromkeys(data_set for _, data_set in counts)
    for data_set, (a, b) in itertools.product(data_sets, pairs):
        x, y = counts.get((a, data_set)), counts.get((b, data_set))
        if x and y and x.runs and y.runs:
            p = min(1.0, float(scipy.stats.fisher_exact([x, y]).pvalue))
            more = sign(x.failed * y.runs - y.failed * x.runs)
            found.append(_FailureTest(a, b, data_set, more, p, p))
    adjusted = multiple.adjust_p_values([test.p_value for test in found], correction).tolist()
    tests = (test._replace(p_adjusted=p) for test, p in zip(found, adjusted, strict=True))
    return Failures(counts, tuple(tests))
