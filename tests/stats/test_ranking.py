"""Models ranked over data sets: permutations enumerated, and error rates."""

import itertools

import numpy as np
import pytest
from scipy import stats as scipy_stats

from jaxeval.stats import datasets


def test_iman_davenports_p_value_is_that_of_all_permutations() -> None:
    """Dies if ranks move between data sets, or the F distribution stands in for few of them."""
    table = np.array([[3.0, 2, 1], [3, 2, 1], [2, 3, 1], [3, 2, 2]])
    result = datasets._iman_davenport(table, resamples=4999)
    ranks = scipy_stats.rankdata(-table, axis=1)

    def squares(rows: tuple) -> float:
        return float(np.sum(np.sum(rows, axis=0) ** 2))

    orders = [list(itertools.permutations(row)) for row in ranks]
    every = [squares(rows) for rows in itertools.product(*orders)]
    exact = np.mean(np.array(every) >= squares(tuple(ranks)) - 1e-9)
    assert result.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact / 4999))
    agreed = datasets._iman_davenport(np.tile([3.0, 2, 1], (3, 1)), resamples=4999)
    assert agreed.statistic == np.inf and agreed.p_value == pytest.approx(1 / 36, abs=0.01)
