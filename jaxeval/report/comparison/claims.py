"""Sentences about one pair of models; directions are those of the corrected primary tests."""

import math
from collections.abc import Iterator, Sequence

from jaxeval.report import scores, text
from jaxeval.report.comparison import words
from jaxeval.report.comparison.words import CHANCE, TESTS
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import Rules, describe, on, power
from jaxeval.stats.datasets import Across, Ranking
from jaxeval.stats.pairs import FEW_DATA_SETS, Pair, RunScores
from jaxeval.stats.planning import POWER
from jaxeval.stats.single_models import SinglePair
from jaxeval.stats.study import Board, Study

_NO_CONCLUSION = f"no conclusion can be drawn: at least {FEW_DATA_SETS} are needed"
_KNOWN_BEST = " for the best-known pair"
WITHHELD = "too many answers or tasks are missing"


def about(pair: Pair, study: Study) -> Iterator[str]:
    """Yields the verdict on a pair, and what stands beside it.

    Of runs chance, spread, detectable difference, needed runs and equivalence; of items the
    difference beside the margin.
    """
    scale = words.score_format(study, pair.data_set)
    rules = study.rules
    runs = pair.scores
    yield verdict(pair, study, scale, words.in_mean(study) if pair.data_set is None else "")
    if runs is None:
        withheld = study.item_design is not None and study.item_design.withheld
        if rules.margin and pair.by_margin and not withheld:
            yield against_margin(pair, rules, scale)
        return
    yield from filter(None, [chance(pair)])
    if runs.units >= runs.fewest and runs.spread_test in pair.tests:
        yield _spread(pair, scale)
    if not pair.shown or (pair.plan and pair.plan.detectable_difference is not None):
        seen = detectable([pair], rules, scale).removeprefix("; ")
        yield from [f"With {words.sizes([pair])} {seen}."] if seen else []
    yield from _needed(pair, rules, scale)
    if rules.margin is not None:
        yield equivalence(pair, rules, scale)


def verdict(
    pair: Pair, study: Study, scale: ScoreFormat, where: str = "", unseen: str = ""
) -> str:
    """States which model is better, by how much and by which test, or that this was not shown.

    Args:
      where: the tasks that the sentence is about.
      unseen: which differences would have been detected.
    """
    a, b = pair.names
    runs = pair.scores
    if study.item_design and study.item_design.withheld:
        return f"{a} and {b} are not compared, since {WITHHELD}."
    if math.isnan(pair.p_value) and pair.difference:
        alike = "score the same" if pair.value == 0 else "differ by the same"
        every = " and ".join(pair.difference.over)
        return f"{a} and {b} {alike} on all {every}{where}, which says nothing about others."
    if runs and runs.units < runs.fewest:
        needed = f"{runs.fewest} are needed, however small p is"
        return f"No conclusion on {a} and {b}: {words.sizes([pair])}, where {needed}."
    tested = f"{words.p_name(study, pair)} {text.p_value(pair.p_adjusted)} ({words.test_of(pair)})"
    metric = pair.metric or "score"
    means = " of the means" if runs and runs.by_ranks else ""
    if pair.better:
        better, worse = pair.names if pair.better > 0 else pair.names[::-1]
        gap = pair.value
        interval = pair.interval
        if pair.shown < 0:
            gap = -gap
            interval = interval.reflected()
        side = "higher" if pair.higher_is_better else "lower"
        size = f"{metric} {scale.difference(gap)} {side}, {scale.ci(interval)}"
        within = pair.interval.low <= 0 <= pair.interval.high  # not if there is none
        though = f", though the CI{means} includes 0" if within else ""
        return f"{better} is better than {worse}{where}: {size}, {tested}{though}."
    value = f"{metric} {scale.difference(pair.value)} ({a} - {b})"
    measured = f"{value}, {scale.ci(pair.interval)}, {tested}"
    if pair.shown:
        higher, lower = pair.names if pair.shown > 0 else pair.names[::-1]
        return f"{_disagree(TESTS[pair.primary], higher, lower, pair.against)}: {measured}."
    though = ""
    if pair.interval.low > 0 or pair.interval.high < 0:  # it is not corrected
        though = f", though the CI{means} excludes 0"
        if pair.p_value <= study.rules.alpha:
            before = f"p {text.p_value(pair.p_value)} before the correction"
            though = f", though the CI excludes 0 ({before})"
    return f"No difference between {a} and {b} was shown{where}: {measured}{though}{unseen}."


def _disagree(test: str, higher: str, lower: str, others: Sequence[str]) -> str:
    """States that the test and other measures of location name different models as higher."""
    return (
        f"Measures of location disagree: {test} finds {higher}'s scores higher, but by the "
        f"{text.listed(others)}, {lower}'s are"
    )


