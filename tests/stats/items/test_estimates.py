"""Means and differences over items and runs: published figures, limits, brute force."""

import numpy as np
import pytest
from scipy import linalg, stats

from jaxeval.errors import DataError
from jaxeval.stats import crossed, items
from jaxeval.stats.items import cells, estimates, parts
from jaxeval.stats.items import parts as parts_of

SCORES, PASSAGES = [1, 1, 0, 0, 1, 0], list("aabbcc")
BOTH = ("items", "runs")


def _draw(seed: int, items: int = 40, runs: int = 3, of_run: float = 0.3) -> np.ndarray:
    generator = np.random.default_rng(seed)
    shapes = (items, 1), (1, runs), (items, runs)
    item, run, rest = (generator.normal(size=shape) for shape in shapes)
    return item + of_run * run + 0.5 * rest


def test_standard_errors_of_one_run_are_the_published_ones() -> None:
    """Dies if an error is not unbiased: .235702, Miller's formula, or .204124 without clusters."""
    assert items.mean(SCORES).se == pytest.approx(0.223607, abs=5e-7)
    assert items.mean(SCORES, clusters=PASSAGES).se == pytest.approx(0.288675, abs=5e-7)


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
    table = cells.table(scores)
    groups = cells.groups(clusters, table, count)
    rho = float(parts._intraclass(scores, groups))
    working = np.where(clusters[:, None] == clusters, rho, 0.0) + (1 - rho) * np.eye(count)
    b = np.array(columns) @ working @ np.array(columns).T
    estimate = items.mean(scores, clusters=clusters)
    assert 0.1 < rho < 0.9
    assert estimate.se**2 == pytest.approx(variance)
    assert estimate.df == pytest.approx(np.trace(b) ** 2 / np.sum(b**2))
    assert estimate.df < 4


def test_over_runs_is_the_t_test_of_the_runs_means() -> None:
    """Dies if items bring anything where they are fixed: the seeds-only limit, Welch's t."""
    a, b = _draw(3, runs=4), _draw(4, runs=6)
    estimate = items.difference(a, b, over=["runs"])
    welch = stats.ttest_ind(a.mean(0), b.mean(0), equal_var=False)
    assert estimate.p_value == pytest.approx(welch.pvalue)
    assert estimate.interval[:2] == pytest.approx(welch.confidence_interval())
    of_means = stats.ttest_1samp(a.mean(0), 0).confidence_interval()
    assert items.mean(a, over=["runs"]).interval[:2] == pytest.approx(of_means)


def test_over_both_is_the_crossed_design() -> None:
    """Dies if the interaction is subtracted twice or not at all: `crossed`, seed by split."""
    for seed in range(6):
        scores = _draw(seed, 12, 4, of_run=0.1 * seed)
        estimate, expected = items.mean(scores), crossed.components(scores)
        assert estimate.over == BOTH
        assert (estimate.se, estimate.df) == pytest.approx((expected.mean_se, expected.mean_df))
        assert estimate.interval[:2] == pytest.approx(expected.mean_interval[:2])


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
    assert items.difference(a, b).se == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize("over", [["items"], ["runs"], BOTH])
def test_exchanging_the_models_mirrors_everything(over: list[str]) -> None:
    """Dies if A and B are treated differently."""
    a, b = (np.round(_draw(seed, runs=runs)) for seed, runs in ((10, 3), (11, 4)))
    forward, back = items.difference(a, b, over=over), items.difference(b, a, over=over)
    assert back.value == -forward.value
    assert back.interval[:2] == pytest.approx((-forward.interval.high, -forward.interval.low))
    assert back.p_value == pytest.approx(forward.p_value)
    assert back.p_above() == pytest.approx(1 - forward.p_above())


def test_missing_cells_are_what_least_squares_fits() -> None:
    """Dies if a run that misses hard items looks better: Yates's estimate by lstsq."""
    scores = _draw(14, 20, 4)
    hidden = scores.copy()
    hidden[np.argsort(scores.mean(1))[:5], 0] = np.nan
    item, run = np.nonzero(~np.isnan(hidden))
    design = np.zeros((len(item), 24))
    design[np.arange(len(item)), item] = design[np.arange(len(item)), 20 + run] = 1
    effects = np.linalg.lstsq(design, hidden[item, run], rcond=None)[0]
    fitted = effects[:20, None] + effects[None, 20:]
    expected = np.where(np.isnan(hidden), fitted, hidden)
    estimate = items.mean(hidden)
    assert estimate.value == pytest.approx(expected.mean())
    assert np.nanmean(hidden) - estimate.value > 0.05
    assert estimate.sizes.missing == 5


