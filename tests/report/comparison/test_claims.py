"""Sentences on pairs of models: they name the model that the test names, from whichever side."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from jaxeval.report.comparison import answers, claims
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import Rules, study
from jaxeval.stats.pairs import Pair, RunScores
from jaxeval.stats.power import TestDesign as Design
from tests.stats import cubes

# far scores, ties and shifts: where mean, median and ranks part
score = st.integers(-3, 3) | st.sampled_from([-90, 40])
both = st.sampled_from([5, 6, 7, 11]).flatmap(  # by means, and by ranks
    lambda n: st.tuples(st.lists(score, min_size=n, max_size=n), st.integers(-4, 4), st.just(n))
)
RULES = Rules(resamples=99)


@pytest.fixture(autouse=True)
def scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores as numbers of six decimals."""
    monkeypatch.setattr(
        claims.words, "score_format", lambda study, on=None: ScoreFormat("number", 6)
    )
    monkeypatch.setattr(claims.words, "p_name", lambda study, *pairs: "p")


def _of(a: str, b: str, x: object, y: object, by_pairs: bool) -> RunScores:
    first, second = np.array(x, float), np.array(y, float)
    paired = (first, second) if by_pairs else None
    return RunScores(a, b, "", first, second, paired, by_pairs, "split" if by_pairs else "run")


def _compared(of: RunScores, rules: Rules = RULES, higher: bool = True) -> Pair:
    pair: Pair = cubes.compare([of], rules, higher).pairs[0]
    return pair


def _lines(pair: Pair, rules: Rules = RULES) -> list[str]:
    class Study:
        """All that a sentence asks of a study."""

    Study.rules, Study.item_design = rules, None  # type: ignore[attr-defined]
    return [*claims.about(pair, Study)]  # type: ignore[arg-type]


def _claims(sentence: str) -> list[str]:
    """What a sentence says of named models, or withholds, in the order of A and B."""
    named = r"(\w) is (better) than|(\w) is better on|(\w)'s scores|but by the (.*?), (\w)'s are"
    named += r"|(\w)'s is wider|though (\w) is better|than one of (\w)"
    found = ["".join(groups) for groups in re.findall(named, sentence)]
    return [sentence.split(" was shown")[0][:13] if sentence.startswith("No ") else "", *found]


@settings(max_examples=25, deadline=None)
@given(both, st.data(), st.booleans(), st.booleans())
def test_swapped_models_give_mirrored_sentences(
    drawn: tuple[list[int], int, int], data: st.DataObject, by_pairs: bool, higher: bool
) -> None:
    """Dies if a sentence depends on which model is called A: all of them, both senses."""
    x, shift, n = drawn
    y = np.array(data.draw(st.lists(score, min_size=n, max_size=n))) + shift
    rules = Rules(alpha=0.3, margin=2.0, resamples=9)
    ab = _compared(_of("A", "B", x, y, by_pairs), rules, higher)
    ba = _compared(_of("B", "A", y, x, by_pairs), rules, higher)
    tied = ab.effects["probability_of_improvement"].estimate == 0.5
    for here, other in zip(_lines(ab, rules), _lines(ba, rules), strict=True):
        if not (tied and "with probability" in here):
            assert _claims(here) == _claims(other)
        if here.startswith(("With", "Equivalent", "Equivalence", "A is better", "B is better")):
            assert here == other or tied
    won, lost = (p.effects["probability_of_improvement"] for p in (ab, ba))
    assert won.interval.low == pytest.approx(1 - lost.interval.high, abs=1e-9)
    turned = _compared(_of("A", "B", -np.array(x), -y, by_pairs), rules, not higher)
    assert ab.shown == -ba.shown and turned.wider == ab.wider
    if abs(ab.p_adjusted - rules.alpha) > 0.01:  # random permutations of mirrored ties are others
        assert turned.shown == -ab.shown
    assert turned.effects["probability_of_improvement"] == won
    again = claims.words.swapped(claims.words.swapped(ab))
    assert str(again.interval) == str(ab.interval) and again.names == ab.names
    assert _lines(claims.words.swapped(ab), rules)[0] == _lines(ba, rules)[0]


