"""The rules as state machines: rounds, stopping, batches, late results, budgets, calibration."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jaxeval import bandits
from jaxeval.bandits import NonAdaptive, Rule, SequentialHalving, State
from jaxeval.bandits.posterior import Moments
from jaxeval.errors import ConfigError, RunError

NAMES = ["a", "b", "c", "d", "e"]
RULES = [
    NonAdaptive(delta=0.05),
    bandits.TopTwoThompson(delta=0.05),
    bandits.BatchThompson(delta=0.05, batch_size=4),
    bandits.TopTwoThompson(delta=0.05, batch_size=4),
]


def _play(rule: Rule, score: Callable[[str], float], models: Any = NAMES) -> State:
    """Runs a rule until it ends."""
    state = rule.begin([*models])
    while asked := rule.ask(state):
        assert state.evaluations < 5000
        for model in asked:
            state = state.tell(model, score(model))
    return state


def _normal(means: dict[str, float], sd: float, seed: int) -> Callable[[str], float]:
    draw = np.random.default_rng(seed)
    return lambda model: float(draw.normal(means[model], sd))


def test_fixed_budget_non_adaptive_splits_evenly() -> None:
    """Dies if the budget is overspent, or a remainder is given to some."""
    rule = NonAdaptive(delta=None, budget=19)
    state = _play(rule, _normal(dict.fromkeys(NAMES, 0.0), 1.0, 0))
    assert [*map(len, state.scores.values())] == [3] * 5
    answer = rule.answer(state)
    means = [np.mean(state.scores_of(m)) for m in NAMES]
    assert answer is not None and answer.best == NAMES[int(np.argmax(means))]
    with pytest.raises(ConfigError, match="need at least 5, got 4"):
        NonAdaptive(delta=None, budget=4).begin(NAMES)


@pytest.mark.parametrize("make", [bandits.TopTwoThompson, SequentialHalving])
def test_lower_is_better_mirrors(make: Any) -> None:
    """Dies if the highest loss wins."""
    rule = make(higher_is_better=False, budget=24)
    state = _play(rule, _normal({"a": 3.0, "b": 2.0, "c": 1.0}, 0.1, 3), "abc")
    answer = rule.answer(state)
    assert answer is not None and answer.best == "c"


@pytest.mark.parametrize("make", [bandits.TopTwoThompson, bandits.BatchThompson, NonAdaptive])
@pytest.mark.parametrize("sd", [0.0, 0.1])
def test_models_that_are_one_end_a_selection(make: Any, sd: float) -> None:
    """Dies if models that always have equal scores, constant or not, are evaluated for ever."""
    noise = np.random.default_rng(1).normal(0, sd, 1000)
    state = State.begin("abc")
    rule = make()
    while models := rule.ask(state):
        for model in models:
            state = state.tell(model, (model != "a") + noise[state.begun(model)])
    answer = rule.answer(state)
    assert answer.undecided == ("b", "c") and answer.probability == pytest.approx(0.5, abs=0.1)
    assert state.evaluations < (150 if sd else 700)


def test_what_is_clear_needs_no_more_than_the_first_scores() -> None:
    """Dies if a model that is far better is evaluated once more."""
    rule = bandits.TopTwoThompson()
    state = _play(rule, _normal({"a": 1.0, "b": 0.0}, 1e-6, 0), "ab")
    assert [*map(len, state.scores.values())] == [rule.initial] * 2


@pytest.mark.parametrize("budget", [None, 120])
def test_models_that_are_nearly_always_right_are_not_one(budget: int | None) -> None:
    """Dies if twenty equal scores of 0 and 1 end a selection that has a better model."""
    wrong = {"a": 40, "b": 3}  # from their 31st evaluation on, each so many
    rule = bandits.TopTwoThompson(delta=0.05, budget=budget)
    state = State.begin("ab")
    while models := rule.ask(state):
        for model in models:
            number = state.begun(model)
            state = state.tell(model, float(number < 30 or number % wrong[model] > 0))
    answer = rule.answer(state)
    assert answer.best == "a" and answer.undecided == () and answer.probability >= 0.95


def test_pending_evaluations_fill_the_batch() -> None:
    """Dies if more than `batch_size` are under way, or a free slot stays empty."""
    rule = bandits.TopTwoThompson(batch_size=3, delta=0.01)
    first = dataclasses.replace(rule, budget=9)
    state = _play(first, _normal(dict.fromkeys("abc", 0.5), 0.1, 5), "abc")
    batch = rule.ask(state)
    assert len(batch) == 3
    for model in batch:
        state, _ = state.start(model)
    assert rule.ask(state) == ()
    assert len(rule.ask(state.tell(batch[1], 0.5))) == 1


def test_free_slots_are_filled_by_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if slots that become free while others are under way draw what was drawn before."""
    steps, rule = list[int](), bandits.TopTwoThompson(delta=0.05, batch_size=4)
    uniforms, state = rule.uniforms, rule.begin(["a", "b"])

    def noted(rule: Rule, step: int) -> Any:
        steps.append(step)
        return uniforms(step)

    monkeypatch.setattr(bandits.TopTwoThompson, "uniforms", noted)
    for model in "abababab":
        state = state.tell(model, float(len(state.scores_of(model))))
    for _ in range(3):
        for model in rule.ask(state)[:1]:
            state, _ = state.start(model)
    assert steps == [8, 9, 10]


