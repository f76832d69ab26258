"""What a comparison says of each pair of models: sentences that a reviewer would accept.

Directions are those of the primary tests, after their correction.
"""

import math
from collections.abc import Iterator, Sequence

from jaxeval.report import scores, text
from jaxeval.report.comparison import words
from jaxeval.report.comparison.words import OVER, TESTS, Study, on
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import describe
from jaxeval.stats.items.planning import POWER
from jaxeval.stats.items.study import Board, ItemStudy
from jaxeval.stats.pairs import Pair
from jaxeval.stats.results import Interval, Rules
from jaxeval.stats.single_models import SinglePair
from jaxeval.stats.study import RunStudy

WITHHELD = "too many answers or tasks are missing"


def verdict(pair: Pair, study: Study, where: str = "", unseen: str = "") -> str:
    """Who is better, by how much, by which test; nothing of it where that was not shown.

    Args:
      where: of which tasks that is said.
      unseen: which differences would have been detected.
    """
    scale, (a, b), of = words.scale(study, pair.data_set), pair.names, pair.scores
    if isinstance(study, ItemStudy) and study.withheld:
        return f"Nothing is said of {a} against {b}, since {WITHHELD}."
    if math.isnan(pair.p_value) and pair.difference:
        alike = "score the same" if pair.value == 0 else "differ by the same"
        every = " and ".join(pair.difference.over)
        return f"{a} and {b} {alike} on all {every}{where}, which says nothing of others."
    if of and of.units < of.fewest:
        needed = f"{of.fewest} are needed, however small p is"
        return f"No conclusion on {a} and {b}: {words.sizes([pair])}, where {needed}."
    ended = f"{words.p(study)} {text.p_value(pair.p_adjusted)} ({_how(pair)})"
    if not pair.shown or pair.against:
        value = f"{pair.metric or 'score'} {scale.difference(pair.value)} ({a} - {b})"
        measured = f"{value}, {scale.ci(pair.interval)}, {ended}"
        if pair.shown:
            higher, lower = pair.names if pair.shown > 0 else pair.names[::-1]
            return f"{disagree(TESTS[pair.primary], higher, lower, pair.against)}: {measured}."
        though = _though(pair, study.rules) if pair.excludes_zero else ""
        return f"No difference between {a} and {b} was shown{where}: {measured}{though}{unseen}."
    better, worse = pair.names if pair.better > 0 else pair.names[::-1]
    gap = pair if pair.shown > 0 else words.turned(pair)
    side = "higher" if pair.higher_is_better else "lower"
    size = f"{pair.metric or 'score'} {scale.difference(gap.value)} {side}"
    return f"{better} is better than {worse}{where}: {size}, {scale.ci(gap.interval)}, {ended}."


def _though(pair: Pair, rules: Rules) -> str:
    """Why nothing was shown beside an interval that excludes 0, which is not corrected."""
    if pair.p_value <= rules.alpha:
        p = text.p_value(pair.p_value)
        return f", though the CI excludes 0 (p {p} before the correction)"
    means = " of the means" if pair.scores and pair.scores.by_ranks else ""
    return f", though the CI{means} excludes 0"


def _how(pair: Pair) -> str:
    """The test and what it rests on."""
    if pair.difference is None:
        return f"{TESTS[pair.primary]}, {words.sizes([pair])}"
    of = pair.difference.sizes
    within = f" in {text.counted(of.clusters, 'cluster')}" if of.clusters < of.items else ""
    each = f"{text.ranging(of.runs)} run{'' if max(of.runs) == 1 else 's'} each"
    return f"over {OVER[pair.difference.over]}; {text.counted(of.items, 'item')}{within}, {each}"


def disagree(test: str, higher: str, lower: str, others: Sequence[str]) -> str:
    """That a test names one model as higher, and some measures the other."""
    return (
        f"Measures of location disagree: {test} finds {higher}'s scores higher, but by the "
        f"{text.listed(others)}, {lower}'s are"
    )


def detected(pairs: Sequence[Pair], rules: Rules, scale: ScoreFormat) -> str:
    """Which difference of whole runs would be detected; nothing where their scores do not say."""
    plans = [pair.plan for pair in pairs if pair.plan]
    sizes = [of.detectable_difference for of in plans if of.detectable_difference is not None]
    if sizes:
        power = f"(power {100 * rules.power:g} %)"
        return f"; a difference of {span(min(sizes), max(sizes), scale)} is detected {power}"
    never = all(of.least_p > rules.alpha for of in plans)
    return "; no difference, however large, could be shown" if never else ""


