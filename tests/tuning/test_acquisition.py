"""Expected improvement and knowledge gradients against golden values and simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxeval.space import space as spaces
from jaxeval.tuning import acquisition, encoding, process
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
    return process.condition(kernel, encoding.columns(SPACE), data)


@pytest.mark.parametrize(("u", "log"), GOLDEN.items())
def test_golden_values(u: float, log: float) -> None:
    """Dies if the tail is taken from log(phi + u Phi), which is -inf from about -38."""
    assert acquisition.log_improvement(np.array([u]))[0] == pytest.approx(log, rel=1e-14)


def test_batch_improvement_against_simulation() -> None:
    """Dies if draws are not joint, or if the drawn settings' own improvement counts for x.

    The log of E max(known and x) - E max(known) from a million joint draws.
    """
    model = _model()
    pending = np.array([[0.2, 0.9], [0.35, 0.95], [0.8, 0.1]])
    points = np.array([[0.25, 1.0], [0.6, 0.8], [0.05, 0.5]])
    fantasies = acquisition.fantasise(model, pending, [0], 4096)
    logs = acquisition.log_batch_improvement(model, fantasies, points)
    random = np.random.default_rng(7)
    for point, log in zip(points, logs, strict=True):
        both = process.predict(model, np.vstack([pending, point]))
        factor = process.joint(model, both)
        drawn = both.mean[:, None] + factor @ random.normal(size=(4, 1_000_000))
        added = np.maximum(drawn[3] - drawn[:3].max(axis=0), 0)
        error = added.std() / 1000
        assert math.exp(log) == pytest.approx(added.mean(), abs=5 * error + 0.01 * added.mean())


def test_pending_settings_push_away() -> None:
    """Dies if what runs is ignored."""
    model, point = _model(), np.array([[0.3, 0.95]])
    known = np.array([[0.35, 0.6]])
    alone = acquisition.fantasise(model, known, [0])
    beside = acquisition.fantasise(model, np.vstack([known, point + 0.01]), [0])
    logs = [acquisition.log_batch_improvement(model, p, point)[0] for p in (alone, beside)]
    assert logs[1] < logs[0] - 1.0


@pytest.mark.parametrize("seed", range(6))
def test_expected_rise_against_simulation(seed: int) -> None:
    """Dies if a line below the envelope counts, or equal slopes divide by 0."""
    random = np.random.default_rng(seed)
    means, slopes = random.normal(size=(2, 7))
    slopes[3:5] = slopes[2]
    z = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    best = np.max(means[:, None] + slopes[:, None] * z, axis=0)
    value = acquisition.expected_rise(means, slopes)
    assert value == pytest.approx(best.mean() - means.max(), rel=1e-3, abs=1e-5)
    assert acquisition.expected_rise(means, np.ones(7)) == 0.0


def test_knowledge_gradient_is_the_rise_after_the_score() -> None:
    """Dies if the noise of a score is left out, an awaited score is not believed, or a new setting
    counts before it has a score: the rise of the refitted posterior, simulated."""
    model, random = _model(0.0), np.random.default_rng(0)
    known, new = model.data.features[:6], np.array([[0.3, 0.95]])
    values = acquisition.knowledge_gradients(model, known, np.zeros(6), new, 1.0)
    for number, chosen in ((0, known[:1]), (6, new)):
        both = known if number < 6 else np.vstack([known, new])
        prediction = process.predict(model, chosen)
        sd = math.sqrt(prediction.variance[0] + 1.0)
        before = process.predict(model, known).mean.max()
        rises = []
        for score in prediction.mean[0] + sd * random.normal(size=1000):
            more = Data(
                np.vstack([model.data.features, chosen]),
                np.append(model.data.targets, score),
                np.zeros(11),
                np.ones(11),
            )
            later = process.condition(model.kernel, model.columns, more)
            rises.append(process.predict(later, both).mean.max() - before)
        error = np.std(rises) / math.sqrt(len(rises))
        assert values[number] == pytest.approx(np.mean(rises), abs=4 * error)
    awaited = np.where(np.arange(6) == np.argmax(values[:6]), 8.0, 0.0)
    after = acquisition.knowledge_gradients(model, known, awaited, new, 1.0)
    assert after[int(np.argmax(awaited))] < values[:6].max() / 2
