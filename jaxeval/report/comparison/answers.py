"""The answer of a comparison; directions are those of the corrected primary tests."""

import statistics
from collections.abc import Mapping, Sequence

from jaxeval.report import scores, text
from jaxeval.report.comparison import claims, words
from jaxeval.report.comparison.words import TESTS, on
from jaxeval.report.scores import ScoreFormat
from jaxeval.runs.rows import is_failed
from jaxeval.stats import study as studies
from jaxeval.stats.failures import Failures
from jaxeval.stats.pairs import Pair
from jaxeval.stats.power import Primary
from jaxeval.stats.study import RunDesign, Study

# how sentences start that do not start with a name
_OPENINGS = (
    *("No difference", "No model", "No conclusion"),
    *("Against ", "In the mean", "Task by task"),
)


def answer(study: Study, items: Study | None = None) -> list[str]:
    """Returns the best model, and a sentence each on chance, equivalence, tasks, failed runs.

    Args:
      items: the study of the items of whole runs.
    """
    found = _of_runs(study, study.run_design) if study.run_design else _of_items(study)
    by_item = _of_items(items) if items else []
    return [*found, *(_after("Item by item", line) for line in by_item)]


def _of_runs(study: Study, run_design: RunDesign) -> list[str]:
    scale, pairs, rules = words.score_format(study), study.pairs, study.rules
    copies = [
        f"{one.model} gives {scale(one.score)} at every {run_design.unit}{on(one.data_set)} "
        f"({one.count}): one run, which is not tested."
        for one in run_design.copies
    ]
    if not pairs:
        return copies
    first, more = _best_of_runs(study, run_design, pairs, order(study)), []
    if study.overall and study.board:
        more = [_after("Data set by data set", first)]
        best = [row.model for row in study.board.rows]
        first = _best_of_runs(study, run_design, study.overall, best)
    if len(pairs) == 1:
        more = [claims.chance(pairs[0])]
        more += [] if rules.margin is None else [claims.equivalence(pairs[0], rules, scale)]
    elif rules.margin is not None:
        every = [*study.overall, *pairs]
        more += [_equivalent(every, scores.difference(rules.margin, scale.unit))]
    rule = "in P(A better) they count as the worst" if len(pairs) > 1 else ""
    zeros = study.scores.missing == "zero"
    rule = "counted as 0" if zeros else rule
    failed = failures(study.failures, "run", study.scores.statuses, rules.alpha, rule)
    if failed and not zeros:
        first = _after("Of the runs that finished", first)
    return [first, *filter(None, more), *copies, *failed]


def _after(phrase: str, line: str) -> str:
    """Puts a phrase before a sentence; names of models keep their first letter."""
    first = line[:1].lower() if line.startswith(_OPENINGS) else line[:1]
    return f"{phrase}, {first}{line[1:]}"


def _of_items(study: Study) -> list[str]:
    """Returns the best model; with several tasks in their mean, and then task by task."""
    models, board, lines = study.scores.models, study.main, list[str]()
    if study.item_design and study.item_design.withheld:
        return [f"{text.listed(models)} are not compared, since {claims.WITHHELD}."]
    if board is not None:
        where = words.in_mean(study) if study.board else ""
        unseen = "" if board.told_apart else claims.detectable_on(board, study)
        pairs = study.overall or study.pairs
        if len(models) == 2:
            lines = [claims.verdict(pairs[0], study, where, unseen)]
            if study.rules.margin and pairs[0].p_value == pairs[0].p_value:  # not NaN
                scale = words.score_format(study, pairs[0].data_set)
                lines.append(claims.against_margin(pairs[0], study.rules, scale))
        else:
            lines = [f"{text.sentence(order(study), signs(pairs), where=where)}{unseen}."]
    if len(study.boards) > 1:
        places = dict.fromkeys(models, 0)
        for row in (row for each in study.boards for row in each.rows):
            places[row.model] += row.rank
        by_rank = sorted(models, key=lambda model: places[model])
        by_task = f"{text.sentence(by_rank, signs(study.pairs), 'task')}."
        lines.append(_after("Task by task", by_task) if lines else by_task)
    return [*lines, *failures(study.failures, "item", {}, study.rules.alpha)]


def outcome(study: Study) -> str:
    """States the gate's decision on the first model against the second, and its basis."""
    (a, b), (decided, on_tasks), margin = study.scores.models[:2], studies.decision(study), ""
    if study.rules.margin:
        beyond = scores.difference(study.rules.margin, words.score_format(study).unit)
        margin = f" by more than {beyond}"
    shown = "was not shown to be better or worse" if decided == "not shown" else f"is {decided}"
    line = f"{a} {shown} than {b}{margin}"
    if study.item_design and study.item_design.incomplete:
        return f"{line}, since {claims.WITHHELD}"
    if len(study.boards) == 1:
        return line
    parts = ["in the mean over tasks"] if None in on_tasks else []
    named = text.few([name for name in on_tasks if name is not None])
    return f"{line} {text.listed([*parts, *([f'on {named}'] if named else [])])}"


def signs(pairs: Sequence[Pair]) -> text.Signs:
    """Returns which model of each pair was shown to be better on each data set."""
    return text.signs(
        (p.a, p.b, p.data_set or "", p.shown if p.higher_is_better else -p.shown) for p in pairs
    )


