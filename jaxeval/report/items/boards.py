"""Leaderboards as tables and figures: what the page shows."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from jaxeval.report import plots, text
from jaxeval.report.figures import Figure
from jaxeval.report.items import verdict
from jaxeval.report.plots import literal
from jaxeval.report.scores import ScoreFormat
from jaxeval.runs.item_scores import TaskScores
from jaxeval.stats.items.leaderboard import POWER, Board, Leaderboard, Row
from jaxeval.stats.items.study import ItemStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEAN = "mean over tasks"
MOST_DRAWN = 40  # models of a figure
MOST_NAMED = 8  # models in a sentence
_INCHES = 0.3  # of a model in a figure


class Cell(NamedTuple):
    """Of a table; `strong`: no model was shown to be better."""

    text: str
    strong: bool = False


class Table(NamedTuple):
    """What the page prints."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def overview(board: Leaderboard, study: ItemStudy) -> Table:
    """Models by rows, best first; the mean over tasks and all tasks as columns."""
    boards = [*([board.overall] if board.overall else []), *board.tasks]
    first = boards[0]
    ranked = board.overall is not None or len(boards) == 1
    models = [row.model for row in first.rows] if ranked else list(study.models)
    by_model = [{row.model: row for row in each.rows} for each in boards]
    scales = [scale(each, study) for each in boards]
    rows = []
    for model in models:
        of_model = [rows_of[model] for rows_of in by_model]
        cells = [Cell(model)]
        if ranked:
            cells += [Cell(rank(of_model[0])), Cell(group_names(of_model[0]))]
        cells += [
            Cell(shown(s, row), not row.beaten) for s, row in zip(scales, of_model, strict=True)
        ]
        rows.append(cells)
    head = ["model", *(["rank", "tied"] if ranked else [])]
    head += [column(each, s) for each, s in zip(boards, scales, strict=True)]
    return Table(_caption(study, ranked), head, rows)


def _caption(study: ItemStudy, ranked: bool) -> str:
    level = f"{100 * study.rules.confidence:.3g} %"
    lines = [f"Means with {level} intervals"]
    if ranked:
        lines.append(
            "ranks: those that are left open, for all models at once; models with a letter in "
            "common were not told apart; both rest on p-values corrected by Holm's method"
        )
    else:
        lines.append("no order over tasks, since these are not averaged")
    return "; ".join(lines) + "."


def of_task(board: Board, study: ItemStudy) -> Table:
    """The models of one board, best first."""
    unit = scale(board, study)
    head = ["model", "rank", "tied", unit.label(board.metric), "over", "runs"]
    rows = [
        [
            *map(Cell, (row.model, rank(row), group_names(row))),
            Cell(shown(unit, row), not row.beaten),
            Cell(" and ".join(row.mean.over)),
            Cell(str(row.mean.sizes.runs[0])),
        ]
        for row in board.rows
    ]
    return Table(f"{title(board)}, best first", head, rows)


def told_apart(board: Board) -> Table:
    """Every pair of models: > the row's is better, < worse, = not shown."""
    apart = set(board.told_apart)
    models = [row.model for row in board.rows]
    rows = [
        [Cell(str(k)), Cell(a), *(Cell(_sign(apart, a, b)) for b in models)]
        for k, a in enumerate(models, 1)
    ]
    numbers = [str(k) for k in range(1, len(models) + 1)]
    caption = (
        f"Pairs told apart, {title(board)}: > the model of the row was shown to be better than "
        "that of the column, < worse, = neither"
    )
    return Table(caption, ["", "model", *numbers], rows)


def _sign(apart: set[tuple[str, str]], a: str, b: str) -> str:
    if a == b:
        return ""
    return ">" if (a, b) in apart else "<" if (b, a) in apart else "="


def detectable(board: Board, study: ItemStudy) -> str:
    """What differences the design could have shown."""
    unit, (small, large, *_) = scale(board, study), board.detectable
    if small is None:
        return f"{title(board)}: {' or, of other pairs, '.join(_why_none(board))}."
    if large is None:
        return (
            f"{title(board)}: of the pair known best a difference of {unit.difference(small)} is "
            f"shown with probability {POWER:g}; of other pairs {' or '.join(_why_none(board))}."
        )
    between = unit.difference(small)
    if unit(small) != unit(large):
        between = f"{unit(small)} (the pair known best) to {unit.difference(large)} (worst)"
    return (
        f"{title(board)}: this design shows a true difference of {between} between two models "
        f"with probability {POWER:g}, smaller ones less often."
    )


def _why_none(board: Board) -> list[str]:
    """Why of some pairs no difference can be named that is shown."""
    never = "no difference, however large, is shown with so few runs or items"
    unknown = (
        "what difference is shown is not known, as the scores of two models always differ by the "
        "same"
    )
    of = board.detectable
    return [why for why, true in ((never, of.never), (unknown, of.unknown)) if true]


def sizes(study: ItemStudy) -> Table:
    """What each task rests on."""
    head = ["task", "metric", "better", "items", "clusters", "runs of a model"]
    head += ["items left out", "answers without a score"]
    rows = [[*map(Cell, _size(task))] for task in study.tasks]
    return Table("What the scores rest on", head, rows)


