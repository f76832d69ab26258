"""What functions of scores are called with by mistake: refused in one line, never used."""

import numpy as np
import pytest

from jaxeval.errors import ConfigError, DataError
from jaxeval.stats import describe, results
from tests.stats.cubes import estimate

MASKED = np.ma.masked_array([0.1, 0.2, 999.0], mask=[0, 0, 1])


def test_mistakes_are_one_line() -> None:
    """Dies if what a mask hides gives a number, or a factor or a cluster that is not there is
    taken for one."""
    with pytest.raises(DataError, match=r"^scores: value 2 is nan; expected a finite number$"):
        describe.summarize(MASKED)
    with pytest.raises(DataError, match=r"^clusters: expected a label of every item, found None$"):
        estimate([0.1, 0.2, 0.4], clusters=["p", None, "q"])
    with pytest.raises(ConfigError, match=r"^over: expected items, runs or items,runs, found 'it"):
        results.parse_over("items,seeds")


def test_masked_scores_of_items_are_missing() -> None:
    """Dies if what a mask hides is used: the mean of two scores would be 333.1."""
    masked = estimate(MASKED)
    assert masked == estimate([0.1, 0.2, np.nan])
    assert masked.value == pytest.approx(0.15)
    assert estimate(np.ma.masked_equal([1, 0, 1, 7], 7)).value == pytest.approx(2 / 3)