def detectable(pairs: Sequence[Pair], rules: Rules, scale: ScoreFormat) -> str:
    """States which difference of whole runs would be detected; "" if this is not known."""
    found = power.detectable(pairs)
    if known := [difference for difference in found if difference is not None]:
        seen = span(min(known), max(known), scale)
        if len(known) < len(found):  # others have too few scores, do not vary, or grew
            seen = scale.difference(min(known)) + _KNOWN_BEST
        return f"; a difference of {seen} would be detected (power {100 * rules.power:g} %)"
    plans = (pair.scores and pair.scores.by_ranks and pair.plan for pair in pairs)  # t: any p
    never = all(plan and plan.least_p > rules.alpha for plan in plans)
    return "; no difference, however large, could be shown" if never else ""


def detectable_on(board: Board, study: Study) -> str:
    """States which difference of items would be detected, of the best and worst known pairs."""
    assert board.detectable is not None
    smallest, largest, never, unknown = board.detectable
    if smallest is None:
        none = f"no difference, however large, could be shown at level {study.rules.alpha:g}"
        why = f"{none}, with so few runs or items" if never else ""
        alike = "the detectable difference is unknown: two models differ by the same on all items"
        return f"; {why or alike}" if never or unknown else ""
    scale = words.score_format(study, board.data_set)
    seen = scale.difference(smallest) + _KNOWN_BEST
    if largest is not None:
        seen = span(smallest, largest, scale)
    return f"; a difference of {seen} would be detected (power {100 * POWER:g} %)"


def span(low: float, high: float, scale: ScoreFormat) -> str:
    """Formats a range of differences, or one if both look the same."""
    return ("" if scale(low) == scale(high) else f"{scale(low)} to ") + scale.difference(high)


def chance(pair: Pair) -> str:
    """States how often a run of the better model, or else of A, is better; "" if too few say."""
    runs = pair.scores
    if runs is None or runs.units < runs.fewest or pair.effects[CHANCE].interval.absent:
        return ""
    won = pair.effects[CHANCE]
    a, b = pair.names
    if won.estimate < 0.5:
        a, b = b, a
        won = words.reversed_chance(won)
    who = f"{a} is better on a {runs.unit}"
    who = who if runs.by_pairs else f"A {runs.unit} of {a} is better than one of {b}"
    worst = "; failed runs count as the worst" if runs.with_failed else ""
    return f"{who} with probability {words.probability(won)}{worst}."


def _spread(pair: Pair, scale: ScoreFormat) -> str:
    runs = pair.scores
    assert runs is not None and runs.spread_test is not None
    sds = [describe.sd(values) for values in runs.compared]
    p = f"{TESTS[runs.spread_test]}, corrected p {text.p_value(pair.adjusted[runs.spread_test])}"
    measured = f"sd {scale(sds[0])} ({pair.a}) and {scale(sds[1])} ({pair.b}); {p}"
    if not pair.wider:
        return f"No difference in spread was shown: {measured}."
    otherwise = ", though not by the sd, which depends on few outliers"
    though = "" if pair.wider * (sds[0] - sds[1]) >= 0 else otherwise
    return f"The spreads differ; {pair.names[pair.wider < 0]}'s is wider{though}: {measured}."


def _needed(pair: Pair, rules: Rules, scale: ScoreFormat) -> Iterator[str]:
    """Yields how many scores would show the margin, or the difference that was found."""
    runs, plan = pair.scores, pair.plan
    if runs is None or plan is None or plan.required_seeds is None:
        return
    what = "A difference like this one" if rules.margin is None else "The margin"
    ends = ""
    if plan.required_range is not None and plan.required_range[0] != plan.required_range[1]:
        beyond = f"more than {plan.MOST_REQUIRED:,}"
        fewest, most = (beyond if n is None else f"{n:,}" for n in plan.required_range)
        ends = f" ({fewest} to {most} at the ends of the {text.confidence(rules)})"
    many = f"{plan.required_seeds:,} {'pairs' if runs.by_pairs else 'scores each'}{ends}"
    advice = "" if pair.shown else "; choose the number beforehand"
    yield f"{what} ({scale.difference(plan.planned_difference)}) would need {many}{advice}."


def equivalence(pair: Pair, rules: Rules, scale: ScoreFormat) -> str:
    """States whether the means were shown to differ by less than the margin."""
    runs, p = pair.scores, pair.adjusted["tost"]
    assert rules.margin is not None and runs is not None
    margin = scores.difference(rules.margin, scale.unit)
    tested = f"corrected {'anytime ' * (pair.looks > 1)}p {text.p_value(p)}"
    if not p <= rules.alpha:  # NaN: not known
        return f"Equivalence within {margin} was not shown (TOST, {tested})."
    if runs.units < runs.fewest:
        few = f"{words.sizes([pair])}, where {runs.fewest} are needed"
        return f"No conclusion on equivalence within {margin}: {few} (TOST, {tested})."
    though = f", though {pair.names[pair.better < 0]} is better" if pair.better else ""
    return f"Equivalent within {margin}: the means differ by less{though} (TOST, {tested})."


