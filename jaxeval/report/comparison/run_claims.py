"""What a comparison of whole runs says of each pair, in sentences that a reviewer would accept.

Directions are those of the primary tests.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from jaxeval.report import scores, text
from jaxeval.report.comparison.words import TESTS, names_of, on
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import describe, run_plans
from jaxeval.stats.pairs import Pair
from jaxeval.stats.results import Interval
from jaxeval.stats.rules import Rules
from jaxeval.stats.samples import Copies
from jaxeval.stats.single_models import SinglePair
from jaxeval.stats.study import RunStudy

_UNITS = {"row": "runs", "dataset": "data sets"}


def of_pair(pair: Pair, rules: Rules, scale: ScoreFormat) -> Iterator[str]:
    """Location, spread, what could have been seen, equivalence: a sentence each."""
    of, plan = pair.scores, pair.plan
    assert of is not None and plan is not None
    if of.units < of.fewest:
        pairs = len(of.compared[0])
        counted = f"{pairs} pairs" if of.by_pairs else f"{of.n[0]} and {of.n[1]} scores"
        if plan.least_p <= rules.alpha:
            needed = f"{of.fewest}" if of.by_pairs else f"{of.fewest} of each"
            rule = "No conclusion, by rule, however small p is"
            yield f"{rule}: {counted}, where {needed} are needed."
        else:
            yield f"No conclusion: {counted} are too few to test location by their ranks."
    else:
        yield _location(pair, rules, scale)
        if of.spread_test in pair.tests:
            yield spread(pair, rules, scale)
    yield from _sensitivity(pair, rules, scale)
    if rules.margin is not None:
        yield equivalence(pair, rules, scale)


def _location(pair: Pair, rules: Rules, scale: ScoreFormat) -> str:
    assert pair.scores is not None
    if not pair.shown:
        return f"{_nothing_shown(pair, rules)}: {measured(pair, scale)}."
    higher, lower = names_of(pair, pair.shown)
    medians = [float(np.median(values)) for values in pair.scores.compared]
    sizes = f"medians {_of_each(pair, medians, scale)}; {measured(pair, scale)}"
    if pair.against:
        said = disagree(TESTS[pair.primary], higher, lower, pair.against)
        return f"{said[0].upper()}{said[1:]}: {sizes}."
    better = "" if pair.higher_is_better else f", and so {lower} is the better one"
    return f"{higher}'s distribution is higher{better}: {sizes}."


def measured(pair: Pair, scale: ScoreFormat) -> str:
    """The difference of a pair, A's score minus B's, how often A is better, and the test."""
    of, won = pair.scores, pair.effects["probability_of_improvement"]
    assert of is not None
    means = "mean difference of pairs" if of.by_pairs else "difference of means"
    which = f"{of.a} is better on a {of.unit}"
    which = which if of.by_pairs else f"a {of.unit} of {of.a} is better"
    return (
        f"{means} {scale.difference(pair.value)}, {scale.ci(pair.interval)}; probability that "
        f"{which} {won.estimate:.2f}{chance(won.interval)}; {_tested(pair, pair.primary)}"
    )


def _of_each(pair: Pair, values: Sequence[float], scale: ScoreFormat) -> str:
    """A number of each model, A's first."""
    a, b = map(scale, values)
    return f"{a} ({pair.a}) and {b} ({pair.b})"


def chance(interval: Interval) -> str:
    """That of a probability; nothing where there are too few scores for one."""
    return "" if interval.absent else f", {text.confidence(interval)} {text.bounds(interval)}"


def disagree(test: str, higher: str, lower: str, others: Sequence[str]) -> str:
    """That a test names one model as higher, and some measures the other."""
    return (
        f"measures of location disagree: {test} finds {higher}'s scores higher, but by the "
        f"{text.listed(others)}, {lower}'s are"
    )


def _nothing_shown(pair: Pair, rules: Rules) -> str:
    """How the sentence begins; an interval of the mean difference beside 0 is explained."""
    head = "No difference in location was shown"
    if not pair.excludes_zero or pair.scores is None:
        return head
    beside = "the CI of the difference of means excludes 0"
    if pair.p_value <= rules.alpha:
        p = text.p_value(pair.p_value)
        return f"{head} after the correction (p {p} without it), though {beside}"
    if not pair.scores.by_ranks:
        return f"{head} at level {rules.alpha:g}, though {beside}"
    return f"{head} by the ranks of the scores, though {beside}: the two measures disagree"


def _tested(pair: Pair, test: str) -> str:
    of = pair.scores
    pairs = f" on {len(of.compared[0])} pairs" if of is not None and of.by_pairs else ""
    return f"{TESTS[test]}{pairs}, corrected p {text.p_value(pair.adjusted[test])}"


def spread(pair: Pair, rules: Rules, scale: ScoreFormat) -> str:
    """What the test of spread shows of a pair that has one."""
    of = pair.scores
    assert of is not None and of.spread_test is not None
    sds = [describe.sd(values) for values in of.compared]
    measured = f"sd {_of_each(pair, sds, scale)}"
    tested = _tested(pair, of.spread_test)
    if not pair.wider:
        seen = _seen_ratio(pair, rules)
        return f"No difference in spread was shown: {measured}; {tested}{seen}."
    wider, other = names_of(pair, pair.wider)
    if pair.wider * (sds[0] - sds[1]) >= 0:
        return f"The spread differs: {measured}, {wider}'s is wider; {tested}."
    by = "rank correlation of sums and differences of pairs"
    if not of.by_pairs:
        away = [float(np.mean(np.abs(values - np.median(values)))) for values in of.compared]
        by = f"mean absolute deviation from the median, {_of_each(pair, away, scale)}"
    return (
        f"Measures of spread disagree: {wider}'s is wider by the {by}, but {other}'s by the sd, "
        f"which a few outliers decide: {measured}; {tested}."
    )


