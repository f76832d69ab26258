"""A comparison over items in the terminal: the answer, then what it rests on."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jaxeval.report import folding, plots, scores, tables, text
from jaxeval.report.items import answer, boards, page, verdict
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.items import leaderboard
from jaxeval.stats.items.leaderboard import Board, Leaderboard
from jaxeval.stats.items.margins import ByMargin
from jaxeval.stats.items.results import Estimate
from jaxeval.stats.items.study import ItemStudy, TaskPair
from jaxeval.stats.items.suites import OverallPair

if TYPE_CHECKING:
    from rich.console import Console

Row = tuple[str, ...]
Table = tuple[Row, list[Row]]  # head and rows
TESTS = {"sign_flips": "paired permutation", "mcnemar": "McNemar"}
_MOST_PAIRS = 12  # of which lines are printed
_WIDTH = 100  # columns
_CELL = 9  # letters of a score with its group


def print_study(study: ItemStudy, details: bool = False, gate: str = "") -> None:
    """The answer, models, pairs and notes.

    Args:
      details: every model, pair and test on every task too, and notes as they are.
      gate: its last line, if there is one.
    """
    console, board = tables.console(), leaderboard.of(study)
    console.print()
    for line in answer.sentences(study, board):
        console.print(line, markup=False, style="bold")
    for head, rows in _models(study, board, details):
        console.print()
        tables.print_table(console, head, rows)
    (head, rows), more = _pairs(study, board)
    if len(rows) > 1:
        console.print()
        tables.print_table(console, head, rows, range(len(head) - 3 - bool(study.rules.margin)))
    if details:
        _print_details(console, study)
    console.print()
    notes = [*study.suite.notes, *page.warnings(study)]
    for line in folding.lines(notes, details=details):
        console.print(line, markup=False, style="yellow")
    for line in [verdict.signature(study)] if details else _short(study, more):
        console.print(line, markup=False, style="dim")
    if gate:
        console.print(f"\n{gate}", markup=False, style="bold")


def _short(study: ItemStudy, more: str) -> Iterator[str]:
    """The tests in a line; where the rest is."""
    yield (
        f"{study.source} | {'; '.join(verdict.directions(study))} | over "
        f"{verdict.OVER[study.pairs[0].difference.over]}"
    )
    level = f"{study.rules.alpha:g}".removeprefix("0")
    alone = "; intervals are not corrected" if len(study.pairs) > 1 else ""
    yield f"t tests (Satterthwaite), {verdict.families(study)}, level {level}{alone}"
    yield f"--details: {more}all tests, notes and methods"


def _models(study: ItemStudy, board: Leaderboard, details: bool) -> Iterator[Table]:
    """Models by their mean, then tasks by models: as many side by side as fit."""
    if len(board.tasks) == 1:
        yield _ranked(board.tasks[0], study)
        return
    if board.overall is not None:
        yield _ranked(board.overall, study)
    width = max(map(len, study.models))
    room = _WIDTH - max(len(_task(each, study)) for each in board.tasks) - len("  items")
    models = [row.model for row in (board.overall or board.tasks[0]).rows]
    parts = [*plots.chunks(models, max(1, room // (2 + max(_CELL, width))))]
    if len(parts) == 1 or board.overall is None or details:
        yield from (_by_task(board, study, part) for part in parts)


def _ranked(board: Board, study: ItemStudy) -> Table:
    """A row a model, best first; models with a letter in common were not told apart."""
    unit, several = boards.scale(board, study), len(study.models) > 2
    sizes = board.rows[0].mean.sizes
    clustered = sizes.clusters < sizes.items
    head = (unit.label(board.metric), "items", *(["clusters"] if clustered else []), "runs")
    head += ("mean", f"{100 * study.rules.confidence:.3g} % CI")
    rows = []
    for row in board.rows:
        of = row.mean.sizes
        counts = [str(of.items), *([str(of.clusters)] if clustered else [])]
        of_runs = f"{of.runs[0]}" + (f" x {of.samples}" if of.samples > 1 else "")
        mean = unit(row.mean.value), unit.interval(row.mean.interval)
        ranks = (boards.rank(row), boards.group_names(row)) if several else ()
        rows.append((row.model, *counts, of_runs, *mean, *ranks))
    return (*head, *(("rank", "tied") if several else ())), rows


def _task(board: Board, study: ItemStudy) -> str:
    unit = boards.scale(board, study)
    one = len({task.metric for task in study.tasks}) == 1
    return (board.task or "-") if one else f"{board.task}, {unit.label(board.metric)}"


def _by_task(board: Leaderboard, study: ItemStudy, models: Sequence[str]) -> Table:
    """A row a task; a letter in common in a row: not told apart there."""
    head = ("task (same letter: not told apart)", "items", *models)
    rows: list[Row] = [
        (_task(each, study), str(each.rows[0].mean.sizes.items)) for each in board.tasks
    ]
    for model in models:
        of = [
            (boards.scale(each, study), row)
            for each in board.tasks
            for row in each.rows
            if row.model == model
        ]
        letters = [boards.group_names(row).replace(" ", "") for _, row in of]
        width = max(map(len, letters))
        cells = [
            f"{unit(row.mean.value)} {tied:<{width}}"
            for (unit, row), tied in zip(of, letters, strict=True)
        ]
        rows = [(*row, cell) for row, cell in zip(rows, cells, strict=True)]
    return head, rows


def _pairs(study: ItemStudy, board: Leaderboard) -> tuple[Table, str]:
    """A row a pair: over all tasks, and on each where they are few; what is left out."""
    several, whole = len(study.tasks) > 1, board.overall or board.tasks[0]
    overall = [*zip(study.suite.overall, study.overall, strict=True)] if board.overall else []
    on_tasks = [(pair, pair.by_margin) for pair in study.pairs]
    every: list[tuple[TaskPair | OverallPair, ByMargin]] = [*overall, *on_tasks]
    shown = every if len(every) <= _MOST_PAIRS else [*(overall or on_tasks)]
    if len(shown) > _MOST_PAIRS:
        best = whole.rows[0].model
        shown = [each for each in shown if best in (each[0].a, each[0].b)][:_MOST_PAIRS]
    left = len(every) - len(shown)
    order = study.models if len(study.models) == 2 else [row.model for row in whole.rows]
    on = {None: -1} | {task.task: k for k, task in enumerate(study.tasks)}
    rows = [
        row
        for _, row in sorted(
            (
                (on[_on(pair)], *sorted(map(order.index, (pair.a, pair.b)))),
                _pair(pair, of, study, order),
            )
            for pair, of in shown
        )
    ]
    more = f"{text.counted(left, 'more pair')}{' on tasks' if several else ''}, " if left else ""
    corrected = "p" if len(every) == 1 else "corrected p"
    unit = verdict.scale_of(study).unit
    margin = [f"by {scores.difference(study.rules.margin, unit)}"] if study.rules.margin else []
    head = ("A", "B", *(["on"] if several else []), "A - B", _level(study), *margin, corrected)
    return (head, rows), more


def _on(pair: TaskPair | OverallPair) -> str | None:
    """The task; None: the mean over tasks."""
    return pair.task.task if isinstance(pair, TaskPair) else None


_TURNED = {"better": "worse", "worse": "better"}


def _pair(
    pair: TaskPair | OverallPair, by_margin: ByMargin, study: ItemStudy, order: Sequence[str]
) -> Row:
    """The model that comes first in an order is A."""
    if isinstance(pair, TaskPair):
        found, on = pair.difference, pair.task.task or "-"
        unit = verdict.scales(study)[pair.task.task]
    else:
        found, on, unit = pair.mean_over_tasks, "mean over tasks", verdict.scale_of(study)
    a, b, outcome = pair.a, pair.b, str(by_margin.outcome)
    if order.index(a) > order.index(b):
        a, b, found, outcome = b, a, found.swapped, _TURNED.get(outcome, outcome)
    return (
        *(a, b, *([on] if len(study.tasks) > 1 else [])),
        *(unit(found.value), unit.interval(found.possible)),
        *(["equivalent" if by_margin.equivalent else outcome] if study.rules.margin else []),
        text.p_cell(pair.p_adjusted),
    )


def differences(study: ItemStudy) -> Table:
    """A row a pair, task and generalisation; p-values are corrected over pairs and tasks."""
    head = ("task", "A", "B", "over", "A - B", _level(study), "p", "corrected p")
    by_task = verdict.scales(study)
    return head, [
        _difference(pair, estimate, by_task[pair.task.task])
        for pair in study.pairs
        for estimate in pair.estimates
    ]


def _difference(pair: TaskPair, estimate: Estimate, scale: ScoreFormat) -> Row:
    over = " and ".join(estimate.over)
    cited = estimate.over == pair.difference.over
    return (
        *(pair.task.task or "-", pair.a, pair.b, over),
        *(scale(estimate.value), scale.interval(estimate.possible)),
        text.p_cell(estimate.p_value),
        text.p_cell(pair.p_adjusted if cited else pair.adjusted[over]),
    )


def _level(study: ItemStudy) -> str:
    return f"{100 * study.rules.confidence:.3g} % CI"


def _print_details(console: "Console", study: ItemStudy) -> None:
    """Means and intervals on each task, differences over items, runs and both, and their tests."""
    for board in leaderboard.of(study).tasks if len(study.tasks) > 1 else ():
        console.print(f"\n{boards.title(board)}", markup=False, style="bold")
        tables.print_table(console, *_ranked(board, study))
    console.print()
    tables.print_table(console, *differences(study), (0, 1, 2, 3))
    for line in verdict.headline(study):
        console.print(f"\n{line}", markup=False)
    by_task = verdict.scales(study)
    for pair in study.pairs:
        _print_pair(console, pair, study, by_task[pair.task.task])


def _print_pair(console: "Console", pair: TaskPair, study: ItemStudy, scale: ScoreFormat) -> None:
    console.print(f"\n{verdict.title(pair)}", markup=False, style="bold")
    for line in verdict.of_pair(pair, study, scale):
        console.print(f"  {line}", markup=False)
    known = not math.isnan(pair.p_adjusted)  # else nothing is shown, as a warning says
    if pair.tests and known:
        said = "; ".join(
            f"{TESTS[name]}, corrected p {text.p_value(pair.adjusted[name])} ({test.method})"
            for name, test in pair.tests.items()
        )
        console.print(f"  Items alone: {said}.", markup=False)