@settings(max_examples=40, deadline=None)
@given(both, st.data(), st.booleans(), st.booleans())
def test_the_sentence_names_the_model_of_the_one_sided_test(
    drawn: tuple[list[int], int, int], data: st.DataObject, by_pairs: bool, higher: bool
) -> None:
    """Dies if median, mean or sd decides who is called better or wider, and not the test."""
    x, shift, n = drawn
    y = np.array(data.draw(st.lists(score, min_size=n, max_size=n))) + shift
    a, rules = np.array(x), Rules(alpha=0.4, resamples=9)
    pair = _compared(_of("A", "B", a, y, by_pairs), rules, higher)
    lines = _lines(pair, rules)
    better = re.match(r"(\w) is better than", lines[0])
    high = re.search(r"finds (\w)'s scores higher", lines[0])
    if better or high:
        assert pair.scores is not None
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
        if better:
            assert better[1] == ("A" if a_higher == higher else "B")
            assert f" {'higher' if higher else 'lower'}, " in lines[0]
        else:
            assert high and high[1] == ("A" if a_higher else "B")
    wide = next(filter(None, (re.search(r"(\w)'s is wider", line) for line in lines)), None)
    if wide:
        away = [np.mean(np.abs(v - np.median(v))) for v in (a, y)]
        rho = scipy_stats.spearmanr(a + y, a - y).statistic
        assert wide[1] == ("A" if (rho > 0 if by_pairs else away[0] > away[1]) else "B")


def test_measures_that_disagree_are_said_to() -> None:
    """Dies if few large gains of A or many small ones of B are called a clean win of either."""
    k = np.arange(40)
    y = 0.7 + k * 1e-4
    x = y + np.where(k < 21, -5e-4 - k * 1e-5, 0.03 + k * 1e-3)
    pair = _compared(_of("A", "B", x, y, True))
    assert scipy_stats.wilcoxon(x, y, alternative="greater").pvalue < 0.01
    assert pair.shown == 1 and pair.better == 0
    assert pair.against == ("median of the differences", "probability")
    sentence = _lines(pair)[0]
    assert "location disagree: Wilcoxon signed-rank finds A's scores higher, but by" in sentence
    assert "is better" not in sentence and "(A - B)" in sentence


@pytest.mark.parametrize("by_pairs", [False, True])
def test_spread_that_the_sd_measures_otherwise(by_pairs: bool) -> None:
    """Dies if one far score of B makes B's spread the wider one."""
    if by_pairs:
        split = np.linspace(-1, 1, 20)
        a = 1.5 * split
        b = np.where(np.arange(20) == 10, -9.0, split + 1e-3 * split**2)
    else:
        k = np.arange(100)
        a, b = 0.5 + (-1.0) ** k * 0.01 + k * 1e-6, np.where(k == 0, 0.7, 0.5 + k * 1e-6)
    pair = _compared(_of("A", "B", a, b, by_pairs))
    assert np.std(b) > np.std(a) and pair.wider == 1
    sentence = _lines(pair)[2]
    assert sentence.startswith("The spreads differ; A's is wider, though not by the sd, which")


@pytest.mark.parametrize("corrected_away", [True, False])
def test_no_difference_beside_an_interval_that_excludes_zero_is_explained(
    corrected_away: bool,
) -> None:
    """Dies if "no difference" stands beside such an interval without a word."""
    draw = np.random.default_rng(0)
    if corrected_away:  # significant before the correction for two comparisons, not after it
        a, b = np.random.default_rng(12).normal([[1.1], [0.0]], 1, (2, 10))
        others = [_of("A", "C", a, a + draw.normal(0, 1, 10), False)]
    else:  # three runs of B failed, half of the others are as good as A's
        a = np.concatenate([draw.normal(0, 0.1, 30)])
        b, others = np.concatenate([draw.normal(0, 0.1, 24), np.full(6, -9.0)]), []
    pair = cubes.compare([_of("A", "B", a, b, False), *others], RULES).pairs[0]
    assert pair.scores.by_ranks != corrected_away
    assert pair.interval.low > 0 or pair.interval.high < 0
    first = _lines(pair)[0]
    assert first.startswith("No difference between A and B was shown: ")
    why = "the CI excludes 0 (p = .0" if corrected_away else "the CI of the means excludes 0."
    assert f", though {why}" in first and ("before the correction" in first) == corrected_away


def test_too_few_show_nothing_and_a_small_difference_is_equivalent() -> None:
    """Dies if enough scores, but too few pairs, are called equivalent, or if a difference that was
    shown is followed by equivalence alone."""
    x = np.arange(6.0)
    few = RunScores("A", "B", "", x, x, (x[:2] + np.array([1e-5, 2e-5]), x[:2]), by_pairs=True)
    rules = Rules(resamples=99, margin=1.0)
    lines = _lines(_compared(few, rules), rules)
    assert lines[0] == "No conclusion on A and B: 2 runs, where 3 are needed, however small p is."
    assert lines[-1].startswith("No conclusion on equivalence within 1: 2 runs, where 3 are neede")
    k = np.arange(20)
    y, rules = 0.7 + k * 1e-3, Rules(resamples=99, margin=0.01)
    for x, though in ((y - 0.002 - k * 1e-5, True), (y + (-1.0) ** k * 1e-3, False)):
        last = _lines(_compared(_of("A", "B", x, y, True), rules), rules)[-1]
        assert last.startswith("Equivalent within 0.01")
        assert ("though B is better" in last) == though


