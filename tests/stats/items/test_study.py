"""Outcomes by a margin: against the two-sided test, mirrored, and equivalence."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats

from jaxeval.errors import ConfigError, DataError
from jaxeval.report.items import ci, verdict
from jaxeval.runs.item_scores import Paired, TaskScores
from jaxeval.stats import multiple
from jaxeval.stats.items import estimates, leaderboard, margins, study
from jaxeval.stats.items.results import Estimate
from jaxeval.stats.items.study import Rules

DRAW = np.random.default_rng(11)
B = DRAW.normal(size=(60, 90))
A = B + DRAW.normal(size=(60, 90)) + np.linspace(-0.7, 0.7, 90)
DIFFERENCES = [estimates.difference(A[:, [k]], B[:, [k]]) for k in range(90)]


def _outcomes(
    differences: Sequence[Estimate], higher: Sequence[bool], margin: float = 0.0
) -> list[str]:
    return [of.outcome for of in margins.by_margin(differences, higher, margin, 0.05)]


def test_without_a_margin_an_outcome_is_the_two_sided_test() -> None:
    """Dies if one side's level is not half of alpha, or if Holm's correction is left out."""
    p_values = [difference.p_value or 0.0 for difference in DIFFERENCES]
    for few in (slice(None), slice(36, 37), slice(20, 44)):
        adjusted = multiple.adjust_p_values(p_values[few], "holm")
        expected = [
            "not shown" if p > 0.05 else "better" if d.value > 0 else "worse"
            for p, d in zip(adjusted, DIFFERENCES[few], strict=True)
        ]
        higher = [True] * len(expected)
        assert _outcomes(DIFFERENCES[few], higher) == expected
    alone = [_outcomes([d], [True]) != ["not shown"] for d in DIFFERENCES]
    assert alone == [p <= 0.05 for p in p_values]
    assert any(0.05 < p < 0.1 for p in p_values)


def test_losses_mirror_and_margins_move_the_border() -> None:
    """Dies if lower is not better for losses, or if a margin is no part of the test."""
    higher, lower = (_outcomes(DIFFERENCES, [is_higher] * 90) for is_higher in (True, False))
    other = {"better": "worse", "worse": "better", "not shown": "not shown"}
    assert [other[outcome] for outcome in lower] == higher
    difference = DIFFERENCES[-1]
    low = difference.interval.low
    assert low > 0
    for margin, expected in ((low - 0.01, "better"), (low + 0.01, "not shown")):
        assert _outcomes([difference], [True], margin) == [expected]


def test_equivalence_takes_both_sides() -> None:
    """Dies if a difference is called small for one end of its interval, at another level than that
    of the interval beside it, or without Holm's correction."""
    for level, others in ((0.05, ()), (0.05 / 3, (DIFFERENCES[0], DIFFERENCES[-1]))):
        difference = estimates.difference(A[:, [44]], B[:, [44]], confidence=1 - level)
        low, high, *_ = difference.interval
        least = max(-low, high)
        for margin, expected in ((least + 0.01, True), (least - 0.01, False)):
            every = [difference, *others]
            shown = margins.by_margin(every, [True] * len(every), margin, 0.05)
            assert shown[0].equivalent is expected
    shown = margins.by_margin(DIFFERENCES, [True] * 90, 0.0, 0.05)
    assert not any(of.equivalent for of in shown)


def test_p_values_beside_the_margin() -> None:
    """Dies if they are of a difference of 0, or of one side at the whole level: twice the tail
    of a t distribution beyond the margin, and the larger tail within it."""
    difference = DIFFERENCES[-1]
    value, df = np.mean(difference.interval[:2]), difference.df
    se = (difference.interval.high - value) / scipy.stats.t.ppf(0.975, df)
    for margin in (0.01, 0.3):
        (shown,) = margins.by_margin([difference], [True], margin, 0.05)
        tail = scipy.stats.t.cdf((value - margin) / se, df)
        lower = scipy.stats.t.sf((value + margin) / se, df)
        assert shown.p_outcome == pytest.approx(2 * min(1 - tail, 1 - lower, 0.5))
        assert shown.p_equivalent == pytest.approx(min(1.0, 2 * max(tail, lower)))


def test_all_p_values_are_corrected_over_pairs_and_tasks() -> None:
    """Dies if a difference or a test beside the verdict's is told as if it were the only one."""
    draw = np.random.default_rng(2)
    tasks = tuple(
        TaskScores(
            name,
            "accuracy",
            True,
            tuple(map(str, range(60))),
            {
                model: (draw.random((60, 1, 1)) < 0.5 + k / 9).astype(float)
                for k, model in enumerate("abc")
            },
        )
        for name in ("x", "y")
    )
    pairs = study.study(Paired(("a", "b", "c"), tasks), Rules(resamples=199)).pairs
    assert len(pairs) == 6 and {*pairs[0].adjusted} == {"items", "sign_flips", "mcnemar"}
    for name in pairs[0].adjusted:
        p_values = [pair.p_values[name] for pair in pairs]
        expected = multiple.adjust_p_values(p_values, "holm")
        assert [pair.adjusted[name] for pair in pairs] == pytest.approx(expected.tolist())
        assert max(pair.adjusted[name] for pair in pairs) > min(p_values)
    assert pairs[0].p_values["mcnemar"] == pairs[0].tests["mcnemar"].p_value
    assert pairs[0].adjusted["items"] == pairs[0].p_adjusted


