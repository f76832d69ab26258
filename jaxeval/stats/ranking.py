"""Models ranked over data sets: Friedman, Iman-Davenport, Nemenyi, Holm against a control.

Notation: N data sets, k models; R_j is model j's average rank, 1 the best (Demšar 2006, section
3.2; García & Herrera 2008).
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs import metrics
from jaxeval.stats import multiple
from jaxeval.stats.results import HypothesisTest, Sample, as_many, floats, sample
from jaxeval.stats.rules import Rules

_AT_ONCE = 5_000_000  # ranks that are permuted at a time


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Models by average rank over data sets (1 is best), with Nemenyi's critical difference."""

    models: tuple[str, ...]  # best first
    average_ranks: tuple[float, ...]
    critical_difference: float
    alpha: float
    groups: tuple[tuple[str, ...], ...]  # the widest, of which no two models differ significantly
    p_values: Mapping[tuple[str, str], float]  # Nemenyi's, which hold for all pairs at once
    friedman: HypothesisTest
    iman_davenport: HypothesisTest
    without_ties: tuple[float, float]  # chi-squared and F as Demšar prints them


@dataclasses.dataclass(frozen=True)
class Against:
    """One model against the control, on average ranks."""

    model: str
    z: float  # (R_control - R_model) / sqrt(k (k + 1) / 6 N): positive where it ranks better
    p_value: float
    p_adjusted: float  # Holm's, over the models compared with the control


def friedman(table: np.ndarray) -> HypothesisTest:
    """Friedman's test, corrected for ties, of a table [N, k] of at least 2 x 3 scores."""
    from scipy import stats

    ranks = _ranks(table, True)
    statistic, null = _chi_squared(ranks), "all models rank alike"
    p_value = float(stats.chi2.sf(statistic, ranks.shape[1] - 1))
    method = "chi-squared, corrected for ties"
    return HypothesisTest("Friedman", statistic, p_value, ranks.shape, null, method)


