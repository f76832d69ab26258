"""Sequential halving: its rounds, its ranking, what it says when it ends."""

from collections import Counter
from itertools import permutations

import pytest

from jaxeval.bandits import SequentialHalving, State
from jaxeval.errors import ConfigError


def _rounds(models: int, budget: int) -> list[list[int]]:
    """Evaluations of each model after each round of sequential halving; model k scores k."""
    rule = SequentialHalving(budget=budget)
    state = rule.begin([str(k) for k in range(models)])
    rounds = []
    while batch := rule.ask(state):
        for model in batch:
            state = state.tell(model, float(model))
        rounds.append(list(Counter(batch).values()))
    answer = rule.answer(state)
    assert answer is not None and answer.best == str(models - 1)
    return rounds


def test_sequential_halving_has_the_published_rounds() -> None:
    """Dies if a round's share or the number of survivors is off by one."""
    assert _rounds(12, 48) == [[1] * 12, [2] * 6, [4] * 3, [6] * 2]
    assert _rounds(5, 25) == [[1] * 5, [2] * 3, [4] * 2]
    assert _rounds(4, 16) == [[2] * 4, [4] * 2]
    with pytest.raises(ConfigError, match="5 models need at least 15, got 14"):
        SequentialHalving(budget=14).begin(list("abcde"))


def _halved(scores: list[list[float]], dropped: tuple[int, ...] = ()) -> State:
    """A state of models m0, m1 ... with these scores, of which some were then dropped."""
    state = State.begin([f"m{k}" for k in range(len(scores))])
    for k, of_model in enumerate(scores):
        for score in of_model:
            state = state.tell(f"m{k}", score)
    for k in dropped:
        state = state.lose(f"m{k}", 9, "failed")
    return state


@pytest.mark.parametrize(
    ("scores", "dropped", "best", "reason"),
    [
        ([[0.4] * 3, [0.9] * 9, [0.8] * 9, [0.1] * 3], (), "m1", "the budget is spent"),
        ([[0.4] * 3, [0.7] * 9, [0.8] * 9, []], (3,), "m2", "all rounds are done"),
        (
            [[0.4] * 3, [0.7] * 9, [0.8] * 4, [0.1] * 3],
            (2,),
            "m1",
            "the other survivors were dropped",
        ),
        (
            [[0.4] * 3, [0.7] * 3, [0.8] * 3, [0.1] * 3],
            (1, 2),
            "m0",
            "all survivors were dropped; this is the best of the others",
        ),
    ],
)
def test_sequential_halving_says_why_it_ended(
    scores: list[list[float]], dropped: tuple[int, ...], best: str, reason: str
) -> None:
    """Dies if a budget of 24 is called spent after 21, 19 or 12 evaluations."""
    answer = SequentialHalving(budget=24).answer(_halved(scores, dropped))
    assert answer is not None and (answer.best, answer.reason) == (best, reason)


def test_a_model_that_is_out_cannot_win() -> None:
    """Dies if scores beyond the rounds bring m0 back, or count among those of m1."""
    scores = [[0.1] * 2 + [1.0] * 20, [0.9] * 6 + [0.0] * 20, [0.8] * 6, [0.2] * 2]
    answer = SequentialHalving(budget=16).answer(_halved(scores))
    assert answer is not None and (answer.best, answer.undecided) == ("m1", ())


@pytest.mark.parametrize("order", [*permutations("abc")])
def test_models_that_went_by_their_place_in_the_list_are_undecided(order: tuple[str, ...]) -> None:
    """Dies if the one that went after the first round, of three alike, is not named; or if a
    rounding decides: the sums of the same scores in another order."""
    assert (0.1 + 0.2 + 0.3) / 3 != (0.3 + 0.2 + 0.1) / 3
    alike = {"a": [0.1, 0.2, 0.3], "b": [0.3, 0.2, 0.1], "c": [0.2, 0.1, 0.3]}
    rule = SequentialHalving(budget=24)
    state = rule.begin([*order, "d"])
    for model, scores in [*alike.items(), ("d", [0.0] * 3)]:
        for score in scores:
            state = state.tell(model, score)
    while batch := rule.ask(state):
        assert {*batch} == {*order[:2]}
        for model in batch:
            state = state.tell(model, 0.2)
    answer = rule.answer(state)
    assert answer is not None and (answer.best, answer.undecided) == (order[0], order)