def test_what_is_pending_counts_as_evaluated() -> None:
    """Dies if pending results, or those earlier in a batch, are not counted at their means."""
    rule, batches = bandits.TopTwoThompson(batch_size=6), []
    moments = Moments(np.full(3, 4.0), np.array([6.5, 7.25, 5.25]), np.full(3, 1.5))
    for step in range(20):
        uniforms = rule.uniforms(step)
        batch = rule.choose(moments, rule.probabilities(moments), np.zeros(3), uniforms)
        for slot in range(1, 6):
            before = np.bincount(batch[:slot], minlength=3)
            later = moments._replace(counts=moments.counts + before)
            p = rule.probabilities(later)
            (alone,) = rule.choose(later, p, np.zeros(3), uniforms[slot : slot + 1])
            rest = rule.choose(moments, rule.probabilities(moments), before, uniforms[slot:])
            assert batch[slot] == alone and [*batch[slot:]] == [*rest]
        batches.append(tuple(batch))
    assert len({*batches}) > 10


def test_draws_follow_the_probabilities() -> None:
    """Dies if TTTS does not choose leader and challenger with their laws (chi-squared by hand)."""
    rule = bandits.TopTwoThompson()
    state = rule.begin(["a", "b", "c"])
    for model, scores in {"a": (5, 6, 7, 8), "b": (5.5, 6.5, 8, 9), "c": (3, 5, 6, 7)}.items():
        for score in scores:
            state = state.tell(model, score)
    p = rule.probabilities(rule.moments(state))
    expected = p / 2 + [
        sum(p[j] / 2 * p[i] / (1 - p[j]) for j in range(3) if j != i) for i in range(3)
    ]
    count = 40_000
    uniforms = np.random.default_rng(0).random((count, 1, 3))
    uniforms[0] = rule.uniforms(12)
    rows = [np.broadcast_to(part, (count, 3)) for part in (*rule.moments(state), p)]
    drawn = rule.choose(Moments(*rows[:3]), rows[3], np.zeros((count, 3)), uniforms)[:, 0]
    assert "abc"[drawn[0]] == rule.ask(state)[0]
    shares = [np.mean(drawn == k) for k in range(3)]
    np.testing.assert_allclose(shares, expected, atol=4 * np.sqrt(0.25 / count))


def test_dropped_models_cannot_win_and_the_rest_goes_on() -> None:
    """Dies if an excluded model is asked for, or halving waits for it for ever."""
    for rule in (*RULES, SequentialHalving(budget=60)):
        state = rule.begin(NAMES).lose("e", 9, "broken")
        while models := rule.ask(state):
            assert "e" not in models
            for model in models:
                near = 0.001 * state.evaluations % 3
                state = state.tell(model, 0.1 * NAMES.index(model) + near)
        answer = rule.answer(state)
        assert answer is not None and answer.best in "abcd"


@pytest.mark.parametrize("rule", [*RULES, SequentialHalving(budget=60)], ids=str)
def test_a_winner_has_scores(rule: Rule) -> None:
    """Dies if the last model left wins unseen, or nobody is named when all were dropped."""
    state = rule.begin(["a", "b"]).lose("a", 9, "exit code 1")
    assert rule.answer(state) is None and rule.ask(state) == ("b",)
    assert rule.ask(state.start("b")[0]) == ()
    answer = rule.answer(state.tell("b", 0.5))
    assert answer is not None and (answer.best, answer.probability) == ("b", None)
    assert answer.reason == "all other models were dropped"
    with pytest.raises(RunError, match=r"every model was .*\(a: exit code 1; b: no number\)"):
        rule.ask(state.lose("b", 9, "no number"))


def test_equal_scores_keep_a_selection_open() -> None:
    """Dies if three equal scores of each model are confidence, or a constant one is never over."""
    rule, scores = bandits.TopTwoThompson(), {"a": 0.5, "b": 0.7}
    state = rule.begin(["a", "b"])
    for model in "aaabbb":
        state = state.tell(model, scores[model])
    assert rule.answer(state) is None and rule.ask(state) == ("a", "b")
    answer = rule.answer(state.tell("a", 0.51).tell("b", 0.71))
    assert answer is not None and answer.reason == "confident"
    state = _play(rule, lambda model: scores[model], "ab")
    assert [*map(len, state.scores.values())] == [10, 10]
    answer = rule.answer(state)
    assert answer is not None and answer.best == "b" and answer.reason == "confident"
    assert answer.probability == pytest.approx(1)
