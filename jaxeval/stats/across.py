"""What is said of models over several data sets together.

Two questions, each with its own tests. Would other data sets rank the models so? Average ranks of
one score per data set (Demšar 2006). Would other runs on these data sets? Aggregates of all runs
(Agarwal et al. 2021), where data sets have several.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np

from jaxeval.stats import datasets, hypotheses, ranking
from jaxeval.stats.datasets import Aggregates
from jaxeval.stats.ranking import Against, Ranking
from jaxeval.stats.results import HypothesisTest
from jaxeval.stats.rules import Rules
from jaxeval.stats.samples import Samples

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

    data_sets: tuple[str, ...]
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
    higher_is_better: bool = True,
    control: str | None = None,
    counted: Samples | None = None,
) -> Across | None:
    """None where fewer than two data sets have all models, or there is one model.

    Args:
      control: the model that all others are compared with.
      counted: the same samples with a score for each run that failed, worse than all others; None:
        none did.
    """
    by_data_set = _runs(samples)
    models = list(dict.fromkeys(m for cell in by_data_set.values() for m in cell))
    common = tuple(d for d, cell in by_data_set.items() if len(cell) == len(models))
    if len(common) < 2 or len(models) < 2:
        return None
    runs = {m: [by_data_set[d][m] for d in common] for m in models}
    means = {m: np.array([scores.mean() for scores in runs[m]]) for m in models}
    every = np.concatenate([of for strata in runs.values() for of in strata])
    found = Across(common, means, None, control, (), None, None, None, _one_scale(means))
    if any(len(scores) > 1 for strata in runs.values() for scores in strata):
        with_failed = by_data_set if counted is None else _runs(counted)
        fractions = higher_is_better and every.min() >= 0 and every.max() <= 1
        aggregates = datasets.aggregates(
            runs,
            counted={m: [with_failed[d][m] for d in common] for m in models},
            gamma=1.0 if fractions else None,
            confidence=rules.confidence,
            resamples=min(rules.resamples, _MOST_RESAMPLES),
            seed=rules.seed,
            higher_is_better=higher_is_better,
        )
        found = dataclasses.replace(found, aggregates=aggregates)
    if len(models) == 2:
        test = hypotheses.wilcoxon_signed_rank(*means.values())
        return dataclasses.replace(found, signed_rank=test)
    drawn = {"resamples": rules.resamples, "seed": rules.seed}
    ranked = ranking.nemenyi(means, alpha=rules.alpha, higher_is_better=higher_is_better, **drawn)
    if not control:
        return dataclasses.replace(found, ranking=ranked)
    return dataclasses.replace(
        found,
        ranking=ranked,
        against=ranking.against(means, control, higher_is_better=higher_is_better),
        control_difference=ranking.bonferroni_dunn(len(common), len(models), rules.alpha),
    )


def _runs(samples: Samples) -> dict[str, dict[str, np.ndarray]]:
    """Data set -> model -> its runs; where data sets are the units, one score each."""
    runs: dict[str, dict[str, np.ndarray]] = {}
    for place, cell in samples.by_data_set.items():
        for model, of in cell.items():
            if samples.unit == "dataset":
                for label, score in zip(of.labels.tolist(), of.scores.tolist(), strict=True):
                    runs.setdefault(label, {})[model] = np.array([score])
            else:
                runs.setdefault(place, {})[model] = of.scores
    return runs


def _one_scale(means: Mapping[str, np.ndarray]) -> bool:
    typical = np.median(np.abs(np.column_stack(list(means.values()))), axis=1)
    return bool(typical.max() <= _SCALES * max(float(typical.min()), 1e-300))