def _size(task: TaskScores) -> Iterator[str]:
    runs = sorted({cube.shape[1] for cube in task.scores.values()})
    samples = max(cube.shape[2] for cube in task.scores.values())
    clusters = None if task.clusters is None else len(set(task.clusters.tolist()))
    yield task.task or "-"
    yield task.metric
    yield ("higher" if task.higher_is_better else "lower") + (
        ", assumed" if task.direction_assumed else ""
    )
    yield str(len(task.items))
    yield "-" if clusters in (None, len(task.items)) else str(clusters)
    spread = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    yield spread + (f", {samples} samples" if samples > 1 else "")
    yield str(task.left_out)
    yield str(sum(task.failed.values()) + sum(task.unscored.values()))


def drawn(board: Board, study: ItemStudy, number: int) -> Figure:
    """Means with intervals beside ranks with theirs.

    Args:
      number: of the figure on its page.
    """
    unit, rows = scale(board, study), board.rows[:MOST_DRAWN]
    drawing, (left, right) = plots.grid(2, 2, (4.2, 0.9 + _INCHES * len(rows)), share_y=True)
    _means(left, rows, unit)
    _ranks(right, rows, len(board.rows))
    left.set_yticks(range(len(rows)), [literal(row.model) for row in rows])
    left.invert_yaxis()
    left.set_xlabel(literal(unit.label(board.metric)))
    right.set_xlabel("rank")
    left_out = len(board.rows) - len(rows)
    return Figure(
        f"board_{number}",
        title(board),
        f"Left: means with intervals of {100 * study.rules.confidence:.3g} %. Right: ranks, 1 the "
        "best; a line covers those that are left open, for all models at once. Hollow: another "
        "model was shown to be better."
        + (f" The best {len(rows)}; {left_out} more are in the tables." if left_out else ""),
        drawing,
        ("model", column(board, unit), "rank"),
        [(row.model, shown(unit, row), rank(row)) for row in rows],
    )


def _means(panel: "Axes", rows: Sequence[Row], unit: ScoreFormat) -> None:
    for y, row in enumerate(rows):
        low, high = (unit.factor * end for end in row.mean.interval[:2])
        colour, filled = _style(row)
        if low <= high:  # else not known
            panel.plot([low, high], [y, y], color=colour, linewidth=1.6)
        panel.plot([unit.factor * row.mean.value], [y], marker="o", color=colour, mfc=filled)
    plots.ruled(panel, "both")


def _style(row: Row) -> tuple[str, str]:
    """Colour, and what marks are filled with: nothing of a model that another one beats."""
    return (plots.colour(6), "white") if row.beaten else (plots.colour(0),) * 2


def _ranks(panel: "Axes", rows: Sequence[Row], models: int) -> None:
    for y, row in enumerate(rows):
        colour, filled = _style(row)
        low, high = row.place.low, row.place.high
        panel.plot([low - 0.15, high + 0.15], [y, y], color=colour, linewidth=4, alpha=0.45)
        panel.plot([row.place.rank], [y], marker="D", color=colour, mfc=filled, markersize=5)
    panel.set_xlim(0.4, models + 0.6)
    panel.set_xticks(range(1, models + 1, 1 + (models - 1) // 10))
    panel.tick_params(labelleft=False)
    plots.ruled(panel, "both")


def scale(board: Board, study: ItemStudy) -> ScoreFormat:
    """How a board's scores are read."""
    return verdict.scale_of(study) if board.task is None else verdict.scales(study)[board.task]


def title(board: Board) -> str:
    """Of what it is."""
    return f"{_name(board)}, {board.metric}".removeprefix(", ")


def _name(board: Board) -> str:
    return MEAN.capitalize() if board.task is None else board.task


def column(board: Board, unit: ScoreFormat) -> str:
    """Head of its column, with the unit."""
    lower = "" if board.higher_is_better else ", lower is better"
    return f"{_name(board)}, {unit.label(board.metric)}{lower}".removeprefix(", ")


def shown(unit: ScoreFormat, row: Row) -> str:
    """A mean with its interval."""
    return f"{unit(row.mean.value)} {unit.interval(row.mean.interval)}"


def rank(row: Row) -> str:
    """A model's rank, and those that are left open."""
    rank, low, high = row.place.rank, row.place.low, row.place.high
    return f"{rank}" if low == high else f"{rank} [{low}, {high}]"


def group_names(row: Row) -> str:
    """Letters of its tie groups: a, b ... z, aa; - where it is alone."""
    return " ".join(_letters(number) for number in row.groups)


def _letters(number: int) -> str:
    number -= 1
    first, last = divmod(number, 26)
    return (_letters(first) if first else "") + chr(ord("a") + last)


def groups(board: Board) -> str:
    """The tie groups of several models in a sentence; "" for none, and for many models."""
    if len(board.rows) > MOST_NAMED:
        return ""  # the letters say it
    by_number: dict[int, list[str]] = {}
    for row in board.rows:
        for number in row.groups:
            by_number.setdefault(number, []).append(row.model)
    tied = [text.listed(names) for names in by_number.values() if len(names) > 1]
    return f"Not told apart: {'; '.join(tied)}." if tied else ""
