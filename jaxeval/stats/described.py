"""What is said of the scores of one model on one data set."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from jaxeval.runs.scores import Scores
from jaxeval.stats import describe, nested
from jaxeval.stats.describe import Summary
from jaxeval.stats.nested import Components
from jaxeval.stats.results import Interval, within
from jaxeval.stats.rules import Rules
from jaxeval.stats.samples import Sample, Samples

_MOST_FOR_BUDGET = 2000  # the curve of the expected best has as many points as there are scores


@dataclasses.dataclass(frozen=True, eq=False)
class Described:
    """One model on one data set.

    Attributes:
      variance_components: of splits and of seeds within them, where the runs have both.
      dev_test: Spearman's rho between dev and test scores, or None and the reason.
      expected_best: of n draws, n = 1 .. N, without and with replacement.
    """

    model: str
    data_set: str
    summary: Summary
    variance_components: Components | None
    dev_test: tuple[float | None, str] | None
    expected_best: tuple[np.ndarray, np.ndarray] | None


def of_models(
    scores: Scores, units: Samples, rules: Rules, bounds: tuple[float, float] | None
) -> Iterator[Described]:
    """Every model on every data set, by all its scores that are known.

    Args:
      bounds: between which scores lie.
    """
    by_name = {data.name: data.models for data in scores.data_sets}
    for place, cell in units.by_data_set.items():
        for model, sample in cell.items():
            every = list(by_name.values()) if units.unit == "dataset" else [by_name[place]]
            runs = [of[model].chosen(of[model].finished) for of in every if model in of]
            columns = {
                name: np.concatenate([np.asarray(get(of)) for of in runs])
                for name, get in _COLUMNS.items()
            }
            yield Described(
                *(model, place, _summary(sample, rules, bounds)),
                _components(columns["split"], columns["score"]),
                _dev_test(runs, columns["dev"], columns["score"]),
                _expected(sample.scores, scores.higher_is_better),
            )


_COLUMNS: Mapping[str, Callable] = {
    "score": lambda of: of.scores[0, :, 0],
    "split": lambda of: of.labels.get("split", ()),
    "dev": lambda of: () if of.dev is None else of.dev,
}


def _summary(sample: Sample, rules: Rules, bounds: tuple[float, float] | None) -> Summary:
    summary = describe.summarize(sample.scores, confidence=rules.confidence)
    if bounds is None or summary.mean_interval is None:
        return summary
    inside: Interval = within(summary.mean_interval, *bounds)
    return dataclasses.replace(summary, mean_interval=inside)


def _expected(scores: np.ndarray, higher: bool) -> tuple[np.ndarray, np.ndarray] | None:
    if len(scores) > _MOST_FOR_BUDGET:
        return None
    without, having = (
        describe.expected_validation_performance(scores, replacement=r, higher_is_better=higher)
        for r in (False, True)
    )
    return without, having


def _components(splits: np.ndarray, scores: np.ndarray) -> Components | None:
    """Splits and seeds within them, where some split has several scores."""
    counts = Counter(splits.tolist())
    if len(counts) < 2 or max(counts.values()) < 2:
        return None
    return nested.variance_components([scores[splits == split] for split in counts])


def _dev_test(
    runs: Sequence, dev: np.ndarray, scores: np.ndarray
) -> tuple[float | None, str] | None:
    if any(of.dev is None for of in runs):
        return None
    known = np.isfinite(dev)
    return describe.spearman(dev[known], scores[known])
