"""What a comparison over items answers: one sentence, and one a task where there are several."""

import math

from jaxeval.report import failures, standings, text
from jaxeval.report.items import boards, verdict
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.items.leaderboard import POWER, Board, Leaderboard
from jaxeval.stats.items.results import Estimate
from jaxeval.stats.items.study import ItemStudy, TaskPair
from jaxeval.stats.items.suites import OverallPair


def sentences(study: ItemStudy, board: Leaderboard) -> list[str]:
    """Who is best; of several tasks in their mean, and then task by task."""
    if study.withheld:
        who = text.listed(study.models)
        return [f"Nothing is said of {who}, since too many answers or tasks are missing."]
    whole = board.overall or (board.tasks[0] if len(board.tasks) == 1 else None)
    if whole is None:
        return [_by_task(study, board), *failures.of_items(study)]
    pairs = study.suite.overall if board.overall else study.pairs
    two = len(study.models) == 2
    lines = _of_two(pairs[0], whole, study) if two else [_of_many(whole, study)]
    if len(board.tasks) > 1:
        by_task = _by_task(study, board)
        lines.append(f"Task by task, {by_task.replace('No difference', 'no difference', 1)}")
    return [*lines, *failures.of_items(study)]


def _of_many(board: Board, study: ItemStudy) -> str:
    order = [row.model for row in board.rows]
    apart = set(board.told_apart)
    shown = {
        (a, b): {"": ((a, b) in apart) - ((b, a) in apart)}
        for k, a in enumerate(order)
        for b in order[k + 1 :]
    }
    said = standings.sentence(order, shown, where=_where(board, study))
    return f"{said}{'' if apart else _unseen(board, study)}."


def _where(board: Board, study: ItemStudy) -> str:
    return f" in the mean over {len(study.tasks)} tasks" if board.task is None else ""


def _by_task(study: ItemStudy, board: Leaderboard) -> str:
    """Of several tasks, each by itself."""
    places = dict.fromkeys(study.models, 0)
    for each in board.tasks:
        for row in each.rows:
            places[row.model] += row.place.rank
    apart = {each.task: set(each.told_apart) for each in board.tasks}
    shown = standings.signs(
        (pair.a, pair.b, pair.task.task, _sign(pair, apart[pair.task.task]))
        for pair in study.pairs
    )
    order = sorted(study.models, key=lambda model: places[model])
    return f"{standings.sentence(order, shown, 'task')}."


def _sign(pair: TaskPair, apart: set[tuple[str, str]]) -> int:
    return ((pair.a, pair.b) in apart) - ((pair.b, pair.a) in apart)


def _of_two(pair: TaskPair | OverallPair, board: Board, study: ItemStudy) -> list[str]:
    """The difference, its direction that of its test; then what it is beside a margin."""
    scale = boards.scale(board, study)
    found = pair.difference if isinstance(pair, TaskPair) else pair.mean_over_tasks
    where = _where(board, study)
    over = f"over {verdict.OVER[found.over]}; {_sizes(found)}"
    if found.p_value is not None and math.isnan(found.p_value):
        alike = "score the same" if found.value == 0 else "differ by the same"
        on = " and ".join(found.over)
        return [f"{pair.a} and {pair.b} {alike} on all {on}{where}, which says nothing of others."]
    if not board.told_apart:
        size = f"{board.metric} {scale.difference(found.value)} ({pair.a} - {pair.b})".lstrip()
        said = f"No difference between {pair.a} and {pair.b} was shown{where}: {size}"
        said += f", {scale.ci(found.possible)}, {_p(pair, study)} ({over})"
        lines = [f"{said}{_unseen(board, study)}."]
    else:
        ((better, worse),) = board.told_apart
        size = higher_or_lower(found, board.higher_is_better, better == pair.a, scale)
        said = f"{better} is better than {worse}{where}: {board.metric} {size}"
        lines = [f"{said}, {_p(pair, study)} ({over})."]
    return [*lines, *_by_margin(pair, study, scale)]


def higher_or_lower(
    found: Estimate, higher_is_better: bool, a_is_better: bool, scale: ScoreFormat
) -> str:
    """2.31 points higher, 95 % CI [1.12, 3.50]: the better model beside the other."""
    up = found if a_is_better == higher_is_better else found.swapped
    side = "higher" if higher_is_better else "lower"
    return f"{scale.difference(up.value)} {side}, {scale.ci(up.possible)}"


def _p(pair: TaskPair | OverallPair, study: ItemStudy) -> str:
    return f"p {text.p_value(pair.p_adjusted)}"


def _sizes(found: Estimate) -> str:
    sizes, runs = found.sizes, sorted(set(found.sizes.runs))
    of_runs = " to ".join(map(str, dict.fromkeys((runs[0], runs[-1]))))
    each = f", {of_runs} run{'' if runs == [1] else 's'} each"
    return verdict.counted(sizes.items, sizes.clusters) + each


def _unseen(board: Board, study: ItemStudy) -> str:
    """What the design could have shown."""
    small, large, never, _ = board.detectable
    level = f"at level {study.rules.alpha:g}"
    if small is None:
        return f"; no difference, however large, could be shown {level}" if never else ""
    scale = boards.scale(board, study)
    sizes = [scale.difference(size) for size in (small, large) if size is not None]
    seen = " to ".join(dict.fromkeys(sizes))
    of = "" if large is not None else " of the pair known best"
    return f"; a difference of {seen}{of} is detected (power {100 * POWER:g} %)"


def _by_margin(pair: TaskPair | OverallPair, study: ItemStudy, scale: ScoreFormat) -> list[str]:
    if not study.rules.margin:
        return []
    if isinstance(pair, TaskPair):
        return [verdict.by_margin(pair, pair.by_margin, study.rules, scale)]
    found = zip(study.suite.overall, study.overall, strict=True)
    return [
        verdict.by_margin(each, shown, study.rules, scale) for each, shown in found if each is pair
    ]
