"""The answer of a comparison; directions are those of the corrected primary tests."""

import statistics
from collections.abc import Iterator, Mapping, Sequence

from jaxeval import stats
from jaxeval.errors import argument
from jaxeval.report import scores, text
from jaxeval.report.comparison import claims, words
from jaxeval.report.scores import ScoreFormat
from jaxeval.runs.normal import is_failed
from jaxeval.stats import describe, on
from jaxeval.stats.failures import Failures, failed_runs
from jaxeval.stats.pairs import FEW_DATA_SETS, Pair
from jaxeval.stats.power import Primary
from jaxeval.stats.samples import FEWEST, Copies
from jaxeval.stats.study import Board, RunDesign, Study, decision

# how sentences start that do not start with a name
_OPENINGS = (
    *("No difference", "No model", "No conclusion", "Neither", "Equivalent", "Of the models"),
    *("Against ", "In the mean", "On ", "Task by task"),
)


def answer(study: Study, items: Study | None = None) -> list[str]:
    """Returns the best model, and a sentence each on chance, equivalence, tasks, failed runs.

    Args:
      items: the study of the items of whole runs.
    """
    if study.item_design and study.item_design.withheld:
        who = text.listed(study.scores.models)
        return [f"{who} are not compared, since {claims.WITHHELD}."]
    scale = words.score_format(study)
    doubts = [*_doubtful(study, study.run_design, scale)] if study.run_design else []
    lines = _verdicts(study, scale) if study.pairs else []
    zeros, rule = study.scores.missing == "zero", ""
    if study.run_design:
        several = "in P(A better) they count as the worst" if len(study.pairs) > 1 else ""
        rule = "counted as 0" if zeros else several
    noun, statuses = ("run", study.scores.statuses) if study.run_design else ("item", {})
    failed = failures(study.failures, noun, statuses, study.rules.alpha, rule)
    best = {(board.rows[0].model, board.data_set or "") for board in study.boards}
    copies = study.run_design.copies if study.run_design else ()
    if lines and any((of.model, of.data_set) in best for of in copies):
        lines[0] = _after("Of the models tested", lines[0])
    if lines and failed and study.run_design and not zeros:
        lines[0] = _after("Of the runs that finished", lines[0])
    by_item = answer(items) if items else []
    return [*lines, *doubts, *failed, *(_after("Item by item", line) for line in by_item)]


def _verdicts(study: Study, scale: ScoreFormat) -> list[str]:
    """Returns the best model in the mean and on each data set, and what stands beside it."""
    phrase = f"{study.noun.capitalize()} by {study.noun}"
    tested = study.overall or study.pairs
    lines = [_best(study, scale, study.main, tested)] if study.main else []
    if len(study.boards) > 1:
        each = _best(study, scale, None, study.pairs)
        lines.append(_after(phrase, each) if lines else each)
    every = [*study.overall, *study.pairs]
    against = [f"{p.a} and {p.b}{on(p.data_set)}" for p in every if p.against]
    if against and len(every) > 1:  # of one pair the verdict says it
        lines.append(f"Measures of location disagree: {text.few(against, between='; ')}.")
    design, over = study.run_design, ""
    if design and design.across and not (design.across.one_scale or design.copies):
        over = words.chance_over(study, design.across)  # there is no mean over data sets
    return [*lines[:1], *_beside(study, scale), *lines[1:], *[over] * bool(over)]


