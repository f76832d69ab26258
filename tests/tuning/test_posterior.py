"""What a search says: against the posterior itself, dense computations and simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxeval.errors import DataError
from jaxeval.space import space as spaces
from jaxeval.tuning import gaussian_process, gp, posterior, replicates
from jaxeval.tuning import history as histories
from jaxeval.tuning.history import History, Result

SPACE = spaces.from_dict({"x": {"uniform": [0.0, 1.0]}, "y": {"uniform": [0.0, 1.0]}})


def _history(count: int, noise: float, seeds: int = 1, higher: bool = False) -> History:
    random = np.random.default_rng(2)
    history = History((), higher)
    for k in range(count):
        values = spaces.draw(SPACE, 1, k)
        score = 60 + 40 * (float(values["x"]) - 0.4) ** 2 + 5 * float(values["y"])
        history = histories.propose(history, values, tuple(range(seeds)))
        scores = score + noise * random.normal(size=seeds)
        history = histories.tell(history, k, Result(tuple(map(float, scores))))
    return history


def test_posterior_is_in_the_metrics_unit() -> None:
    """Dies if the direction is lost, or means and spreads stay standardised."""
    history = _history(30, 0.01)
    rows = posterior.describe(SPACE, history)
    best = min(histories.settings(history), key=lambda setting: setting.scores[0])
    assert rows[0].setting == best
    for row in rows[:10]:
        assert row.mean == pytest.approx(row.setting.scores[0], abs=0.2)
        assert 0 < row.sd < 0.5
    assert sum(row.best for row in rows) == pytest.approx(1)
    assert posterior.describe(SPACE, History()) == []


def test_probability_of_best_of_two() -> None:
    """Dies if draws are not joint: P(f1 > f2) of two correlated normals has a closed form."""
    fitted = gp.fit(SPACE, _history(2, 3.0))
    assert fitted.model is not None
    mean, factor = gaussian_process.joint(fitted.model, fitted.features)
    covariance = factor @ factor.T
    sd = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    expected = stats.norm.cdf((mean[0] - mean[1]) / sd)
    assert posterior.probability_of_best(fitted, 0)[0] == pytest.approx(expected, abs=0.05)


def test_probability_of_better() -> None:
    """Dies if the margin has the wrong unit or sign, or what is known does not lower it."""
    early, late = _history(4, 0.5), _history(60, 0.05)
    falls = [posterior.probability_of_better(SPACE, early, m) for m in (0.0, 1.0, 5.0, 50.0)]
    assert falls == sorted(falls, reverse=True) and falls[0] > 0.5 and falls[-1] < 0.05
    assert posterior.probability_of_better(SPACE, late, 2.0) < 0.1 < falls[1]
    assert posterior.probability_of_better(SPACE, History(), 1.0) == 1.0
    with pytest.raises(DataError, match="margin"):
        posterior.probability_of_better(SPACE, late, -1.0)


def test_probability_of_better_when_all_is_known() -> None:
    """Dies if a setting counts as better than itself, or one of a small space is left out."""
    space = spaces.from_dict({"n": {"integer": [1, 3]}})
    history = History()
    for n in (1, 2, 3):
        history = histories.propose(history, {"n": n}, (0,))
        history = histories.tell(history, n - 1, Result((float(n),)))
    assert posterior.probability_of_better(space, history, 1.0) < 0.1
    history = histories.propose(History(), {"n": 2}, (0,))
    history = histories.tell(history, 0, Result((1.0,)))
    assert posterior.probability_of_better(space, history, 0.0) > 0.5


@pytest.mark.parametrize("higher", [True, False])
def test_optimism_covers(higher: bool) -> None:
    """Dies if the sign ignores the direction, or the interval is not Student's: 95 % of times."""
    random, sign, covered = np.random.default_rng(0), 1.0 if higher else -1.0, 0
    for _ in range(2000):
        fresh = 5 + random.normal(size=4)
        told = posterior.optimism([5 + sign * 2.0], fresh.tolist(), higher)
        covered += told.optimism[1] <= 2.0 <= told.optimism[2]
        assert told.optimism[0] == pytest.approx(2.0 - sign * (fresh.mean() - 5))
    assert 0.935 < covered / 2000 < 0.965
    with pytest.raises(DataError, match="fresh"):
        posterior.optimism([1.0], [1.0], higher)


@pytest.mark.parametrize("seed", range(6))
def test_expected_rise_against_simulation(seed: int) -> None:
    """Dies if a line below the envelope counts, or equal slopes divide by 0."""
    random = np.random.default_rng(seed)
    means, slopes = random.normal(size=(2, 7))
    slopes[3:5] = slopes[2]
    z = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    best = np.max(means[:, None] + slopes[:, None] * z, axis=0)
    value = replicates.expected_rise(means, slopes)
    assert value == pytest.approx(best.mean() - means.max(), rel=1e-3, abs=1e-5)
    assert replicates.expected_rise(means, np.ones(7)) == 0.0


def test_seeds_go_where_they_decide() -> None:
    """Dies if noise does not call for seeds, or a quiet objective is repeated."""
    new = {"x": 0.05, "y": 0.95}
    quiet = replicates.further_seed(SPACE, _history(30, 0.0), new)
    assert quiet is None
    noisy = _history(30, 6.0)
    again = replicates.further_seed(SPACE, noisy, new)
    assert again is not None
    rows = posterior.describe(SPACE, noisy)
    assert again in [dict(row.setting.values) for row in rows[:12]]


def test_running_seeds_count() -> None:
    """Dies if a setting is repeated again and again while its further seeds run."""
    history = _history(30, 6.0)
    new = {"x": 0.05, "y": 0.95}
    fitted = gp.fit(SPACE, history)
    proposed = np.array([[0.05, 0.95]])
    order, before = replicates.knowledge_gradients(fitted, proposed)
    first = fitted.settings[order[int(np.argmax(before[:-1]))]].values
    for k in range(8):
        history = histories.propose(history, first, (100 + k,))
    order, after = replicates.knowledge_gradients(gp.fit(SPACE, history), proposed)
    assert after[int(np.argmax(before[:-1]))] < 0.5 * before[:-1].max()
    assert replicates.further_seed(SPACE, history, new) != first
