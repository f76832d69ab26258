"""The comparison of models: which tests carry the verdict, their correction, the plan."""

import dataclasses
import itertools
import math
import pickle

import numpy as np
import pytest
from scipy import stats as scipy_stats

from jaxeval.errors import DataError
from jaxeval.stats import Rules, hypotheses, multiple, power, study
from jaxeval.stats.pairs import RunScores as Scores
from tests.stats.cubes import compare, runs

QUICK = Rules(resamples=199)


def _scores(n: int, shift: float, seed: int, spread: float = 1.0, **how: object) -> Scores:
    draw = np.random.default_rng(seed)
    a, b = draw.normal(shift, spread, n), draw.normal(0, 1, n)
    return Scores("A", "B", "", a, b, **how)  # type: ignore[arg-type]


def test_location_spread_equivalence_and_the_rest_are_families() -> None:
    """Dies if a p-value is corrected within its pair only, or families mix: five models of five
    seeds, each seven points above the last, could show nothing."""
    draw = np.random.default_rng(0)
    samples = {m: draw.normal(7 * k, 0.3, 5) for k, m in enumerate("ABCDE")}
    scores = [
        Scores(a, b, "", samples[a], samples[b]) for a, b in itertools.combinations("ABCDE", 2)
    ]
    compared = compare(scores, dataclasses.replace(QUICK, margin=8.0))
    assert compared.families == (10, 10, 10, 40)
    assert sum(pair.equivalent for pair in compared.pairs) == 4
    assert all(pair.shown == -1 for pair in compared.pairs)
    location = [pair.tests["welch_t"].p_value for pair in compared.pairs]
    np.testing.assert_allclose(
        [pair.adjusted["welch_t"] for pair in compared.pairs],
        multiple.adjust_equalities(location, [("", pair.a, pair.b) for pair in compared.pairs]),
    )
    own = [["brown_forsythe"], ["tost"]]
    rest = [n for n in compared.pairs[0].tests if n not in ("welch_t", "brown_forsythe", "tost")]
    for names in (*own, rest):
        tests = [
            (pair.tests[n].p_value, pair.adjusted[n]) for pair in compared.pairs for n in names
        ]
        raw, corrected = zip(*tests, strict=True)
        np.testing.assert_allclose(corrected, multiple.adjust_p_values(raw, "holm"))


def _pairs(models: int, n: int, sets: int = 1, **how: object) -> list[Scores]:
    draw = np.random.default_rng(1)
    return [
        Scores(a, b, str(k), *draw.normal(size=(2, n)), **how)  # type: ignore[arg-type]
        for k in range(sets)
        for a, b in itertools.combinations("ABCDE"[:models], 2)
    ]


@pytest.mark.parametrize(
    ("models", "n", "sets", "test", "correction"),
    [
        (2, 9, 1, "welch_t", "holm"),
        (2, 10, 1, "brunner_munzel", "holm"),
        (2, 10, 2, "welch_t", "holm"),
        (3, 10, 1, "welch_t", "bergmann_hommel"),
        (5, 5, 1, "welch_t", "bergmann_hommel"),
        (3, 5, 2, "welch_t", "bergmann_hommel"),
    ],
)
def test_the_primary_test_is_the_designs(
    models: int, n: int, sets: int, test: str, correction: str
) -> None:
    """Dies if scores choose the test, or what is announced is not what was done."""
    scores = _pairs(models, n, sets)
    for of in (scores, [dataclasses.replace(s, first=7 * s.first) for s in scores]):
        compared = compare(of, QUICK)
        primary = compared.primary
        assert (primary.tests, primary.correction) == ((test,), correction)
        assert (primary.comparisons, primary.level) == (len(of), 0.05)
        assert {pair.scores.location_test for pair in compared.pairs} == {test}
    named = "t" if test == "welch_t" else test
    design = power.TestDesign(1.0, comparisons=len(scores), test=named)  # type: ignore[arg-type]
    assert primary.needed is not None
    assert design.power(3.0, primary.needed) >= 0.8
    assert primary.needed == 4 or design.power(3.0, primary.needed - 1) < 0.8