def _doubtful(study: Study, design: RunDesign, scale: ScoreFormat) -> Iterator[str]:
    """Names scores that are missing or like those of failed runs, and models that have one run."""
    failed = failed_runs(study.scores) if study.scores.unusable else {}
    rows = {row for rows in failed.values() for row in rows}
    if lost := [one for one in study.scores.unusable if one.row not in rows]:
        how = study.scores.missing
        advice = "" if how == "zero" else "; if runs failed, say so in a column status"
        yield f"{text.unusable(lost, how)}{advice}."
    yield from design.collapsed
    others: dict[str, list[str]] = {}
    single = "one score" if design.averaged[1] < 2 else f"one {design.unit}"
    for one in design.copies:
        score, where = scale(one.score), on(one.data_set)
        beside = _beside_runs(study, design, one, scale)
        if one.count > 1:
            gives = f"{one.model} scores {score} at every {design.unit}{where} ({one.count})"
            yield f"{gives}: this counts as one run and is not tested.{beside}"
        elif beside:
            yield f"{one.model} has {single}{where}, {score}; a test needs {FEWEST}.{beside}"
        else:
            others.setdefault(one.model, []).append(f"{score}{where}")
    if others:
        has = f"have {single} each" if len(others) > 1 else f"has {single}"
        if any(of[1:] for of in others.values()):
            has = f"{has.removesuffix(' each')} per {study.noun}"
        named = text.few([f"{model} ({text.few(of)})" for model, of in others.items()])
        yield f"{named} {has}; a test needs {FEWEST}."
    board = study.boards[0].rows
    constant = len(study.boards) == 1 and sum(of.count > 1 for of in design.copies) == len(board)
    if constant and board[1].rank > 1:
        best = "best" if board[2:] else "better"
        yield f"If these models are deterministic, {board[0].model} is {best}."


def _beside_runs(study: Study, design: RunDesign, one: Copies, scale: ScoreFormat) -> str:
    """States how one score lies beside the runs of the only other model, or beside their mean."""
    by_model = design.samples.by_data_set[one.data_set]
    others = [(model, of.scores) for model, of in by_model.items() if model != one.model]
    if len(others) != 1 or len(others[0][1]) < FEWEST or not stats.varies(others[0][1]):
        return ""
    ((other, of),) = others
    bounds = study.scores.bounds
    if one.count == 1:
        above, below = sum(of < one.score), sum(of > one.score)
        next_run = describe.prediction_interval(of, confidence=study.rules.confidence)
        next_run = next_run.clip(*bounds) if bounds else next_run
        lies = "inside" if next_run.low <= one.score <= next_run.high else "outside"
        name = text.confidence(next_run).replace("CI", "prediction interval")
        return (
            f" It is above {above} and below {below} of the {len(of)} runs of {other}, {lies} the "
            f"{name} for one more run: {scale.interval(next_run)}."
        )
    summary = describe.summarize(of, confidence=study.rules.confidence, bounds=bounds)
    assert summary.interval is not None
    low, high = summary.interval[:2]
    side = "higher" if one.score < low else "lower" if one.score > high else ""
    found = f"is {side}" if side else "was not shown to differ"
    mean = f"{scale(summary.mean)}, {scale.ci(summary.interval)}"
    return f" If {one.model} is deterministic, the mean of {other} {found}: {mean}."


def _beside(study: Study, scale: ScoreFormat) -> list[str]:
    """States chance and equivalence of the only pair, or which pairs are equivalent."""
    top, rules = study.overall or study.pairs, study.rules
    if study.item_design:  # of two models; NaN: the error is not known
        known = len(top) == 1 and study.main and top[0].p_value == top[0].p_value
        return [claims.against_margin(top[0], rules, scale)] if known and rules.margin else []
    if len(study.pairs) == 1:
        same = [] if rules.margin is None else [claims.equivalence(top[0], rules, scale)]
        return [*filter(None, [claims.chance(top[0])]), *same]
    if rules.margin is None:
        return []
    margin = scores.difference(rules.margin, scale.unit)
    every = [*study.overall, *study.pairs]
    if same := [f"{p.a} and {p.b}{on(p.data_set)}" for p in every if p.equivalent]:
        return [f"Equivalent within {margin} (TOST): {text.few(same, between='; ')}."]
    return [f"Equivalence within {margin} was not shown for any pair (TOST)."]


def _after(phrase: str, line: str) -> str:
    """Puts a phrase before a sentence; names of models keep their first letter."""
    first = line[:1].lower() if line.startswith(_OPENINGS) else line[:1]
    return f"{phrase}, {first}{line[1:]}"


def outcome(study: Study) -> str:
    """States the gate's decision on the first model against the second, and its basis."""
    (a, b), (decided, on_tasks), margin = study.scores.models[:2], decision(study), ""
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
    return text.signs((p.a, p.b, p.data_set or "", p.better) for p in pairs)