def detected_on(board: Board, study: ItemStudy) -> str:
    """The same of items: of the pair known best, and of the one known worst."""
    smallest, largest, never, unknown = board.detectable
    if smallest is None:
        none = f"no difference, however large, could be shown at level {study.rules.alpha:g}"
        why = f"{none}, with so few runs or items" if never else ""
        alike = "what is detected is not known, as two models differ by the same on all items"
        return f"; {why or alike}" if never or unknown else ""
    scale = words.scale(study, board.data_set)
    seen = scale.difference(smallest) + " of the pair known best"
    if largest is not None:
        seen = span(smallest, largest, scale)
    return f"; a difference of {seen} is detected (power {100 * POWER:g} %)"


def span(low: float, high: float, scale: ScoreFormat) -> str:
    """Two differences, or one where they are shown alike."""
    begin = "" if scale(low) == scale(high) else f"{scale(low)} to "
    return begin + scale.difference(high)


def chance(pair: Pair) -> str:
    """How often a run of the better model, else of the first one, is better."""
    of, won = pair.scores, pair.effects["probability_of_improvement"]
    if of is None or of.units < of.fewest:
        return ""
    if won.estimate < 0.5:
        pair = words.turned(pair)
        won = pair.effects["probability_of_improvement"]
    said = f"A {of.unit} of {pair.a} is better than one of {pair.b}"
    said = f"{pair.a} is better on a {of.unit}" if of.by_pairs else said
    worst = "; failed runs count as the worst" if of.counted else ""
    return f"{said} with probability {won.estimate:.2f}{confidence(won.interval)}{worst}."


def confidence(interval: Interval) -> str:
    """The interval of a probability; nothing where there are too few scores for one."""
    return "" if interval.absent else f", {text.confidence(interval)} {text.bounds(interval)}"


def of_runs(pair: Pair, study: RunStudy) -> Iterator[str]:
    """Location, chance, spread, what could have been seen, equivalence: a sentence each."""
    scale, rules, of = words.scale(study), study.rules, pair.scores
    assert of is not None
    yield verdict(pair, study)
    yield from filter(None, [chance(pair)])
    if of.units >= of.fewest and of.spread_test in pair.tests:
        yield spread(pair, scale)
    if not pair.shown or (pair.plan and pair.plan.detectable_difference is not None):
        seen = detected([pair], rules, scale).removeprefix("; ")
        yield from [f"With {words.sizes([pair])} {seen}."] if seen else []
    yield from _needed(pair, rules, scale)
    if rules.margin is not None:
        yield equivalence(pair, rules, scale)


def spread(pair: Pair, scale: ScoreFormat) -> str:
    """What the test of spread shows of a pair that has one."""
    of = pair.scores
    assert of is not None and of.spread_test is not None
    sds = [describe.sd(values) for values in of.compared]
    p = f"{TESTS[of.spread_test]}, corrected p {text.p_value(pair.adjusted[of.spread_test])}"
    measured = f"sd {scale(sds[0])} ({pair.a}) and {scale(sds[1])} ({pair.b}); {p}"
    if not pair.wider:
        return f"No difference in spread was shown: {measured}."
    wider, other = pair.names if pair.wider > 0 else pair.names[::-1]
    if pair.wider * (sds[0] - sds[1]) >= 0:
        return f"The spread differs, {wider}'s is wider: {measured}."
    by = "mean absolute deviation from the median"
    by = "rank correlation of sums and differences of pairs" if of.by_pairs else by
    return (
        f"Measures of spread disagree: {wider}'s is wider by the {by}, but {other}'s by the sd, "
        f"which a few outliers decide: {measured}."
    )


def _needed(pair: Pair, rules: Rules, scale: ScoreFormat) -> Iterator[str]:
    """How many scores would show the margin, or the difference that was found and its interval."""
    of, plan = pair.scores, pair.plan
    if of is None or plan is None or plan.required_seeds is None:
        return
    what = "A difference like this one" if rules.margin is None else "The margin"
    ends = ""
    if plan.required_range is not None and plan.required_range[0] != plan.required_range[1]:
        beyond = f"more than {plan.MOST_REQUIRED:,}"
        fewest, most = (beyond if n is None else f"{n:,}" for n in plan.required_range)
        ends = f" ({fewest} to {most} at the ends of the {100 * rules.confidence:g} % CI)"
    many = f"{plan.required_seeds:,} {'pairs' if of.by_pairs else 'scores each'}{ends}"
    advice = "" if pair.shown else ": choose their number beforehand"
    yield f"{what} ({scale.difference(plan.planned_difference)}) would need {many}{advice}."


