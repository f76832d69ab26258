"""Corrections for several comparisons."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxeval import stats
from jaxeval.errors import DataError
from jaxeval.stats import multiple

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def test_golden() -> None:
    """Dies if Holm loses its running maximum, or Benjamini-Hochberg its running minimum."""
    given_p = (0.01, 0.04, 0.03, 0.005)
    for method, expected in {
        "bonferroni": [0.04, 0.16, 0.12, 0.02],
        "holm": [0.03, 0.06, 0.06, 0.02],
        "benjamini_hochberg": [0.02, 0.04, 0.04, 0.02],
    }.items():
        np.testing.assert_allclose(stats.adjust_p_values(given_p, method), expected)  # type: ignore[arg-type]
    np.testing.assert_allclose(
        stats.adjust_p_values((0.01, 0.04, 0.03, 0.5)), [0.04, 0.09, 0.09, 0.5]
    )


@given(p_values)
def test_benjamini_hochberg_equals_scipy(values: list[float]) -> None:
    """Dies if ties or order matter."""
    from scipy.stats import false_discovery_control

    adjusted = stats.adjust_p_values(values, "benjamini_hochberg")
    np.testing.assert_allclose(adjusted, false_discovery_control(values), atol=1e-12)


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
    np.testing.assert_array_equal(stats.adjust_p_values(values) <= level, rejected)


@pytest.mark.parametrize("method", ["bonferroni", "holm", "benjamini_hochberg"])
def test_an_unknown_p_value_is_counted_and_stays_unknown(method: multiple.Method) -> None:
    """Dies if NaN spoils the others, or tests that could not be made are not corrected for."""
    adjusted = stats.adjust_p_values([0.02, math.nan, 0.01], method)
    np.testing.assert_array_equal(
        adjusted[[0, 2]], stats.adjust_p_values([0.02, 1, 0.01], method)[[0, 2]]
    )
    assert math.isnan(adjusted[1])


def test_what_is_no_probability_is_refused() -> None:
    """Dies if 1.2 or an unknown method passes."""
    with pytest.raises(DataError, match="from 0 to 1"):
        stats.adjust_p_values([0.2, 1.2])
    with pytest.raises(DataError, match="holm"):
        stats.adjust_p_values([0.2], "hochberg")  # type: ignore[arg-type]


def test_each_name_is_a_family_of_its_own() -> None:
    """Dies if tests of two kinds correct one another, or a comparison without one counts in it."""
    each = [{"a": 0.01, "b": 0.02}, {"a": 0.03}, {"a": 0.5, "b": 0.04}]
    adjusted = multiple.adjust_by_name(each)
    assert [of["a"] for of in adjusted] == pytest.approx([0.03, 0.06, 0.5])
    assert [adjusted[k]["b"] for k in (0, 2)] == pytest.approx([0.04, 0.04])
    assert "b" not in adjusted[1]
