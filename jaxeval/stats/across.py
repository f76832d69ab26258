"""What is said of models over several data sets together.

Two questions, each with its own tests. Would other data sets rank the models so? Average ranks of
one score per data set (Demšar 2006). Would other runs on these data sets? Aggregates of all runs
(Agarwal et al. 2021), where data sets have several.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.runs.units import Samples
from jaxeval.stats import datasets, hypotheses, ranking
from jaxeval.stats.datasets import Aggregates
from jaxeval.stats.pairwise import Rules
from jaxeval.stats.ranking import Against, Ranking
from jaxeval.stats.results import HypothesisTest

_MOST_RESAMPLES = 2000  # of aggregates, each of which sums up all runs
_SCALES = 10.0  # data sets whose typical scores differ by more are on different scales


@dataclasses.dataclass(frozen=True)
class Across:
    """Models compared over the data sets that have scores of all of them.

    Attributes:
      means: model -> one score per data set (a mean, where it has several runs): [N].
      ranking: of three or more models.
      against: each model against the control, where one was named.
      control_difference: critical difference of average ranks from the control's
        (Bonferroni-Dunn).
      signed_rank: Wilcoxon's test of two models.
      aggregates: of all runs; None where no data set has two runs of a model.
      one_scale: whether typical scores of all data sets are within a factor of ten.
    """

    datasets: tuple[str, ...]
    means: Mapping[str, np.ndarray]
    ranking: Ranking | None
    control: str | None
    against: tuple[Against, ...]
    control_difference: float | None
    signed_rank: HypothesisTest | None
    aggregates: Aggregates | None
    one_scale: bool


def across(
    samples: Samples,
    rules: Rules,
    control: str | None = None,
    gamma: float | None = None,
    counted: Samples | None = None,
) -> Across | None:
    """None where fewer than two data sets have all models, or there is one model.

    Args:
      control: the model that all others are compared with.
      gamma: `datasets.aggregates`.
      counted: the same samples with a score for each run that failed, worse than all others; None:
        none did.
    """
    by_dataset = _runs(samples)
    models = list(dict.fromkeys(m for cell in by_dataset.values() for m in cell))
    common = tuple(d for d, cell in by_dataset.items() if len(cell) == len(models))
    if len(common) < 2 or len(models) < 2:
        return None
    runs = {m: [by_dataset[d][m] for d in common] for m in models}
    means = {m: np.array([scores.mean() for scores in runs[m]]) for m in models}
    three = len(models) > 2
    with_failed = by_dataset if counted is None else _runs(counted)
    every = {m: [with_failed[d][m] for d in common] for m in models}
    several = any(len(scores) > 1 for strata in runs.values() for scores in strata)
    return Across(
        datasets=common,
        means=means,
        ranking=_ranked(means, rules) if three else None,
        control=control,
        against=ranking.against(means, control, higher_is_better=rules.higher_is_better)
        if three and control
        else (),
        control_difference=ranking.bonferroni_dunn(len(common), len(models), rules.alpha)
        if three and control
        else None,
        signed_rank=None if three else hypotheses.wilcoxon_signed_rank(*means.values()),
        aggregates=_aggregated(runs, every, rules, gamma) if several else None,
        one_scale=_one_scale(means),
    )


def _ranked(means: Mapping[str, np.ndarray], rules: Rules) -> Ranking:
    return ranking.nemenyi(
        means,
        alpha=rules.alpha,
        resamples=rules.resamples,
        seed=rules.seed,
        higher_is_better=rules.higher_is_better,
    )


def _aggregated(
    runs: Mapping[str, Sequence[np.ndarray]],
    counted: Mapping[str, Sequence[np.ndarray]],
    rules: Rules,
    gamma: float | None,
) -> Aggregates:
    return datasets.aggregates(
        runs,
        counted=counted,
        gamma=gamma,
        confidence=rules.confidence,
        resamples=min(rules.resamples, _MOST_RESAMPLES),
        seed=rules.seed,
        higher_is_better=rules.higher_is_better,
    )


def _runs(samples: Samples) -> dict[str, dict[str, np.ndarray]]:
    """Data set -> model -> its runs; where data sets are the units, one score each."""
    if samples.unit != "dataset":
        return {
            dataset: {model: sample.scores for model, sample in cell.items()}
            for dataset, cell in samples.by_dataset.items()
        }
    by_label: dict[str, dict[str, np.ndarray]] = {}
    for cell in samples.by_dataset.values():
        for model, sample in cell.items():
            for label, score in zip(sample.labels, sample.scores, strict=True):
                by_label.setdefault(label, {})[model] = np.array([score])
    return by_label


def _one_scale(means: Mapping[str, np.ndarray]) -> bool:
    typical = np.median(np.abs(np.column_stack(list(means.values()))), axis=1)
    return bool(typical.max() <= _SCALES * max(float(typical.min()), 1e-300))
