"""Expected improvement against golden values and simulation."""

import math

import numpy as np
import pytest

from jaxeval.space import space as spaces
from jaxeval.tuning import gp, process
from jaxeval.tuning.encoding import encoder
from jaxeval.tuning.process import Data, Kernel

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


def _model(noise: float = -3.0) -> process.Model:
    random = np.random.default_rng(1)
    points = random.random((10, 2))
    values = np.sin(5 * points[:, 0]) + points[:, 1] + 0.1 * random.normal(size=10)
    data = Data(points, values - values.mean(), np.zeros(10), np.ones(10))
    kernel = Kernel(0.0, noise, np.log([0.4, 0.8]), np.zeros(0), np.zeros(0))
    return process.condition(kernel, encoder(SPACE).columns, data)


@pytest.mark.parametrize(("u", "log"), GOLDEN.items())
def test_golden_values(u: float, log: float) -> None:
    """Dies if the tail is taken from log(phi + u Phi), which is -inf from about -38."""
    assert gp._log_improvement(np.array([u]))[0] == pytest.approx(log, rel=1e-14)


def test_batch_improvement_against_simulation() -> None:
    """Dies if draws are not joint, or if the drawn settings' own improvement counts for x.

    The log of E max(known and x) - E max(known) from a million joint draws.
    """
    model = _model()
    pending = np.array([[0.2, 0.9], [0.35, 0.95], [0.8, 0.1]])
    points = np.array([[0.25, 1.0], [0.6, 0.8], [0.05, 0.5]])
    logs = gp._improvement(model, pending, [0], 4096)(points)
    random = np.random.default_rng(7)
    for point, log in zip(points, logs, strict=True):
        both = model.predict(np.vstack([pending, point]))
        factor = model.joint_factor(both)
        drawn = both.mean[:, None] + factor @ random.normal(size=(4, 1_000_000))
        added = np.maximum(drawn[3] - drawn[:3].max(axis=0), 0)
        error = added.std() / 1000
        assert math.exp(log) == pytest.approx(added.mean(), abs=5 * error + 0.01 * added.mean())


def test_pending_settings_push_away() -> None:
    """Dies if what runs is ignored."""
    model, point = _model(), np.array([[0.3, 0.95]])
    known = np.array([[0.35, 0.6]])
    beside = np.vstack([known, point + 0.01])
    logs = [gp._improvement(model, unknown, [0])(point)[0] for unknown in (known, beside)]
    assert logs[1] < logs[0] - 1.0
