"""Means and differences over items and runs: published figures, limits, brute force."""

import numpy as np
import pytest
from scipy import linalg, stats

from jaxeval.errors import DataError
from jaxeval.stats import crossed, estimates, t_quantile, variances
from tests.stats.cubes import estimate, studied, task

SCORES, PASSAGES = [1, 1, 0, 0, 1, 0], list("aabbcc")
BOTH = ("items", "runs")


def _draw(seed: int, items: int = 40, runs: int = 3, of_run: float = 0.3) -> np.ndarray:
    generator = np.random.default_rng(seed)
    shapes = (items, 1), (1, runs), (items, runs)
    item, run, rest = (generator.normal(size=shape) for shape in shapes)
    return item + of_run * run + 0.5 * rest


def test_standard_errors_of_one_run_are_the_published_ones() -> None:
    """Dies if an error is not unbiased: .235702, Miller's formula, or .204124 without clusters."""
    assert estimate(SCORES).se == pytest.approx(0.223607, abs=5e-7)
    assert estimate(SCORES, clusters=PASSAGES).se == pytest.approx(0.288675, abs=5e-7)


def test_unequal_clusters_are_bell_and_mccaffreys() -> None:
    """Dies if the error or its degrees of freedom differ from CR2 by explicit matrices."""
    generator, sizes = np.random.default_rng(2), [1, 3, 3, 9, 14]
    count, clusters = sum(sizes), np.repeat(np.arange(5), sizes)
    scores = generator.normal(size=count) + generator.normal(size=5)[clusters]
    annihilator = np.eye(count) - 1 / count
    variance, columns = 0.0, []
    for cluster in range(5):
        inside = clusters == cluster
        root = linalg.inv(linalg.sqrtm(annihilator[np.ix_(inside, inside)]).real)
        weights = annihilator[:, inside] @ root @ np.ones(sizes[cluster]) / count
        columns.append(weights)
        variance += float(weights @ scores) ** 2
    (table,) = estimates.tables({"m": scores[:, None, None]}, clusters).values()
    rho = float(variances._intraclass(scores, table.groups))
    working = np.where(clusters[:, None] == clusters, rho, 0.0) + (1 - rho) * np.eye(count)
    b = np.array(columns) @ working @ np.array(columns).T
    found = estimate(scores, clusters=clusters)
    assert 0.1 < rho < 0.9
    assert found.se**2 == pytest.approx(variance)
    assert found.df == pytest.approx(np.trace(b) ** 2 / np.sum(b**2))
    assert found.df < 4


def test_over_runs_is_the_t_test_of_the_runs_means() -> None:
    """Dies if items bring anything where they are fixed: the seeds-only limit, Welch's t."""
    a, b = _draw(3, runs=4), _draw(4, runs=6)
    found = estimate(a, b, over=["runs"])
    welch = stats.ttest_ind(a.mean(0), b.mean(0), equal_var=False)
    assert found.p_value == pytest.approx(welch.pvalue)
    assert found.interval[:2] == pytest.approx(welch.confidence_interval())
    of_means = stats.ttest_1samp(a.mean(0), 0).confidence_interval()
    assert estimate(a, over=["runs"]).interval[:2] == pytest.approx(of_means)


def test_over_both_is_the_crossed_design() -> None:
    """Dies if the interaction is subtracted twice or not at all: `crossed`, seed by split."""
    for seed in range(6):
        scores = _draw(seed, 12, 4, of_run=0.1 * seed)
        found, expected = estimate(scores), crossed.components(scores)
        assert found.over == BOTH
        assert (found.se, found.df) == pytest.approx((expected.mean_se, expected.mean_df))
        assert found.interval[:2] == pytest.approx(expected.mean_interval[:2])


def test_difference_over_both_by_brute_force() -> None:
    """Dies if a part of the analysis of variance, written out in loops here, is left out."""
    a, b = _draw(5, of_run=1.0), _draw(6, runs=5, of_run=1.0)
    gaps = a.mean(1) - b.mean(1)
    variance = gaps.var(ddof=1) / 40
    for scores in (a, b):
        runs = scores.shape[1]
        rest = sum(
            (scores[i, r] - scores[i].mean() - scores[:, r].mean() + scores.mean()) ** 2
            for i in range(40)
            for r in range(runs)
        )
        of_run = scores.mean(0).var(ddof=1) - rest / (39 * (runs - 1)) / 40
        assert of_run > 0
        variance += of_run / runs
    assert estimate(a, b).se == pytest.approx(np.sqrt(variance))


