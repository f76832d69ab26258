"""Tests on single predictions: against enumeration and a plain loop."""

import itertools

import numpy as np
import pytest

from jaxeval import stats
from jaxeval.errors import DataError
from jaxeval.runs import counts as counted
from jaxeval.runs.counts import Score
from jaxeval.stats import examples
from jaxeval.stats.items import comparing


def _counts(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    gold = generator.poisson(1.5, n)
    runs = []
    for _ in range(2):
        predicted = generator.poisson(1.5, n)
        hits = generator.binomial(np.minimum(gold, predicted), 0.7)
        runs.append(np.stack([hits, predicted, gold], axis=1))
    return runs[0], runs[1]


def test_randomisation_equals_all_swaps() -> None:
    """Dies if the score is not recomputed from the counts of each shuffle: 2^10 swaps of F1."""
    a, b = _counts(1, 10)
    observed = abs(counted.f1(a.sum(0)) - counted.f1(b.sum(0)))
    gaps = []
    for swap in itertools.product((False, True), repeat=10):
        chosen = np.array(swap)[:, None]
        swapped_a, swapped_b = np.where(chosen, b, a).sum(0), np.where(chosen, a, b).sum(0)
        gaps.append(abs(counted.f1(swapped_a) - counted.f1(swapped_b)))
    exact = np.mean(np.array(gaps) >= observed - 1e-12)
    test = stats.approximate_randomization(a, b, iterations=200_000)
    assert test.p_value == pytest.approx(exact, abs=0.005)
    assert test.statistic == pytest.approx(counted.f1(a.sum(0)) - counted.f1(b.sum(0)))


def _perplexity(sums: np.ndarray) -> np.ndarray:
    return np.exp(counted.ratio(sums))


def _bits(sums: np.ndarray) -> np.ndarray:
    return counted.ratio(sums) / np.log(2)


@pytest.mark.parametrize("score", [counted.ratio, _perplexity, _bits])
@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
def test_swaps_of_counts_that_are_not_whole_keep_their_ties(score: Score, factor: float) -> None:
    """Dies if 2 of 2^5 swaps, that of nothing and that of all, are told apart by rounding."""
    draw = np.random.default_rng(0)
    tokens = draw.integers(900, 1100, 5).astype(float)
    nats = tokens * draw.normal(4.2, 0.1, 5)
    if score is not _perplexity:
        nats *= factor
    better = nats * (1 - draw.uniform(0.001, 0.01, 5))
    a, b = (np.stack([of, tokens], axis=1) for of in (better, nats))
    for first, second in ((a, b), (b, a)):
        p = stats.approximate_randomization(first, second, score=score, iterations=20_000).p_value
        assert p == pytest.approx(2 / 2**5, abs=0.005)


def test_equal_examples_leave_no_interval() -> None:
    """Dies if a difference that no resample changes has an interval without width."""
    same = np.tile([1.0, 2.0], (30, 1))
    for other in (same, np.tile([2.0, 2.0], (30, 1))):
        interval = stats.paired_bootstrap(same, other, score=counted.ratio, resamples=99).interval
        assert interval.absent == "all resamples have one value"
    nats = np.array([[800.0, 1.0], [1.0, 1.0], [900.0, 1.0]])  # exp overflows in some resamples
    with np.errstate(all="ignore"):
        overflown = stats.paired_bootstrap(nats, nats[::-1], score=_perplexity, resamples=99)
    assert overflown.interval.absent == "" and np.isnan(overflown.interval.low)
    items = comparing.bootstrap(np.full(30, 0.7), np.full(30, 0.5), resamples=99)
    assert items.interval.absent == "all resamples have one value"


def test_kinds_and_bits_draw_from_one_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if grouping equal examples changes the distribution."""
    a, b = _counts(2, 400)
    grouped = stats.approximate_randomization(a, b, iterations=50_000)
    monkeypatch.setattr(examples, "_AS_BITS", 10**9)
    single = stats.approximate_randomization(a, b, iterations=50_000)
    assert grouped.p_value == pytest.approx(single.p_value, abs=0.015)
    assert grouped.p_value != single.p_value  # other random numbers were drawn


def test_equal_runs_and_seeds() -> None:
    """Dies if equal runs differ, p can be 0, or a seed gives two answers."""
    a, b = _counts(3, 50)
    assert stats.approximate_randomization(a, a, iterations=100).p_value == 1.0
    first = stats.approximate_randomization(a, b, iterations=5000, seed=2)
    assert first == stats.approximate_randomization(a, b, iterations=5000, seed=2)
    better = a.copy()
    better[:, 0] = 0
    assert stats.approximate_randomization(a, better, iterations=99).p_value == 1 / 100
    with pytest.raises(DataError, match="same shape"):
        stats.approximate_randomization(a, b[1:])


def test_mcnemar_by_hand() -> None:
    """Dies if answers both get right count: 1 against 4 gives 2 * (1 + 5) / 32."""
    a = [1, 1, 1, 0, 1, 1, 1, 0]
    b = [1, 1, 0, 1, 0, 0, 0, 0]
    test = stats.mcnemar(a, b)
    assert (test.statistic, test.p_value) == (3.0, pytest.approx(12 / 32))
    assert stats.mcnemar([1, 0], [1, 0]).p_value == 1.0
    with pytest.raises(DataError, match="1 for right"):
        stats.mcnemar([0.5, 1], [0, 1])


@pytest.mark.parametrize("few", [0, -5, 0.5])
def test_a_p_value_takes_at_least_one_shuffle(few: int) -> None:
    """Dies if -5 shuffles give p = -.25: wherever something is drawn at random."""
    counts = np.ones((4, 2))
    x = np.arange(4.0)
    for call in (
        lambda: stats.approximate_randomization(counts, counts, iterations=few),
        lambda: stats.permutation_test(x, x, resamples=few),
        lambda: stats.almost_stochastic_order(x, x, resamples=few),
        lambda: stats.difference(x, x + 1, statistic="median", resamples=few),
    ):
        with pytest.raises(DataError, match="expected a whole number of at least 1"):
            call()