def test_pairs_are_judged_by_pairs() -> None:
    """Dies if the marginal medians contradict a win on eight of nine splits, or if the probability
    of pairs is that of all against all."""
    x = np.array([0.10, 0.20, 0.30, 0.40, 0.52, 0.53, 0.60, 0.70, 0.80])
    y = x + np.array([0.02, 0.02, 0.02, 0.02, -0.005, 0.02, 0.02, 0.02, 0.02])
    assert np.median(y) < np.median(x)
    pair = _compared(_of("A", "B", x, y, True))
    assert pair.shown == -1 and not pair.against
    lines = _lines(pair)
    assert lines[0].startswith("B is better than A: score 0.0172")
    assert lines[1].startswith("B is better on a split with probability 0.89, 95 % CI [0.")
    split = np.arange(10.0)
    pair = _compared(_of("A", "B", split + 0.2 + split / 100, split, True))
    won = pair.effects["probability_of_improvement"]
    assert (won.estimate, won.interval.high, won.n) == (1.0, 1.0, (10,))
    assert won.interval.low == pytest.approx(0.025 ** (1 / 10))  # 10 of 10 (Clopper & Pearson)


def test_what_could_have_been_seen() -> None:
    """Dies if ranks that cannot reach the level are promised a power, or five data sets none."""
    x = np.arange(5.0)
    data_sets = _of("A", "B", x, x + np.array([1, -1, 2, -2, 3]), True)
    data_sets = dataclasses.replace(data_sets, unit="data set")
    runs = _of("A", "B", np.arange(10.0), np.arange(10.0) ** 1.1, False)
    strict = dataclasses.replace(RULES, alpha=1e-6)
    for scores, rules, said in (
        (data_sets, RULES, "With 5 data sets a difference of "),
        (runs, strict, "With 10 runs each no difference, however large, could"),
    ):
        lines = _lines(_compared(scores, rules), rules)
        assert any(line.startswith(said) for line in lines), lines


@pytest.mark.parametrize("shift", [0.0, 0.7, 1.5])
def test_a_plan_from_a_difference_that_was_seen_names_its_range(shift: float) -> None:
    """Dies if an estimate of few scores is planned from as if it were the truth."""
    x, y = np.random.default_rng(4).normal(size=(2, 12)) + np.array([[shift], [0.0]])
    pair = _compared(_of("A", "B", x, y, False))
    low, high, *_ = pair.effects["difference"].interval
    design = Design(np.std(x, ddof=1), np.std(y, ddof=1), test="brunner_munzel")
    at_ends = [
        max(4, design.required_seeds(end))
        for end in (max(-low, high), min(-low if low < 0 else low, high))
    ]
    assert pair.plan and pair.plan.required_range is not None
    assert pair.plan.required_seeds is not None
    fewest, most = pair.plan.required_range
    assert fewest == pytest.approx(at_ends[0], abs=3) and fewest <= pair.plan.required_seeds
    assert (most is None) == (low < 0 < high or at_ends[1] > 10_000)
    if most is not None:
        assert most == pytest.approx(at_ends[1], abs=3) and most >= pair.plan.required_seeds
    over = f"{fewest} to " + ("more than 10,000" if most is None else f"{most:,}")
    over = f" ({over} at the ends of the 95 % CI)" if fewest != most else ""
    advice = "" if pair.shown else "; choose the number beforehand"
    needed = f"would need {pair.plan.required_seeds:,} scores each{over}{advice}."
    assert _lines(pair)[-1].endswith(needed)


def test_no_model_is_better_where_measures_of_location_disagree() -> None:
    """Dies if B, better on 13 of 14 data sets and far worse on one, is called better than A."""
    gains = [*range(2, 15), -140]
    cells = {
        f"d{k}": {"A": [k / 99], "B": [k / 99 + gain / 100], "C": [k / 99 - 0.2 - gain / 1e4]}
        for k, gain in enumerate(gains)
    }
    lines = answers.answer(study.study(cubes.runs(cells), Rules(resamples=99)))
    first = "A scores best: it is better than C; B cannot be told apart from it."
    assert lines[:2] == [first, "Measures of location disagree: A and B."]