def test_missing_cells_are_what_least_squares_fits() -> None:
    """Dies if a run that misses hard items looks better, or fitted cells count as seen: Yates's
    estimate and the mean square of its residuals, by lstsq."""
    scores = _draw(14, 20, 4)
    hidden = scores.copy()
    hidden[np.argsort(scores.mean(1))[:5], 0] = np.nan
    item, run = np.nonzero(~np.isnan(hidden))
    design = np.zeros((len(item), 24))
    design[np.arange(len(item)), item] = design[np.arange(len(item)), 20 + run] = 1
    effects = np.linalg.lstsq(design, hidden[item, run], rcond=None)[0]
    fitted = effects[:20, None] + effects[None, 20:]
    expected = np.where(np.isnan(hidden), fitted, hidden)
    found = estimate(hidden)
    assert found.value == pytest.approx(expected.mean())
    assert np.nanmean(hidden) - found.value > 0.05
    (interaction,) = estimates.tables({"m": hidden[..., None]})["m"].parts.interaction
    residuals = hidden[item, run] - fitted[item, run]
    expected_square = np.sum(residuals**2) / (19 * 3 - 5)
    assert interaction.value == pytest.approx(expected_square / (20 * 4))
    assert found.sizes.missing == 5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: estimate([1.0]), "items: expected two"),
        (lambda: estimate([1.0, 0.0], clusters=["a", "a"]), "clusters: expected two"),
        (lambda: estimate([1.0, 0.0], clusters=["a", None]), "a label of every item, found None"),
        (lambda: estimate([1.0, np.inf]), "m0: the score of item 1 in run 0 is infinite"),
        (lambda: estimate([1.0, "x"]), "m0: expected .items., .* of numbers"),
        (lambda: estimate([[[[1.0]]]]), r"found shape \[1, 1, 1, 1\]"),
        (lambda: estimate([np.nan, np.nan]), "m0: every score is missing"),
        (lambda: estimate([1.0, 0.0], [1.0, 0.0, 1.0]), "found 2 of m0, 3 of m1"),
        (
            lambda: studied([task("", "", {"a": [1, np.nan], "b": [np.nan, 1]})]),
            "no scored item in common",
        ),
        (lambda: estimate([[1, np.nan], [2, np.nan], [np.nan, 1.0]]), "share no item"),
        (lambda: estimate([[1, np.nan], [2, np.nan]]), "run 1 has no score of the items"),
    ],
)
def test_what_cannot_be_estimated_is_an_error(call: object, words: str) -> None:
    """Dies if a check is lost."""
    with pytest.raises(DataError, match=words):
        call()  # type: ignore[operator]


def test_intervals_hold_what_they_say() -> None:
    """Dies if an error is too small by a tenth, over each of the factors: 1,000 tables at once."""
    generator, count = np.random.default_rng(24), 1_000
    item, run = generator.normal(size=(count, 40, 1)), 0.4 * generator.normal(size=(count, 1, 5))
    scores = item + run + generator.normal(size=(count, 40, 5))
    groups = estimates.tables({"m": scores[0, ..., None]})["m"].groups
    of_runs = ((of,) for of in variances.run_parts(scores, groups))
    parts = variances.Parts(variances.items_part(scores.mean(-1), groups), *of_runs)
    truths = {("items",): run.mean((1, 2)), ("runs",): item.mean((1, 2)), BOTH: 0.0}
    for over, truth in truths.items():
        part = variances.total(parts, over)
        half = np.sqrt(part.value) * t_quantile(part.df, 0.95)
        missed = np.abs(scores.mean((1, 2)) - truth) > half
        assert np.mean(missed) == pytest.approx(0.05, abs=0.02)


_TWELVE_BY_FOUR = [
    *([-0.72, -1.02, -1.16, -0.22], [-0.72, -0.59, -0.49, 1.02], [-0.1, -1.13, -1.81, -0.04]),
    *([-0.84, -1.57, -1.83, -0.62], [-0.96, -1.68, 0.16, -0.38], [-0.93, -1.21, -1.37, -0.5]),
    *([0.21, -0.65, -0.7, 0.66], [2.24, -0.33, 1.83, 1.97], [-0.79, -0.04, -0.06, -0.66]),
    *([-0.49, -1.02, -0.76, 0.35], [0.53, 0.15, 1.33, 0.64], [0.56, -0.67, 0.41, 0.2]),
]


def test_the_error_is_that_of_a_mixed_model() -> None:
    """Dies if it differs from REML by statsmodels 0.15.0 (MixedLM, crossed variance components
    0 + C(item), 0 + C(run)), whose figures stand here."""
    mean = estimate(_TWELVE_BY_FOUR)
    assert (mean.value, mean.se) == pytest.approx((-0.2875, 0.29103135), rel=1e-5)


def test_two_items_are_added_to_right_and_wrong_answers() -> None:
    """Dies if the interval is not that of the differences with +1 and -1 among them (Bonett &
    Price 2012)."""
    generator = np.random.default_rng(13)
    a, b = (generator.random((2, 50)) < 0.8).astype(float)
    more = np.array([*(a - b), 1, -1])
    wald = np.sqrt(more.var() / 52)
    found = estimate(a, b)
    middle = (found.interval.low + found.interval.high) / 2
    assert middle == pytest.approx(more.mean())
    half = found.interval.high - middle
    assert half == pytest.approx(stats.t.ppf(0.975, 49) * wald)


def test_one_run_of_right_and_wrong_answers_is_jeffreys() -> None:
    """Dies if the effective number of answers is not that of the items."""
    answers = np.array([1.0] * 27 + [0.0] * 3)
    expected = stats.beta.ppf([0.025, 0.975], 27.5, 3.5)
    assert estimate(answers).interval[:2] == pytest.approx(tuple(expected))
    low, high, *_ = estimate(np.ones(30)).interval
    assert high == 1 and 0.9 < low < 0.94
