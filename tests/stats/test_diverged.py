"""One score far from all others: the others keep their digits, whoever is called A."""

import numpy as np
import pytest

from jaxeval import stats
from jaxeval.stats import results
from jaxeval.stats.results import HypothesisTest

PERPLEXITIES = np.array([20.3, 21.2, 19.8, 20.6, 20.9, 19.6, 20.1, 20.5, 21.1, 20.2])
ABOVE = np.array([0.1, 0.2, 0.3, 0.15, 0.1, 0.25, 0.3, 0.2, 0.1, 0.4])
FAR = [1e12, 1e13, 1e14, 1e15, 1e43, 1e304]


def _scores(far: float, both: bool) -> tuple[np.ndarray, np.ndarray]:
    """B is higher in every pair; one of its scores diverged, or one of each model."""
    a, b = PERPLEXITIES.copy(), PERPLEXITIES + ABOVE
    b[3] = far
    if both:
        a[3] = far
    return a, b


def _tests(a: np.ndarray, b: np.ndarray) -> dict[str, HypothesisTest]:
    tests = {
        "wilcoxon": stats.wilcoxon_signed_rank(a, b),
        "sign": stats.sign_test(a, b),
        "pitman_morgan": stats.pitman_morgan(a, b),
    }
    for statistic in ("mean", "median"):
        for paired in (True, False):
            tests[f"{statistic}, {paired}"] = stats.permutation_test(
                a,
                b,
                paired=paired,
                statistic=statistic,  # type: ignore[arg-type]
                resamples=1999,
            )
    return tests


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("sense", [1, -1])
def test_how_far_a_diverged_score_lies_changes_nothing(far: float, both: bool, sense: int) -> None:
    """Dies if digits are counted from the largest score: p was 1, and no direction known."""
    near, a_b = _scores(1e5, both), _scores(far, both)
    least = 2 / 2 ** (9 if both else 10)
    for order in (1, -1):
        here = _tests(*(sense * v for v in near[::order]))
        there = _tests(*(sense * v for v in a_b[::order]))
        for name in ("wilcoxon", "sign", "mean, True"):
            assert there[name].p_value == pytest.approx(least)
        for name, test in there.items():
            assert test.p_value == pytest.approx(here[name].p_value, rel=0.02), name
            assert test.direction == here[name].direction, name
            if name != "pitman_morgan":
                assert test.direction == -sense * order, name


def test_equal_gaps_of_scores_around_a_power_of_ten_are_ties() -> None:
    """Dies if scores of 99.7 and 100 have units of their own: thirds would no longer tie."""
    hundred = np.array([100.0, 200 / 3, 100 / 3, 101.0, 1e13])
    differences = results.gaps(hundred, hundred - np.array([1 / 3, 1 / 3, 1 / 3, 1 / 3, 0]))
    assert len(set(differences[:4].tolist())) == 1 and differences[4] == 0
