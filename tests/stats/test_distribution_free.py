"""Sign tests and bets against published values, brute force and simulated error rates."""

import itertools

import numpy as np
import pytest
from scipy import integrate

from jaxeval.bandits import Settle
from jaxeval.bandits.rules import State
from jaxeval.errors import DataError
from jaxeval.stats import anytime

# the bounds of betting_cs of the authors' package confseq 0.0.11 (grid of .001) for these scores
SCORES = [0.9, 0.7, 1, 0.8, 0.6, 0.95, 0.85, 0.75, 0.9, 1, 0.65, 0.8, 0.55, 0.9, 0.7, 0.95, 1]
SCORES += [0.85, 0.6, 0.9]
LOW = [0, 0, 0.147, 0.209, 0.248, 0.302, 0.343, 0.373, 0.408, 0.443, 0.456, 0.476, 0.48, 0.501]
LOW += [0.511, 0.53, 0.549, 0.562, 0.563, 0.576]
HIGH = [1, 1, 1, 1, 1, 1, 1, 0.991, 0.981, 0.981, 0.962, 0.951, 0.932, 0.93, 0.92, 0.92, 0.92]
HIGH += [0.92, 0.913, 0.912]


@pytest.mark.parametrize("wins, losses, e", [(8, 0, 28.4), (7, 0, 16.0), (9, 1, 9.3)])
def test_log_e_wins_equals_published_values(wins, losses, e):
    assert np.exp(anytime._log_e_wins(wins, losses)) == pytest.approx(e, abs=0.05)


@pytest.mark.parametrize("wins, losses", [(8, 0), (3, 9), (40, 25)])
@pytest.mark.parametrize("alternative, ends", [("greater", (0.5, 1)), ("less", (0, 0.5))])
def test_one_sided_log_e_wins_equals_quadrature(wins, losses, alternative, ends):
    likelihood = lambda p: 2 * (2 * p) ** wins * (2 * (1 - p)) ** losses  # noqa: E731
    expected = np.log(integrate.quad(likelihood, *ends)[0])
    found = anytime._log_e_wins(wins, losses, alternative)
    assert found == pytest.approx(expected, abs=1e-9)


def test_the_expectation_of_e_is_one_over_all_outcomes():
    """Dies if e is no e-value: brute force over all sequences of ten pairs at 1/2."""
    counts = [sum(of) for of in itertools.product((0, 1), repeat=10)]
    for alternative in ("two-sided", "greater", "less"):
        e = np.exp(anytime._log_e_wins(np.array(counts), 10 - np.array(counts), alternative))
        assert e.mean() == pytest.approx(1)


def test_an_end_of_wins_is_where_the_sign_test_rejects():
    """Dies if an end is another order statistic than brute force over all differences gives."""
    draw = np.random.default_rng(1)
    for d in (draw.normal(0.5, size=30), draw.integers(-2, 5, size=40).astype(float)):
        course = anytime.wins(d, 0.1)
        tried = np.unique([*d, *(d - 1e-9), *(d + 1e-9)])
        low = -np.inf
        for k in range(len(d)):
            seen = d[: k + 1, None]
            won, lost = (seen > tried).sum(0), (seen < tried).sum(0)
            rejected = tried[anytime._log_e_wins(won, lost, "greater") >= np.log(20)]
            low = max(low, rejected.max(initial=-np.inf))
            assert course.low[k] == pytest.approx(low, abs=2e-9)
            assert (course.low[k] > 0) == (low >= 0)  # a margin that is rejected is a claim
        mirrored = anytime.wins(-d, 0.1)
        assert [*mirrored.high] == [*-course.low] and [*mirrored.p_values] == [*course.p_values]


def test_betting_equals_the_authors_package():
    course = anytime._betting(2 * np.array(SCORES) - 1)
    assert (course.low + 1) / 2 == pytest.approx(np.array(LOW), abs=1.01e-3)
    assert (course.high + 1) / 2 == pytest.approx(np.array(HIGH), abs=1.01e-3)
    mirrored = anytime._betting(1 - 2 * np.array(SCORES))
    assert mirrored.low == pytest.approx(-course.high)
    assert mirrored.p_values == pytest.approx(course.p_values)
    with pytest.raises(DataError, match="scores from 0 to 1"):
        anytime.settle([0.5, 75.2], statistic="betting")
    state = State.begin(("a", "b")).tell("a", 75.2).tell("b", 75.3)  # whose difference is small
    with pytest.raises(DataError, match=r"expected scores from 0 to 1, found 75\.2"):
        Settle(statistic="betting").settled(state)


def _skewed(draw, size):
    return draw.exponential(size=size) - np.log(2)  # median 0


@pytest.mark.parametrize(
    "statistic, draws",
    [
        ("wins", _skewed),
        ("wins", lambda draw, size: draw.standard_t(1, size=size)),
        ("wins", lambda draw, size: draw.choice([-1.0, 0, 0, 0, 1], size=size)),
        ("betting", lambda draw, size: draw.choice([-0.1, 0.9], p=[0.9, 0.1], size=size)),
        ("betting", lambda draw, size: draw.beta(2, 5, size) - draw.beta(0.4, 1, size)),
    ],
)
def test_wrong_claims_are_rare_for_any_distribution(statistic, draws):
    """Dies if more than 1 in 20 experiments ever makes a claim where there is no difference."""
    draw = np.random.default_rng(3)
    found = [anytime.settle(draws(draw, 100), statistic=statistic) for _ in range(200)]
    wrong = np.mean([each.verdict != "undecided" for each in found])
    assert wrong <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)
    assert np.mean([each.interval[0] <= 0 <= each.interval[1] for each in found]) >= 0.93


def test_wins_count_failures_and_ties():
    """Dies if a failed side is no loss, or a tie counts."""
    found = anytime.settle([np.inf] * 8 + [0.0] * 3 + [-np.inf], statistic="wins")
    assert found.wins == (8, 1) and found.verdict == "better" and found.decided == 8
    assert anytime.settle([np.inf] * 7 + [0.0], statistic="wins").verdict == "undecided"


def test_bets_are_placed_at_the_margin_too():
    """Dies if a margin between two points of the grid is claimed a point too late."""
    drawn, margin = np.random.default_rng(0).uniform(0.4, 0.6, 191), 0.4505
    found = anytime.settle(drawn, statistic="betting", margin=margin)
    assert found.interval[0] == np.nextafter(margin, 1) and found.verdict == "better"
