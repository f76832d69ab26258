"""Scores on the same resamples: against scipy, a loop, and simulated truth."""

import numpy as np
import pytest
from scipy import stats

from jaxeval import vectors
from jaxeval.stats import blocks, percentile_interval
from jaxeval.vectors import analogies, similarity

GENERATOR = np.random.default_rng(0)


def test_correlations_are_scipys_within_each_resample() -> None:
    """Dies if ties do not share their mean rank, items keep the ranks they have in the whole
    sample, or few items or equal scores have a correlation."""
    gold = GENERATOR.integers(0, 9, 30).astype(float)
    scores = np.stack([gold + GENERATOR.normal(size=30), GENERATOR.integers(0, 3, 30), -gold])
    counts = np.random.default_rng(5).multinomial(30, np.full(30, 1 / 30), 20)
    counts = np.concatenate([np.ones((1, 30), int), counts])
    draws = similarity._correlations(gold, scores, counts)
    for drawn, count in zip(draws, counts, strict=True):
        items = np.repeat(np.arange(30), count)
        expected = [stats.spearmanr(gold[items], row[items]).statistic for row in scores]
        np.testing.assert_allclose(drawn, expected, rtol=0, atol=1e-12)
    for few in (slice(2), gold == gold[0]):
        assert np.isnan(similarity._correlations(gold[few], scores[:1, few], counts[:, few])).all()


def _of_pairs(gold: np.ndarray, scores: np.ndarray, seed: int) -> vectors.Bootstrap:
    """Correlations of scores [2, n], files a and b, with gold ones."""
    n = len(gold)
    return vectors.Bootstrap(
        "pairs",
        lambda files, _, weights: similarity._correlations(gold, scores[: len(files)], weights),
        lambda _: lambda generator, size: generator.multinomial(n, np.full(n, 1 / n), size),
        199,
        seed,
    )


def test_interval_and_level_of_equal_correlations() -> None:
    """Dies if both files are not resampled alike, or the interval is of one of them.

    400 experiments with two scores that correlate equally with the gold scores: 95 % intervals
    should hold 0 in 95 of 100, here in 91 to 98 (four standard errors).
    """
    generator, holds, every = np.random.default_rng(1), 0, np.ones(60, bool)
    for seed in range(400):
        gold = generator.normal(size=60)
        scores = gold + generator.normal(size=(2, 60))
        draws = _of_pairs(gold, scores, seed).draws(["a", "b"], every)
        ones = np.ones((1, 60), int)
        estimates = tuple(similarity._correlations(gold, scores, ones)[0].tolist())
        effect, test = vectors._difference(estimates, draws, 60, "m")
        inside = effect.interval.low <= 0 <= effect.interval.high
        assert abs(test.p_value - 0.05) < 0.03 or inside == (test.p_value > 0.05)
        holds += inside
    assert 0.91 < holds / 400 < 0.98


def test_smallest_p_and_its_direction() -> None:
    """Dies if p can be 0, or the sign is B's."""
    a, b = np.full(99, 0.1), np.full(99, 0.3)
    effect, test = vectors._difference((0.1, 0.3), np.stack([a, b]), 10, "m")
    assert test.p_value == pytest.approx(2 / 100) and test.direction == -1
    assert effect.estimate == pytest.approx(-0.2)


def test_questions_are_drawn_by_their_units() -> None:
    """Dies if a question's weight is not the product of its units' counts, or strata mix."""
    first, second = np.array([0, 0, 1, 3]), np.array([1, 2, 2, 4])
    strata = np.array([0, 0, 0, 1, 1])
    draws = analogies._drawer(first, second, strata)(np.random.default_rng(3), 30)
    generator = np.random.default_rng(3)
    three = generator.multinomial(3, np.full(3, 1 / 3), 30)
    two = generator.multinomial(2, np.full(2, 1 / 2), 30)
    for drawn, units in zip(draws, np.concatenate([three, two], axis=1), strict=True):
        assert drawn.tolist() == [units[i] * units[j] for i, j in zip(first, second, strict=True)]


def test_intervals_of_questions_that_share_units() -> None:
    """Dies if questions are resampled as if they were independent: of 100 such intervals 32 hold.

    All ordered pairs of 15 units; a question is right if both of its units' abilities add up to
    more than 0, so P = 1/2. With so few units 92 of 100 intervals hold it.
    """
    generator, holds = np.random.default_rng(2), 0
    first, second = np.array([(i, j) for i in range(15) for j in range(15) if i != j]).T
    strata = np.zeros(15, int)
    for seed in range(200):
        ability = generator.normal(size=15)
        right = ability[first] + ability[second] > 0
        weights = analogies._drawer(first, second, strata)(np.random.default_rng(seed), 199)
        low, high, *_ = percentile_interval(weights @ right / weights.sum(1), 0.95, "m")
        holds += low <= 0.5 <= high
    assert holds / 200 > 0.88


def test_blocks_are_one_stream_of_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a block too many is drawn, each block draws the same, or the seed is another."""
    assert [*blocks(5, 1_000_000, 2_000_000)] == [2, 2, 1]
    gold, scores = GENERATOR.normal(size=20), GENERATOR.normal(size=(2, 20))
    weights = np.random.default_rng(3).multinomial(20, np.full(20, 1 / 20), 199)
    monkeypatch.setattr(vectors, "_AT_ONCE", 600)
    draws = _of_pairs(gold, scores, 3).draws(["a", "b"], np.ones(20, bool))
    np.testing.assert_array_equal(draws.T, similarity._correlations(gold, scores, weights))


def test_undefined_draws_give_no_interval() -> None:
    """Dies if many draws without a value still give an interval."""
    draws = np.linspace(0, 1, 100)
    draws[:5] = np.nan
    assert np.isfinite(vectors._interval(draws, "m").low)
    draws[5] = np.nan
    assert np.isnan(vectors._interval(draws, "m").low)
