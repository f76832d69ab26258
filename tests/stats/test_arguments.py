"""What functions of scores are called with by mistake: refused in one line, never used."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jaxeval.errors import ConfigError, DataError
from jaxeval.stats import describe, hypotheses, results
from jaxeval.stats.results import Rules
from tests.stats.cubes import estimate

A, B = [0.1, 0.2, 0.4], [0.3, 0.5, 0.4]
MASKED = np.ma.masked_array([0.1, 0.2, 999.0], mask=[0, 0, 1])
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "masked": (
        lambda: describe.summarize(MASKED),
        "scores: value 2 is nan; expected a finite number",
    ),
    "true": (
        lambda: hypotheses.permutation_test(A, B, resamples=True),
        "resamples: expected a whole number of at least 1, found True",
    ),
    "margin": (
        lambda: hypotheses.tost(A, B, np.nan),
        "margin: expected a number above 0, found nan",
    ),
    "no cluster": (
        lambda: estimate(A, clusters=["p", None, "q"]),
        "clusters: expected a label of every item, found None",
    ),
}


@pytest.mark.parametrize("call", WRONG)
def test_mistakes_are_one_line(call: str) -> None:
    """Dies if a wrong argument gives a number, or an error that does not name it."""
    function, said = WRONG[call]
    with pytest.raises(DataError) as raised:
        function()
    assert said in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["alpha", "margin", "resamples", "seed", "correction"])
def test_rules_of_comparisons_are_configured(name: str) -> None:
    """Dies if one argument of the rules raises another error than the others."""
    wrong: Any = {name: -1}
    with pytest.raises(ConfigError, match=f"{name}: expected"):
        Rules(**wrong)
    with pytest.raises(ConfigError, match="over: expected items, runs or items,runs, found 'it"):
        results.parse_over("items,seeds")


def test_masked_scores_of_items_are_missing() -> None:
    """Dies if what a mask hides is used: the mean of two scores would be 333.1."""
    masked = estimate(MASKED)
    assert masked == estimate([0.1, 0.2, np.nan])
    assert masked.value == pytest.approx(0.15)
    assert estimate(np.ma.masked_equal([1, 0, 1, 7], 7)).value == pytest.approx(2 / 3)
