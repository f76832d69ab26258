"""Studies of items: outcomes by a margin, corrections, boards, sentences."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats

from jaxeval.stats import multiple, planning, study, tasks
from jaxeval.stats.estimates import Estimate
from jaxeval.stats.item_comparisons import _by_margin
from tests.stats.cubes import estimate, studied, task

DRAW = np.random.default_rng(11)
B = DRAW.normal(size=(60, 90))
A = B + DRAW.normal(size=(60, 90)) + np.linspace(-0.7, 0.7, 90)
DIFFERENCES = [estimate(A[:, [k]], B[:, [k]]) for k in range(90)]


def _outcomes(
    differences: Sequence[Estimate], higher: Sequence[bool], margin: float = 0.0
) -> list[str]:
    return [of.outcome for of in _by_margin(differences, higher, margin, 0.05)]


def test_without_a_margin_an_outcome_is_the_two_sided_test() -> None:
    """Dies if one side's level is not half of alpha, or if Holm's correction is left out."""
    p_values = [difference.p_value or 0.0 for difference in DIFFERENCES]
    for few in (slice(None), slice(36, 37), slice(20, 44)):
        adjusted = multiple.adjust_p_values(p_values[few], "holm")
        expected = [
            "not shown" if p > 0.05 else "better" if d.value > 0 else "worse"
            for p, d in zip(adjusted, DIFFERENCES[few], strict=True)
        ]
        assert _outcomes(DIFFERENCES[few], [True] * len(expected)) == expected
    other = {"better": "worse", "worse": "better", "not shown": "not shown"}
    higher, lower = (_outcomes(DIFFERENCES, [is_higher] * 90) for is_higher in (True, False))
    assert [other[outcome] for outcome in lower] == higher


def test_margins_move_the_border_and_equivalence_takes_both_sides() -> None:
    """Dies if a margin is no part of the test, or a difference is called small for one end of its
    interval, at another level than that interval's, or without Holm's correction."""
    low = DIFFERENCES[-1].interval.low
    for margin, expected in ((low - 0.01, "better"), (low + 0.01, "not shown")):
        assert _outcomes([DIFFERENCES[-1]], [True], margin) == [expected]
    for level, others in ((0.05, ()), (0.05 / 3, (DIFFERENCES[0], DIFFERENCES[-1]))):
        difference = estimate(A[:, [44]], B[:, [44]], confidence=1 - level)
        low, high, *_ = difference.interval
        for margin, equal in ((max(-low, high) + 0.01, True), (max(-low, high) - 0.01, False)):
            shown = _by_margin([difference, *others], [True] * (1 + len(others)), margin, 0.05)
            assert shown[0].equivalent is equal


def test_all_p_values_are_corrected_over_pairs_and_tasks() -> None:
    """Dies if a difference or a test beside the verdict's is told as if it were the only one."""
    draw = np.random.default_rng(2)
    both = [
        task(
            name,
            "accuracy",
            {m: (draw.random((60, 1)) < 0.5 + k / 9).astype(float) for k, m in enumerate("abc")},
        )
        for name in ("x", "y")
    ]
    pairs = studied(both).pairs
    assert len(pairs) == 6 and {*pairs[0].adjusted} == {"items", "mcnemar"}
    for name in pairs[0].adjusted:
        p_values = [of.p_value if name == "items" else of.tests[name].p_value for of in pairs]
        expected = multiple.adjust_p_values(p_values, "holm")
        assert [pair.adjusted[name] for pair in pairs] == pytest.approx(expected.tolist())
    assert pairs[0].adjusted["items"] == pairs[0].p_adjusted


def test_mcnemars_test_of_single_runs() -> None:
    """Dies if McNemar's test is left out of single runs, or made of means or of clusters."""
    a = np.array([1] * 2 + [0] * 9 + [1] * 30, float)
    b = np.array([0] * 2 + [1] * 9 + [1] * 30, float)
    (pair,) = studied([task("", "acc", {"a": a, "b": b})]).pairs
    assert pair.tests["mcnemar"].p_value == pytest.approx(scipy.stats.binomtest(2, 11).pvalue)
    clusters = np.arange(41).astype(object)
    (pair,) = studied([task("", "acc", {"a": a, "b": b}, clusters=clusters)]).pairs
    assert not pair.tests
    (pair,) = studied([task("", "acc", {"a": np.stack([a, b], 1), "b": b})]).pairs
    assert not pair.tests


