"""What a comparison of scores answers: one sentence, and what goes with it.

Directions are those of the primary tests, after their correction.
"""

from collections.abc import Sequence

import numpy as np

from jaxeval.report import failures, scores, standings, text
from jaxeval.report.comparison import verdict
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import comparison
from jaxeval.stats.comparison import Pair
from jaxeval.stats.planning import PLANNED_SDS
from jaxeval.stats.study import ScoreStudy

_MOST_EQUIVALENT = 5  # pairs that are named


def sentences(study: ScoreStudy, scale: ScoreFormat) -> list[str]:
    """The answer; how often one model is better, and equivalence; runs that failed."""
    pairs = study.comparison.pairs
    copies = [verdict.one_run(study, of, scale) for of in study.copies]
    if not pairs:
        return copies
    rule = "in P(A better) they count as the worst" if len(pairs) > 1 else ""
    alpha = study.comparison.rules.alpha
    failed = failures.of_runs(study.failures, study.table, alpha, rule)
    first = _first(study, scale)
    if failed and study.table.missing != "zero":
        first = f"Of the runs that finished, {first.replace('No diff', 'no diff', 1)}"
    more = [_chance(pairs[0], study), *_margin(study, scale)] if len(pairs) == 1 else []
    if len(pairs) > 1:
        more = _equivalent(study, scale)
    return [first, *filter(None, more), *copies, *failed]


def order(study: ScoreStudy) -> list[str]:
    """The models that are compared, best first: by the mean of their ranks on data sets."""
    compared = {name for pair in study.comparison.pairs for name in (pair.scores.a, pair.scores.b)}
    sign = -1 if study.comparison.rules.higher_is_better else 1
    cells: dict[str, dict[str, float]] = {}
    for described in study.described:
        if described.model in compared:
            cells.setdefault(described.dataset, {})[described.model] = (
                sign * described.summary.mean
            )
    ranks: dict[str, list[float]] = {}
    for cell in cells.values():
        for model, mean in cell.items():
            ranks.setdefault(model, []).append(sum(other < mean for other in cell.values()))
    return sorted(ranks, key=lambda model: float(np.mean(ranks[model])))


def shown(study: ScoreStudy) -> standings.Shown:
    """Of each pair and data set the model that was shown to be better."""
    rules = study.comparison.rules
    sign = 1 if rules.higher_is_better else -1
    return standings.signs(
        (
            pair.scores.a,
            pair.scores.b,
            pair.scores.dataset,
            sign * comparison.location(pair, rules),
        )
        for pair in study.comparison.pairs
    )


def control(study: ScoreStudy) -> str | None:
    """The only model that others are compared with, of three or more."""
    pairs, models = study.comparison.pairs, order(study)
    if len(models) < 3:
        return None
    every = [{pair.scores.a, pair.scores.b} for pair in pairs]
    return next(iter(set.intersection(*every)), None)


def _first(study: ScoreStudy, scale: ScoreFormat) -> str:
    pairs, found, models = study.comparison.pairs, shown(study), order(study)
    if _can_show_nothing(study):
        return _too_few(study, models)
    if len(pairs) == 1:
        return _of_two(pairs[0], study, scale)
    alone = control(study)
    if alone is not None:
        return f"{standings.against(alone, models, found)}."
    said = standings.sentence(models, found)
    if not any(sign for cells in found.values() for sign in cells.values()):
        return f"{said}{_unseen(study, scale)}."
    if len(models) == 2 and said.startswith(tuple(f"{m} is better" for m in models)):
        said += _by_how_much(study, scale, models)
    return f"{said}."


def _can_show_nothing(study: ScoreStudy) -> bool:
    """Whether no pair was told apart, nor could have been."""
    rules = study.comparison.rules
    return not any(
        comparison.location(pair, rules)
        or (comparison.enough(pair.scores) and pair.plan.least_p <= rules.alpha)
        for pair in study.comparison.pairs
    )


def _too_few(study: ScoreStudy, models: Sequence[str]) -> str:
    of, pair = study.comparison.primary, study.comparison.pairs[0]
    who = text.listed(sorted(models)) if len(models) == 2 else f"{len(models)} models"
    level = f"{of.level:g}".removeprefix("0")
    said = (
        f"{who} with {sizes(study.comparison.pairs)} cannot show any difference at level {level}"
    )
    if of.needed is None:
        return f"{said}."
    needed = text.counted(of.needed, pair.scores.unit)
    return (
        f"{said}; {needed}{'' if pair.scores.by_pairs else ' each'} would show one of "
        f"{PLANNED_SDS:g} sds."
    )


def _of_two(pair: Pair, study: ScoreStudy, scale: ScoreFormat) -> str:
    """The difference of two models, in the direction of its test."""
    rules, of, gap = study.comparison.rules, pair.scores, pair.effects["difference"]
    test = verdict.TESTS[of.location_test]
    how = f"p {text.p_value(pair.adjusted[of.location_test])} ({test}, {sizes([pair])})"
    metric = study.table.metric or "score"
    sign = comparison.location(pair, rules)
    plain = (
        f"{metric} {scale.difference(gap.estimate)} ({of.a} - {of.b}), {scale.ci(gap.interval)}"
    )
    if not sign:
        though = ", though the CI excludes 0" if comparison.excludes_zero(pair) else ""
        said = f"No difference between {of.a} and {of.b} was shown: {plain}, {how}{though}"
        return f"{said}{_unseen(study, scale)}."
    higher, lower = (of.a, of.b) if sign > 0 else (of.b, of.a)
    others = comparison.against(pair, rules)
    if others:
        said = verdict.disagree(test, higher, lower, others)
        return f"{said[0].upper()}{said[1:]}: {plain}, {how}."
    better, worse = (higher, lower) if rules.higher_is_better else (lower, higher)
    side = "higher" if rules.higher_is_better else "lower"
    up = gap.interval
    if better != of.a if rules.higher_is_better else better == of.a:
        up = up._replace(low=-gap.interval.high, high=-gap.interval.low)
    size = f"{metric} {scale.difference(abs(gap.estimate))} {side}, {scale.ci(up)}"
    return f"{better} is better than {worse}: {size}, {how}."


