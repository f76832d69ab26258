"""Sobol indices and posterior draws, against analytic values and dense formulas."""

import math

import numpy as np
import pytest

from jaxeval.space import space as spaces
from jaxeval.tuning import (
    additive,
    encoding,
    gaussian_process,
    gp,
    hyperparameters,
    importance,
    paths,
    sampling,
    warping,
)
from jaxeval.tuning import history as histories
from jaxeval.tuning.additive import Model
from jaxeval.tuning.gaussian_process import Data
from jaxeval.tuning.history import History, Result

AXES = spaces.from_dict({name: {"uniform": [-math.pi, math.pi]} for name in "abc"})
# Ishigami & Homma (1990) with 7 and .1: Sobol indices by hand (Saltelli et al. 2008, 4.8)
FIRST, TOTAL = (0.3139, 0.4424, 0.0), (0.5576, 0.4424, 0.2437)


def _ishigami(quantiles: np.ndarray) -> np.ndarray:
    a, b, c = (2 * math.pi * quantiles - math.pi).T
    return np.sin(a) + 7 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)


def _models(count: int, draws: int, noise: float = 0.0) -> list[Model]:
    """Draws of hyperparameters, of Ishigami's function at Sobol points with noise."""
    proposed = sampling.sobol(AXES, History(), count, 1)
    features = encoding.features(AXES, encoding.places(AXES, proposed))
    values = _ishigami(features)
    values = (values - values.mean()) / values.std()
    values += noise * np.random.default_rng(2).normal(size=count)
    data = Data(features, values, np.zeros(count), np.ones(count))
    like = gaussian_process.fit(data, encoding.layout(AXES))
    return hyperparameters.draw(like, data, draws, [0])


def _evaluate(model: Model, drawn: paths.Paths, features: np.ndarray) -> np.ndarray:
    squared = additive.distances(model.group, features, model.data.features)
    return paths.evaluate(drawn, features, squared)


def _posterior(model: Model, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean [m] and covariance [m, m] of the objective (Rasmussen & Williams 2006, 2.25, 2.26)."""
    features = np.concatenate([model.data.features, new])
    prior = 1 + additive.covariance(
        model.kernel, additive.distances(model.group, features, features)
    )
    n = len(model.data.features)
    noisy = prior[:n, :n] + math.exp(model.noise) * np.eye(n)
    gain = np.linalg.solve(noisy, prior[:n, n:]).T
    return gain @ model.data.targets, prior[n:, n:] - gain @ prior[:n, n:]


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
    (model,) = _models(40, 1, noise=0.7)
    # beside settings with scores the noise is what is uncertain
    new = np.concatenate([model.data.features[:4], np.random.default_rng(1).random((2, 3))])
    drawn = np.concatenate(
        [_evaluate(model, paths.draw(model, 500, [seed]), new) for seed in range(8)], axis=1
    )
    mean, covariance = _posterior(model, new)
    sd = np.sqrt(np.diagonal(covariance))
    assert np.abs(drawn.mean(axis=1) - mean).max() < 0.1 * sd.max()
    off = np.cov(drawn) - covariance
    assert np.all(np.abs(off) < 0.15 * np.outer(sd, sd))


def test_draws_of_the_posterior_find_the_indices() -> None:
    """Dies if draws are not those of the posterior, or intervals do not hold what is true."""
    drawn = [(model, paths.draw(model, 4, [k])) for k, model in enumerate(_models(150, 16))]

    def functions(quantiles: np.ndarray) -> np.ndarray:
        return np.concatenate([_evaluate(*of, quantiles) for of in drawn], axis=1)

    first, total = importance.sobol_indices(functions, 3, [1])
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
    warped = warping.half_rank(known)
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


def test_what_changes_fast_alone_is_not_said_to_interact() -> None:
    """Dies if the process has no terms of single hyperparameters: b of Ishigami's function goes
    through two waves and interacts with nothing, and the product kernel says .75 of its total.
    """
    history = History((), higher_is_better=True)
    for number, values in enumerate(sampling.sobol(AXES, history, 50, 3)):
        score = float(_ishigami(encoding.places(AXES, [values]))[0])
        history = histories.propose(history, values, [number])
        history = histories.tell(history, number, Result((score,)))
    rows = {of.name: of for of in importance.importance(AXES, history)}
    assert rows["b"].total - rows["b"].first < 0.1
    assert rows["b"].total_spread.high < 0.75