@pytest.mark.parametrize("higher", [True, False])
def test_equal_scores_are_neither_better_nor_worse(higher: bool) -> None:
    """Dies if a difference of 0 without spread is on one side of 0, or within a margin: its error
    is not known, as that of any difference without spread."""
    copies = {name: np.linspace(0.1, 0.9, 50) for name in "ab"}
    one = task("t", "f1", copies, higher_is_better=higher)
    found = studied([one], margin=0.01)
    assert study.decision(found) == ("not shown", ("t",))
    assert math.isnan(found.pairs[0].p_adjusted) and not found.pairs[0].equivalent


def test_copies_are_one_run_unless_another_task_tells_them_apart() -> None:
    """Dies if runs of greedy decoding count as several, or runs that are right on all items of an
    easy task are dropped there."""
    varied = DRAW.normal(size=(20, 1, 1))
    copies = np.concatenate([varied, varied], axis=1)
    own = DRAW.normal(size=(20, 2, 1))
    for first, second, left in ((copies, copies, (1, 1)), (np.ones((9, 2, 1)), own, (0, 0))):
        both = [task("s", "m", {"a": first}), task("t", "m", {"a": second})]
        found = tasks._drop_copies(both)
        assert tuple(dropped["a"] for _, dropped in found) == left
        assert [of.models["a"].runs for of, _ in found] == [2 - dropped for dropped in left]
    named = [
        task(n, "m", {"a": of}, runs={"a": ("x", "y")}) for n, of in (("s", copies), ("t", own))
    ]
    assert [dropped for _, dropped in tasks._drop_copies(named)] == [{"a": 0}, {"a": 0}]


def test_items_that_a_model_lacks_are_left_out_and_counted() -> None:
    """Dies if means are of other items, the share of missing answers is of those compared, or a
    model is called better though too many are missing."""
    a, b = DRAW.normal(size=(2, 60)) + np.array([[5.0], [0.0]])
    b[:9] = np.nan
    found = studied([task("t", "m", {"a": a, "b": b})], complete=True)
    assert found.item_design is not None
    (counts,) = found.item_design.data_sets
    assert (counts.items, counts.left_out, counts.unscored["b"]) == (51, 9, 9)
    assert counts.missing["b"] == pytest.approx(9 / 60) and found.item_design.withheld
    assert found.pairs[0].p_adjusted < 1e-9 and found.pairs[0].shown == 0
    assert not any(row.beaten for row in found.boards[0].rows)
    assert found.pairs[0].means[0].value == pytest.approx(a[9:].mean())
    assert "15 % of b's answers on t failed" in found.warnings[0]


@pytest.mark.parametrize("runs", [1, 2])
def test_smallest_and_largest_detectable_differences(runs: int) -> None:
    """Dies if the pair of the smallest or largest is taken for another, since only a few are
    looked at; or if one that no difference is large enough for is passed over."""
    draw, both = np.random.default_rng(4), []
    for name in "st":
        hard = draw.normal(size=(30, 1))
        noise = ((k, draw.normal(size=runs), draw.normal(size=(30, runs))) for k in range(8))
        both.append(task(name, "score", {f"m{k}": hard + k * r + n for k, r, n in noise}))
    found = studied(both)
    assert found.board is not None
    by_task = [[p for p in found.pairs if p.data_set == name] for name in "st"]
    every = [(found.boards[k], of, len(found.pairs)) for k, of in enumerate(by_task)]
    for shown, compared, tests in [*every, (found.board, found.overall, len(found.overall))]:
        differences = [p.difference for p in compared if p.difference]
        known = [planning._shift(of.df, 0.05 / tests) * of.error for of in differences]
        finite = [of for of in known if of < math.inf]
        never = len(finite) < len(known)
        largest = None if never else max(finite)
        assert shown.detectable == (min(finite, default=None), largest, never, False)


def test_p_values_beside_the_margin() -> None:
    """Dies if they are of a difference of 0, or of one side at the whole level: twice the tail
    of a t distribution beyond the margin, and the larger tail within it."""
    difference = DIFFERENCES[-1]
    value, df = np.mean(difference.interval[:2]), difference.df
    se = (difference.interval.high - value) / scipy.stats.t.ppf(0.975, df)
    for margin in (0.01, 0.3):
        (shown,) = _by_margin([difference], [True], margin, 0.05)
        tail = scipy.stats.t.cdf((value - margin) / se, df)
        lower = scipy.stats.t.sf((value + margin) / se, df)
        assert shown.p_outcome == pytest.approx(2 * min(1 - tail, 1 - lower, 0.5))
        assert shown.p_equivalent == pytest.approx(min(1.0, 2 * max(tail, lower)))
