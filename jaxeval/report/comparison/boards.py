"""Tables and figures of leaderboards: of models compared item by item."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jaxeval.report import plots, scores, text
from jaxeval.report.comparison import words
from jaxeval.report.comparison.tables import MOST_PAIRS
from jaxeval.report.document import Bold, Figure, Table
from jaxeval.report.plots import literal
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.items.leaderboard import POWER, Board, Row
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.pairs import Pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEAN = "mean over tasks"
_MOST_DRAWN = 40  # models of a figure
_MOST_FIGURES = 12
_INCHES = 0.3  # of a model in a figure
_WIDTH = 100  # columns
_CELL = 9  # letters of a score with its group


def tables(study: ItemStudy) -> Iterator[Table]:
    """Models by their mean; tasks by models, as many side by side as fit; pairs."""
    if len(study.boards) == 1:
        yield ranked(study.boards[0], study)
    else:
        if study.board is not None:
            yield ranked(study.board, study)
        first = study.board or study.boards[0]
        yield _by_task(study, [row.model for row in first.rows])
    pairs = _pairs(study)
    if len(pairs.rows) > 1:
        yield pairs


def ranked(board: Board, study: ItemStudy) -> Table:
    """A row a model, best first; models with a letter in common were not told apart."""
    unit, several = words.scale_on(study, board.data_set), len(study.models) > 2
    sizes = board.rows[0].mean.sizes
    clustered = sizes.clusters < sizes.items
    head = [_label(board, unit), "items", *(["clusters"] if clustered else []), "runs", "mean"]
    head += [_level(study), *(["rank", "tied"] if several else [])]
    rows = []
    for row in board.rows:
        of = row.mean.sizes
        counts = [str(of.items), *([str(of.clusters)] if clustered else [])]
        of_runs = f"{of.runs[0]}" + (f" x {of.samples}" if of.samples > 1 else "")
        mean = unit(row.mean.value)
        cells = [of_runs, mean if row.beaten else Bold(mean), unit.interval(row.mean.interval)]
        ranks = [_rank(row), _groups(row)] if several else []
        rows.append([row.model, *counts, *cells, *ranks])
    return Table(head, rows)


def _level(study: ItemStudy) -> str:
    return f"{100 * study.rules.confidence:.3g} % CI"


def _label(board: Board, unit: ScoreFormat) -> str:
    return unit.label(board.metric or "score")


def _by_task(study: ItemStudy, models: Sequence[str]) -> Table:
    """A row a task; a letter in common in a row: not told apart there."""
    one = len({of.metric for of in study.data_sets}) == 1
    rows = []
    for board in study.boards:
        unit, of = words.scale_on(study, board.data_set), {row.model: row for row in board.rows}
        name = board.data_set or "-"
        name = name if one else f"{name}, {_label(board, unit)}"
        letters = {model: _groups(row).replace(" ", "") for model, row in of.items()}
        cells = [f"{unit(of[model].mean.value)} {letters[model]}" for model in models]
        rows.append([name, str(board.rows[0].mean.sizes.items), *cells])
    return Table(["task (same letter: not told apart)", "items", *models], rows)


def _pairs(study: ItemStudy) -> Table:
    """A row a pair: over all tasks, and on each where they are few; else those with the best."""
    shown = [*study.overall, *study.pairs]
    first = study.board or study.boards[0]
    if len(shown) > MOST_PAIRS:
        shown = [*(study.overall or study.pairs)]
    if len(shown) > MOST_PAIRS:
        shown = [pair for pair in shown if first.rows[0].model in pair.names][:MOST_PAIRS]
    two, several = len(study.models) == 2, len(study.data_sets) > 1
    order = study.models if two else [row.model for row in first.rows]
    places = {None: -1} | {of.data_set: k for k, of in enumerate(study.data_sets)}
    shown.sort(key=lambda of: (places[of.data_set], *sorted(map(order.index, of.names))))
    unit, margin = words.scale_on(study, None).unit, study.rules.margin
    by = [f"by {scores.difference(margin, unit)}"] if margin else []
    corrected = "p" if len(study.pairs) + len(study.overall) == 1 else "corrected p"
    head = ["A", "B", *(["on"] if several else []), "A - B", _level(study), *by, corrected]
    rows = [_pair(pair, study, order, several) for pair in shown]
    return Table(head, rows, words=2 + several)


_TURNED = {"better": "worse", "worse": "better"}


def _pair(pair: Pair, study: ItemStudy, order: Sequence[str], several: bool) -> Sequence[str]:
    """The model that comes first in an order is A."""
    gap, beside = pair.difference, pair.by_margin
    assert gap is not None and beside is not None
    unit, names, outcome = words.scale_on(study, pair.data_set), pair.names, str(beside.outcome)
    if order.index(pair.a) > order.index(pair.b):
        names, gap, outcome = names[::-1], gap.swapped, _TURNED.get(outcome, outcome)
    on = MEAN if pair.data_set is None else pair.data_set or "-"
    return (
        *(*names, *([on] if several else [])),
        *(unit(gap.value), unit.interval(gap.possible)),
        *(["equivalent" if beside.equivalent else outcome] if study.rules.margin else []),
        text.p_cell(pair.p_adjusted),
    )


def differences(study: ItemStudy) -> Table:
    """A row a pair, task and generalisation; p-values are corrected over pairs and tasks."""
    rows = []
    for pair in study.pairs:
        unit = words.scale_on(study, pair.data_set)
        for of in pair.over:
            over = " and ".join(of.over)
            p = pair.p_adjusted if over == pair.primary else pair.adjusted[over]
            rows.append(
                (
                    *(pair.data_set or "-", pair.a, pair.b, over),
                    *(unit(of.value), unit.interval(of.possible)),
                    *(text.p_cell(of.p_value), text.p_cell(p)),
                )
            )
    head = ("task", "A", "B", "over", "A - B", _level(study), "p", "corrected p")
    return Table(head, rows, words=4)


def sizes(study: ItemStudy) -> Table:
    """What each task rests on."""
    rows = []
    for of in study.data_sets:
        runs = sorted({*of.runs.values()})
        spread = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
        better = "higher" if of.higher_is_better else "lower"
        better += ", assumed" if of.direction == "assumed" else ""
        lost = sum(of.failed.values()) + sum(of.unscored.values())
        clusters = "-" if of.clusters in (None, of.items) else str(of.clusters)
        samples = f", {of.samples} samples" if of.samples > 1 else ""
        rows.append(
            (
                *(of.data_set or "-", of.metric, better, str(of.items), clusters),
                *(spread + samples, str(of.left_out), str(lost)),
            )
        )
    head = ("task", "metric", "better", "items", "clusters", "runs of a model", "items left out")
    return Table((*head, "answers without a score"), rows, "What the scores rest on", words=3)


def told_apart(board: Board) -> Table:
    """Every pair of models: > the row's is better, < worse, = not shown."""
    apart, models = {*board.told_apart}, [row.model for row in board.rows]

    def sign(a: str, b: str) -> str:
        if a == b:
            return ""
        return ">" if (a, b) in apart else "<" if (b, a) in apart else "="

    rows = [(str(k), a, *(sign(a, b) for b in models)) for k, a in enumerate(models, 1)]
    numbers = [str(k) for k in range(1, len(models) + 1)]
    caption = (
        f"Pairs told apart, {title(board)}: > the model of the row was shown to be better than "
        "that of the column, < worse, = neither"
    )
    return Table(("", "model", *numbers), rows, caption, words=2)


