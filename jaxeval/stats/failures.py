"""How often runs fail: counts of models on data sets, and Fisher's test of each two of them.

Tests of location and spread are of the runs that finished. How often a run is better counts those
that failed as the worst (`units.with_failed`).
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jaxeval.runs import units
from jaxeval.runs.flat import ScoreTable
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
    dataset: str
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


def of_table(
    table: ScoreTable, control: str | None = None, correction: multiple.Method = "holm"
) -> Failures | None:
    """The runs of a score table; None where none failed.

    Args:
      control: only pairs with this model.
    """
    failed = Counter(units.cells(table.failed))
    finished = Counter(units.cells(table))
    if table.missing == "zero":  # they are among the scores
        finished.subtract(failed)
    counts = {
        (table.models[model], dataset): Counts(
            failed[model, dataset], max(0, finished[model, dataset])
        )
        for model, dataset in sorted({*finished, *failed})
    }
    pairs = itertools.combinations(table.models, 2)
    return failures(counts, [pair for pair in pairs if control in (None, *pair)], correction)


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