def against_margin(pair: Pair, rules: Rules, scale: ScoreFormat) -> str:
    """States whether a difference of items is larger than the margin, smaller, or neither."""
    shown = pair.by_margin
    assert shown is not None
    margin = scores.difference(rules.margin or 0.0, scale.unit)
    beyond = f"corrected p {text.p_value(shown.p_outcome)}"
    within = f"TOST at half the level, corrected p {text.p_value(shown.p_equivalent)}"
    if shown.outcome != "not shown":
        return f"{pair.a} is {shown.outcome} than {pair.b} by more than {margin} ({beyond})."
    if shown.equivalent:
        return f"Equivalent within {margin}: the difference is smaller ({within})."
    neither = f"Neither a difference of more than {margin} was shown ({beyond})"
    return f"{neither}, nor that it is smaller ({within})."


def over_data_sets(study: Study, across: Across) -> Iterator[str]:
    """Yields claims about other data sets, by ranks, and about other runs on these data sets."""
    ranking = across.ranking
    over = f"Over {len(across.data_sets)} {study.noun}s"
    by_data_set = study.run_design is not None and study.run_design.unit == "dataset"
    if ranking is not None:
        friedman, test = ranking.friedman, ranking.iman_davenport
        each = zip(ranking.models, ranking.average_ranks, strict=True)
        ranks = text.few([f"{model} {rank:.2f}" for model, rank in each], 8)
        tested = (
            f"average ranks {ranks}; Friedman chi-squared {friedman.statistic:.2f}, p "
            f"{text.p_value(friedman.p_value)}; Iman-Davenport F {test.statistic:.2f}, p "
            f"{text.p_value(test.p_value)} by permutation"
        )
        enough = test.n[0] >= FEW_DATA_SETS
        differ = enough and test.p_value <= study.rules.alpha
        shown = " the models differ" if differ else " no difference between the models was shown"
        shown = "" if by_data_set else shown  # the pairs' own tests say it
        yield f"{over}{shown if enough else f' {_NO_CONCLUSION}'}: {tested}."
        if differ and not by_data_set:
            yield _nemenyi(ranking)
    elif across.signed_rank is not None and not by_data_set:  # else the pair's own test
        yield f"{over} {_signed_rank(across, study)}."
    if said := words.chance_over(study, across):
        yield said
    elif across.aggregates is not None and not across.one_scale:
        yield f"On these {study.noun}s scores are on different scales: see P(row better)."


def _nemenyi(ranking: Ranking) -> str:
    critical = ranking.critical_difference
    how = f"Nemenyi's test, critical difference {critical:.2f} at {ranking.alpha:g}"
    ranks = dict(zip(ranking.models, ranking.average_ranks, strict=True))
    over = {a: [b for b in ranks if ranks[b] - ranks[a] > critical] for a in ranks}
    better = "; ".join(f"{a} over {text.few(worse)}" for a, worse in over.items() if worse)
    return f"{f'Ranked better: {better}' if better else 'Which ones was not shown'} ({how})."


def _signed_rank(across: Across, study: Study) -> str:
    """Returns the verdict on two models; if data sets are the units, that of the pair."""
    test = across.signed_rank
    (a, first), (b, second) = across.means.items()
    assert test is not None
    p = test.p_value
    tested = f"Wilcoxon signed-rank of one score per {study.noun}, p {text.p_value(p)}"
    if len(across.data_sets) < FEW_DATA_SETS:
        return f"{_NO_CONCLUSION}: {tested}"
    shown = (test.direction or 0) if p <= study.rules.alpha else 0
    if not shown:
        return f"no difference between {a} and {b} was shown: {tested}"
    higher, lower = (a, b) if shown > 0 else (b, a)
    by_data_set = RunScores(a, b, "", first, second, (first, second), True, "data set")
    if others := by_data_set.contradicting(shown):
        disagreement = _disagree("Wilcoxon signed-rank", higher, lower, others)
        return f"m{disagreement[1:]}: {tested}"
    best, other = (higher, lower) if study.scores.higher_is_better else (lower, higher)
    return f"{best} is better than {other}: {tested}"


def single_models(pair: SinglePair, study: Study) -> str:
    """States which of two trained models is better on items like these."""
    scale = words.score_format(study)
    test = pair.tests["approximate_randomization"]
    shown, gap = "no difference was shown", pair.difference
    sign = (test.direction or 0) * (1 if study.scores.higher_is_better else -1)
    if pair.adjusted["approximate_randomization"] <= study.rules.alpha and sign:
        shown = f"{pair.a if sign > 0 else pair.b} is better"
    tested = "; ".join(
        f"{words.TESTS[name]}, corrected p {text.p_value(p)}" for name, p in pair.adjusted.items()
    )
    split = f" of split {pair.split}" if pair.split not in ("", "0") else ""
    chosen = "best on dev" if pair.best_dev else "first run"
    a, b = (f"{m} (seed {s})" for m, s in zip((pair.a, pair.b), pair.seeds, strict=True))
    return (
        f"Of the trained models {a} and {b}{split}, each its method's {chosen}, on items like "
        f"these {pair.items} of {pair.part}{on(pair.data_set)}: {shown}: "
        f"{scale(pair.scores[0])} and {scale(pair.scores[1])}; difference "
        f"{scale.difference(gap.estimate)}, {scale.ci(gap.interval)} by paired bootstrap; "
        f"{tested}. This says nothing about other runs of the two methods."
    )