def _by_how_much(study: ScoreStudy, scale: ScoreFormat, models: Sequence[str]) -> str:
    """Of two models on several data sets; nothing where these point both ways."""
    gaps = [pair.effects["difference"].estimate for pair in study.comparison.pairs]
    if min(gaps) * max(gaps) <= 0:
        return ""
    low, high = sorted(map(abs, (min(gaps), max(gaps))))
    span = _span(low, high, scale)
    side = "higher" if study.comparison.rules.higher_is_better else "lower"
    rules = study.comparison.rules
    least = max(pair.adjusted[pair.scores.location_test] for pair in study.comparison.pairs)
    size = f"{study.table.metric or 'score'} {span} {side}"
    if least > rules.alpha:
        return f": {size} ({_tests(study)})"
    p = text.p_value(least).replace("=", "at most")
    return f": {size}, corrected p {p} ({_tests(study)})"


def _tests(study: ScoreStudy) -> str:
    tests = " or ".join(verdict.TESTS[name] for name in study.comparison.primary.tests)
    return f"{tests}, {sizes(study.comparison.pairs)}"


def sizes(pairs: Sequence[Pair]) -> str:
    """8 runs each, 3 to 5 runs each, 10 splits: what the tests of pairs rest on."""
    if len(pairs) == 1 and not pairs[0].scores.by_pairs and len({*pairs[0].scores.n}) > 1:
        few, most = sorted(pairs[0].scores.n)
        return f"{few} and {text.counted(most, pairs[0].scores.unit)}"
    counts = {len(values) for pair in pairs for values in pair.scores.compared}
    low, high, unit = min(counts), max(counts), pairs[0].scores.unit
    many = text.counted(high, unit) if low == high else f"{low} to {text.counted(high, unit)}"
    return many if all(pair.scores.by_pairs for pair in pairs) else f"{many} each"


def _unseen(study: ScoreStudy, scale: ScoreFormat) -> str:
    """Which difference would have been detected; nothing where the scores do not say."""
    found = [pair.plan.detectable_difference for pair in study.comparison.pairs]
    known = [size for size in found if size is not None]
    if not known:
        return ""
    power = f"(power {100 * study.comparison.rules.target_power:g} %)"
    return f"; a difference of {_span(min(known), max(known), scale)} is detected {power}"


def _span(low: float, high: float, scale: ScoreFormat) -> str:
    begin = "" if scale(low) == scale(high) else f"{scale(low)} to "
    return begin + scale.difference(high)


def _chance(pair: Pair, study: ScoreStudy) -> str:
    """How often the better model, else the first one, is better."""
    of, won = pair.scores, pair.effects["probability_of_improvement"]
    if not comparison.enough(of):
        return ""
    chance, interval, first, second = won.estimate, won.interval, of.a, of.b
    if chance < 0.5:
        chance, first, second = 1 - chance, of.b, of.a
        interval = interval._replace(low=1 - won.interval.high, high=1 - won.interval.low)
    bounds = "" if interval.absent else f", {text.confidence(interval)} {text.bounds(interval)}"
    said = f"A {of.unit} of {first} is better than one of {second}"
    if of.by_pairs:
        said = f"{first} is better on a {of.unit}"
    worst = "; failed runs count as the worst" if of.counted else ""
    return f"{said} with probability {chance:.2f}{bounds}{worst}."


def _margin(study: ScoreStudy, scale: ScoreFormat) -> list[str]:
    (pair,) = study.comparison.pairs
    rules = study.comparison.rules
    return [] if rules.margin is None else [verdict.equivalence(pair, rules, scale)]


def _equivalent(study: ScoreStudy, scale: ScoreFormat) -> list[str]:
    """The pairs that differ by less than the margin."""
    rules = study.comparison.rules
    if rules.margin is None:
        return []
    margin = scores.difference(rules.margin, scale.unit)
    within = [pair for pair in study.comparison.pairs if is_equivalent(pair, study)]
    if not within:
        return [f"Equivalence within {margin} was not shown of any pair (TOST)."]
    named = [_named(pair) for pair in within[:_MOST_EQUIVALENT]]
    named += [f"{len(within) - len(named)} more"] if len(within) > len(named) else []
    return [f"Equivalent within {margin} (TOST): {'; '.join(named)}."]


def is_equivalent(pair: Pair, study: ScoreStudy) -> bool:
    """Whether it was shown that the means differ by less than the margin."""
    return comparison.enough(pair.scores) and pair.adjusted["tost"] <= study.comparison.rules.alpha


def _named(pair: Pair) -> str:
    on = f" on {pair.scores.dataset}" if pair.scores.dataset else ""
    return f"{pair.scores.a} and {pair.scores.b}{on}"
