"""Sentences of the verdict: they name the model that the test names, from whichever side."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from jaxeval.report.comparison import verdict
from jaxeval.stats import comparison
from jaxeval.stats.pairwise import Rules, Scores
from tests.report.comparison.pairs import compared, scale_of, scores_of

# far scores, ties and shifts: where mean, median and ranks part
score = st.integers(-3, 3) | st.sampled_from([-90, 40])
both = st.sampled_from([5, 6, 7, 10, 11]).flatmap(  # by means, and by ranks
    lambda n: st.tuples(st.lists(score, min_size=n, max_size=n), st.integers(-4, 4), st.just(n))
)


def _claims(sentence: str) -> list[str]:
    """Everything that a sentence says of a named model or withholds, without numbers."""
    named = r"(\w)'s (?:distribution|scores|are|is wider)|by the ([\w ,]+), \w's|but (\w)'s by"
    claims = ["".join(groups) for groups in re.findall(named, sentence)]
    return [sentence.split(":")[0] if sentence.startswith("No ") else "", *claims]


@settings(max_examples=25, deadline=None)
@given(both, st.data(), st.booleans(), st.booleans())
def test_swapped_models_give_mirrored_sentences(
    drawn: tuple[list[int], int, int], data: st.DataObject, by_pairs: bool, higher: bool
) -> None:
    """Dies if a sentence depends on which model is called A: all four sentences, both senses."""
    x, shift, n = drawn
    y = np.array(data.draw(st.lists(score, min_size=n, max_size=n))) + shift
    rules = Rules(alpha=0.3, margin=2.0, resamples=9, higher_is_better=higher)
    ab = compared(scores_of("A", "B", x, y, by_pairs), rules)
    ba = compared(scores_of("B", "A", y, x, by_pairs), rules)
    scale = scale_of(x, y)
    for here, other in zip(
        verdict.of_pair(ab, rules, scale), verdict.of_pair(ba, rules, scale), strict=True
    ):
        assert _claims(here) == _claims(other)
        if here.startswith(("With", "Equivalent", "Equivalence")):
            assert here == other
    won, lost = (p.effects["probability_of_improvement"] for p in (ab, ba))
    assert won.estimate == pytest.approx(1 - lost.estimate)
    assert won.interval.low == pytest.approx(1 - lost.interval.high, abs=1e-9)
    assert comparison.location(ab, rules) == -comparison.location(ba, rules)
    turned = compared(
        scores_of("A", "B", -np.array(x), -y, by_pairs),
        Rules(alpha=0.3, margin=2.0, resamples=9, higher_is_better=not higher),
    )
    assert comparison.location(turned, rules) == -comparison.location(ab, rules)
    assert comparison.spread(turned, rules) == comparison.spread(ab, rules)
    assert turned.effects["probability_of_improvement"] == won


@settings(max_examples=40, deadline=None)
@given(both, st.data(), st.booleans())
def test_the_sentence_names_the_model_of_the_one_sided_test(
    drawn: tuple[list[int], int, int], data: st.DataObject, by_pairs: bool
) -> None:
    """Dies if median, mean or sd decides who is called higher or wider, and not the test."""
    x, shift, n = drawn
    y = np.array(data.draw(st.lists(score, min_size=n, max_size=n))) + shift
    a = np.array(x)
    rules = Rules(alpha=0.4, resamples=9)
    pair = compared(scores_of("A", "B", a, y, by_pairs), rules)
    location, spread = list(verdict.of_pair(pair, rules, scale_of(a, y)))[:2]
    named = re.search(r"(\w)'s (?:distribution is higher|scores higher)", location)
    if named:
        if not pair.scores.by_ranks:
            a_higher = np.mean(a) > np.mean(y)
        elif by_pairs:
            greater, less = (
                scipy_stats.wilcoxon(a - y, zero_method="pratt", alternative=side, method="approx")
                for side in ("greater", "less")
            )
            a_higher = greater.pvalue < less.pvalue
        else:
            a_higher = np.mean(np.sign(a[:, None] - y[None])) > 0
        assert named[1] == ("A" if a_higher else "B")
    wide = re.search(r"(\w)'s is wider", spread)
    if wide:
        away = [np.mean(np.abs(v - np.median(v))) for v in (a, y)]
        rho = scipy_stats.spearmanr(a + y, a - y).statistic
        assert wide[1] == ("A" if (rho > 0 if by_pairs else away[0] > away[1]) else "B")


def test_measures_that_disagree_are_said_to() -> None:
    """Dies if few large gains of A or many small ones of B are called a clean win of either."""
    k = np.arange(40)
    y = 0.7 + k * 1e-4
    x = y + np.where(k < 21, -5e-4 - k * 1e-5, 0.03 + k * 1e-3)
    rules = Rules(resamples=99)
    pair = compared(scores_of("A", "B", x, y, True), rules)
    assert scipy_stats.wilcoxon(x, y, alternative="greater").pvalue < 0.01
    assert comparison.location(pair, rules) == 1
    against = comparison.against(pair, rules)
    assert against == ("median of the differences", "probability")
    sentence = next(verdict.of_pair(pair, rules, scale_of(x, y)))
    assert (
        "Measures of location disagree: Wilcoxon signed-rank finds A's scores higher" in sentence
    )
    assert "better one" not in sentence and "probability that A is better on a split" in sentence


def test_spread_is_brown_forsythes_and_the_sd_is_said_to_disagree() -> None:
    """Dies if one far score of B makes B's spread the wider one."""
    k = np.arange(100)
    a, b = 0.5 + (-1.0) ** k * 0.01 + k * 1e-6, np.where(k == 0, 0.7, 0.5 + k * 1e-6)
    rules = Rules(resamples=99)
    pair = compared(scores_of("A", "B", a, b, False), rules)
    assert np.std(b) > np.std(a) and comparison.spread(pair, rules) == 1
    sentence = list(verdict.of_pair(pair, rules, scale_of(a, b)))[1]
    assert sentence.startswith("Measures of spread disagree: A's is wider by the mean absolute")
    assert "but B's by the sd" in sentence