def test_pairs_and_data_sets_have_their_own_tests() -> None:
    """Dies if few pairs are ranked, or data sets too few for signed ranks to reach the level."""
    for n, unit, test, correction in (
        (9, "split", "paired_t", "bergmann_hommel"),
        (7, "data set", "wilcoxon_signed_rank", "holm"),  # 3 x 2 / 2^7 is below .05
        (6, "data set", "paired_t", "bergmann_hommel"),
        (4, "data set", "paired_t", "bergmann_hommel"),
    ):
        scores = [
            dataclasses.replace(s, paired=(s.first, s.second), by_pairs=True, unit=unit)
            for s in _pairs(3, n)
        ]
        primary = compare(scores, QUICK).primary
        assert (primary.tests, primary.correction) == ((test,), correction)
    one = dataclasses.replace(scores[0], unit="split")
    assert compare([one], QUICK).primary.tests == ("paired_t",)
    bonferroni = Rules(resamples=99, correction="bonferroni")
    assert compare(_pairs(3, 5), bonferroni).primary.correction == "bonferroni"
    nothing = compare([], QUICK).primary
    assert (nothing.tests, nothing.needed) == ((), None)


def test_the_verdict_follows_the_corrected_test_and_its_direction() -> None:
    """Dies if higher and lower are swapped, for scores or for losses, or spread for location."""
    for sign, higher in ((1, True), (-1, True), (1, False)):
        rules = Rules(resamples=99)
        (pair,) = compare([_scores(40, sign * 1.5, 1)], rules, higher).pairs
        assert pair.shown == sign
        won = pair.effects["probability_of_improvement"].estimate
        assert (won > 0.5) == ((sign > 0) == higher)
        assert np.sign(pair.effects["difference"].estimate) == sign
    (wide,) = compare([_scores(60, 0.0, 2, spread=4.0)], QUICK).pairs
    assert (wide.shown, wide.wider) == (0, 1)


def test_few_scores_carry_no_verdict() -> None:
    """Dies if two scores a model, however far apart, are called different, or the spreads of four
    are."""
    apart = np.array([1.0, 1.1, 1.2, 1.3])
    rules = Rules(alpha=0.5, resamples=99)
    for n, shown in ((2, 0), (3, 1), (4, 1)):
        few = Scores("A", "B", "", 8 + 9 * apart[:n], apart[:n])
        (pair,) = compare([few], rules).pairs
        assert pair.tests["welch_t"].p_value < 0.05
        assert (pair.shown, pair.wider) == (shown, 0)
        assert (pair.plan.detectable_difference is None) == (n == 2)
    two = Scores("A", "B", "", np.array([9.0, 9.1]), np.array([1.0, 5.1]))
    assert "brown_forsythe" not in two.tests(rules)
    with pytest.raises(DataError, match=r"A: 1 score, which .* expected at least 3"):
        study.study(runs({"": {"A": [0.5], "B": [0.6]}}))
    lost = dataclasses.replace(runs({"": {"A": [0.5, 0.6], "B": [np.nan] * 2}}), missing="drop")
    with pytest.raises(DataError, match="all scores of B are missing: no scores to compare"):
        study.study(lost)


def test_pairs_decide_where_units_are_shared() -> None:
    """Dies if splits that move both models drown a constant difference."""
    draw = np.random.default_rng(3)
    split = draw.normal(0, 5, 20)
    a, b = split + 0.5 + draw.normal(0, 0.1, 20), split
    scores = Scores("A", "B", "", a, b, paired=(a, b), by_pairs=True)
    (pair,) = compare([scores], QUICK).pairs
    assert (pair.primary, pair.scores.spread_test) == ("wilcoxon_signed_rank", "pitman_morgan")
    assert pair.shown == 1
    assert pair.adjusted["wilcoxon_signed_rank"] < 0.001 < pair.tests["brunner_munzel"].p_value
    t = scipy_stats.ttest_rel(a, b).confidence_interval(0.95)
    interval = pair.effects["difference"].interval
    assert (interval.low, interval.high) == (pytest.approx(t.low), pytest.approx(t.high))