def _seen_ratio(pair: Pair, rules: Rules) -> str:
    """Which ratio of sds would have been seen."""
    ratio = None if pair.plan is None else pair.plan.detectable_ratio
    if ratio is None:
        return ""
    power = f"with a power of {100 * rules.power:g} %"
    if math.isinf(ratio):
        return f"; no ratio of sds, however large, is detected {power}"
    digits = max(1, 1 - math.floor(math.log10(ratio - 1)))  # two of what is above 1
    return f"; a ratio of sds of {ratio:.{digits}f} is detected {power}"


def equivalence(pair: Pair, rules: Rules, scale: ScoreFormat) -> str:
    """Whether the means were shown to differ by less than the margin, which there is."""
    of = pair.scores
    assert rules.margin is not None and of is not None
    margin, p = scores.difference(rules.margin, scale.unit), pair.adjusted["tost"]
    tested = f"TOST, corrected p {text.p_value(p)}"
    if p <= rules.alpha and of.units < of.fewest:
        each = "pairs" if of.by_pairs else "scores of each"
        rule = f"by rule, which takes {of.fewest} {each}"
        return f"No conclusion on equivalence within {margin}, {rule} ({tested})."
    if not p <= rules.alpha:  # NaN: not known
        return f"Equivalence within {margin} was not shown ({tested})."
    if pair.shown and not pair.against:
        higher, _ = names_of(pair, pair.shown)
        return f"Equivalent within {margin}, though {higher}'s distribution is higher ({tested})."
    return f"Equivalent within {margin}: the means differ by less ({tested})."


def _sensitivity(pair: Pair, rules: Rules, scale: ScoreFormat) -> Iterator[str]:
    """Which difference these scores would have shown, and how many would show this one.

    Nothing of scores without spread: every difference would be. Nor that none could have been
    shown where one was: Holm's correction may leave it a higher level than Bonferroni's.
    """
    of, plan = pair.scores, pair.plan
    assert of is not None and plan is not None
    n, m = (len(values) for values in of.compared)
    many = f"{n} scores each" if n == m else f"{n} and {m} scores"
    many = f"{n} pairs" if of.by_pairs else many
    needed = _needed(pair, rules, scale)
    if plan.detectable_difference is not None:
        smallest = scale.difference(plan.detectable_difference)
        yield (
            f"With {many} a difference of {smallest} is detected with a power of "
            f"{100 * rules.power:g} %, a smaller one less often{needed}."
        )
    elif pair.shown:
        return
    elif plan.least_p > rules.alpha:
        none = "no difference, however large, could have been shown by their ranks"
        yield f"With {many} {none}{needed}."
    elif of.units < of.fewest:
        takes = f"which takes {of.fewest}"
        yield f"With {many} no conclusion is drawn by rule, {takes}{needed}."


def _needed(pair: Pair, rules: Rules, scale: ScoreFormat) -> str:
    """How many scores would show the margin, or the difference that was found and its interval."""
    of, plan = pair.scores, pair.plan
    if of is None or plan is None or plan.required_seeds is None:
        return ""
    what = "a difference like this one" if rules.margin is None else "the margin"
    each = "pairs" if of.by_pairs else "scores each"
    advice = "" if pair.shown else ": choose their number beforehand"
    ends = ""
    if plan.required_range is not None and plan.required_range[0] != plan.required_range[1]:
        beyond = f"more than {run_plans.MOST_REQUIRED:,}"
        fewest, most = (beyond if n is None else f"{n:,}" for n in plan.required_range)
        ends = f" ({fewest} to {most} at the ends of the {100 * rules.confidence:g} % CI)"
    return (
        f"; {what} ({scale.difference(plan.planned_difference)}) would need "
        f"{plan.required_seeds:,} {each}{ends}{advice}"
    )


def one_run(study: RunStudy, of: Copies, scale: ScoreFormat) -> str:
    """That a model is deterministic, so that no test is made of it."""
    return (
        f"{of.model} gives {scale(of.score)} at every {study.unit}{on(of.data_set)} ({of.count}): "
        "one run, which no test is made of."
    )


def single(pair: SinglePair, study: RunStudy, scale: ScoreFormat) -> str:
    """Which of two trained models is better on such items; of which population that speaks."""
    higher, test = study.scores.higher_is_better, pair.tests["approximate_randomization"]
    said = "no difference was shown"
    if pair.adjusted["approximate_randomization"] <= study.rules.alpha and test.direction:
        winner, loser = (pair.a, pair.b) if test.direction > 0 else (pair.b, pair.a)
        said = f"{winner} scores higher" + (
            "" if higher else f", and so {loser} is the better one"
        )
    tested = ", ".join(
        f"{TESTS[name]}, corrected p {text.p_value(p)}" for name, p in pair.adjusted.items()
    )
    a, b = map(scale, pair.scores)
    split = f" of split {pair.split}" if pair.split not in ("", "0") else ""
    chosen = "of its model's best dev score" if pair.best_dev else "its model's first run"
    over = _UNITS.get(study.unit, f"{study.unit}s")
    gap = pair.difference
    return (
        f"Of these two trained models ({pair.a}, seed {pair.seeds[0]}, and {pair.b}, seed "
        f"{pair.seeds[1]}{split}, each {chosen}), over items like these {pair.items} of "
        f"{pair.part}{on(pair.data_set)}: {said}: {a} ({pair.a}) and {b} ({pair.b}); difference "
        f"{scale.difference(gap.estimate)}, {scale.ci(gap.interval)} by paired bootstrap; "
        f"{tested}. Which method is better over {over} is another question, which the tests of "
        "their distributions answer."
    )
