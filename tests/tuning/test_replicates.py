"""Further seeds: where they decide, against simulation, and where settings fail."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxeval.space import space as spaces
from jaxeval.tuning import gaussian_process, gp, posterior, replicates
from jaxeval.tuning import history as histories
from jaxeval.tuning.history import History, Result
from tests.tuning import quadratic
from tests.tuning.quadratic import SPACE


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
    quiet, noisy = quadratic.history(30, 0.0), quadratic.history(30, 6.0)
    new = [{"x": 0.05, "y": 0.95}]
    known = [evaluation.values for evaluation in quiet.evaluations]
    assert replicates.propose(SPACE, quiet, 1, 0)[0] not in known
    again = replicates.further_seed(SPACE, noisy, gp.fit(SPACE, noisy), new)
    assert again in [row.setting.values for row in posterior.describe(SPACE, noisy)[:12]]


def test_running_seeds_count() -> None:
    """Dies if a setting is repeated again and again while its further seeds run."""
    fitted, new = gp.fit(SPACE, quadratic.history(30, 6.0)), np.array([[0.05, 0.95]])
    order, before = replicates.knowledge_gradients(fitted, np.zeros(30), new)
    first = int(np.argmax(before[:-1]))
    running = np.zeros(30)
    running[order[first]] = 8
    _, after = replicates.knowledge_gradients(fitted, running, new)
    assert after[first] < 0.5 * before[first]


def test_knowledge_gradient_is_the_rise_after_the_score() -> None:
    """Dies if the noise of a score is left out: the rise of the refitted posterior, simulated."""
    fitted = quadratic.with_noise(gp.fit(SPACE, quadratic.history(6, 2.0)), 0.0)
    assert fitted.model is not None
    order, values = replicates.knowledge_gradients(fitted, np.zeros(6), np.empty((0, 2)))
    model, random = fitted.model, np.random.default_rng(0)
    chosen = fitted.features[order[:1]]
    prediction = gaussian_process.predict(model, chosen)
    sd = math.sqrt(prediction.variance[0] + math.exp(model.noise))
    before = gaussian_process.predict(model, fitted.features).mean.max()
    rises = []
    for score in prediction.mean[0] + sd * random.normal(size=1000):
        data = model.data
        more = gaussian_process.Data(
            np.vstack([data.features, chosen]),
            np.append(data.targets, score),
            np.append(data.variances, 0.0),
            np.append(data.shares, 1.0),
        )
        later = gaussian_process.condition(model.kernel, model.noise, model.columns, more)
        rises.append(gaussian_process.predict(later, fitted.features).mean.max() - before)
    error = np.std(rises) / math.sqrt(len(rises))
    assert values[0] == pytest.approx(np.mean(rises), abs=4 * error)


def test_a_new_setting_is_worth_its_mean() -> None:
    """Dies if a new setting that is surely better is worth nothing, as it will be no surprise."""
    quiet = quadratic.history(30, 0.0)
    fitted = gp.fit(SPACE, quiet)
    assert fitted.model is not None
    new = gp.propose(SPACE, quiet, 1, 0, fitted=fitted)[0]
    features = np.array([[new["x"], new["y"]]])
    known = gaussian_process.predict(fitted.model, fitted.features).mean.max()
    ahead = gaussian_process.predict(fitted.model, features).mean[0] - known
    assert ahead > 0.01
    _, values = replicates.knowledge_gradients(fitted, np.zeros(30), features)
    assert values[-1] >= ahead > 10 * values[:-1].max()


def test_a_space_without_new_settings_repeats() -> None:
    """Dies if a space whose settings are all known gets no further seeds."""
    space, history = spaces.from_dict({"n": {"integer": [1, 3]}}), History()
    random = np.random.default_rng(0)
    for k in range(9):
        history = histories.propose(history, {"n": k % 3 + 1}, (k,))
        history = histories.tell(history, k, Result((float(random.normal()),)))
    assert [{"n"} == set(values) for values in replicates.propose(space, history, 2, 0)] == [
        True
    ] * 2


def test_a_failing_setting_is_neither_repeated_nor_taken() -> None:
    """Dies if failures of a setting's further seeds do not count against it."""
    history = quadratic.history(30, 6.0)
    best = posterior.describe(SPACE, history)[0].setting.values
    new = [{"x": 0.05, "y": 0.95}]
    for _ in range(3):
        history = histories.propose(history, best, (len(history.evaluations),))
        history = histories.tell(history, len(history.evaluations) - 1, Result(failure="diverged"))
    fitted = gp.fit(SPACE, history)
    order, _ = replicates.knowledge_gradients(fitted, np.zeros(30), np.array([[0.05, 0.95]]))
    assert len(order) == 29
    assert best not in [fitted.settings[k].values for k in order]
    assert replicates.further_seed(SPACE, history, fitted, new) != best
    assert gp.best_setting(SPACE, history) != best
    rows = posterior.describe(SPACE, history)
    assert rows[0].setting.values == gp.best_setting(SPACE, history)
    assert sum(row.best for row in rows) == pytest.approx(1)
    assert next(row.best for row in rows if row.setting.values == best) == 0


def test_where_all_failed_once_one_is_taken() -> None:
    """Dies if nothing is taken where all settings failed at another seed, or they are repeated."""
    history = quadratic.history(3, 0.1)
    for evaluation in history.evaluations:
        history = histories.propose(history, evaluation.values, (9,))
        number = len(history.evaluations) - 1
        history = histories.tell(history, number, Result(failure="diverged"))
    assert gp.best_setting(SPACE, history) is not None
    fitted, new = gp.fit(SPACE, history), [{"x": 0.05, "y": 0.95}]
    more = histories.propose(history, new[0], (0,))
    for k in range(4, gp.INITIAL):
        more = histories.propose(more, {"x": k / 10, "y": 0.5}, (k,))
    assert replicates.further_seed(SPACE, more, fitted, new) is None
    assert replicates.further_seed(SPACE, more, fitted, []) is not None