def equivalence(pair: Pair, rules: Rules, scale: ScoreFormat) -> str:
    """Whether two means were shown to differ by less than the margin, which there is."""
    of, p = pair.scores, pair.adjusted["tost"]
    assert rules.margin is not None and of is not None
    margin, tested = scores.difference(rules.margin, scale.unit), f"corrected p {text.p_value(p)}"
    if not p <= rules.alpha:  # NaN: not known
        return f"Equivalence within {margin} was not shown (TOST, {tested})."
    if of.units < of.fewest:
        few = f"{words.sizes([pair])}, where {of.fewest} are needed"
        return f"No conclusion on equivalence within {margin}: {few} (TOST, {tested})."
    better = pair.names if pair.better > 0 else pair.names[::-1]
    though = f", though {better[0]} is better" if pair.better else ""
    return f"Equivalent within {margin}: the means differ by less{though} (TOST, {tested})."


def of_items(pair: Pair, study: ItemStudy) -> Iterator[str]:
    """The difference, the margin, what pairing brought."""
    scale, gap = words.scale(study, pair.data_set), pair.difference
    assert gap is not None
    yield verdict(pair, study)
    if study.rules.margin and not study.withheld:
        yield beside_margin(pair, study.rules, scale)
    if "items" in gap.over and gap.unpaired_se and gap.correlation is not None:
        yield (
            f"Scored on different items, the standard error would be "
            f"{scale.difference(gap.unpaired_se)} instead of {scale.difference(gap.se)} "
            f"(correlation of the models' scores of an item {gap.correlation:.2f})."
        )


def beside_margin(pair: Pair, rules: Rules, scale: ScoreFormat) -> str:
    """A difference of items beside the margin, whose p-values are not that of the difference."""
    shown = pair.by_margin
    assert shown is not None
    margin = scores.difference(rules.margin or 0.0, scale.unit)
    beyond = f"corrected p {text.p_value(shown.p_outcome)}"
    within = f"TOST at half the level, corrected p {text.p_value(shown.p_equivalent)}"
    if shown.outcome != "not shown":
        return f"{pair.a} is {shown.outcome} than {pair.b} by more than {margin} ({beyond})."
    if shown.equivalent:
        return f"Equivalent within {margin}: the difference is smaller ({within})."
    return (
        f"Neither a difference of more than {margin} was shown ({beyond}), nor that it is "
        f"smaller ({within})."
    )


def overall(pair: Pair, study: ItemStudy) -> Iterator[str]:
    """The two claims on all tasks: these very ones, and others like them."""
    assert pair.as_sample is not None
    scale = words.scale(study)
    yield verdict(pair, study, f" in the mean over these {len(study.data_sets)} tasks")
    if study.rules.margin and not study.withheld:
        yield beside_margin(pair, study.rules, scale)
    sample = f"{pair.a} - {pair.b}, {scale.ci(pair.as_sample.possible)}"
    yield f"Tasks as a sample of such tasks: {sample}."


def single(pair: SinglePair, study: RunStudy) -> str:
    """Which of two trained models is better on such items; of which population that speaks."""
    scale, test = words.scale(study), pair.tests["approximate_randomization"]
    said, gap = "no difference was shown", pair.difference
    sign = (test.direction or 0) * (1 if study.scores.higher_is_better else -1)
    if pair.adjusted["approximate_randomization"] <= study.rules.alpha and sign:
        said = f"{pair.a if sign > 0 else pair.b} is better"
    tested = "; ".join(
        f"{TESTS[name]}, corrected p {text.p_value(p)}" for name, p in pair.adjusted.items()
    )
    split = f" of split {pair.split}" if pair.split not in ("", "0") else ""
    chosen = "best on dev" if pair.best_dev else "first run"
    a, b = (f"{m} (seed {s})" for m, s in zip((pair.a, pair.b), pair.seeds, strict=True))
    return (
        f"Of the trained models {a} and {b}{split}, each its method's {chosen}, on items like "
        f"these {pair.items} of {pair.part}{on(pair.data_set)}: {said}: "
        f"{scale(pair.scores[0])} and {scale(pair.scores[1])}; difference "
        f"{scale.difference(gap.estimate)}, {scale.ci(gap.interval)} by paired bootstrap; "
        f"{tested}. This says nothing of other runs of the two methods."
    )
