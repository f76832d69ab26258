"""Paired permutation and bootstrap over items: enumeration, scipy, limits."""

import itertools

import numpy as np
import pytest

from jaxeval.stats import permutation

GENERATOR = np.random.default_rng(0)


def test_few_differences_are_enumerated() -> None:
    """Dies if a sign pattern is left out or counted twice, or ties of equal sums are lost."""
    values = np.array([0.3, -0.1, 0.2, 0.0, 0.7, -0.4, 0.1])
    sums = [np.dot(signs, values) for signs in itertools.product((1, -1), repeat=7)]
    expected = np.mean(np.abs(sums) >= abs(values.sum()) - 1e-12)
    test = permutation.sign_flips(values)
    assert test.p_value == pytest.approx(expected)
    assert test.method == "exact, all 64 exchanges" and test.direction == 1


def test_drawn_permutations_agree_with_enumeration() -> None:
    """Dies if drawn signs are biased, or the last, shorter table of signs is: 21 differences."""
    values = GENERATOR.normal(size=21) + 0.4
    exact = permutation.sign_flips(values, permutations=2**21)
    drawn = permutation.sign_flips(values, permutations=100_000, seed=1)
    assert exact.method.startswith("exact") and not drawn.method.startswith("exact")
    assert drawn.p_value == pytest.approx(exact.p_value, abs=4 * np.sqrt(0.25 / 100_000))


def test_block_by_block_is_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the permutations of later blocks are not counted."""
    values = GENERATOR.normal(size=40) + 0.3
    whole = permutation.sign_flips(values, permutations=40_000)
    monkeypatch.setattr(permutation, "_BLOCK", 7_000)
    parts = permutation.sign_flips(values, permutations=40_000)
    assert parts.p_value == pytest.approx(whole.p_value, rel=0.1)


def test_no_drawn_p_value_is_zero() -> None:
    """Dies if the observed exchange is not counted as one: 40 differences of one sign."""
    assert permutation.sign_flips(np.ones(40), permutations=999).p_value == 1 / 1_000
