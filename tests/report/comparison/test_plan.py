"""Sentences of what a design could have shown, and of the scores that it would need."""

import dataclasses

import numpy as np
import pytest

from jaxeval import stats
from jaxeval.report.comparison import verdict
from jaxeval.stats import comparison
from jaxeval.stats.pairwise import Rules
from tests.report.comparison.pairs import compared, scale_of, scores_of


def test_which_ratio_of_sds_would_have_been_seen() -> None:
    """Dies if nothing is said of what five scores could not show."""
    draw, rules = np.random.default_rng(2), Rules(resamples=99)
    for n, by_pairs, said in (
        (5, False, "; no ratio of sds, however large, is detected with a power of 80 %."),
        (12, False, "; a ratio of sds of 3.1 is detected with a power of 80 %."),
        (12, True, "; a ratio of sds of 2."),
    ):
        x, y = draw.normal(size=(2, n))
        pair = compared(scores_of("A", "B", x, y, by_pairs), rules)
        assert said in list(verdict.of_pair(pair, rules, scale_of(x, y)))[1]
    of_data_sets = dataclasses.replace(pair.scores, unit="data set")
    lines = verdict.of_pair(compared(of_data_sets, rules), rules, scale_of(x, y))
    assert not any("spread" in line for line in lines)
    few = scores_of("A", "B", x[:3], y[:3], True)
    few = dataclasses.replace(few, unit="data set")
    (line, *_) = verdict.of_pair(compared(few, rules), rules, scale_of(x, y))
    assert line == "No conclusion: 3 pairs are too few to test location by their ranks."


def test_what_ranks_cannot_show_is_said() -> None:
    """Dies if five data sets, of which one sides otherwise at most, are promised a power; or if a
    t test, which can always show something, is said to be able to show nothing."""
    x, rules = np.arange(5.0), Rules(resamples=99)
    of_splits = scores_of("A", "B", x, x + np.array([1, -1, 2, -2, 3]), True)
    for scores, said in (
        (dataclasses.replace(of_splits, unit="data set"), "no difference, however large, could"),
        (of_splits, "a difference of "),
    ):
        pair = compared(scores, rules)
        assert (pair.plan.least_p > rules.alpha) == (scores.unit == "data set")
        last = list(verdict.of_pair(pair, rules, scale_of(x)))[-1]
        assert last.startswith(f"With 5 pairs {said}")


def test_a_ratio_of_sds_is_said_to_two_digits_above_one() -> None:
    """Dies if pairs that correlate by .9999 "detect" a ratio of 1.0, or pairs on a line do."""
    rules, draw = Rules(resamples=99), np.random.default_rng(5)
    x = draw.normal(size=20)
    y = x + draw.normal(0, 0.01, 20)
    for sides in ((x, y), (y, x)):
        pair = compared(scores_of("A", "B", *sides, True), rules)
        ratio = pair.plan.detectable_ratio
        assert ratio is not None and 1.005 < ratio < 1.05
        said = list(verdict.of_pair(pair, rules, scale_of(x)))[1]
        assert f"; a ratio of sds of {1 + float(f'{ratio - 1:.1e}')} is detected" in said
    for on_a_line in (x + 3, 2 * x):
        pair = compared(scores_of("A", "B", x, on_a_line, True), rules)
        assert pair.plan.detectable_ratio is None
        assert not any("ratio" in line for line in verdict.of_pair(pair, rules, scale_of(x)))


@pytest.mark.parametrize("shift", [0.0, 0.7, 1.5, 40.0])
def test_a_plan_from_a_difference_that_was_seen_names_its_range(shift: float) -> None:
    """Dies if an estimate of few scores is planned from as if it were the truth."""
    rules = Rules(resamples=99)
    x, y = np.random.default_rng(4).normal(size=(2, 12)) + np.array([[shift], [0.0]])
    pair = compared(scores_of("A", "B", x, y, False), rules)
    low, high, *_ = pair.effects["difference"].interval
    sds = {"sd": np.std(x, ddof=1), "sd_other": np.std(y, ddof=1)}
    at_ends = [
        max(4, stats.required_seeds(end, comparisons=1, test="brunner_munzel", **sds))
        for end in (max(-low, high), min(-low if low < 0 else low, high))
    ]
    assert pair.plan.required_range is not None and pair.plan.required_seeds is not None
    fewest, most = pair.plan.required_range
    assert fewest == pytest.approx(at_ends[0], abs=3) and fewest <= pair.plan.required_seeds
    assert (most is None) == (low < 0 < high or at_ends[1] > 10_000)
    if most is not None:
        assert most == pytest.approx(at_ends[1], abs=3) and most >= pair.plan.required_seeds
    last = list(verdict.of_pair(pair, rules, scale_of(x, y)))[-1]
    over = f"{fewest} to " + ("more than 10,000" if most is None else f"{most:,}")
    over = f" ({over} at the ends of the 95 % CI)" if fewest != most else ""
    shown = comparison.location(pair, rules)
    advice = "" if shown else ": choose their number beforehand"
    assert last.endswith(f"would need {pair.plan.required_seeds:,} scores each{over}{advice}.")
    by_margin = dataclasses.replace(rules, margin=0.5)
    pair = compared(scores_of("A", "B", x, y, False), by_margin)
    lines = " ".join(verdict.of_pair(pair, by_margin, scale_of(x, y)))
    assert pair.plan.required_range is None and "at the ends" not in lines