def test_items_without_a_score_are_left_out_and_counted() -> None:
    """Dies if pairs are compared of which one is missing."""
    a, b = _draw(15), _draw(16)
    full = items.difference(a[2:], b[2:])
    a[0], b[1] = np.nan, np.nan
    estimate = items.difference(a, b)
    assert (estimate.value, estimate.se) == pytest.approx((full.value, full.se))
    assert (estimate.sizes.items, estimate.sizes.dropped, estimate.sizes.missing) == (38, 2, 0)


def test_paired_runs_cancel_what_they_share() -> None:
    """Dies if the run's effect, the same in both models, stays in the error."""
    shared = 2.0 * np.random.default_rng(17).normal(size=(1, 4))
    a, b = _draw(18, runs=4) + shared, _draw(19, runs=4) + shared
    paired = items.difference(a, b, paired_runs=True)
    assert paired.se < 0.5 * items.difference(a, b).se
    assert paired.se == pytest.approx(items.mean(a - b).se)
    assert paired.df == pytest.approx(items.mean(a - b).df)


def test_one_sided_p_value_against_a_margin() -> None:
    """Dies if the margin is added: the t test of the differences less it."""
    gaps = _draw(22, runs=1)[:, 0] + 0.4
    estimate = items.difference(gaps, np.zeros(40))
    for margin in (-0.2, 0.0, 0.3):
        expected = stats.ttest_1samp(gaps - margin, 0, alternative="greater").pvalue
        assert estimate.p_above(margin) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("scores", "clusters", "words"),
    [
        (_draw(23, 40, 1), None, "nothing of other runs"),
        (_draw(23, 29, 2), None, "Only 29 items"),
        (_draw(23, 40, 2), np.arange(40) // 2, "Only 20 clusters"),
        (np.where(np.arange(80).reshape(40, 2) % 13, _draw(23, 40, 2), np.nan), None, "7 of 80"),
    ],
)
def test_what_a_reader_must_know_is_said(
    scores: np.ndarray, clusters: np.ndarray | None, words: str
) -> None:
    """Dies if a warning is lost, or given where nothing is amiss."""
    warnings = items.mean(scores, clusters=clusters).warnings
    assert len(warnings) == 1 and words in warnings[0]
    assert items.mean(_draw(23, 30, 2)).warnings == ()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: items.mean([[1.0], [0.0]], over=["runs"]), "two or more runs"),
        (lambda: items.mean([1.0]), "two or more"),
        (lambda: items.mean([1.0, 0.0], clusters=["a", "a"]), "clusters: expected two"),
        (lambda: items.mean([1.0, 0.0], clusters=["a"]), "one of each of 2 items"),
        (lambda: items.mean([1.0, 0.0], over=["seeds"]), "expected items, runs or items,runs"),
        (lambda: items.mean([1.0, np.inf]), "item 1 in run 0 is infinite"),
        (lambda: items.mean([np.nan, np.nan]), "every score is missing"),
        (lambda: items.mean([["a"], ["b"]]), "of numbers"),
        (lambda: items.mean(np.zeros((2, 2, 2, 2))), "found shape"),
        (lambda: items.difference([1.0, 0.0], [1.0, 0.0, 1.0]), "2 of A and 3 of B"),
        (lambda: items.difference([1.0, np.nan], [np.nan, 1.0]), "score of both"),
        (lambda: items.mean([[1, np.nan], [2, np.nan], [np.nan, 1.0]]), "share no item"),
        (lambda: items.mean([1.0, 0.0]).p_above(), "expected a difference"),
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
    groups = cells.groups(None, cells.table(scores[0]), 40)
    of_runs = parts_of.run_part(scores, groups)
    parts = parts_of.Parts(parts_of.items_part(scores.mean(-1), groups), (of_runs,))
    truths = {("items",): run.mean((1, 2)), ("runs",): item.mean((1, 2)), BOTH: 0.0}
    for over, truth in truths.items():
        part = parts_of.total(parts, over)
        low, high = estimates.t_limits(scores.mean((1, 2)), part, 0.95)
        assert np.mean((low <= truth) & (truth <= high)) == pytest.approx(0.95, abs=0.02)