def detectable(board: Board, study: ItemStudy) -> str:
    """What differences the design could have shown."""
    of, unit = board.detectable, words.scale_on(study, board.data_set)
    never = "no difference, however large, is shown with so few runs or items"
    unknown = (
        "what difference is shown is not known, as the scores of two models always differ by the "
        "same"
    )
    why = [said for said, true in ((never, of.never), (unknown, of.unknown)) if true]
    if of.smallest is None:
        return f"{title(board)}: {' or, of other pairs, '.join(why)}."
    small = unit.difference(of.smallest)
    if of.largest is None:
        return (
            f"{title(board)}: of the pair known best a difference of {small} is shown with "
            f"probability {POWER:g}; of other pairs {' or '.join(why)}."
        )
    if unit(of.smallest) != unit(of.largest):
        best = f"{unit(of.smallest)} (the pair known best)"
        small = f"{best} to {unit.difference(of.largest)} (worst)"
    return (
        f"{title(board)}: this design shows a true difference of {small} between two models with "
        f"probability {POWER:g}, smaller ones less often."
    )


def title(board: Board) -> str:
    """Of what it is."""
    name = MEAN.capitalize() if board.data_set is None else board.data_set
    return f"{name}, {board.metric}".removeprefix(", ")


def _rank(row: Row) -> str:
    """A model's rank, and those that are left open."""
    return f"{row.rank}" if row.low == row.high else f"{row.rank} [{row.low}, {row.high}]"


