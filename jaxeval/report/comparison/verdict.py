"""What a comparison says, in sentences that a reviewer would accept."""

from collections.abc import Iterator, Sequence

import numpy as np

from jaxeval.report import scores, text
from jaxeval.report.comparison import plan, single
from jaxeval.report.items import verdict as items
from jaxeval.report.scores import ScoreFormat
from jaxeval.runs.flat import ScoreTable
from jaxeval.runs.units import Copies
from jaxeval.stats import comparison, describe
from jaxeval.stats.comparison import Pair, PairwiseComparisons
from jaxeval.stats.pairwise import Rules
from jaxeval.stats.results import Interval
from jaxeval.stats.study import ScoreStudy

TESTS = {
    "brunner_munzel": "Brunner-Munzel",
    "mann_whitney_u": "Mann-Whitney U",
    "wilcoxon_signed_rank": "Wilcoxon signed-rank",
    "brown_forsythe": "Brown-Forsythe",
    "pitman_morgan": "Pitman-Morgan by ranks",
    "kolmogorov_smirnov": "Kolmogorov-Smirnov",
    "welch_t": "Welch's t",
    "paired_t": "t on pairs",
    "sign_test": "sign test",
    "permutation_test": "permutation of means",
    "tost": "equivalence (TOST)",
}
CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "benjamini_hochberg": "Benjamini-Hochberg",
    "bergmann_hommel": "Bergmann-Hommel",
}


def scale_of(study: ScoreStudy) -> ScoreFormat:
    """How a study's scores are read, by the unit that its table or its metric's name gives.

    A table may hold percentages already (an accuracy of 85.3): its scores stay as they are.
    """
    table = study.table
    largest = float(np.abs(table.score).max(initial=0.0))
    sds = [described.summary.sd for described in study.described]
    return scores.scale(table.stored_unit, [sd for sd in sds if sd is not None], largest)


def of_pair(pair: Pair, rules: Rules, scale: ScoreFormat) -> Iterator[str]:
    """Location, spread, what could have been seen, equivalence: a sentence each."""
    n, pairs = pair.scores.n, len(pair.scores.compared[0])
    if not comparison.enough(pair.scores):
        counted = f"{pairs} pairs" if pair.scores.by_pairs else f"{n[0]} and {n[1]} scores"
        if pair.plan.least_p <= rules.alpha:
            fewest = pair.scores.fewest
            needed = f"{fewest}" if pair.scores.by_pairs else f"{fewest} of each"
            rule = "No conclusion, by rule, however small p is"
            yield f"{rule}: {counted}, where {needed} are needed."
        else:
            yield f"No conclusion: {counted} are too few to test location by their ranks."
    else:
        yield _location(pair, rules, scale)
        if pair.scores.spread_test in pair.tests:
            yield spread(pair, rules, scale)
    yield from plan.sensitivity(pair, rules, scale)
    if rules.margin is not None:
        yield equivalence(pair, rules, scale)


def _location(pair: Pair, rules: Rules, scale: ScoreFormat) -> str:
    of = pair.scores
    shown = comparison.location(pair, rules)
    if not shown:
        return f"{_nothing_shown(pair, rules)}: {measured(pair, scale)}."
    higher, lower = (of.a, of.b) if shown > 0 else (of.b, of.a)
    medians = [float(np.median(values)) for values in of.compared]
    sizes = f"medians {_of_each(pair, medians, scale)}; {measured(pair, scale)}"
    others = comparison.against(pair, rules)
    if others:
        said = disagree(TESTS[of.location_test], higher, lower, others)
        return f"{said[0].upper()}{said[1:]}: {sizes}."
    better = "" if rules.higher_is_better else f", and so {lower} is the better one"
    return f"{higher}'s distribution is higher{better}: {sizes}."


def measured(pair: Pair, scale: ScoreFormat) -> str:
    """The difference of a pair, A's score minus B's, how often A is better, and the test."""
    return f"{_sizes(pair, scale)}; {_tested(pair, pair.scores.location_test)}"


def _of_each(pair: Pair, values: Sequence[float], scale: ScoreFormat) -> str:
    """A number of each model, A's first."""
    a, b = map(scale, values)
    return f"{a} ({pair.scores.a}) and {b} ({pair.scores.b})"


