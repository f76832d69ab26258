"""Sobol indices and posterior draws, against analytic values and dense formulas."""

import math

import numpy as np
import pytest

from jaxeval.space import space as spaces
from jaxeval.tuning import encoding, gaussian_process, gp, importance, paths, sampling, warping
from jaxeval.tuning import history as histories
from jaxeval.tuning.gaussian_process import Data, Model
from jaxeval.tuning.history import History, Result

AXES = spaces.from_dict({name: {"uniform": [-math.pi, math.pi]} for name in "abc"})
# Ishigami & Homma (1990) with 7 and .1: Sobol indices by hand (Saltelli et al. 2008, 4.8)
FIRST, TOTAL = (0.3139, 0.4424, 0.0), (0.5576, 0.4424, 0.2437)


def _ishigami(quantiles: np.ndarray) -> np.ndarray:
    a, b, c = (2 * math.pi * quantiles - math.pi).T
    return np.sin(a) + 7 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)


def _model(count: int, noise: float = 0.0) -> Model:
    """Fitted to Ishigami's function at Sobol points, standardised, with noise."""
    proposed = sampling.sobol(AXES, History(), count, 1)
    features = encoding.features(AXES, encoding.places(AXES, proposed))
    values = _ishigami(features)
    values = (values - values.mean()) / values.std()
    values += noise * np.random.default_rng(2).normal(size=count)
    data = Data(features, values, np.zeros(count), np.ones(count))
    return gaussian_process.fit(data, encoding.layout(AXES))


def test_indices_of_ishigami_are_the_analytic_ones() -> None:
    """Dies if first-order and total indices are confused, or columns are mixed up."""

    def functions(q: np.ndarray) -> np.ndarray:
        return np.column_stack([_ishigami(q), q[:, 0] + 2 * q[:, 2], 0 * q[:, 0]])

    first, total = importance.sobol_indices(functions, 3, [0], exponent=13)
    assert first[:, 0] == pytest.approx(FIRST, abs=0.01)
    assert total[:, 0] == pytest.approx(TOTAL, abs=0.01)
    assert first[:, 1] == pytest.approx([0.2, 0, 0.8], abs=0.01)
    assert total[:, 1] == pytest.approx([0.2, 0, 0.8], abs=0.01)
    assert not first[:, 2].any() and not total[:, 2].any()  # constant


def test_draws_have_the_posterior_mean_and_covariance() -> None:
    """Dies if data or noise do not move the draws, or frequencies are of another kernel."""
    model = _model(40, noise=0.7)
    # beside settings with scores the noise is what is uncertain
    new = np.concatenate([model.data.features[:4], np.random.default_rng(1).random((2, 3))])
    drawn = np.concatenate(
        [paths.evaluate(paths.draw(model, 500, [seed]), new) for seed in range(8)], axis=1
    )
    mean, factor = gaussian_process.joint(model, new)
    sd = np.sqrt(np.diagonal(factor @ factor.T))
    assert np.abs(drawn.mean(axis=1) - mean).max() < 0.1 * sd.max()
    off = np.cov(drawn) - factor @ factor.T
    assert np.all(np.abs(off) < 0.15 * np.outer(sd, sd))


def test_draws_of_the_posterior_find_the_indices() -> None:
    """Dies if draws are not those of the posterior, or intervals do not hold what is true."""
    drawn = paths.draw(_model(150), 64, [0])
    first, total = importance.sobol_indices(lambda q: paths.evaluate(drawn, q), 3, [1])
    for indices, truth in ((first, FIRST), (total, TOTAL)):
        assert indices.mean(axis=1) == pytest.approx(truth, abs=0.06)
        low, high = np.quantile(indices, [0.025, 0.975], axis=1)
        assert np.all(low - 0.02 <= truth) and np.all(truth <= high + 0.02)


def _loss(values: dict) -> float:
    """Of a setting; the hyperparameter `idle` does nothing."""
    peephole = values.get("peephole", 0.0)
    return (math.log10(values["rate"]) + 2) ** 2 + 2 * (values["cell"] == "gru") + 2 * peephole


def test_importance_of_a_search_is_that_of_the_objective_as_it_is_warped() -> None:
    """Dies if hyperparameters, direction, conditions or the warp are lost.

    The truth is by force: the same warp on the true objective of a large sample.
    """
    space = spaces.from_dict(
        {
            "rate": {"log_uniform": [1e-4, 1.0]},
            "cell": {"choices": ["lstm", "gru"]},
            "idle": {"uniform": [0, 1]},
            "peephole": {"uniform": [0, 1], "when": {"cell": ["lstm"]}},
        }
    )

    history = History((), higher_is_better=False)
    for values in sampling.sobol(space, history, 60, 0):
        history = histories.propose(history, values, [len(history.evaluations)])
        result = Result((_loss(values),))
        history = histories.tell(history, len(history.evaluations) - 1, result)
    rows = {of.name: of for of in importance.importance(space, history)}
    known = -np.array([_loss(dict(e.values)) for e in history.evaluations])
    places = encoding.places(space, [e.values for e in history.evaluations])
    warped = warping.half_rank(known, gp._weights(places))
    order = np.argsort(known)

    def truth(quantiles: np.ndarray) -> np.ndarray:
        settings = encoding.settings(space, encoding.from_quantiles(space, quantiles))
        values = -np.array([_loss(values) for values in settings])
        return np.interp(values, known[order], warped[order])[:, None]

    first, total = importance.sobol_indices(truth, 4, [2])
    for k, name in enumerate(("rate", "cell", "idle", "peephole")):
        assert rows[name].first == pytest.approx(first[k, 0], abs=0.08)
        assert rows[name].total == pytest.approx(total[k, 0], abs=0.1)
    assert min(rows.values(), key=lambda of: of.total).name == "idle"
    assert next(iter(rows)) == max(rows.values(), key=lambda of: of.total).name
    assert importance.importance(space, History()) == []
    assert gp.fit(space, History()).model is None


def test_draws_spread_wider_than_at_the_mode_of_hyperparameters() -> None:
    """Dies if hyperparameters stay at their mode: draws then hold the truth less often still."""
    random, history = np.random.default_rng(4), History((), higher_is_better=True)
    for number, values in enumerate(sampling.sobol(AXES, history, 40, 3)):
        score = _ishigami(encoding.places(AXES, [values]))[0]
        history = histories.propose(history, values, [number])
        history = histories.tell(history, number, Result((float(score + random.normal()),)))
    indices = importance.importance(AXES, history)
    model = gp.fit(AXES, history).model
    assert model is not None
    at_mode = paths.draw(model, 128, [0])

    def objective(quantiles: np.ndarray) -> np.ndarray:
        rows = encoding.from_quantiles(AXES, quantiles)
        return paths.evaluate(at_mode, encoding.features(AXES, rows))

    first, total = importance.sobol_indices(objective, 3, [1])
    ends = np.quantile([first, total], [0.025, 0.975], axis=2)
    spreads = [spread for of in indices for spread in (of.first_spread, of.total_spread)]
    widths = [spread.high - spread.low for spread in spreads]
    assert np.mean(widths) > 1.2 * np.mean(ends[1] - ends[0])
