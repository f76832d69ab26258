"""Answers that are right or wrong: intervals of few of them, by the published corrections."""

import numpy as np
import pytest
from scipy import stats

from jaxeval.stats import items


def test_a_model_and_its_copy_do_not_differ() -> None:
    """Dies if equal scores give a small p-value, or an interval of no width for right and wrong
    answers."""
    scores = (np.random.default_rng(12).random((40, 1)) < 0.5).astype(float)
    estimate = items.difference(scores, scores)
    assert (estimate.value, estimate.se, estimate.p_value) == (0.0, 0.0, 1.0)
    assert estimate.interval.low == -estimate.interval.high < 0


def test_two_items_are_added_to_right_and_wrong_answers() -> None:
    """Dies if the interval is not that of the differences with +1 and -1 among them (Bonett &
    Price 2012)."""
    generator = np.random.default_rng(13)
    a, b = (generator.random((2, 50)) < 0.8).astype(float)
    more = np.array([*(a - b), 1, -1])
    wald = np.sqrt(more.var() / 52)
    estimate = items.difference(a, b)
    middle = (estimate.interval.low + estimate.interval.high) / 2
    assert middle == pytest.approx(more.mean())
    half = estimate.interval.high - middle
    assert half == pytest.approx(stats.t.ppf(0.975, 49) * wald)


def test_one_run_of_right_and_wrong_answers_is_jeffreys() -> None:
    """Dies if the effective number of answers is not that of the items."""
    answers = np.array([1.0] * 27 + [0.0] * 3)
    expected = stats.beta.ppf([0.025, 0.975], 27.5, 3.5)
    assert items.mean(answers).interval[:2] == pytest.approx(tuple(expected))
    low, high, *_ = items.mean(np.ones(30)).interval
    assert high == 1 and 0.9 < low < 0.94
