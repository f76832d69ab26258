"""What a comparison answers, of whole runs and of items: one sentence, and what goes with it.

Directions are those of the primary tests, after their correction.
"""

import math
from collections.abc import Sequence

import numpy as np

from jaxeval.report import scores, standings, text
from jaxeval.report.comparison import failures as lost
from jaxeval.report.comparison import item_claims, run_claims, words
from jaxeval.report.comparison.words import OVER, TESTS, names_of, on
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.items.leaderboard import POWER, Board
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.pairs import Pair
from jaxeval.stats.run_plans import PLANNED_SDS
from jaxeval.stats.study import RunStudy

_MOST_NAMED = 5  # pairs in a sentence


def of_runs(study: RunStudy) -> list[str]:
    """The answer; how often one model is better, and equivalence; runs that failed."""
    scale, pairs = words.scale_of_runs(study), study.pairs
    copies = [run_claims.one_run(study, of, scale) for of in study.copies]
    if not pairs:
        return copies
    first = _first(study, scale)
    rule = "in P(A better) they count as the worst" if len(pairs) > 1 else ""
    failed = lost.of_runs(study.failures, study.scores, study.rules.alpha, rule)
    if failed and study.scores.missing != "zero":
        first = f"Of the runs that finished, {_lower(first)}"
    if len(pairs) == 1:
        more = [_chance(pairs[0])]
        if study.rules.margin is not None:
            more.append(run_claims.equivalence(pairs[0], study.rules, scale))
    else:
        more = _equivalent(study, scale)
    lines = [first, *filter(None, more), *copies, *failed]
    if study.items:
        lines += [f"Item by item, {_lower(line)}" for line in of_items(study.items)]
    return lines


def _lower(line: str) -> str:
    return line.replace("No diff", "no diff", 1)


def of_items(study: ItemStudy) -> list[str]:
    """Who is best; of several tasks in their mean, and then task by task."""
    if study.withheld:
        who = text.listed(study.models)
        return [f"Nothing is said of {who}, since too many answers or tasks are missing."]
    failed = lost.of_items(study.failures, study.rules.alpha)
    board = study.board or (study.boards[0] if len(study.boards) == 1 else None)
    if board is None:
        return [_by_task(study), *failed]
    where = f" in the mean over {len(study.data_sets)} tasks" if study.board else ""
    if len(study.models) == 2:
        lines = _of_two_items((study.overall or study.pairs)[0], board, study, where)
    else:
        shown = signs(study.overall or study.pairs)
        said = standings.sentence([row.model for row in board.rows], shown, where=where)
        lines = [f"{said}{'' if board.told_apart else _unseen_items(board, study)}."]
    if len(study.boards) > 1:
        lines.append(f"Task by task, {_lower(_by_task(study))}")
    return [*lines, *failed]


def signs(pairs: Sequence[Pair]) -> standings.Shown:
    """Of each pair and data set the model that was shown to be better."""
    sign = {True: 1, False: -1}
    return standings.signs(
        (pair.a, pair.b, pair.data_set or "", sign[pair.higher_is_better] * pair.shown)
        for pair in pairs
    )


def order(study: RunStudy) -> list[str]:
    """The models that are compared, best first: by the mean of their ranks on data sets."""
    compared = {name for pair in study.pairs for name in pair.names}
    sign = -1 if study.scores.higher_is_better else 1
    cells: dict[str, dict[str, float]] = {}
    for of in study.models:
        if of.model in compared:
            cells.setdefault(of.data_set, {})[of.model] = sign * of.summary.mean
    ranks: dict[str, list[float]] = {}
    for cell in cells.values():
        for model, mean in cell.items():
            ranks.setdefault(model, []).append(sum(other < mean for other in cell.values()))
    return sorted(ranks, key=lambda model: float(np.mean(ranks[model])))


def control(study: RunStudy) -> str | None:
    """The only model that others are compared with, of three or more."""
    if len(order(study)) < 3:
        return None
    return next(iter(set.intersection(*({*pair.names} for pair in study.pairs))), None)


