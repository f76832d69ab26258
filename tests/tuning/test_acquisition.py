"""Expected improvement against golden values and simulation."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from jaxeval.space import space as spaces
from jaxeval.tuning import acquisition, encoding, gaussian_process
from jaxeval.tuning.gaussian_process import Data
from jaxeval.tuning.kernels import Kernel

SPACE = spaces.from_dict({"x": {"uniform": [0.0, 1.0]}, "y": {"uniform": [0.0, 1.0]}})
GOLDEN = {
    3.0: 1.098739665327708,
    0.0: -0.9189385332046727,
    -1.0: -2.485121025712641,
    -5.0: -16.74430116266099,
    -10.0: -55.55312203612236,
    -40.0: -808.29856835662,
    -1000.0: -500014.7344520912,
}


def _model(noise: float = -3.0) -> gaussian_process.Model:
    random = np.random.default_rng(1)
    points = random.random((10, 2))
    values = np.sin(5 * points[:, 0]) + points[:, 1] + 0.1 * random.normal(size=10)
    data = Data(points, values - values.mean(), np.zeros(10), np.ones(10))
    kernel = Kernel(0.0, np.log([0.4, 0.8]), np.zeros(0), np.zeros(0))
    return gaussian_process.condition(kernel, noise, encoding.layout(SPACE), data)


@pytest.mark.parametrize(("u", "log"), GOLDEN.items())
def test_golden_values(u: float, log: float) -> None:
    """Dies if the tail is taken from log(phi + u Phi), which is -inf from about -38."""
    assert acquisition.log_improvement(np.array([u]))[0] == pytest.approx(log, rel=1e-14)


def test_no_jump_between_branches() -> None:
    """Dies if a branch begins elsewhere than its neighbour ends, or digits are lost at -1e6.

    The slope of log h is Phi / h, about -u far below; a jump of .01 is more than a step's share.
    """
    for edge, slope, step in ((-1.0, 1.9043, 1e-9), (-1e6, 1e6, 1e-13)):
        u = edge * (1 + np.array([step, -step]))
        low, high = acquisition.log_improvement(u)
        assert high - low == pytest.approx(slope * (u[1] - u[0]), rel=0.01)


def test_expected_improvement_is_the_integral() -> None:
    """Dies if the standard deviation's own factor is left out."""
    value = acquisition.log_expected_improvement(np.array([0.3]), np.array([0.7]), np.array([1.1]))
    numeric, _ = integrate.quad(
        lambda f: (f - 1.1) * stats.norm.pdf(f, 0.3, 0.7), 1.1, 12, epsabs=1e-13
    )
    assert math.exp(value[0]) == pytest.approx(numeric, rel=1e-9)


def test_batch_improvement_against_simulation() -> None:
    """Dies if draws are not joint, or if the drawn settings' own improvement counts for x.

    The log of E max(known and x) - E max(known) from a million joint draws.
    """
    model = _model()
    pending = np.array([[0.2, 0.9], [0.35, 0.95], [0.8, 0.1]])
    points = np.array([[0.25, 1.0], [0.6, 0.8], [0.05, 0.5]])
    fantasies = acquisition.fantasise(model, pending, 4096, [0])
    logs = acquisition.log_batch_improvement(model, fantasies, points)
    random = np.random.default_rng(7)
    for point, log in zip(points, logs, strict=True):
        mean, factor = gaussian_process.joint(model, np.vstack([pending, point]))
        drawn = mean[:, None] + factor @ random.normal(size=(4, 1_000_000))
        added = np.maximum(drawn[3] - drawn[:3].max(axis=0), 0)
        error = added.std() / 1000
        assert math.exp(log) == pytest.approx(added.mean(), abs=5 * error + 0.01 * added.mean())


def test_believer_is_one_fantasy_at_the_mean() -> None:
    """Dies if one fantasy is a random one: the believer conditions on the posterior mean."""
    model, pending = _model(), np.array([[0.3, 0.9]])
    fantasies = acquisition.fantasise(model, pending, 1, [0])
    mean = gaussian_process.predict(model, pending).mean[0]
    assert fantasies.best[0] == pytest.approx(mean)
    data = model.data
    believed = Data(
        np.vstack([data.features, pending]),
        np.append(data.targets, mean),
        np.append(np.zeros(10), -math.exp(model.noise)),  # without noise
        np.ones(11),
    )
    other = gaussian_process.condition(model.kernel, model.noise, model.columns, believed)
    points = np.random.default_rng(2).random((5, 2))
    prediction = gaussian_process.predict(other, points)
    expected = acquisition.log_expected_improvement(
        prediction.mean, np.sqrt(prediction.variance), fantasies.best
    )
    np.testing.assert_allclose(
        acquisition.log_batch_improvement(model, fantasies, points), expected, rtol=1e-4
    )


def test_pending_settings_push_away() -> None:
    """Dies if what runs is ignored."""
    model, point = _model(), np.array([[0.3, 0.95]])
    known = np.array([[0.35, 0.6]])
    alone = acquisition.fantasise(model, known, 128, [0])
    beside = acquisition.fantasise(model, np.vstack([known, point + 0.01]), 128, [0])
    logs = [acquisition.log_batch_improvement(model, p, point)[0] for p in (alone, beside)]
    assert logs[1] < logs[0] - 1.0


def test_what_lies_by_a_noisy_best_improves_by_nothing() -> None:
    """Dies if improvement is over the mean of the best and not over draws of it: one setting at a
    time the search would stay beside it for as long as its scores have noise."""
    model = _model(noise=-1.0)
    best = np.array([[0.3, 0.95]])
    beside, elsewhere = best + 0.001, np.array([[0.9, 0.95]])
    draws = acquisition.fantasise(model, best, 128, [0])
    logs = [acquisition.log_batch_improvement(model, draws, p)[0] for p in (beside, elsewhere)]
    mean = acquisition.fantasise(model, best, 1, [0]).best
    predictions = [gaussian_process.predict(model, p) for p in (beside, elsewhere)]
    over_mean = [
        acquisition.log_expected_improvement(p.mean, np.sqrt(p.variance), mean)[0]
        for p in predictions
    ]
    assert over_mean[0] > over_mean[1] and logs[0] < logs[1] - 1.0