def test_far_tails_mirror() -> None:
    """Dies if a p-value is 1 less another: 0 one way round, and 5e-49 the other."""
    x = 0.09 + 0.1 * np.random.default_rng(9).normal(size=(400, 1))
    forward, backward = (estimates.difference(*of) for of in ((x, 0 * x), (0 * x, x)))
    for margin in (0.0, 0.001):
        shown, turned = (
            margins.by_margin([of], [True], margin, 0.05)[0] for of in (forward, backward)
        )
        assert shown.p_outcome == pytest.approx(turned.p_outcome, rel=1e-9, abs=0)
        assert 0 < shown.p_outcome < 1e-30 and (shown.outcome, turned.outcome) == (
            "better",
            "worse",
        )
    small = [margins.by_margin([of], [True], 0.15, 0.05)[0] for of in (forward, backward)]
    assert 0 < small[0].p_equivalent == pytest.approx(small[1].p_equivalent, rel=1e-9, abs=0)


def test_what_cannot_be_studied() -> None:
    """Dies if a rule that no test has passes."""
    with pytest.raises(ConfigError, match="margin"):
        Rules(margin=float("nan"))
    with pytest.raises(DataError, match="alpha"):
        Rules(alpha=1.0)
    task = TaskScores("t", "m", True, ("1", "2"), {"a": np.zeros((2, 1, 1))})
    with pytest.raises(DataError, match=r"one model \(a\)"):
        study.study(Paired(("a",), (task,)))


@pytest.mark.parametrize("higher", [True, False])
def test_equal_scores_are_neither_better_nor_worse(higher: bool) -> None:
    """Dies if a difference of 0 without spread is on one side of 0, or within a margin: its error
    is not known, as that of any difference without spread."""
    copies = {name: np.linspace(0.1, 0.9, 50)[:, np.newaxis, np.newaxis] for name in "ab"}
    task = TaskScores("t", "f1", higher, tuple(map(str, range(50))), copies)
    result = study.study(Paired(("a", "b"), (task,)), Rules(resamples=99))
    assert study.decision(result) == ("not shown", ("t",))
    assert result.overall[0].outcome == "not shown"
    assert math.isnan(result.pairs[0].p_adjusted)
    within = study.study(Paired(("a", "b"), (task,)), Rules(resamples=99, margin=0.01))
    assert not within.pairs[0].by_margin.equivalent
    assert math.isnan(within.pairs[0].difference.p_above(0.01))


def test_losses_that_are_all_1_are_no_right_answers() -> None:
    """Dies if a model's losses that are all 1 get the interval of right and wrong answers beside
    those of other models, which are above 1; of fractions they keep it."""
    other = np.linspace(0.0, 1.0, 50)[:, np.newaxis, np.newaxis]
    for scores, known in ((5 * other, False), (other, True)):
        of_models = {"a": np.ones((50, 1, 1)), "b": scores}
        task = TaskScores("t", "loss", False, tuple(map(str, range(50))), of_models)
        result = study.study(Paired(("a", "b"), (task,)), Rules(resamples=99))
        mean, _ = result.pairs[0].means
        assert bool(mean.interval.low < 1 <= mean.interval.high) is known
        assert any("cannot be told" in line for line in mean.warnings) is not known


_SAID = {
    "better": ("a is better than b", "{0} scores higher than {1}"),
    "worse": ("a is worse than b", "{1} scores higher than {0}"),
    "not shown": ("a was not shown to be better or worse", "No difference between a and b"),
    "withheld": ("a was not shown to be better or worse", "Nothing is said of a against b"),
}


@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize(
    ("shift", "missing", "expected"),
    [
        (1.0, 0, "better"),
        (-1.0, 0, "worse"),
        (0.0, 0, "not shown"),
        (1.0, 9, "withheld"),
        (-1.0, 9, "withheld"),
    ],
)
def test_sentences_say_what_the_outcome_says(
    shift: float, missing: int, expected: str, higher: bool, tasks: int
) -> None:
    """Dies if a sentence or board speaks from p where too many answers are missing, or if outcome,
    sentence and the line for a pull request differ in what they say, in either order."""
    noise = 0.1 * (A[:, [1]] - A[:, 1].mean())
    scores = {"a": B[:, [0]] + noise + (shift if higher else -shift), "b": B[:, [0]]}
    mirrored = {"a": "b", "b": "a"}
    for names in (mirrored.values(), mirrored):
        by_model = {
            name: scores[of][..., np.newaxis] for name, of in zip("ab", names, strict=True)
        }
        each = [
            TaskScores(
                f"t{k}",
                "score",
                higher,
                tuple(map(str, range(60))),
                by_model,
                unscored={"a": missing, "b": 0},
                answered={"a": np.arange(60)[:, None] >= missing, "b": np.ones((60, 1))},
            )
            for k in range(tasks)
        ]
        result = study.study(Paired(("a", "b"), tuple(each)), Rules(resamples=9, complete=True))
        swapped = [*names] == ["b", "a"]
        said = {"better": "worse", "worse": "better"}.get(expected, expected)
        outcome, sentence = _SAID[said if swapped else expected]
        sentence = sentence.format(*("ab" if higher else "ba"))
        assert verdict.outcome(result).startswith(outcome)
        assert outcome in ci.markdown(result)
        scale = verdict.scale_of(result)
        assert next(verdict.of_pair(result.pairs[0], result, scale)).startswith(sentence)
        assert all(sentence in line for line in verdict.headline(result))
        assert ("skipped" in ci.junit(result).splitlines()[1]) and result.withheld is (missing > 0)
        board = leaderboard.of(result).tasks[0]
        assert bool(board.told_apart) is (expected in ("better", "worse"))
        assert missing == 0 or {(r.place.low, r.place.high, r.beaten) for r in board.rows} == {
            (1, 2, False)
        }