def iman_davenport(table: np.ndarray, *, resamples: int = 9999, seed: int = 0) -> HypothesisTest:
    """F = (N - 1) X / (N (k - 1) - X) of Friedman's X, corrected for ties (Demšar 2006, 3.2.2).

    The p-value is that of permuted ranks, which holds for few data sets too.
    """
    ranks = _ranks(table, True)
    generator, hits = np.random.default_rng(seed), 0
    size = max(1, _AT_ONCE // ranks.size)
    for begin in range(0, resamples, size):
        many = np.broadcast_to(ranks, (min(size, resamples - begin), *ranks.shape))
        permuted = generator.permuted(many, axis=-1).sum(axis=1)
        centred = permuted - ranks.sum(axis=0).mean()
        # ties stay as they are, so that the chi-squared grows with the squares alone
        hits += int(np.sum(np.sum(centred**2, axis=-1) >= _squares(ranks) - 1e-9))
    return HypothesisTest(
        "Iman-Davenport",
        _f(_chi_squared(ranks), ranks.shape),
        (1 + hits) / (1 + resamples),
        ranks.shape,
        "all models rank alike",
        f"corrected for ties; ranks permuted within data sets, {resamples} resamples, seed {seed}",
    )


def nemenyi(
    scores: Mapping[str, Sample], rules: Rules | None = None, *, higher_is_better: bool = True
) -> Ranking:
    """Average ranks and Nemenyi's critical difference (Demšar 2006, section 3.2.2).

    Args:
      scores: model -> one score per data set, in the same order; three models or more.
    """
    from scipy import stats

    rules = rules or Rules()
    table = _columns(scores)
    ranks = _ranks(table, higher_is_better)
    averages, (sets, models) = ranks.mean(axis=0), ranks.shape
    error = _standard_error(sets, models) / math.sqrt(2)
    critical = float(stats.studentized_range.isf(rules.alpha, models, math.inf)) * error
    order = np.argsort(averages, kind="stable")
    names, ordered = [list(scores)[k] for k in order], averages[order]
    plain = 12 * sets / (models * (models + 1)) * float(np.sum((averages - (models + 1) / 2) ** 2))
    groups: list[tuple[str, ...]] = []
    reached = 0
    for begin in range(models):  # widest stretches closer than the critical difference
        end = int(np.searchsorted(ordered, ordered[begin] + critical, "right"))
        if end > max(reached, begin + 1):
            groups.append(tuple(names[begin:end]))
            reached = end
    return Ranking(
        tuple(names),
        tuple(map(float, ordered)),
        critical,
        rules.alpha,
        tuple(groups),
        {
            (a, b): float(stats.studentized_range.sf(abs(x - y) / error, models, math.inf))
            for (a, x), (b, y) in itertools.combinations(zip(scores, averages, strict=True), 2)
        },
        friedman(table),
        iman_davenport(table, resamples=rules.resamples, seed=rules.seed),
        (plain, _f(plain, ranks.shape)),
    )


def against(
    scores: Mapping[str, Sample], control: str, *, higher_is_better: bool = True
) -> tuple[Against, ...]:
    """Every other model against a control, in the order of the z (Demšar 2006, section 3.2.2)."""
    from scipy import stats

    if control not in scores:
        raise DataError(f"no control {control!r}; the models are {', '.join(scores)}")
    ranks = _ranks(_columns(scores), higher_is_better)
    averages = dict(zip(scores, ranks.mean(axis=0), strict=True))
    error = _standard_error(*ranks.shape)
    z = {m: float(averages[control] - r) / error for m, r in averages.items() if m != control}
    p_values = [2 * float(stats.norm.sf(abs(value))) for value in z.values()]
    adjusted = multiple.adjust_p_values(p_values, "holm").tolist()
    return tuple(
        sorted(map(Against, z, z.values(), p_values, adjusted), key=lambda model: -model.z)
    )


def bonferroni_dunn(sets: int, models: int, alpha: float = 0.05) -> float:
    """Critical difference of an average rank from the control's (Demšar 2006, section 3.2.2).

    It holds for all k - 1 comparisons at once: Bonferroni's correction of the normal quantile.
    """
    from scipy import stats

    quantile = float(stats.norm.isf(alpha / (2 * (models - 1))))
    return quantile * _standard_error(sets, models)


def _columns(scores: Mapping[str, Sample]) -> np.ndarray:
    columns = {name: sample(values, name) for name, values in scores.items()}
    as_many(columns, "data sets")
    return np.column_stack([*columns.values()])


def _ranks(table: np.ndarray, higher_is_better: bool) -> np.ndarray:
    """[N, k], 1 the best, ties shared."""
    from scipy import stats

    expected = "scores: expected a complete table [data sets, models] of finite numbers"
    scores = floats(table, expected)
    if scores.ndim != 2 or not np.isfinite(scores).all():
        raise DataError(expected)
    if scores.shape[0] < 2 or scores.shape[1] < 3:
        raise DataError(
            f"Friedman: expected at least 2 data sets x 3 models, found {scores.shape}"
        )
    lower = metrics.check_direction(higher_is_better) is False
    return np.asarray(stats.rankdata(scores if lower else -scores, axis=1))


def _squares(ranks: np.ndarray) -> float:
    """Of the rank sums about their mean."""
    sums = ranks.sum(axis=0)
    return float(np.sum((sums - sums.mean()) ** 2))


def _chi_squared(ranks: np.ndarray) -> float:
    """Rank sums over the variance that the ranks themselves have; 0 where all scores are tied."""
    variance = float(np.sum((ranks - (ranks.shape[1] + 1) / 2) ** 2)) / (ranks.shape[1] - 1)
    return _squares(ranks) / variance if variance else 0.0


def _f(chi_squared: float, shape: tuple[int, ...]) -> float:
    sets, models = shape
    rest = sets * (models - 1) - chi_squared
    return (sets - 1) * chi_squared / rest if rest > 1e-9 else math.inf


def _standard_error(sets: int, models: int) -> float:
    """Of the difference of two average ranks."""
    return math.sqrt(models * (models + 1) / (6 * sets))