def order(study: Study, boards: Sequence[Board] = ()) -> list[str]:
    """Returns the compared models, best first: by mean rank on boards, or on items' mean board."""
    if not boards:
        boards = [study.board] if study.board and study.item_design else study.boards
    compared = {name for pair in study.pairs for name in pair.names}
    ranks: dict[str, list[int]] = {}
    for row in (row for board in boards for row in board.rows):
        if row.model in compared:
            ranks.setdefault(row.model, []).append(row.rank)
    return sorted(ranks, key=lambda model: statistics.fmean(ranks[model]))


def control(study: Study) -> str | None:
    """Returns the one model that all others are compared with, of three or more models."""
    if len(order(study)) < 3:
        return None
    return next(iter(set.intersection(*({*pair.names} for pair in study.pairs))), None)


def _best(study: Study, scale: ScoreFormat, board: Board | None, pairs: Sequence[Pair]) -> str:
    """Names the best model on a board, or data set by data set."""
    rules, design = study.rules, study.run_design
    models = order(study, [board] if board else study.boards)
    found = signs(pairs)
    where, compared = "", {pair.data_set for pair in pairs}
    if compared == {None}:
        where = words.in_mean(study)
    elif design and len(compared) == 1 < len(study.scores.data_sets):
        where = on(pairs[0].data_set)
    if design and not any(pair.shown or _could_show(pair, rules.alpha) for pair in pairs):
        return _too_few(study, design.primary, models)
    unseen = claims.detectable_on(board, study) if board and not design else ""
    if design and not any(pair.shown for pair in pairs):
        unseen = claims.detectable(pairs, rules, scale)
    if len(pairs) == 1:
        return claims.verdict(pairs[0], study, scale, where, unseen)
    if (alone := control(study)) is not None:
        against = f"{text.against(alone, models, found, study.noun)}."
        return f"{where[1:2].upper()}{where[2:]}, a{against[1:]}" if where else against
    best = text.sentence(models, found, study.noun, where)
    if not any(pair.shown for pair in pairs):
        return f"{best}{unseen}."
    better = best.startswith(tuple(f"{m} is better" for m in models))
    if design and len(models) == 2 and better:
        best += _by_how_much(study, scale)
    return f"{best}."


def _could_show(pair: Pair, alpha: float) -> bool:
    enough = pair.scores is not None and pair.scores.units >= pair.scores.fewest
    return pair.looks > 1 or bool(enough and pair.plan and pair.plan.least_p <= alpha)


def _too_few(study: Study, primary: Primary, models: Sequence[str]) -> str:
    who = text.listed(sorted(models)) if len(models) == 2 else f"{len(models)} models"
    design = f"{who} with {words.sizes(study.pairs)}"
    none = f"{design} cannot show any difference at level {text.level(primary.level)}"
    parts, data_sets = [none], len(study.scores.data_sets)
    if primary.needed is not None:
        each = "" if all(pair.scores and pair.scores.by_pairs for pair in study.pairs) else " each"
        needed = f"{text.counted(primary.needed, study.pairs[0].unit)}{each}"
        parts.append(f"{needed} would show a difference of {Primary.PLANNED_SDS:g} sds")
    if data_sets >= FEW_DATA_SETS and study.noun != study.pairs[0].unit:
        parts.append(f"{argument('unit', 'dataset')} compares over {data_sets} {study.noun}s")
    return f"{'; '.join(parts)}."


def _by_how_much(study: Study, scale: ScoreFormat) -> str:
    """Returns the range of differences of two models on several data sets, if all are shown."""
    gaps = [pair.value for pair in study.pairs]
    if len({pair.better for pair in study.pairs}) > 1:
        return ""
    low, high = sorted(map(abs, (min(gaps), max(gaps))))
    side = "higher" if study.scores.higher_is_better else "lower"
    names = dict.fromkeys(words.TESTS[pair.primary] for pair in study.pairs)
    how = f"{' or '.join(names)}, {words.sizes(study.pairs)}"
    most = text.p_value(max(pair.p_adjusted for pair in study.pairs)).replace("=", "at most")
    size = f"{study.scores.metric or 'score'} {claims.span(low, high, scale)} {side}"
    return f": {size}, {words.p_name(study)} {most} ({how})"


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
    line = text.few(pairs) or "no difference in failure rates was shown"
    tested = [f"{line} ({corrected} {p}, Fisher's exact test)"] if failed.tests else []
    return ["; ".join([", ".join(parts), *([rule] if rule else []), *tested]) + "."]
