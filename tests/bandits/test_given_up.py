"""Models that are given up, and scores that are all equal."""

import dataclasses
from typing import Any

import pytest

from jaxeval import bandits
from jaxeval.bandits import Rule, SequentialHalving
from jaxeval.bandits import state as states
from jaxeval.errors import RunError
from tests.bandits import test_rules


def test_models_given_up_cannot_win_and_the_rest_goes_on() -> None:
    """Dies if an excluded model is asked for, or halving waits for it for ever."""
    for rule in (*test_rules.RULES, SequentialHalving(budget=60)):
        state = states.exclude(rule.begin(test_rules.NAMES), "e", "broken")
        while models := rule.ask(state):
            assert "e" not in models
            for model in models:
                state = rule.tell(
                    state,
                    model,
                    0.1 * test_rules.NAMES.index(model) + 0.001 * state.evaluations % 3,
                )
        answer = rule.answer(state)
        assert answer is not None and answer.best in "abcd"


@pytest.mark.parametrize("rule", [*test_rules.RULES, SequentialHalving(budget=60)], ids=str)
def test_a_winner_has_scores(rule: Rule) -> None:
    """Dies if the last model left wins unseen, or nobody is named when all were dropped."""
    state = states.exclude(rule.begin(["a", "b"]), "a", "exit code 1")
    assert rule.answer(state) is None and rule.ask(state) == ("b",)
    pending, _ = states.start(state, "b")
    assert rule.ask(pending) == ()
    answer = rule.answer(rule.tell(state, "b", 0.5))
    assert answer is not None and (answer.best, answer.probability) == ("b", None)
    assert answer.reason == "all other models were dropped"
    nobody = states.exclude(state, "b", "no number")
    for question in (rule.answer, rule.ask):
        with pytest.raises(RunError, match=r"every model was .*\(a: exit code 1; b: no number\)"):
            question(nobody)


def test_halving_revives_nobody() -> None:
    """Dies if a dropped model in a late round brings back one that left, or overspends."""
    rule = SequentialHalving(budget=16)
    state = rule.begin(["a", "b", "c", "d"])
    for model in rule.ask(state):
        state = rule.tell(state, model, {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}[model])
    assert set(rule.ask(state)) == {"a", "b"}
    state = states.exclude(rule.tell(state, "a", 0.9), "a", "broken")
    while models := rule.ask(state):
        assert set(models) == {"b"}
        for model in models:
            state = rule.tell(state, model, 0.8)
    answer = rule.answer(state)
    assert answer is not None and answer.best == "b" and state.evaluations <= 16


def test_equal_scores_keep_a_selection_open() -> None:
    """Dies if three equal scores of each model are confidence, or a constant one is never over."""
    rule = bandits.TopTwoThompson()
    state = rule.begin(["a", "b"])
    for model, score in {"a": 0.5, "b": 0.7}.items():
        for _ in range(3):
            state = rule.tell(state, model, score)
    assert rule.answer(state) is None and rule.ask(state) == ("a", "b")
    varied = rule.tell(rule.tell(state, "a", 0.51), "b", 0.71)
    answer = rule.answer(varied)
    assert answer is not None and answer.reason == "confident"
    while models := rule.ask(state):
        for model in models:
            state = rule.tell(state, model, {"a": 0.5, "b": 0.7}[model])
    assert [len(scores) for scores in state.scores] == [10, 10]
    answer = rule.answer(state)
    assert answer is not None and answer.best == "b" and answer.reason == "confident"
    assert answer.probability == pytest.approx(1)


@pytest.mark.parametrize(
    "rule", test_rules.RULES, ids=lambda r: f"{type(r).__name__}-{r.batch_size}"
)
def test_equal_scores_end_by_the_budget_without_a_probability(rule: Any) -> None:
    """Dies if equal scores are asked for beyond the budget, or a probability is made of them."""
    budgeted = dataclasses.replace(rule, budget=8)
    state = budgeted.begin(["a", "b"])
    while models := budgeted.ask(state):
        for model in models:
            state = budgeted.tell(state, model, {"a": 0.1, "b": 0.7}[model])
    answer = budgeted.answer(state)
    assert answer is not None
    assert (answer.best, answer.probability, answer.evaluations) == ("b", None, 8)
    assert answer.reason == "the budget is spent"


def test_equal_records_end_by_a_bound() -> None:
    """Dies if constant, equal scores are replayed for ever."""
    record = {"a": [0.5] * 12, "b": [0.5] * 12}
    rule = bandits.TopTwoThompson()
    simulated = bandits.simulate(rule, record, repetitions=2, replacement=True)
    assert simulated.evaluations.tolist() == [1000, 1000]
    assert set(simulated.reasons) == {"the budget is spent"}
    simulated = bandits.simulate(rule, record, repetitions=2)
    spent = {f"more than the 12 recorded scores of {model} are asked for" for model in "ab"}
    assert set(simulated.reasons) <= spent
