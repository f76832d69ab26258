"""Comparisons across data sets."""

import itertools

import numpy as np
import pytest
from scipy import stats as scipy_stats

from jaxeval.runs.scores import Scores
from jaxeval.stats import Interval, Rules, datasets
from jaxeval.stats import study as studies
from jaxeval.stats.study import Study
from tests.stats import cubes

# Demsar (2006), table 6: AUC of C4.5, C4.5+m, C4.5+cf, C4.5+m+cf on 14 data sets
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_demsars_example() -> None:
    """Dies if ranks, ties or the critical difference are wrong.

    The paper prints ranks 3.143, 2.000, 2.893 and 1.964, CD 1.25 (alpha .05) and 1.12 (.10), and
    that at .10 plain C4.5 differs from the first two.
    """
    names = ("C4.5", "m", "cf", "m+cf")
    scores = dict(zip(names, DEMSAR.T, strict=True))
    ranks = datasets._rank_models(scores)
    assert ranks.models == ("m+cf", "m", "cf", "C4.5")
    np.testing.assert_allclose(ranks.average_ranks, [1.964, 2.0, 2.893, 3.143], atol=5e-4)
    assert ranks.critical_difference == pytest.approx(1.25, abs=0.005)
    assert datasets._rank_models(scores, Rules(alpha=0.1)).critical_difference == pytest.approx(
        1.12, abs=0.005
    )
    assert ranks.groups == (("m+cf", "m", "cf", "C4.5"),)  # 1.179 < 1.25
    assert datasets._rank_models(scores, Rules(alpha=0.1)).groups == (
        ("m+cf", "m", "cf"),
        ("cf", "C4.5"),
    )
    chi_squared = scipy_stats.friedmanchisquare(*DEMSAR.T).statistic  # corrected for ties
    assert ranks.friedman.statistic == pytest.approx(chi_squared)
    mirrored = datasets._rank_models({k: -v for k, v in scores.items()}, higher_is_better=False)
    assert mirrored.average_ranks == ranks.average_ranks


def _mean(strata: list[np.ndarray]) -> np.ndarray:
    return np.mean([of.mean(axis=-1) for of in strata], axis=0)


def _iqm(runs: list[np.ndarray], resamples: int, seed: int = 0) -> Interval:
    return datasets._bootstrap(runs, datasets._interquartile_mean, 0.95, resamples, seed).interval


def test_bootstrap_keeps_runs_in_their_data_set_and_its_seed() -> None:
    """Dies if runs move between data sets, or the seed is ignored."""
    apart = [np.array([0.0, 0.0, 0.0, 0.0, 0.02]) + k for k in (0, 1)]
    interval = datasets._bootstrap(apart, _mean, 0.95, 100, 0).interval
    assert 0.5 <= interval.low < interval.high <= 0.52
    generator = np.random.default_rng(14)
    runs = [generator.normal(size=6), generator.normal(size=9)]
    assert _iqm(runs, 100, 3) == _iqm(runs, 100, 3)
    assert _iqm(runs, 100, 3)[:2] != _iqm(runs, 100, 4)[:2]


def test_a_resample_has_one_run_fewer() -> None:
    """Dies if n of n runs are drawn, so that intervals of few runs are too narrow: of pairs of 0,
    1 and 10 a quarter has a mean up to .5, and three quarters one up to 5.5."""
    runs = [np.array([0.0, 0.1, 1.0])]
    found = datasets._bootstrap(runs, _mean, 0.5, 4000, 0).interval
    assert (found.low, found.high) == pytest.approx((0.05, 0.55))


def test_aggregates_are_those_of_agarwal_et_al() -> None:
    """Dies if a point estimate differs from rliable's, or a direction is turned round."""
    generator = np.random.default_rng(7)
    a, b = (np.clip(generator.normal(mean, 0.2, (5, 8)), 0, 1) for mean in (0.6, 0.5))
    runs = {"a": list(a.T), "b": list(b.T)}
    aggregates = datasets._aggregate(runs, runs, Rules(resamples=200), True)
    for name, of in (("a", a), ("b", b)):
        mean = float(scipy_stats.trim_mean(of, 0.25, axis=None))
        assert aggregates.interquartile_mean[name].estimate == pytest.approx(mean)
    won = [np.mean(x[:, None] > y[None]) for x, y in zip(a.T, b.T, strict=True)]
    assert aggregates.improvement["a", "b"].estimate == pytest.approx(np.mean(won))
    lower = datasets._aggregate(runs, runs, Rules(resamples=50), False)
    assert lower.improvement["a", "b"].estimate == pytest.approx(1 - np.mean(won))


