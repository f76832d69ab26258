"""Tests on single predictions: against enumeration and a plain loop."""

import itertools

import numpy as np
import pytest

from jaxeval import stats
from jaxeval.errors import DataError
from jaxeval.runs import counts as counted
from jaxeval.stats import examples


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


def test_kinds_and_bits_draw_from_one_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if grouping equal examples changes the distribution."""
    a, b = _counts(2, 400)
    grouped = stats.approximate_randomization(a, b, iterations=50_000)
    monkeypatch.setattr(examples, "_AS_BITS", 10**9)
    single = stats.approximate_randomization(a, b, iterations=50_000)
    assert grouped.p_value == pytest.approx(single.p_value, abs=0.015)
    assert grouped.p_value != single.p_value  # other random numbers were drawn


def test_mcnemar_by_hand() -> None:
    """Dies if answers both get right count: 1 against 4 gives 2 * (1 + 5) / 32."""
    a = [1, 1, 1, 0, 1, 1, 1, 0]
    b = [1, 1, 0, 1, 0, 0, 0, 0]
    test = stats.mcnemar(a, b)
    assert (test.statistic, test.p_value) == (3.0, pytest.approx(12 / 32))
    assert stats.mcnemar([1, 0], [1, 0]).p_value == 1.0
    with pytest.raises(DataError, match="1 for right"):
        stats.mcnemar([0.5, 1], [0, 1])
