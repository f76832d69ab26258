"""Scores and means that are equal, or differ by rounding alone."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from jaxeval import bandits
from jaxeval.bandits import Replay, evaluate, means, racing, replay

ENDED: list[Callable[[], bandits.Rule]] = [
    lambda: bandits.SequentialHalving(budget=8),
    lambda: bandits.NonAdaptive(delta=None, budget=8),
    lambda: bandits.TopTwoThompson(budget=40),
]


@pytest.mark.parametrize("rule", [bandits.TopTwoThompson, bandits.BatchThompson])
@pytest.mark.parametrize("constant", [0.1, 0.33, 0.7, 1 / 3])
def test_equal_constants_are_never_told_apart(rule: Any, constant: float) -> None:
    """Dies if sums over different numbers of equal scores make one of two models the better."""
    for seed in range(5):
        chosen = rule(budget=60, seed=seed)
        state = chosen.begin(["a", "b"])
        for told in evaluate.run(chosen, state, lambda name, number: constant):
            state = told.state
        answer = chosen.answer(state)
        assert answer is not None and answer.reason == "the budget is spent"
        assert answer.probability == pytest.approx(0.5, abs=1e-6)
        assert answer.level == ("a", "b") and answer.best == "a"


@pytest.mark.parametrize("models", [3, 4, 5])
def test_equal_constants_are_level_however_often_each_was_drawn(models: int) -> None:
    """Dies if tails of another length, or errors of the integral, part points that are equal."""
    names = [f"m{k}" for k in range(models)]
    for budget in range(12 * models, 12 * models + 9):
        rule = bandits.TopTwoThompson(budget=budget)
        state = rule.begin(names)
        for told in evaluate.run(rule, state, lambda name, number: 0.7 if number % 2 else 0.1 * 7):
            state = told.state
        answer = rule.answer(state)
        assert answer is not None and answer.level == tuple(names)
        assert answer.probability == pytest.approx(1 / models, abs=1e-6)


def test_before_there_are_probabilities_the_highest_mean_leads() -> None:
    """Dies if a probability leads that is not told, as no scores differ."""
    scores = {"m1": [0.397] * 4, "m2": [0.411] * 4, "m3": [0.3] * 4}
    rule = bandits.TopTwoThompson(budget=12)
    state = rule.begin([*scores])
    for name, of_model in scores.items():
        for score in of_model:
            state = rule.tell(state, name, score)
    answer = rule.answer(state)
    assert answer is not None and (answer.best, answer.probability) == ("m2", None)
    simulated = bandits.simulate(rule, {name: [*of] for name, of in scores.items()}, repetitions=9)
    assert "m2" in simulated.best


def test_constants_a_rounding_apart_are_level() -> None:
    """Dies if .7 and .1 * 7, which a program computes another way, are two means."""
    points = np.array([0.7, 0.1 * 7])
    assert points[0] != points[1]
    share = bandits.probability_of_best(points, np.zeros(2), np.full(2, 12))
    np.testing.assert_allclose(share, 0.5, atol=1e-7)
    apart = bandits.probability_of_best(np.array([0.7, 0.7001]), np.zeros(2), np.full(2, 12))
    np.testing.assert_allclose(apart, [0, 1], atol=1e-6)


def test_a_mean_is_exact_of_equal_scores() -> None:
    """Dies if it is a sum over n; a sum of 10 copies of .7, over 10, is another than of 11."""
    copies = [np.full(n, 0.7) for n in range(1, 60)]
    assert len({float(of.mean()) for of in copies}) > 1
    assert {means.mean(of) for of in copies} == {0.7}
    scores = np.random.default_rng(0).normal(size=50)
    assert means.mean(scores) == pytest.approx(float(scores.mean()), abs=1e-15)


@pytest.mark.parametrize("make", ENDED)
@pytest.mark.parametrize("order", ["ab", "ba"])
def test_who_is_named_of_level_models_is_said(
    make: Callable[[], bandits.Rule], order: Sequence[str]
) -> None:
    """Dies if the order of the models decides and the answer does not say so."""
    scores = {"a": [0.4, 0.5, 0.6, 0.7] * 5, "b": [0.7, 0.6, 0.5, 0.4] * 5}
    _, answer = replay.select(make(), Replay({name: [0.5] * 20 for name in order}))
    assert (answer.best, answer.level) == (order[0], tuple(order))
    apart = {"a": scores["a"], "b": [score + 0.3 for score in scores["b"]]}
    _, answer = replay.select(make(), Replay({name: apart[name] for name in order}))
    assert (answer.best, answer.level) == ("b", ())


def test_any_model_of_the_highest_mean_is_correct() -> None:
    """Dies if one of two models whose means differ by a rounding counts as wrong."""
    x = 0.41095890410958902
    record = {"m1": [0.3973, 0.411, 0.411], "m2": [x] * 6, "m3": [x] * 5}
    rule = bandits.SequentialHalving(budget=6)
    simulated = bandits.simulate(rule, record, repetitions=20)
    assert simulated.recorded_best == ("m2", "m3")
    right = [name in ("m2", "m3") for name in simulated.best]
    assert any(right) and simulated.correct.tolist() == right
    mixed = {"a": [0.5, 0.6, 0.7, 0.4], "b": [0.6, 0.5, 0.4, 0.7]}
    for order in ("ab", "ba"):
        again = bandits.simulate(
            bandits.SequentialHalving(budget=4), {m: mixed[m] for m in order}, repetitions=20
        )
        assert again.share_correct.value == 1.0
    items = {name: np.resize(of, 40) for name, of in mixed.items()}
    assert racing.simulate(bandits.SequentialHalving(budget=4), items, 4).correct == 1.0


def test_a_constant_model_takes_no_more_evaluations_than_the_rule_asks_of_all() -> None:
    """Dies if a deterministic baseline far behind is evaluated until ten scores are equal."""
    draw = np.random.default_rng(3)
    for constant, best, most in ((0.8, "a", 4), (0.9, "base", 10)):
        record = {
            name: draw.normal(m, 0.01, 60).tolist() for name, m in (("a", 0.84), ("b", 0.82))
        }
        record["base"] = [constant] * 60
        spent = []
        for seed in range(20):
            state, answer = replay.select(
                bandits.TopTwoThompson(seed=seed), Replay(record, seed=seed)
            )
            assert answer.best == best and answer.reason == "confident"
            spent.append(len(state.scores_of("base")))
        assert max(spent) <= most and np.median(spent) <= most - 1


def test_equal_scores_by_chance_are_no_certainty() -> None:
    """Dies if noisy models on few items, whose first scores are often equal, are believed to be
    constants: the best one would be missed more often than delta."""
    draw = np.random.default_rng(5)
    wrong = 0
    for seed in range(200):
        record = {
            n: (draw.binomial(10, p, 400) / 10).tolist() for n, p in (("a", 0.9), ("b", 0.8))
        }
        rule = bandits.TopTwoThompson(seed=seed)
        _, answer = replay.select(rule, Replay(record, seed=seed))
        wrong += answer.best == "b"
    assert wrong <= 18  # 200 times .05 and two standard errors; 15 with ten required
