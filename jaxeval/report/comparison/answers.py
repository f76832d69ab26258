"""What a comparison answers, of whole runs and of items: one sentence, and what goes with it.

Directions are those of the primary tests, after their correction.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.report import scores, standings, text
from jaxeval.report.comparison import claims, words
from jaxeval.report.comparison.words import TESTS, on
from jaxeval.report.scores import ScoreFormat
from jaxeval.runs.rows import is_failed
from jaxeval.stats.items import study as items
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.pairs import Pair
from jaxeval.stats.power import Primary
from jaxeval.stats.samples import Failures, FailureTest
from jaxeval.stats.study import RunStudy

_MOST_NAMED = 5  # pairs in a sentence


def of_runs(study: RunStudy) -> list[str]:
    """The answer; how often one model is better, and equivalence; runs that failed."""
    scale, pairs, of, rules = words.scale(study), study.pairs, study.scores, study.rules
    copies = [
        f"{one.model} gives {scale(one.score)} at every {study.unit}{on(one.data_set)} "
        f"({one.count}): one run, which no test is made of."
        for one in study.copies
    ]
    if not pairs:
        return copies
    first, more = _first(study, scale), []
    if len(pairs) == 1:
        more = [claims.chance(pairs[0])]
        if rules.margin is not None:
            more.append(claims.equivalence(pairs[0], rules, scale))
    elif rules.margin is not None:
        more = [_equivalent(pairs, scores.difference(rules.margin, scale.unit))]
    rule = "in P(A better) they count as the worst" if len(pairs) > 1 else ""
    rule = "counted as 0" if of.missing == "zero" else rule
    failed = failures(study.failures, "run", of.statuses, rules.alpha, rule)
    if failed and of.missing != "zero":
        first = f"Of the runs that finished, {_lower(first)}"
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
        return [f"Nothing is said of {who}, since {claims.WITHHELD}."]
    failed = failures(study.failures, "item", {}, study.rules.alpha)
    board = study.board or (study.boards[0] if len(study.boards) == 1 else None)
    lines: list[str] = []
    if board is not None:
        where = f" in the mean over {len(study.data_sets)} tasks" if study.board else ""
        unseen = "" if board.told_apart else claims.detected_on(board, study)
        pairs = study.overall or study.pairs
        if len(study.models) == 2:
            lines = [claims.verdict(pairs[0], study, where, unseen)]
            if study.rules.margin and pairs[0].p_value == pairs[0].p_value:  # else not known
                scale = words.scale(study, pairs[0].data_set)
                lines.append(claims.beside_margin(pairs[0], study.rules, scale))
        else:
            said = standings.sentence([r.model for r in board.rows], signs(pairs), where=where)
            lines = [f"{said}{unseen}."]
    if len(study.boards) > 1:
        places = dict.fromkeys(study.models, 0)
        for row in (row for each in study.boards for row in each.rows):
            places[row.model] += row.rank
        order = sorted(study.models, key=lambda model: places[model])
        said = f"{standings.sentence(order, signs(study.pairs), 'task')}."
        lines.append(f"Task by task, {_lower(said)}" if lines else said)
    return [*lines, *failed]


def outcome(study: ItemStudy) -> str:
    """The gate's answer on the first model against the second, and what decides."""
    (a, b), decided, margin = study.models[:2], items.decision(study), ""
    if study.rules.margin:
        beyond = scores.difference(study.rules.margin, words.scale(study).unit)
        margin = f" by more than {beyond}"
    said = f"{a} is {decided.outcome} than {b}{margin}"
    if decided.outcome == "not shown":
        said = f"{a} was not shown to be better or worse than {b}{margin}"
    if study.withheld:
        return f"{said}, since {claims.WITHHELD}"
    if len(study.data_sets) == 1:
        return said
    parts = ["in the mean over tasks"] if None in decided.on else []
    named = [name for name in decided.on if name is not None]
    return f"{said} {text.listed([*parts, *([f'on {_few(named)}'] if named else [])])}"