def _weighted(strata: list[np.ndarray]) -> float:
    """The middle half by a loop over runs in rising order, each 1 / n of its data set."""
    runs = sorted((v, 1 / len(of)) for of in strata for v in of)
    cut = len(runs) // 4 / len(runs) * len(strata)
    total = weight = reached = 0.0
    for value, share in runs:
        begin, reached = reached, reached + share
        inside = max(0.0, min(reached, len(strata) - cut) - max(begin, cut))
        total, weight = total + inside * value, weight + inside
    return total / weight


@pytest.mark.parametrize("seed", range(5))
def test_interquartile_means_are_those_of_weights(seed: int) -> None:
    """Dies if equal counts are not scipy's trimmed mean, the order of data sets or of runs counts,
    or scores and their negatives are not mirrored."""
    generator = np.random.default_rng(seed)
    uneven = [generator.normal(k, 1, size) for k, size in enumerate((5, 2, 9, 1))]
    mean = float(datasets._interquartile_mean(uneven))
    assert mean == pytest.approx(_weighted(uneven))
    turned = [generator.permutation(of) for of in uneven[::-1]]
    assert float(datasets._interquartile_mean(turned)) == pytest.approx(mean)
    negative = datasets._interquartile_mean([-of for of in uneven])
    assert float(negative) == pytest.approx(-mean)
    even = [generator.normal(size=seed + 2) for _ in range(3)]
    expected = scipy_stats.trim_mean(np.concatenate(even), 0.25)
    assert float(datasets._interquartile_mean(even)) == pytest.approx(expected)


def _over(scores: Scores) -> Study:
    return studies.study(scores, Rules(resamples=99))


def test_the_mean_over_data_sets_is_tested_by_the_means_of_seeds() -> None:
    """Dies if data sets count as replicates, where one network may have all scores of a seed, or
    if p-values are not of a family of their own."""
    draw, n = np.random.default_rng(3), 5
    of = {m: draw.normal(0.8, 0.05, n) + draw.normal(gap, 0.01, (4, n)) for m, gap in _GAPS}
    found = _over(cubes.runs({f"d{k}": {m: of[m][k].tolist() for m in of} for k in range(4)}))
    assert len(found.pairs) == 12
    for pair in found.overall:
        a, b = (of[name].mean(axis=0) for name in pair.names)
        expected = scipy_stats.ttest_ind(a, b, equal_var=False)
        assert pair.p_value == pytest.approx(expected.pvalue)
        assert pair.value == pytest.approx(a.mean() - b.mean())
        assert pair.interval[:2] == pytest.approx(expected.confidence_interval())
    p_values = sorted(pair.p_value for pair in found.overall)
    assert max(pair.p_adjusted for pair in found.overall) == pytest.approx(p_values[-1])
    assert min(pair.p_adjusted for pair in found.overall) == pytest.approx(3 * p_values[0])


_GAPS = (("a", 0.0), ("b", 0.03), ("c", 0.2))


def test_without_seeds_on_all_data_sets_there_is_no_mean_over_them() -> None:
    """Dies if scores of other seeds, of failed runs or of other scales are averaged, or if a model
    of one score takes the mean from the others."""
    rising = [0.5, 0.52, 0.51, 0.53]
    models = {"a": rising, "b": rising[::-1]}
    assert len(_over(cubes.runs({"x": models, "y": models})).overall) == 1
    beside = cubes.runs({"x": {**models, "p": [0.6]}, "y": {**models, "p": [0.4]}})
    assert len(_over(beside).overall) == 1 and not studies.study(beside, control="p").overall
    failed = {"a": [np.nan, np.nan, *rising[2:]], "b": rising}
    assert not _over(cubes.runs({"x": models, "y": failed})).overall
    other = {m: [100 * score for score in of] for m, of in models.items()}
    assert not _over(cubes.runs({"x": models, "y": other})).overall
    three = models | {"c": rising}
    run_design = _over(cubes.runs({"x": three, "y": models, "z": three})).run_design
    lacking = run_design and run_design.across
    assert lacking is not None and lacking.data_sets == ("x", "z")


def test_iman_davenports_p_value_is_that_of_all_permutations() -> None:
    """Dies if ranks move between data sets, or the F distribution stands in for few of them."""
    table = np.array([[3.0, 2, 1], [3, 2, 1], [2, 3, 1], [3, 2, 2]])
    result = datasets._iman_davenport(table, resamples=4999)
    ranks = scipy_stats.rankdata(-table, axis=1)

    def squares(rows: tuple) -> float:
        return float(np.sum(np.sum(rows, axis=0) ** 2))

    orders = [list(itertools.permutations(row)) for row in ranks]
    every = [squares(rows) for rows in itertools.product(*orders)]
    exact = np.mean(np.array(every) >= squares(tuple(ranks)) - 1e-9)
    assert result.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact / 4999))
    agreed = datasets._iman_davenport(np.tile([3.0, 2, 1], (3, 1)), resamples=4999)
    assert agreed.statistic == np.inf and agreed.p_value == pytest.approx(1 / 36, abs=0.01)
