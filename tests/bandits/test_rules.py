"""The rules as state machines: rounds, stopping, batches, late results, budgets, calibration."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from scipy import special

from jaxeval import bandits
from jaxeval.bandits import NonAdaptive, Rule, SequentialHalving, State
from jaxeval.bandits import state as states
from jaxeval.bandits.fixed_confidence import Moments
from jaxeval.errors import ConfigError, DataError

NAMES = ["a", "b", "c", "d", "e"]


def _play(rule: Rule, means: dict[str, float], sd: float, seed: int, most: int = 5000) -> State:
    """Runs a rule on normal scores until it ends."""
    draw = np.random.default_rng(seed)
    state = rule.begin(list(means))
    while models := rule.ask(state):
        assert state.evaluations < most
        for model in models:
            state = rule.tell(state, model, float(draw.normal(means[model], sd)))
    return state


def test_fixed_budget_non_adaptive_splits_evenly() -> None:
    """Dies if the budget is overspent, or a remainder is given to some."""
    state = _play(NonAdaptive(delta=None, budget=19), dict.fromkeys(NAMES, 0.0), 1.0, 0)
    assert [len(scores) for scores in state.scores] == [3] * 5
    answer = NonAdaptive(delta=None, budget=19).answer(state)
    means = [np.mean(state.scores_of(m)) for m in NAMES]
    assert answer is not None and answer.best == NAMES[int(np.argmax(means))]
    with pytest.raises(ConfigError, match="need at least 5, got 4"):
        NonAdaptive(delta=None, budget=4).begin(NAMES)


RULES = [
    NonAdaptive(delta=0.05),
    bandits.TopTwoThompson(delta=0.05),
    bandits.BatchThompson(delta=0.05, batch_size=4),
    bandits.TopTwoThompson(delta=0.05, batch_size=4),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{type(r).__name__}-{r.batch_size}")
def test_claimed_confidence_holds(rule: Any) -> None:
    """Dies if a selection that claims 95 % is right less often (unequal variances, 200 trials)."""
    means, sds = np.array([0.60, 0.61, 0.63]), np.array([0.02, 0.03, 0.01])
    scores = means + sds * np.random.default_rng(0).normal(size=(200, 500, 3))
    evaluators = [lambda name, k, own=own: own[k - 1, "abc".index(name)] for own in scores]
    answers = bandits.trials(rule, list("abc"), evaluators, range(200))
    assert {answer.reason for answer in answers} == {"confident"}
    right = [answer.best == "c" for answer in answers]
    assert np.mean(right) >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{type(r).__name__}-{r.batch_size}")
def test_two_equal_best_models_end_by_indifference(rule: Any) -> None:
    """Dies if equal arms go on for ever, or the worse one is named."""
    indifferent = dataclasses.replace(rule, epsilon=0.01, budget=3000)
    state = _play(indifferent, {"a": 0.7, "b": 0.7, "c": 0.6}, 0.02, 1)
    answer = indifferent.answer(state)
    assert answer is not None and answer.best in "ab" and answer.reason == "confident"
    assert state.evaluations < 1000


def test_a_budget_caps_and_says_so() -> None:
    """Dies if equal arms ignore the cap, or the reason is hidden."""
    rule = bandits.BatchThompson(budget=50, batch_size=8)
    state = _play(rule, {"a": 0.7, "b": 0.7}, 0.1, 2)
    answer = rule.answer(state)
    assert answer is not None
    assert (answer.reason, state.evaluations) == ("the budget is spent", 50)
    assert answer.probability is not None and answer.probability < 0.95
    with pytest.raises(ConfigError, match="2 models need at least 6, got 5"):
        bandits.TopTwoThompson(budget=5).begin(["a", "b"])


def test_lower_is_better_mirrors() -> None:
    """Dies if the highest loss wins."""
    for rule in (bandits.TopTwoThompson, lambda **k: SequentialHalving(budget=24, **k)):
        up = _play(rule(), {"a": 1.0, "b": 2.0, "c": 3.0}, 0.1, 3)
        mirrored = rule(higher_is_better=False)
        down = _play(mirrored, {"a": -1.0, "b": -2.0, "c": -3.0}, 0.1, 3)
        answer = mirrored.answer(down)
        assert answer is not None and answer.best == "c" and up.evaluations > 0


def test_ask_is_a_function_of_the_state() -> None:
    """Dies if asking twice draws twice, or another seed draws the same."""
    rule = bandits.TopTwoThompson(delta=0.01)
    state = _play(dataclasses.replace(rule, budget=15), dict.fromkeys("abcde", 0.5), 0.1, 4)
    assert rule.ask(state) == rule.ask(state)
    drawn = {dataclasses.replace(rule, seed=k).ask(state) for k in range(30)}
    assert len(drawn) > 1


def test_results_may_arrive_in_any_order() -> None:
    """Dies if the order of tells changes the state or what is asked next."""
    rule = bandits.TopTwoThompson()
    states_told = [
        ("a", 1, 0.5),
        ("a", 2, 0.6),
        ("a", 3, 0.4),
        ("b", 1, 0.7),
        ("b", 2, 0.9),
        ("b", 3, 0.1),
    ]
    ends = []
    for order in itertools.islice(itertools.permutations(states_told), 0, 720, 97):
        state = rule.begin(["a", "b"])
        for model, number, score in order:
            state = rule.tell(state, model, score, number)
        ends.append((state, rule.ask(state), rule.answer(state)))
    assert all(end == ends[0] for end in ends)


def test_pending_evaluations_fill_the_batch() -> None:
    """Dies if more than `batch_size` are under way, or a free slot stays empty."""
    rule = bandits.TopTwoThompson(batch_size=3, delta=0.01)
    state = _play(dataclasses.replace(rule, budget=9), {"a": 0.5, "b": 0.5, "c": 0.5}, 0.1, 5)
    batch = rule.ask(state)
    assert len(batch) == 3
    for model in batch:
        state, _ = states.start(state, model)
    assert rule.ask(state) == ()
    state = rule.tell(state, batch[1], 0.5)
    assert len(rule.ask(state)) == 1


def test_non_adaptive_waits_for_the_round() -> None:
    """Dies if the next round starts, or is judged, before all results of this one are in."""
    rule = NonAdaptive(delta=0.4)
    state = rule.begin(["a", "b"])
    for model in rule.ask(state):
        state, _ = states.start(state, model)
    assert rule.ask(state) == ()
    for score in (0.1, 0.2, 0.3):
        state = rule.tell(state, "a", score)
    state = rule.tell(rule.tell(state, "b", 5.0), "b", 5.1)
    assert rule.answer(state) is None
    state = rule.tell(state, "b", 5.2)
    assert rule.answer(state) is not None


@pytest.mark.slow
def test_top_two_spends_less_than_batch_thompson() -> None:
    """Dies if slots of a batch are drawn as batch Thompson sampling draws them."""
    truth = {k: 0.6 + 0.02 * (k == "c") for k in "abcd"}
    spent = [
        np.mean(
            [
                _play(rule(delta=0.05, batch_size=8, seed=k), truth, 0.03, k).evaluations
                for k in range(12)
            ]
        )
        for rule in (bandits.TopTwoThompson, bandits.BatchThompson)
    ]
    assert spent[0] < 0.8 * spent[1]


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
            state = rule.tell(state, model, score)
    p = rule.probabilities(rule.moments(state))
    expected = p / 2 + [
        sum(p[j] / 2 * p[i] / (1 - p[j]) for j in range(3) if j != i) for i in range(3)
    ]
    uniforms = np.stack([dataclasses.replace(rule, seed=k).uniforms(12) for k in range(3000)])
    rows = [np.broadcast_to(part, (3000, 3)) for part in (*rule.moments(state), p)]
    drawn = rule.choose(Moments(*rows[:3]), rows[3], np.zeros((3000, 3)), uniforms)[:, 0]
    assert "abc"[drawn[0]] == rule.ask(state)[0]
    shares = [np.mean(drawn == k) for k in range(3)]
    np.testing.assert_allclose(shares, expected, atol=4 * np.sqrt(0.25 / 3000))


def test_logit_is_guarded_and_refuses_what_is_no_fraction() -> None:
    """Dies if a score of 1 becomes infinite, or 85 passes as a fraction."""
    rule = bandits.TopTwoThompson(logit=True, logit_guard=0.01)
    values = rule.transformed(np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(values, [-np.log(99), 0, np.log(99)])
    with pytest.raises(DataError, match="from 0 to 1, found 85"):
        rule.tell(rule.begin(["a", "b"]), "a", 85.0)


def test_the_logit_keeps_scores_near_1_and_0_apart() -> None:
    """Dies if .9991 and .9999, which a test set of some thousands tells apart, become equal."""
    rule = bandits.TopTwoThompson(logit=True)
    near = np.array([0.99999, 0.9999, 0.9991, 0.0009, 0.0001, 0.00001])
    np.testing.assert_allclose(rule.transformed(near), special.logit(near))
    assert np.isfinite(rule.transformed(np.array([0.0, 1.0]))).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": 1.5}, "delta"),
        ({"delta": None}, "never ends"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"min_evaluations": 2}, "needs at least 3"),
        ({"batch_size": 0}, "batch_size"),
        ({"budget": 0}, "budget: expected a whole number of at least 1"),
        ({"logit_guard": 0.7}, "logit_guard"),
        ({"alpha": float("nan")}, "alpha: expected a number from -5 to 1"),
    ],
)
def test_impossible_rules_are_refused(change: dict, message: str) -> None:
    """Dies if a rule that cannot work is made."""
    with pytest.raises(ConfigError, match=message):
        bandits.TopTwoThompson(**change)
