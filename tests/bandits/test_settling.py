"""The rule of `settle`: what it asks for, and that only complete looks count."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxeval.bandits import Settle
from jaxeval.bandits.commands import EvaluationFailed
from jaxeval.bandits.rules import State
from jaxeval.bandits.running import Selecting, run
from jaxeval.errors import RunError
from jaxeval.stats import anytime

SIDES = ("old", "new")


def _told(scores: dict[str, dict[int, float]]) -> State:
    """A state with scores by side and number, told in this order."""
    state = State.begin(SIDES)
    for side, known in scores.items():
        for number, score in known.items():
            state = state.tell(side, score, number)
    return state


def _scores(seed: int, n: int, effect: float = 0.0) -> dict[str, dict[int, float]]:
    draw = np.random.default_rng(seed).normal(size=(2, n))
    draw[1] += effect
    return {side: dict(enumerate(map(float, x), 1)) for side, x in zip(SIDES, draw, strict=True)}


@given(st.permutations([(side, k) for side in SIDES for k in range(1, 7)]), st.integers(0, 12))
@settings(max_examples=60, deadline=None)
def test_only_scores_before_the_first_gap_count(order: list[tuple[str, int]], told: int) -> None:
    """Dies if the order of arrival matters, or a fast side is ahead in a look."""
    scores, rule = _scores(1, 6, 3.0), Settle(most=6)
    state = State.begin(SIDES)
    for side, number in order[:told]:
        state = state.tell(side, scores[side][number], number)
    complete = [{k for s, k in order[:told] if s == side} for side in SIDES]
    looks = next(k for k in itertools.count() if not all(k + 1 in of for of in complete))
    assert rule.looks(state) == looks
    first = _told({side: {k: of[k] for k in range(1, looks + 1)} for side, of in scores.items()})
    assert repr(rule.settled(state)) == repr(rule.settled(first))  # NaN before any score
    assert (rule.answer(state) is None) == (rule.answer(first) is None)


def test_a_slow_side_is_no_bias() -> None:
    """Dies if low scores that arrive late are left out of early looks: type I would be far off."""
    rule, wrong = Settle(most=12), 0
    for seed in range(100):
        scores = _scores(seed, 12)
        # low scores of the new model take so long that its high ones arrive first
        late = {k: k + 10 * (x < 0) for k, x in scores["new"].items()}
        arrival = sorted(late, key=lambda k: late[k])
        state = _told({"old": scores["old"]})
        for k in arrival:
            state = state.tell("new", scores["new"][k], k)
            if (answer := rule.answer(state)) is not None:
                wrong += answer.reason in ("better", "worse")
                break
    assert wrong <= 100 * 0.05


def test_both_sides_next_numbers_side_by_side() -> None:
    """Dies if one side runs ahead, more is asked for than `most`, or known scores are left out."""
    rule = Settle(most=5)
    state = rule.begin(SIDES)
    assert rule.ask(state) == ("old", "new", "old", "new", "old", "new")
    assert rule.ask(_told(_scores(2, 3))) == ("old", "new")
    assert rule.ask(_told({**_scores(2, 3), "old": _scores(2, 4)["old"]})) == ("new",)
    assert Settle(most=9, ahead=4).ask(_told(_scores(2, 7))) == ("old", "new") * 2
    assert Settle(most=9, known=6).ask(state).count("old") == 6
    assert rule.ask(_told(_scores(2, 5))) == ()


def test_the_base_of_before_is_in_every_look() -> None:
    """Dies if a look sees fewer scores of the base than were known."""
    scores, rule = _scores(3, 12, 1.0), Settle(known=10)
    state = _told({"old": {k: scores["old"][k] for k in range(1, 10)}, "new": scores["new"]})
    assert rule.looks(state) == 0  # the tenth of the base is missing
    old, new = ([*scores[side].values()] for side in SIDES)
    state = _told({"old": {k: scores["old"][k] for k in range(1, 11)}, "new": scores["new"]})
    assert rule.settled(state) == anytime.settle(new[:10], old[:10], known=10)


@pytest.mark.parametrize(
    "more", [{}, {"paired": True}, {"statistic": "wins"}, {"statistic": "betting"}]
)
def test_lower_is_better_mirrors(more: Any) -> None:
    """Dies if the direction turns the verdict or the interval of the same scores."""
    scores = {m: {k: x / 20 + 0.4 for k, x in of.items()} for m, of in _scores(4, 60, 3.0).items()}
    higher = Settle(margin=0.02, **more).settled(_told(scores))
    mirrored = {side: {k: 1 - x for k, x in of.items()} for side, of in scores.items()}
    lower = Settle(margin=0.02, higher_is_better=False, **more).settled(_told(mirrored))
    assert higher.verdict == lower.verdict == "better"
    assert lower.interval == pytest.approx(higher.interval) and lower.wins == higher.wins
    assert lower.p_value == pytest.approx(higher.p_value)


def test_a_failed_evaluation_ends_it_without_a_claim() -> None:
    """Dies if the seeds that did not crash decide, or a failure is tried for ever."""

    def evaluate(side: str, number: int) -> float:
        if (side, number) == ("new", 4):
            raise EvaluationFailed("out of memory")
        return {"old": 0.0, "new": 9.0}[side] + 0.1 * (number % 3)

    rule = Settle(alpha=1e-6)
    *_, last = run(Selecting(rule, rule.begin(SIDES), 2), evaluate, retries=1)
    answer = rule.answer(last.state)
    assert answer is not None and answer.reason == "failed"
    assert rule.stopped(last.state) == {"new": "evaluation 4 failed 2 times: out of memory"}
    assert rule.ask(last.state) == ()


@pytest.mark.parametrize("failing", SIDES)
def test_a_failure_counts_when_the_looks_come_to_it(failing: str) -> None:
    """Dies if a later seed that fails takes back, or forestalls, what earlier ones settle."""
    rule, scores = Settle(ahead=6), _scores(2, 6, 9.0)
    state = _told({side: {2: of[2]} for side, of in scores.items()}).lose(failing, 6, "x")
    assert rule.answer(state) is None and len(rule.ask(state)) == 5 + 4
    for k in (1, 3, 4, 5):
        for side in SIDES:
            state = state.tell(side, scores[side][k], k)
    answer = rule.answer(state)
    assert answer is not None and answer.reason == "better"
    early = _told(_scores(2, 3)).lose(failing, 4, "x")
    if failing == "old":
        with pytest.raises(RunError, match="old: x; nothing can be settled"):
            rule.answer(early)
    else:
        assert rule.verdict(early) == "failed" and Settle(most=3).verdict(early) == "undecided"