def disagree(test: str, higher: str, lower: str, others: Sequence[str]) -> str:
    """That a test names one model as higher, and some measures the other."""
    return (
        f"measures of location disagree: {test} finds {higher}'s scores higher, but by the "
        f"{text.listed(others)}, {lower}'s are"
    )


def _nothing_shown(pair: Pair, rules: Rules) -> str:
    """How the sentence begins; an interval of the mean difference beside 0 is explained."""
    head = "No difference in location was shown"
    if not comparison.excludes_zero(pair):
        return head
    beside = "the CI of the difference of means excludes 0"
    p = pair.tests[pair.scores.location_test].p_value
    if p <= rules.alpha:
        return f"{head} after the correction (p {text.p_value(p)} without it), though {beside}"
    if not pair.scores.by_ranks:
        return f"{head} at level {rules.alpha:g}, though {beside}"
    return f"{head} by the ranks of the scores, though {beside}: the two measures disagree"


def _sizes(pair: Pair, scale: ScoreFormat) -> str:
    """The mean difference, and how often A is better: of what, is said."""
    of, gap = pair.scores, pair.effects["difference"]
    won = pair.effects["probability_of_improvement"]
    means = "mean difference of pairs" if of.by_pairs else "difference of means"
    which = f"{of.a} is better on a {of.unit}"
    which = which if of.by_pairs else f"a {of.unit} of {of.a} is better"
    return (
        f"{means} {scale.difference(gap.estimate)}, {scale.ci(gap.interval)}; probability that "
        f"{which} {won.estimate:.2f}{_chance(won.interval)}"
    )


def _chance(interval: Interval) -> str:
    """That of a probability; nothing where there are too few scores for one."""
    return "" if interval.absent else f", {text.confidence(interval)} {text.bounds(interval)}"


def _tested(pair: Pair, test: str) -> str:
    pairs = f" on {len(pair.scores.compared[0])} pairs" if pair.scores.by_pairs else ""
    return f"{TESTS[test]}{pairs}, corrected p {text.p_value(pair.adjusted[test])}"


def spread(pair: Pair, rules: Rules, scale: ScoreFormat) -> str:
    """What the test of spread shows of a pair that has one."""
    of, test = pair.scores, pair.scores.spread_test
    assert test is not None
    shown = comparison.spread(pair, rules)
    sds = [describe.sd(values) for values in of.compared]
    measured = f"sd {_of_each(pair, sds, scale)}"
    tested = _tested(pair, test)
    if not shown:
        seen = plan.seen_ratio(pair, rules)
        return f"No difference in spread was shown: {measured}; {tested}{seen}."
    wider, other = (of.a, of.b) if shown > 0 else (of.b, of.a)
    if shown * (sds[0] - sds[1]) >= 0:
        return f"The spread differs: {measured}, {wider}'s is wider; {tested}."
    if of.by_pairs:
        by = "rank correlation of sums and differences of pairs"
    else:
        away = [float(np.mean(np.abs(values - np.median(values)))) for values in of.compared]
        by = f"mean absolute deviation from the median, {_of_each(pair, away, scale)}"
    return (
        f"Measures of spread disagree: {wider}'s is wider by the {by}, but {other}'s by the sd, "
        f"which a few outliers decide: {measured}; {tested}."
    )


def equivalence(pair: Pair, rules: Rules, scale: ScoreFormat) -> str:
    """Whether the means were shown to differ by less than the margin, which there is."""
    assert rules.margin is not None
    margin, p = scores.difference(rules.margin, scale.unit), pair.adjusted["tost"]
    tested = f"TOST, corrected p {text.p_value(p)}"
    if p <= rules.alpha and not comparison.enough(pair.scores):
        each = "pairs" if pair.scores.by_pairs else "scores of each"
        rule = f"by rule, which takes {pair.scores.fewest} {each}"
        return f"No conclusion on equivalence within {margin}, {rule} ({tested})."
    if not p <= rules.alpha:  # NaN: not known
        return f"Equivalence within {margin} was not shown ({tested})."
    shown = comparison.location(pair, rules)
    if shown and not comparison.against(pair, rules):
        higher = pair.scores.a if shown > 0 else pair.scores.b
        return f"Equivalent within {margin}, though {higher}'s distribution is higher ({tested})."
    return f"Equivalent within {margin}: the means differ by less ({tested})."


