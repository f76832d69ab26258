"""Models ranked over data sets: published figures, permutations enumerated, and error rates."""

import itertools

import numpy as np
import pytest
from scipy import stats as scipy_stats

from jaxeval.stats import datasets
from tests.stats.test_datasets import DEMSAR

NAMES = ("C4.5", "m", "cf", "m+cf")


def test_demsars_figures() -> None:
    """Dies if a formula of Demsar (2006, section 3.2.2) is another one.

    He prints chi-squared 9.28.
    """
    scores = dict(zip(NAMES, DEMSAR.T, strict=True))
    ranked = datasets._rank_models(scores)
    sums = 14 * np.sum((np.array(ranked.average_ranks) - 2.5) ** 2)
    assert 12 * sums / 20 == pytest.approx(9.28, abs=0.005)  # not corrected for ties
    assert ranked.friedman.statistic == pytest.approx(
        scipy_stats.friedmanchisquare(*DEMSAR.T).statistic
    )


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
