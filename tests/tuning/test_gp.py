"""Proposals: against the posterior itself, force and simulation."""

import math

import numpy as np
import pytest

from jaxeval import space as spaces
from jaxeval.tuning import candidates, gp, process
from jaxeval.tuning.encoding import encoder
from jaxeval.tuning.history import Halving, History, Stopped, identity
from jaxeval.tuning.process import Data, Kernel, Model
from tests.tuning.searches import PLANE, ended

SPACE = spaces.from_dict(
    {
        "rate": {"log_uniform": [1e-4, 1.0]},
        "layers": {"integer": [1, 4]},
        "kind": {"choices": ["a", "b"]},
        "momentum": {"uniform": [0.0, 1.0], "when": {"kind": ["a"]}},
    }
)


def _score(values: dict) -> float:
    missed = {"a": (values.get("momentum", 0) - 0.7) ** 2, "b": 0.3}[values["kind"]]
    return -((math.log10(values["rate"]) + 2) ** 2) - 0.1 * (values["layers"] - 3) ** 2 - missed


def _scored(values: dict) -> tuple[float]:
    return (_score(values),)


def _check(history: History, proposed: list[dict]) -> None:
    """All can be drawn, and none is there twice."""
    every = [*(e.values for e in history.evaluations), *proposed]
    assert len({identity(values) for values in every}) == len(every)
    assert encoder(SPACE).settings(encoder(SPACE).places(proposed)) == proposed


def test_better_than_random() -> None:
    """Dies if proposals ignore the results: of 4 rounds of 4 after 12 draws the best is near."""
    history = ended(SPACE, 12, _scored)
    for _ in range(4):
        for values in gp.propose(SPACE, history, 4, 0):
            history = history.propose(values, (0,))
            history = history.tell(len(history.evaluations) - 1, _scored(values))
    scores = [e.scores[0] for e in history.ended]
    assert max(scores[12:]) > -0.02 > max(scores[:12])
    best = gp.best(SPACE, history)
    assert best is not None and _score(dict(best.values)) > -0.02


def test_batch_is_what_single_requests_give() -> None:
    """Dies if a proposal depends on the batch it is asked for in, or ignores what runs."""
    history = ended(SPACE, 10, _scored)
    batch = gp.propose(SPACE, history, 4, 3)
    _check(history, batch)
    assert gp.propose(SPACE, history, 4, 3) == batch
    for values in batch:
        assert gp.propose(SPACE, history, 1, 3) == [values]
        history = history.propose(values, (0,))
    assert gp.propose(SPACE, history, 1, 4) != gp.propose(SPACE, history, 1, 3)


def test_the_model_waits_for_results() -> None:
    """Dies if the model proposes with fewer than four results, when it asks for corners of the
    space, or Sobol points go on after them: what counts has ended, however much runs."""
    for count, running in ((0, 9), (1, 7), (3, 9), (4, 4), (4, 3)):
        history = ended(SPACE, count, _scored)
        for values in candidates.sobol(SPACE, history, running, 3):
            history = history.propose(values, (0,))
        sobol = gp.propose(SPACE, history, 1, 3) == candidates.sobol(SPACE, history, 1, 3)
        assert sobol == (count < 4 or count + running < 8)


def test_failures_are_avoided() -> None:
    """Dies if failures are dropped: the best scores border on what fails."""
    space = spaces.from_dict({"x": {"uniform": [0.0, 1.0]}, "y": {"uniform": [0.0, 1.0]}})

    def result(values: dict) -> tuple[float] | str:
        fails = values["x"] > 0.5
        return "out of memory" if fails else (values["x"],)

    history = ended(space, 24, result)
    for k in range(24, 40, 4):
        for values in gp.propose(space, history, 4, 0):
            history = history.propose(values, (0,))
        for number in range(k, k + 4):
            outcome = result(dict(history.evaluations[number].values))
            history = history.tell(number, outcome)
    proposed = [float(evaluation.values["x"]) for evaluation in history.evaluations[24:]]
    assert max(x for x in proposed if x <= 0.5) > 0.49
    assert sum(x > 0.5 for x in proposed[8:]) <= 4
    points = np.array([[0.1, 0.5], [0.9, 0.5]])
    probability = np.exp(gp._log_success(gp.fit(space, history).success, points))
    assert probability[0] > 0.6 and probability[1] < 0.1
    assert gp.fit(SPACE, ended(SPACE, 5, _scored)).success is None


def test_small_spaces_end() -> None:
    """Dies if a setting is proposed twice once all were, or some are never proposed."""
    space = spaces.from_dict(
        {
            "a": {"choices": ["x", "y"]},
            "b": {"integer": [1, 5], "when": {"a": ["x"]}},
            "c": {"integer": [3, 3]},
        }
    )
    history, every = History(), []
    while proposed := gp.propose(space, history, 2, 0):
        for values in proposed:
            every.append(identity(values))
            history = history.propose(values, (0,))
            score = (float(values.get("b", 0)),)
            history = history.tell(len(history.evaluations) - 1, score)
    assert len(every) == len(set(every)) == 6
    only = spaces.from_dict({"c": {"choices": ["a"]}})
    assert gp.propose(only, ended(only, 1, lambda values: (1.0,)), 2, 0) == []