def _first(study: RunStudy, scale: ScoreFormat) -> str:
    pairs, found, models = study.pairs, signs(study.pairs), order(study)
    if not any(_can_show(pair, study) for pair in pairs):
        return _too_few(study, models)
    if len(pairs) == 1:
        return _of_two_runs(pairs[0], study, scale)
    if (alone := control(study)) is not None:
        return f"{standings.against(alone, models, found)}."
    said = standings.sentence(models, found)
    if not any(pair.shown for pair in pairs):
        return f"{said}{_unseen_runs(study, scale)}."
    if len(models) == 2 and said.startswith(tuple(f"{m} is better" for m in models)):
        said += _by_how_much(study, scale)
    return f"{said}."


def _can_show(pair: Pair, study: RunStudy) -> bool:
    """Whether the models were told apart, or could have been."""
    of, plan = pair.scores, pair.plan
    assert of is not None and plan is not None
    return bool(pair.shown) or (of.units >= of.fewest and plan.least_p <= study.rules.alpha)


def _too_few(study: RunStudy, models: Sequence[str]) -> str:
    of, pair = study.primary, study.pairs[0]
    who = text.listed(sorted(models)) if len(models) == 2 else f"{len(models)} models"
    level = f"{of.level:g}".removeprefix("0")
    said = f"{who} with {sizes(study.pairs)} cannot show any difference at level {level}"
    if of.needed is None:
        return f"{said}."
    needed = text.counted(of.needed, pair.unit)
    each = "" if pair.scores and pair.scores.by_pairs else " each"
    return f"{said}; {needed}{each} would show one of {PLANNED_SDS:g} sds."


def _of_two_runs(pair: Pair, study: RunStudy, scale: ScoreFormat) -> str:
    test = TESTS[pair.primary]
    how = f"{test}, {sizes([pair])}"
    if pair.shown and pair.against:
        said = run_claims.disagree(test, *names_of(pair, pair.shown), pair.against)
        return f"{said[0].upper()}{said[1:]}: {_plain(pair, scale, how)}."
    though = ", though the CI excludes 0" if pair.excludes_zero else ""
    return _of_two(pair, scale, "", how, f"{though}{_unseen_runs(study, scale)}")


def _of_two(pair: Pair, scale: ScoreFormat, where: str, how: str, unseen: str) -> str:
    """The difference of two models, in the direction of its test."""
    if not pair.shown:
        said = f"No difference between {pair.a} and {pair.b} was shown{where}"
        return f"{said}: {_plain(pair, scale, how)}{unseen}."
    better, worse = names_of(pair, pair.better)
    value, interval = pair.value, pair.interval
    if pair.shown < 0:
        value, interval = -value, interval._replace(low=-interval.high, high=-interval.low)
    side = "higher" if pair.higher_is_better else "lower"
    size = f"{pair.metric or 'score'} {scale.difference(value)} {side}, {scale.ci(interval)}"
    p = text.p_value(pair.p_adjusted)
    return f"{better} is better than {worse}{where}: {size}, p {p} ({how})."


def _plain(pair: Pair, scale: ScoreFormat, how: str) -> str:
    return (
        f"{pair.metric or 'score'} {scale.difference(pair.value)} ({pair.a} - {pair.b}), "
        f"{scale.ci(pair.interval)}, p {text.p_value(pair.p_adjusted)} ({how})"
    )


def _by_how_much(study: RunStudy, scale: ScoreFormat) -> str:
    """Of two models on several data sets; nothing where these point both ways."""
    gaps = [pair.value for pair in study.pairs]
    if min(gaps) * max(gaps) <= 0:
        return ""
    low, high = sorted(map(abs, (min(gaps), max(gaps))))
    side = "higher" if study.scores.higher_is_better else "lower"
    tests = " or ".join(TESTS[name] for name in study.primary.tests)
    size = f": {study.scores.metric or 'score'} {_span(low, high, scale)} {side}"
    most, how = max(pair.p_adjusted for pair in study.pairs), f"{tests}, {sizes(study.pairs)}"
    if most > study.rules.alpha:
        return f"{size} ({how})"
    return f"{size}, corrected p {text.p_value(most).replace('=', 'at most')} ({how})"


