"""Corrections for several comparisons."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxeval.stats import Method, multiple

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def test_golden() -> None:
    """Dies if Holm loses its running maximum, or Benjamini-Hochberg its running minimum."""
    given_p = (0.01, 0.04, 0.03, 0.005)
    for method, expected in {
        "bonferroni": [0.04, 0.16, 0.12, 0.02],
        "holm": [0.03, 0.06, 0.06, 0.02],
        "benjamini_hochberg": [0.02, 0.04, 0.04, 0.02],
    }.items():
        np.testing.assert_allclose(multiple.adjust_p_values(given_p, method), expected)  # type: ignore[arg-type]
    np.testing.assert_allclose(
        multiple.adjust_p_values((0.01, 0.04, 0.03, 0.5)), [0.04, 0.09, 0.09, 0.5]
    )
    with pytest.raises(ValueError, match="unknown method of correction: 'hochberg'"):
        multiple.adjust_p_values(given_p, "hochberg")  # type: ignore[arg-type]


@given(p_values, st.floats(0.01, 0.5))
def test_holm_rejects_what_its_step_down_procedure_rejects(
    values: list[float], level: float
) -> None:
    """Dies if adjusted p-values and Holm's procedure disagree."""
    rejected = np.zeros(len(values), bool)
    for rank, index in enumerate(np.argsort(values, kind="stable")):
        if values[index] * (len(values) - rank) > level:
            break
        rejected[index] = True
    np.testing.assert_array_equal(multiple.adjust_p_values(values) <= level, rejected)


@pytest.mark.parametrize("method", ["bonferroni", "holm", "benjamini_hochberg"])
def test_an_unknown_p_value_is_counted_and_stays_unknown(method: Method) -> None:
    """Dies if NaN spoils the others, or tests that could not be made are not corrected for."""
    adjusted = multiple.adjust_p_values([0.02, math.nan, 0.01], method)
    np.testing.assert_array_equal(
        adjusted[[0, 2]], multiple.adjust_p_values([0.02, 1, 0.01], method)[[0, 2]]
    )
    assert math.isnan(adjusted[1])


def test_each_name_is_a_family_of_its_own() -> None:
    """Dies if tests of two kinds correct one another, or a comparison without one counts in it."""
    each = [{"a": 0.01, "b": 0.02}, {"a": 0.03}, {"a": 0.5, "b": 0.04}]
    adjusted = multiple.adjust_by_name(each)
    assert [of["a"] for of in adjusted] == pytest.approx([0.03, 0.06, 0.5])
    assert [adjusted[k]["b"] for k in (0, 2)] == pytest.approx([0.04, 0.04])
    assert "b" not in adjusted[1]


def _closed(p: np.ndarray, models: str, sets: int) -> np.ndarray:
    """Bergmann and Hommel by all labellings: pairs of equal labels can be equal together."""
    pairs = list(itertools.combinations(range(len(models)), 2))
    of_set = {
        tuple(labels[a] == labels[b] for a, b in pairs)
        for labels in itertools.product(range(len(models)), repeat=len(models))
    }
    adjusted = np.zeros(len(p))
    for chosen in itertools.product(of_set, repeat=sets):
        equal = np.concatenate([np.array(of) for of in chosen])
        if equal.any():
            value = equal.sum() * p[equal].min()
            adjusted[equal] = np.maximum(adjusted[equal], value)
    return np.minimum(adjusted, 1)


@pytest.mark.parametrize(("models", "sets"), [("ABC", 1), ("ABCD", 1), ("ABCDE", 1), ("ABC", 2)])
def test_equalities_are_tested_closed(models: str, sets: int) -> None:
    """Dies if a set of hypotheses that can be true together is forgotten, or the order counts."""
    draw = np.random.default_rng(len(models) + sets)
    pairs = [(str(k), *of) for k in range(sets) for of in itertools.combinations(models, 2)]
    for _ in range(20):
        p = draw.random(len(pairs)) ** 4
        expected = _closed(p, models, sets)
        np.testing.assert_allclose(multiple.adjust_equalities(p, pairs), expected)
        assert np.all(expected <= multiple.adjust_p_values(p) + 1e-12)  # never above Holm's
        order = draw.permutation(len(p))
        turned = [(pairs[k][0], pairs[k][2], pairs[k][1]) for k in order]
        found = multiple.adjust_equalities(p[order], turned)
        np.testing.assert_allclose(found, expected[order])


@given(st.integers(1, 9), st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=36))
def testtie_groups_cover_all_pairs(count: int, drawn: set[tuple[int, int]]) -> None:
    """Dies if two models share a group that differ, or none that do not; if one could be added."""
    models = [f"m{k}" for k in range(count)]
    apart = {frozenset((f"m{a}", f"m{b}")) for a, b in drawn if a < b < count}
    groups = multiple.tie_groups(models, apart)
    assert {model for group in groups for model in group} == {*models}
    together = {frozenset(p) for group in groups for p in itertools.combinations(group, 2)}
    assert together == {frozenset(p) for p in itertools.combinations(models, 2)} - apart
    for group in groups:
        others = ({frozenset((m, name)) for m in group} for name in models if name not in group)
        assert all(pairs & apart for pairs in others)


@given(p_values)
def test_benjamini_hochberg_equals_scipy(values: list[float]) -> None:
    """Dies if ties or order matter."""
    from scipy.stats import false_discovery_control

    adjusted = multiple.adjust_p_values(values, "benjamini_hochberg")
    np.testing.assert_allclose(adjusted, false_discovery_control(values), atol=1e-12)