def test_more_settings_than_are_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the part that a long history is reduced to lacks the best, or is unordered."""
    monkeypatch.setattr(gp, "_FITTED", 12)
    monkeypatch.setattr(gp, "_CONDITIONED", 16)
    history = ended(SPACE, 30, _scored)
    fitted = gp.fit(SPACE, history)
    assert fitted.model is not None and len(fitted.model.data.targets) == 16
    assert fitted.targets is not None
    assert set(np.sort(fitted.targets.values)[-8:]) <= set(fitted.model.data.targets)
    _check(history, gp.propose(SPACE, history, 2, 0))
    part = gp._part(Data(*(np.arange(100.0) for _ in range(4))), 10)
    np.testing.assert_array_equal(part.targets[-5:], np.arange(95.0, 100))
    np.testing.assert_array_equal(part.targets, part.variances)


def test_the_process_knows_the_budget_of_a_score() -> None:
    """Against a process over one axis more; dies if budgets are lost, predictions are of trainings
    that were stopped, or scores at rungs are left out."""
    history = History()
    for number, epochs in enumerate((1, 3, 9, 1, 3, 9)):
        history = history.propose({"x": number / 6, "y": 0.5}, [number])
        stopped = None if epochs == 9 else Stopped(epochs, 9)
        history = history.tell(number, (0.1 * number,), stopped)
        rungs = (0.05,) * (0 if epochs == 1 else 1) + ((0.1 * number,) if stopped else ())
        history = history.change(number, rungs=rungs)
    fitted = gp.fit(PLANE, history)
    model = fitted.model
    assert model is not None and fitted.features.shape == (6, 2)
    assert np.allclose(model.data.features[:, 2], [0, 0.5, 1, 0, 0.5, 1, 0, 0, 0, 0])
    new = np.array([[0.2, 0.5]])
    data = model.data.features
    inner = model.prior_covariance(data, data)
    inner += math.exp(model.kernel.noise) * np.eye(10)
    at = np.column_stack([new, [1.0]])
    cross = model.prior_covariance(at, data)
    mean = cross @ np.linalg.solve(inner, model.data.targets)
    assert model.predict(new).mean == pytest.approx(mean, abs=1e-6)
    taken = gp.best(PLANE, history)
    assert taken is not None and taken.number in (2, 5)  # of whole trainings


def test_settings_are_ranked_between_their_means_and_their_scores() -> None:
    """Dies if a mean moves to its score by another share than that of the fitted noise."""
    draw = np.random.default_rng(0)
    fitted = gp.fit(PLANE, ended(PLANE, 20, lambda of: (float(of["x"] + draw.normal() / 2),)))
    assert fitted.model is not None and fitted.targets is not None
    noise, means = math.exp(fitted.model.kernel.noise), fitted.model.predict(fitted.features).mean
    orders = [
        np.argsort(-(means + share * (fitted.targets.values - means))).tolist()
        for share in (noise / (1 + noise), 0.0, noise, 1.0)
    ]
    assert gp.ranked(fitted).tolist() == orders[0] not in orders[1:]


def test_the_next_setting_improves_where_enough_trainings_have_been() -> None:
    """Dies if improvement is sought at another budget than the largest that three settings (two
    hyperparameters, and one) have had."""
    history = History((), False)
    for values in candidates.sobol(PLANE, history, 12, 0):
        history = history.propose(values, history.fresh_seeds(1))
    order = np.random.default_rng(0).permutation(12) / 12
    for epochs in (1, 3, 9):
        reached = {
            e.number: (float(order[e.number]) + 9 / epochs, Stopped(epochs, 27))
            for e in history.pending
        }
        history = Halving(3).judge(history, reached)
    (last,) = history.pending
    fitted = gp.fit(PLANE, history.tell(last.number, (0.0,)))
    assert fitted.model is not None and fitted.budget == pytest.approx(1 / 3)
    assert len(fitted.model.data.targets) == 12 + 4 + 0 + 1  # of the third rung no budget is known
    able = gp.ranked(fitted, fitted.budget)
    assert len(able) == 4


GOLDEN = {
    3.0: 1.098739665327708,
    0.0: -0.9189385332046727,
    -1.0: -2.485121025712641,
    -5.0: -16.74430116266099,
    -10.0: -55.55312203612236,
    -40.0: -808.29856835662,
    -1000.0: -500014.7344520912,
}


def _model(noise: float = -3.0) -> Model:
    random = np.random.default_rng(1)
    points = random.random((10, 2))
    values = np.sin(5 * points[:, 0]) + points[:, 1] + 0.1 * random.normal(size=10)
    data = Data(points, values - values.mean(), np.zeros(10), np.ones(10))
    kernel = Kernel(0.0, noise, np.log([0.4, 0.8]), np.zeros(0), np.zeros(0))
    return process.condition(kernel, encoder(PLANE).columns, data)


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
