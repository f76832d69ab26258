"""What is said of a search: against force, mixtures, analytic indices."""

import math

import numpy as np
import pytest

from jaxeval import space as spaces
from jaxeval.tuning import candidates, encoding, gp, insight
from jaxeval.tuning.encoding import encoder
from jaxeval.tuning.history import History
from tests.tuning.searches import PLANE, ended


def _plateau(count: int) -> History:
    """Scores from .45 to .95, more than half of them within .01 of the best."""
    random = np.random.default_rng(1)

    def result(values: dict) -> tuple[float]:
        noise = 0.001 * random.normal()
        return (0.95 - 0.5 * max(0.0, 0.5 - values["x"]) + noise,)

    return ended(PLANE, count, result)


def test_worse_is_the_share_of_joint_draws() -> None:
    """Dies if the covariance of two settings, or the draws of hyperparameters, are left out."""
    fitted = gp.fit(PLANE, _plateau(30))
    assert fitted.model is not None
    drawn = insight._draw_models(fitted.model, fitted.model.data, 4, [0])
    random = np.random.default_rng(0)
    order = gp.ranked(fitted)
    for own in (order[0], order[20]):
        points = fitted.features[[own, *order[4::4]]]
        shares = []
        for model in drawn:
            prediction = model.predict(points)
            noise = random.normal(size=(len(points), 20_000))
            values = prediction.mean[:, None] + model.joint_factor(prediction) @ noise
            shares.append(np.mean(values[1:] < values[0], axis=1))
        worse = insight._worse(drawn, points[1:], points[:1])
        np.testing.assert_allclose(worse, np.mean(shares, axis=0), atol=0.01)


MIXED = spaces.from_dict(
    {
        "rate": {"log_uniform": [1e-4, 1.0]},
        "layers": {"integer": [1, 4]},
        "cell": {"choices": ["lstm", "gru"]},
        "idle": {"uniform": [0.0, 1.0]},
        "peephole": {"uniform": [0.0, 1.0], "when": {"cell": ["lstm"]}},
    }
)


def _loss(values: dict) -> float:
    """The hyperparameter `idle` does nothing."""
    branch = 0.4 if values["cell"] == "gru" else (values["peephole"] - 0.3) ** 2
    return (math.log10(values["rate"]) + 2) ** 2 + 0.3 * values["layers"] + branch


@pytest.fixture(scope="module")
def searched() -> History:
    """60 Sobol points, which are even: what they say of the space is nearly all."""
    history = History((), higher_is_better=False)
    for number, values in enumerate(candidates.sobol(MIXED, history, 60, 0)):
        history = history.propose(values, [number])
        history = history.tell(number, (_loss(values),))
    return history


def test_importance_is_that_of_the_objective_as_it_is_warped(searched: History) -> None:
    """Dies if hyperparameters, direction, conditions or the warp are lost.

    The truth is by force: the same warp on the true objective of a large sample.
    """
    fitted = gp.fit(MIXED, searched)
    rows = {of.name: of for of in insight._importance(MIXED, fitted)}
    known = -np.array([_loss(dict(e.values)) for e in searched.evaluations])
    warped = encoding._half_rank(known, gp._weights(fitted.places))
    order = np.argsort(known)

    def truth(quantiles: np.ndarray) -> np.ndarray:
        settings = encoder(MIXED).settings(encoder(MIXED).from_quantiles(quantiles))
        values = -np.array([_loss(values) for values in settings])
        return np.interp(values, known[order], warped[order])[:, None]

    first, total = insight._sobol_indices(truth, 5, [2])
    for k, parameter in enumerate(MIXED.parameters):
        assert rows[parameter.name].first == pytest.approx(first[k, 0], abs=0.08)
        assert rows[parameter.name].total == pytest.approx(total[k, 0], abs=0.12)
    assert (
        next(iter(rows)) == "rate" and min(rows.values(), key=lambda of: of.total).name == "idle"
    )
    spread = rows["rate"].total_spread
    assert 0 <= spread.low < spread.high <= 1


def test_indices_of_ishigami_are_the_analytic_ones() -> None:
    """Dies if first-order and total indices are confused, or columns are mixed up.

    (Saltelli et al. 2008, section 4.8, with 7 and .1.)
    """

    def functions(q: np.ndarray) -> np.ndarray:
        a, b, c = (2 * math.pi * q - math.pi).T
        ishigami = np.sin(a) + 7 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)
        return np.column_stack([ishigami, q[:, 0] + 2 * q[:, 2], 0 * q[:, 0]])

    first, total = insight._sobol_indices(functions, 3, [0], exponent=13)
    assert first[:, 0] == pytest.approx((0.3139, 0.4424, 0.0), abs=0.01)
    assert total[:, 0] == pytest.approx((0.5576, 0.4424, 0.2437), abs=0.01)
    assert first[:, 1] == pytest.approx([0.2, 0, 0.8], abs=0.01)
    assert not first[:, 2].any() and not total[:, 2].any()  # constant


@pytest.fixture
def no_importance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importance takes most of the time, and has a test of its own."""
    monkeypatch.setattr(insight, "_importance", lambda *arguments: [])


@pytest.mark.usefixtures("no_importance")
def test_the_best_is_not_told_apart_from_itself(searched: History) -> None:
    """Dies if the best setting is not among those that may be as good, or a far one is."""
    best = gp.best(MIXED, searched)
    said = insight.insight(MIXED, searched)
    assert best is not None and said is not None and not said.noise_known
    assert said.alike[0] == best.number and len(said.alike) < 30
    assert searched.ranked()[-1].number not in said.alike
    assert insight.insight(MIXED, History()) is None


@pytest.mark.usefixtures("no_importance")
def test_noise_is_known_from_seeds_of_good_settings() -> None:
    """Dies if one seed a setting, or seeds of bad settings alone, tell the noise."""
    for scores, known in (
        ([(1.0, 1.1, 1.2), (2.0, 2.2, 2.1), (0.0,)], True),
        ([(1.0, 1.1, 1.2), (2.0, 2.2), (0.0,)], False),
        ([(1.0,), (2.0,), (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)], False),
    ):
        several = iter(scores)
        history = ended(PLANE, 3, lambda values, s=several: next(s))
        said = insight.insight(PLANE, history)
        assert said is not None and said.noise_known is known