def test_spread_of_pairs_is_seen_beside_what_they_share() -> None:
    """Dies if splits that move both models hide that one model's scores are spread wider, or the
    data sets' own differences are called a model's spread."""
    draw = np.random.default_rng(5)
    split = draw.normal(0, 1, 20)
    a, b = 1.5 * (split + draw.normal(0, 0.2, 20)), split + draw.normal(0, 0.2, 20)
    scores = Scores("A", "B", "", a, b, paired=(a, b), by_pairs=True)
    (pair,) = compare([scores], QUICK).pairs
    assert pair.wider == 1 and pair.tests["brown_forsythe"].p_value > 0.05
    (turned,) = compare([Scores("A", "B", "", b, a, (b, a), True)], QUICK).pairs
    assert turned.wider == -1
    assert turned.adjusted["pitman_morgan"] == pair.adjusted["pitman_morgan"]
    of_data_sets = dataclasses.replace(scores, unit="data set")
    (pair,) = compare([of_data_sets], QUICK).pairs
    assert pair.wider == 0
    assert not {"brown_forsythe", "pitman_morgan"} & {*pair.tests}


def test_the_plan_is_that_of_the_design() -> None:
    """Dies if the plan forgets the correction, the margin or the pairs."""
    scores = _scores(12, 0.3, 4)
    (pair,) = compare([scores], Rules(resamples=99, margin=0.7)).pairs
    sds = (float(np.std(of, ddof=1)) for of in (scores.first, scores.second))
    design = power.TestDesign(*sds, test="brunner_munzel")
    assert pair.plan.planned_difference == 0.7
    assert pair.plan.required_seeds == design.required_seeds(0.7)
    actual = design.power(pair.plan.detectable_difference, 12)
    assert actual == pytest.approx(0.8, abs=0.002)
    assert pair.tests["tost"] == hypotheses.tost(scores.first, scores.second, 0.7)


def test_the_plan_knows_what_the_test_cannot_show() -> None:
    """Dies if ranks are promised a level they never reach, or t is not that of its level."""
    draw = np.random.default_rng(8)
    x, y = draw.normal(9, 0.1, 10), draw.normal(0, 0.1, 10)
    (pair,) = compare([Scores("A", "B", "", x, y)], Rules(resamples=99, alpha=1e-6)).pairs
    least = 2 / math.comb(20, 10)
    assert pair.plan.least_p == pytest.approx(least) == pair.adjusted["brunner_munzel"]
    assert pair.plan.detectable_difference is None
    assert pair.plan.required_seeds == 12
    of_data_sets = Scores("A", "B", "", x, y, (x, y), True, "data set")
    assert compare([of_data_sets], QUICK).pairs[0].plan.required_seeds == 5  # by t: ranks take 6
    few = draw.normal(0, 1, 5)
    for data_sets, test in ((True, "wilcoxon_signed_rank"), (False, "brunner_munzel")):
        gap, pairs = 0.3 * few.std(ddof=1), (x[:5], x[:5] - few)
        of_few = Scores("A", "B", "", *pairs, pairs, data_sets, "data set" if data_sets else "run")
        (pair,) = compare([of_few], Rules(resamples=99, margin=gap)).pairs
        sds = [few.std(ddof=1)] if data_sets else [of.std(ddof=1) for of in pairs]
        design = power.TestDesign(*sds, test=test, paired=data_sets)  # at that number ranks decide
        assert "_t" in pair.primary and pair.plan.required_seeds == design.required_seeds(gap)
    scores = [
        Scores("A", "B", str(k), draw.normal(9, 0.1, 5), draw.normal(0, 0.1, 5)) for k in range(15)
    ]
    pair = compare(scores, QUICK).pairs[0]
    sds = [float(np.std(of, ddof=1)) for of in (pair.scores.first, pair.scores.second)]
    seen = pair.plan.detectable_difference
    assert seen is not None and pair.plan.least_p == 0
    assert power.TestDesign(*sds, comparisons=15).power(seen, 5) == pytest.approx(0.8)
    smallest = scipy_stats.wilcoxon(np.arange(1, 8), method="exact").pvalue
    assert power._least(True, 7, 7) == pytest.approx(smallest)
    smallest = scipy_stats.mannwhitneyu([1, 2, 3, 4], [5, 6, 7], method="exact").pvalue
    assert power._least(False, 4, 3) == pytest.approx(smallest)


def test_pairs_can_be_pickled() -> None:
    """Dies if what is computed later is lost, or cannot be sent to another process."""
    pair = compare([_scores(6, 1.0, seed=0)], QUICK).pairs[0]
    copy = pickle.loads(pickle.dumps(pair))
    for name in ("tests", "adjusted", "effects", "plan", "wider"):
        assert getattr(copy, name) == getattr(pair, name)