def of_study(study: ScoreStudy, scale: ScoreFormat) -> list[str]:
    """All sentences, those of several pairs with their names."""
    pairs = study.comparison.pairs
    sentences = []
    for pair in pairs:
        where = f" on {pair.scores.dataset}" if pair.scores.dataset else ""
        head = f"{pair.scores.a} against {pair.scores.b}{where}: " if len(pairs) > 1 else ""
        sentences += [head + line for line in of_pair(pair, study.comparison.rules, scale)]
    sentences += [one_run(study, of, scale) for of in study.copies]
    sentences += single.of_study(study, scale)
    claims = [] if study.items is None else items.all_claims(study.items)
    return [*sentences, *(f"All runs, item by item: {line}" for line in claims)]


def one_run(study: ScoreStudy, of: Copies, scale: ScoreFormat) -> str:
    """That a model is deterministic, so that no test is made of it."""
    where = f" on {of.dataset}" if of.dataset else ""
    return (
        f"{of.model} gives {scale(of.score)} at every {study.samples.unit}{where} ({of.count}): "
        "one run, which no test is made of."
    )


def counted(table: ScoreTable) -> list[str]:
    """In what models differ; how many runs failed, and what became of unusable scores."""
    lines = [*table.notes]
    lines += [f"{model}: {text.statuses(counts)}" for model, counts in table.statuses.items()]
    if table.unusable:
        lines.append(text.unusable(table.unusable, table.missing))
    return lines


def unit(study: ScoreStudy) -> str:
    """What one score stands for."""
    low, high = study.samples.averaged
    mean = ""
    if high > 1:
        many = f"{low}" if low == high else f"{low} to {high}"
        mean = f", each the mean of {many} scores"
    return f"unit of replication: {study.samples.unit}{mean}"


def direction(study: ScoreStudy) -> str:
    """Which scores are better."""
    table = study.table
    better = text.direction(table.higher_is_better, table.direction_assumed)
    return f"{table.metric or 'score'}: {better}"


def _intervals(study: ScoreStudy) -> dict[str, list[Interval | None]]:
    """Kind -> all that are shown."""
    effects = [pair.effects for pair in study.comparison.pairs]
    named: dict[str, list[Interval | None]] = {
        "means": [described.summary.mean_interval for described in study.described],
        "differences": [of["difference"].interval for of in effects],
        "P(A better)": [of["probability_of_improvement"].interval for of in effects],
    }
    together = study.across.aggregates if study.across else None
    if together:
        named |= {
            "interquartile means": [e.interval for e in together.interquartile_mean.values()],
            "optimality gaps": [e.interval for e in together.optimality_gap.values()],
            "P(A better) over data sets": [e.interval for e in together.improvement.values()],
        }
    if study.items:
        of_items = (each for pair in study.items.pairs for each in pair.estimates)
        named["differences item by item"] = [each.interval for each in of_items]
    return named


def primary(compared: PairwiseComparisons) -> str:
    """The tests of location: Welch's t, Holm over 6 comparisons, level .05, two-sided."""
    of = compared.primary
    over = f"{CORRECTIONS[of.correction]} over {of.comparisons} comparisons"
    how = over if of.comparisons > 1 else text.counted(of.comparisons, "comparison")
    tests = [TESTS[name] for name in of.tests]
    return ", ".join([*tests, how, f"level {f'{of.level:g}'.removeprefix('0')}", "two-sided"])


def signature(study: ScoreStudy) -> str:
    """Everything that fixes the numbers: versions, rules, corrections, seeds."""
    rules, compared = study.comparison.rules, study.comparison
    parts = [
        text.versions(),
        unit(study),
        "sd ddof 1, quartiles type 7",
        primary(compared),
        f"{CORRECTIONS[rules.correction]} over {text.counted(compared.families.spread, 'test')} "
        f"of spread and over {compared.families.further} secondary ones",
        f"{100 * rules.confidence:g} % {text.methods(_intervals(study))}",
        f"resamples {rules.resamples}, seed {rules.seed}",
        f"missing {study.table.missing}",
    ]
    return " | ".join(parts)