def _groups(row: Row) -> str:
    """Letters of its tie groups: a, b ... z, aa."""
    return " ".join(_letters(number) for number in row.groups)


def _letters(number: int) -> str:
    first, last = divmod(number - 1, 26)
    return (_letters(first) if first else "") + chr(ord("a") + last)


def figures(study: ItemStudy) -> list[Figure]:
    """Means with intervals beside ranks with theirs."""
    boards = [*([study.board] if study.board else []), *study.boards][:_MOST_FIGURES]
    return [_drawn(board, study, number) for number, board in enumerate(boards, 1)]


def _drawn(board: Board, study: ItemStudy, number: int) -> Figure:
    unit, rows = words.scale_on(study, board.data_set), board.rows[:_MOST_DRAWN]
    drawing, (left, right) = plots.grid(2, 2, (4.2, 0.9 + _INCHES * len(rows)), share_y=True)
    _draw(left, right, rows, unit, len(board.rows))
    left.set_yticks(range(len(rows)), [literal(row.model) for row in rows])
    left.invert_yaxis()
    left.set_xlabel(literal(_label(board, unit)))
    right.set_xlabel("rank")
    more = len(board.rows) - len(rows)
    return Figure(
        f"board_{number}",
        title(board),
        f"Left: means with intervals of {100 * study.rules.confidence:.3g} %. Right: ranks, 1 the "
        "best; a line covers those that are left open, for all models at once. Hollow: another "
        "model was shown to be better."
        + (f" The best {len(rows)}; {more} more are in the tables." if more else ""),
        drawing,
        ("model", _label(board, unit), "rank"),
        [
            (row.model, f"{unit(row.mean.value)} {unit.interval(row.mean.interval)}", _rank(row))
            for row in rows
        ],
    )


def _draw(
    left: "Axes", right: "Axes", rows: Sequence[Row], unit: ScoreFormat, models: int
) -> None:
    for y, row in enumerate(rows):
        # nothing fills the marks of a model that another one beats
        colour, filled = (plots.colour(6), "white") if row.beaten else (plots.colour(0),) * 2
        low, high = (unit.factor * end for end in row.mean.interval[:2])
        if low <= high:  # else not known
            left.plot([low, high], [y, y], color=colour, linewidth=1.6)
        left.plot([unit.factor * row.mean.value], [y], marker="o", color=colour, mfc=filled)
        ends = [row.low - 0.15, row.high + 0.15]
        right.plot(ends, [y, y], color=colour, linewidth=4, alpha=0.45)
        right.plot([row.rank], [y], marker="D", color=colour, mfc=filled, markersize=5)
    right.set_xlim(0.4, models + 0.6)
    right.set_xticks(range(1, models + 1, 1 + (models - 1) // 10))
    right.tick_params(labelleft=False)
    for axes in (left, right):
        plots.ruled(axes, "both")