def order(study: Study) -> list[str]:
    """Returns the compared models, best first: by items' mean, or mean rank over data sets."""
    if study.item_design:
        return [row.model for row in (study.board or study.boards[0]).rows]
    compared = {name for pair in study.pairs for name in pair.names}
    sign = -1 if study.scores.higher_is_better else 1
    known = [of for of in words.described(study) if of[1] in compared]
    ranks: dict[str, list[int]] = {}
    for data_set, model, of in known:
        rank = sum(on == data_set and sign * o.mean < sign * of.mean for on, _, o in known)
        ranks.setdefault(model, []).append(rank)
    return sorted(ranks, key=lambda model: statistics.fmean(ranks[model]))


def control(study: Study) -> str | None:
    """Returns the one model that all others are compared with, of three or more models."""
    if len(order(study)) < 3:
        return None
    return next(iter(set.intersection(*({*pair.names} for pair in study.pairs))), None)


def _best_of_runs(
    study: Study, run_design: RunDesign, pairs: Sequence[Pair], models: Sequence[str]
) -> str:
    """Names the best model on each data set, or in the mean over them; `models`: best first."""
    rules, scale, found = study.rules, words.score_format(study), signs(pairs)
    where = words.in_mean(study) if pairs[0].data_set is None else ""
    if not any(pair.shown or _could_show(pair, rules.alpha) for pair in pairs):
        return _too_few(study, run_design.primary, models)
    unseen = claims.detectable(pairs, rules, scale)
    if len(pairs) == 1:
        return claims.verdict(pairs[0], study, where, unseen)
    if (alone := control(study)) is not None:
        against = f"{text.against(alone, models, found)}."
        return f"{where.lstrip().capitalize()}, a{against[1:]}" if where else against
    best = text.sentence(models, found, where=where)
    if not any(pair.shown for pair in pairs):
        return f"{best}{unseen}."
    if len(models) == 2 and best.startswith(tuple(f"{m} is better" for m in models)):
        best += _by_how_much(study, run_design.primary, scale)
    return f"{best}."


def _could_show(pair: Pair, alpha: float) -> bool:
    runs, plan = pair.scores, pair.plan
    return bool(runs and plan and runs.units >= runs.fewest and plan.least_p <= alpha)


def _too_few(study: Study, primary: Primary, models: Sequence[str]) -> str:
    pair = study.pairs[0]
    who = text.listed(sorted(models)) if len(models) == 2 else f"{len(models)} models"
    design = f"{who} with {words.sizes(study.pairs)}"
    none = f"{design} cannot show any difference at level {text.level(primary.level)}"
    if primary.needed is None:
        return f"{none}."
    each = "" if pair.scores and pair.scores.by_pairs else " each"
    needed = f"{text.counted(primary.needed, pair.unit)}{each}"
    return f"{none}; {needed} would show one of {Primary.PLANNED_SDS:g} sds."


def _by_how_much(study: Study, primary: Primary, scale: ScoreFormat) -> str:
    """Returns the range of differences of two models on several data sets, if of one sign."""
    gaps = [pair.value for pair in study.pairs]
    if min(gaps) * max(gaps) <= 0:
        return ""
    low, high = sorted(map(abs, (min(gaps), max(gaps))))
    side = "higher" if study.scores.higher_is_better else "lower"
    how = f"{' or '.join(TESTS[name] for name in primary.tests)}, {words.sizes(study.pairs)}"
    most = max(pair.p_adjusted for pair in study.pairs)
    p = f", corrected p {text.p_value(most).replace('=', 'at most')}"
    size = f"{study.scores.metric or 'score'} {claims.span(low, high, scale)} {side}"
    return f": {size}{p if most <= study.rules.alpha else ''} ({how})"


def _equivalent(pairs: Sequence[Pair], margin: str) -> str:
    named = [f"{p.a} and {p.b}{on(p.data_set)}" for p in pairs if p.equivalent]
    if not named:
        return f"Equivalence within {margin} was not shown of any pair (TOST)."
    return f"Equivalent within {margin} (TOST): {text.few(named, between='; ')}."


def failures(
    failed: Failures | None,
    noun: str,
    statuses: Mapping[str, Mapping[str, int]],
    alpha: float = 0.05,
    rule: str = "",
) -> list[str]:
    """States how many runs or items of each model failed, and whether failure rates differ.

    Args:
      noun: what failed.
      statuses: model -> status -> number of its runs.
      rule: how failed runs count.
    """
    if failed is None:
        return []
    every = {model: failed.of(model) for model in dict.fromkeys(m for m, _ in failed.counts)}
    whole, parts = [model for model in every if not every[model].failed], []
    named = [model for model in every if every[model].failed]
    for model in [*named, *(whole if len(whole) == 1 else [])]:
        counts = every[model]
        ended = {s: n for s, n in statuses.get(model, {}).items() if is_failed(s)}
        how = f" ({text.statuses(ended)})" if ended else ""
        end = f" failed{how}" if counts.failed else ""
        parts.append(
            f"{counts.failed or 'none'} of {text.counted(counts.runs, noun)} of {model}{end}"
        )
    shown = [test for test in failed.tests if test.p_adjusted <= alpha]
    ends = [test.p_adjusted for test in shown or failed.tests]
    p = text.p_value(max(ends) if shown else min(ends, default=1.0))
    if len({*ends}) > 1:
        p = p.replace("=", "at most" if shown else "at least")
    corrected = "p" if len(failed.tests) == 1 else "corrected p"
    pairs = []
    for test in shown:
        more, less = (test.a, test.b) if test.higher > 0 else (test.b, test.a)
        pairs.append(f"{more} fails more often than {less}{on(test.data_set)}")
    line = text.few(pairs) or "no difference of the failure rates was shown"
    tested = f"{line} ({corrected} {p}, Fisher's exact test)."
    return ["; ".join([", ".join(parts), *([rule] if rule else []), tested])]