def test_pairs_whose_measures_of_spread_disagree() -> None:
    """Dies if one failed split of B makes its spread the wider one, or Brown-Forsythe is named."""
    split = np.linspace(-1, 1, 20)
    a, b = 1.5 * split, split + 1e-3 * split**2
    b = np.where(np.arange(20) == 10, -9.0, b)
    rules = Rules(resamples=99)
    pair = compared(scores_of("A", "B", a, b, True), rules)
    assert np.std(b) > np.std(a) and comparison.spread(pair, rules) == 1
    sentence = list(verdict.of_pair(pair, rules, scale_of(a, b)))[1]
    assert "A's is wider by the rank correlation of sums and differences" in sentence
    assert "but B's by the sd" in sentence and "Pitman-Morgan by ranks on 20 pairs" in sentence


@pytest.mark.parametrize("corrected_away", [True, False])
def test_no_difference_beside_an_interval_that_excludes_zero_is_explained(
    corrected_away: bool,
) -> None:
    """Dies if "no difference" stands beside such an interval without a word."""
    draw, rules = np.random.default_rng(0), Rules(resamples=99)
    if corrected_away:  # significant before the correction for two comparisons, not after it
        a, b = np.random.default_rng(12).normal([[1.1], [0.0]], 1, (2, 10))
        others = [scores_of("A", "C", a, a + draw.normal(0, 1, 10), False)]
    else:  # three runs of B failed, half of the others are as good as A's
        a = np.concatenate([draw.normal(0, 0.1, 30)])
        b, others = np.concatenate([draw.normal(0, 0.1, 24), np.full(6, -9.0)]), []
    of = [scores_of("A", "B", a, b, False), *others]
    pair = comparison.compare(of, rules).pairs[0]
    assert pair.scores.by_ranks != corrected_away
    assert comparison.excludes_zero(pair)
    sentence = next(verdict.of_pair(pair, rules, scale_of(a, b)))
    why = "after the correction (p" if corrected_away else "by the ranks of the scores"
    assert sentence.startswith(f"No difference in location was shown {why}")
    assert "though the CI of the difference of means excludes 0" in sentence


def test_what_is_better_is_what_was_compared() -> None:
    """Dies if pairs are judged by pairs and their probability by all against all."""
    split = np.arange(10.0)
    rules = Rules(resamples=99)
    pair = compared(scores_of("A", "B", split + 0.2 + split / 100, split, True), rules)
    won = pair.effects["probability_of_improvement"]
    assert (won.estimate, won.interval.high, won.n) == (1.0, 1.0, (10,))
    assert won.interval.low == pytest.approx(0.025 ** (1 / 10))  # 10 of 10 (Clopper & Pearson)
    assert pair.effects["a12"].estimate == 0.55
    sentence = next(verdict.of_pair(pair, rules, scale_of(split)))
    assert "probability that A is better on a split 1.00, 95 % CI [0.69, 1.00]" in sentence


def test_two_pairs_show_no_equivalence() -> None:
    """Dies if enough scores, but too few pairs, are called equivalent."""
    x = np.arange(6.0)
    few = Scores("A", "B", "", x, x, (x[:2] + np.array([1e-5, 2e-5]), x[:2]), by_pairs=True)
    rules = Rules(resamples=99, margin=1.0)
    sentences = list(verdict.of_pair(compared(few, rules), rules, scale_of(x)))
    assert sentences[0].endswith("however small p is: 2 pairs, where 3 are needed.")
    said = "No conclusion on equivalence within 1, by rule, which takes 3 pairs (TOST"
    assert sentences[-1].startswith(said)
    far = Rules(resamples=99, margin=1e-9)
    *_, last = verdict.of_pair(compared(few, far), far, scale_of(x))
    assert last.startswith("Equivalence within 1e-09 was not shown")


def test_a_difference_below_the_margin_is_not_called_none() -> None:
    """Dies if a difference that was shown is followed by equivalence alone."""
    k = np.arange(20)
    y = 0.7 + k * 1e-3
    x = y - 0.002 - k * 1e-5
    rules = Rules(resamples=99, margin=0.01)
    sentences = list(
        verdict.of_pair(compared(scores_of("A", "B", x, y, True), rules), rules, scale_of(x))
    )
    assert sentences[-1].startswith("Equivalent within 0.01")
    assert "though B's distribution is higher" in sentences[-1]
    equal = y + (-1.0) ** k * 1e-3
    lines = list(
        verdict.of_pair(compared(scores_of("A", "B", equal, y, True), rules), rules, scale_of(x))
    )
    assert lines[-1].startswith("Equivalent within 0.01") and "though" not in lines[-1]


def test_medians_of_different_units_are_not_measures_of_pairs() -> None:
    """Dies if the marginal medians contradict B's win on eight of nine splits by as much each."""
    x = np.array([0.10, 0.20, 0.30, 0.40, 0.52, 0.53, 0.60, 0.70, 0.80])
    y = x + np.array([0.02, 0.02, 0.02, 0.02, -0.005, 0.02, 0.02, 0.02, 0.02])
    assert np.median(y) < np.median(x)
    rules = Rules(resamples=99)
    pair = compared(scores_of("A", "B", x, y, True), rules)
    assert comparison.location(pair, rules) == -1 and not comparison.against(pair, rules)
    sentence = next(verdict.of_pair(pair, rules, scale_of(x, y)))
    assert sentence.startswith("B's distribution is higher")