def signs(pairs: Sequence[Pair]) -> standings.Shown:
    """Of each pair and data set the model that was shown to be better."""
    return standings.signs(
        (p.a, p.b, p.data_set or "", p.shown if p.higher_is_better else -p.shown) for p in pairs
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
    unseen = claims.detected(pairs, study.rules, scale)
    if len(pairs) == 1:
        return claims.verdict(pairs[0], study, unseen=unseen)
    if (alone := control(study)) is not None:
        return f"{standings.against(alone, models, found)}."
    said = standings.sentence(models, found)
    if not any(pair.shown for pair in pairs):
        return f"{said}{unseen}."
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
    design = f"{who} with {words.sizes(study.pairs)}"
    said = f"{design} cannot show any difference at level {text.level(of.level)}"
    if of.needed is None:
        return f"{said}."
    each = "" if pair.scores and pair.scores.by_pairs else " each"
    needed = f"{text.counted(of.needed, pair.unit)}{each}"
    return f"{said}; {needed} would show one of {Primary.PLANNED_SDS:g} sds."


def _by_how_much(study: RunStudy, scale: ScoreFormat) -> str:
    """Of two models on several data sets; nothing where these point both ways."""
    gaps = [pair.value for pair in study.pairs]
    if min(gaps) * max(gaps) <= 0:
        return ""
    low, high = sorted(map(abs, (min(gaps), max(gaps))))
    side = "higher" if study.scores.higher_is_better else "lower"
    tests = " or ".join(TESTS[name] for name in study.primary.tests)
    most = max(pair.p_adjusted for pair in study.pairs)
    p = f", corrected p {text.p_value(most).replace('=', 'at most')}"
    size = f"{study.scores.metric or 'score'} {claims.span(low, high, scale)} {side}"
    shown = p if most <= study.rules.alpha else ""
    return f": {size}{shown} ({tests}, {words.sizes(study.pairs)})"


def _equivalent(pairs: Sequence[Pair], margin: str) -> str:
    """The pairs that differ by less than the margin."""
    named = [f"{p.a} and {p.b}{on(p.data_set)}" for p in pairs if p.equivalent]
    if not named:
        return f"Equivalence within {margin} was not shown of any pair (TOST)."
    return f"Equivalent within {margin} (TOST): {_few(named, '; ')}."


def _few(named: Sequence[str], between: str = ", ") -> str:
    more = len(named) - _MOST_NAMED
    return between.join([*named[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def failures(
    of: Failures | None,
    noun: str,
    statuses: Mapping[str, Mapping[str, int]],
    alpha: float = 0.05,
    rule: str = "",
) -> list[str]:
    """How many runs or items of each model failed, and what Fisher's test shows of their shares.

    Args:
      noun: what failed.
      statuses: model -> how its runs ended -> how many.
      rule: how those that failed count; where it is not said elsewhere.
    """
    if of is None:
        return []
    every = {model: of.of(model) for model in dict.fromkeys(model for model, _ in of.counts)}
    said = []
    for model, counts in every.items():
        ended = {s: n for s, n in statuses.get(model, {}).items() if is_failed(s)}
        how = f" ({text.statuses(ended)})" if ended else ""
        many = text.counted(counts.runs, noun)
        said += [f"{counts.failed} of {many} of {model} failed{how}"] if counts.failed else []
    rest = [model for model, counts in every.items() if not counts.failed]
    said += [f"none of {every[model].runs} of {model}" for model in rest if len(rest) == 1]
    return ["; ".join([", ".join(said), *([rule] if rule else []), _fisher(of, alpha)])]


def _fisher(of: Failures, alpha: float) -> str:
    """What Fisher's test shows of the pairs, each in its direction."""
    shown = [test for test in of.tests if test.p_adjusted <= alpha]
    ends = [test.p_adjusted for test in shown or of.tests]
    p = text.p_value(max(ends) if shown else min(ends, default=1.0))
    if len(ends) > 1:
        p = p.replace("=", "at most" if shown else "at least")
    corrected = "p" if len(of.tests) == 1 else "corrected p"
    said = _few([*map(_more_often, shown)]) or "no difference of the failure rates was shown"
    return f"{said} ({corrected} {p}, Fisher's exact test)."


def _more_often(test: FailureTest) -> str:
    more, less = (test.a, test.b) if test.higher > 0 else (test.b, test.a)
    return f"{more} fails more often than {less}{on(test.data_set)}"