def sizes(pairs: Sequence[Pair]) -> str:
    """8 runs each, 3 to 5 runs each, 10 splits: what the tests of pairs rest on."""
    every = [pair.scores for pair in pairs if pair.scores]
    unit, by_pairs = every[0].unit, [of.by_pairs for of in every]
    if len(every) == 1 and not by_pairs[0] and len({*every[0].n}) > 1:
        few, most = sorted(every[0].n)
        return f"{few} and {text.counted(most, unit)}"
    counts = {len(values) for of in every for values in of.compared}
    low, high = min(counts), max(counts)
    many = text.counted(high, unit) if low == high else f"{low} to {text.counted(high, unit)}"
    return many if all(by_pairs) else f"{many} each"


def _unseen_runs(study: RunStudy, scale: ScoreFormat) -> str:
    """Which difference would have been detected; nothing where the scores do not say."""
    found = [pair.plan.detectable_difference for pair in study.pairs if pair.plan]
    known = [size for size in found if size is not None]
    if not known:
        return ""
    power = f"(power {100 * study.rules.power:g} %)"
    return f"; a difference of {_span(min(known), max(known), scale)} is detected {power}"


def _span(low: float, high: float, scale: ScoreFormat) -> str:
    begin = "" if scale(low) == scale(high) else f"{scale(low)} to "
    return begin + scale.difference(high)


def _chance(pair: Pair) -> str:
    """How often the better model, else the first one, is better."""
    of, won = pair.scores, pair.effects["probability_of_improvement"]
    if of is None or of.units < of.fewest:
        return ""
    share, interval, (first, second) = won.estimate, won.interval, pair.names
    if share < 0.5:
        share, first, second = 1 - share, pair.b, pair.a
        interval = interval._replace(low=1 - won.interval.high, high=1 - won.interval.low)
    said = f"A {of.unit} of {first} is better than one of {second}"
    if of.by_pairs:
        said = f"{first} is better on a {of.unit}"
    worst = "; failed runs count as the worst" if of.counted else ""
    return f"{said} with probability {share:.2f}{run_claims.chance(interval)}{worst}."


def _equivalent(study: RunStudy, scale: ScoreFormat) -> list[str]:
    """The pairs that differ by less than the margin."""
    if study.rules.margin is None:
        return []
    margin = scores.difference(study.rules.margin, scale.unit)
    named = [f"{p.a} and {p.b}{on(p.data_set)}" for p in study.pairs if p.equivalent]
    if not named:
        return [f"Equivalence within {margin} was not shown of any pair (TOST)."]
    more = len(named) - _MOST_NAMED
    named = [*named[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    return [f"Equivalent within {margin} (TOST): {'; '.join(named)}."]


def _of_two_items(pair: Pair, board: Board, study: ItemStudy, where: str) -> list[str]:
    """The difference; then what it is beside a margin."""
    assert pair.difference is not None
    of, scale = pair.difference.sizes, words.scale_on(study, pair.data_set)
    runs = sorted({*of.runs})
    many = " to ".join(map(str, dict.fromkeys((runs[0], runs[-1]))))
    how = (
        f"over {OVER[pair.difference.over]}; {item_claims.counted(of.items, of.clusters)}, {many} "
        f"run{'' if runs == [1] else 's'} each"
    )
    if math.isnan(pair.p_value):
        every, alike = " and ".join(pair.difference.over), item_claims.alike(pair)
        return [f"{pair.a} and {pair.b} {alike} on all {every}{where}, {item_claims.NO_MORE}."]
    lines = [_of_two(pair, scale, where, how, _unseen_items(board, study))]
    if study.rules.margin:
        lines.append(item_claims.beside_margin(pair, study.rules, scale))
    return lines


def _by_task(study: ItemStudy) -> str:
    """Of several tasks, each by itself."""
    places = dict.fromkeys(study.models, 0)
    for board in study.boards:
        for row in board.rows:
            places[row.model] += row.rank
    models = sorted(study.models, key=lambda model: places[model])
    return f"{standings.sentence(models, signs(study.pairs), 'task')}."


def _unseen_items(board: Board, study: ItemStudy) -> str:
    """What the design could have shown."""
    small, large, never, _ = board.detectable
    if small is None:
        level = f"at level {study.rules.alpha:g}"
        return f"; no difference, however large, could be shown {level}" if never else ""
    scale = words.scale_on(study, board.data_set)
    shown = [scale.difference(size) for size in (small, large) if size is not None]
    of = "" if large is not None else " of the pair known best"
    seen = " to ".join(dict.fromkeys(shown))
    return f"; a difference of {seen}{of} is detected (power {100 * POWER:g} %)"
