"""Figures of a comparison: violins, average ranks, leaderboards."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from jaxeval.report import Figure, plots, text
from jaxeval.report.comparison import tables, words
from jaxeval.report.plots import literal
from jaxeval.stats.datasets import Ranking
from jaxeval.stats.pairs import FEW_DATA_SETS
from jaxeval.stats.samples import Samples
from jaxeval.stats.study import Board, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_MOST_DRAWN = 40  # models of a leaderboard
_MOST_BOARDS = 12
_RANK_AXIS = 4.2  # inches; names stand beside the axis
_RANK_LINE = 0.3  # inches between two names
_RANK_LETTERS = 40  # of a line of a name
_RANK_LETTER = 0.09  # inches
_MOST_TICKS = 15


def draw(study: Study) -> list[Figure]:
    """Returns violins and average ranks over data sets of runs; leaderboards of items."""
    if study.run_design is None:
        boards = [*([study.board] if study.board else []), *study.boards][:_MOST_BOARDS]
        return [_leaderboard(board, study, number) for number, board in enumerate(boards, 1)]
    drawn = [*_violins(study, study.run_design.samples)]
    across = study.run_design.across
    if across and across.ranking and len(across.data_sets) >= FEW_DATA_SETS:
        drawn.append(_rank_diagram(across.ranking, study))
    return drawn


def _violins(study: Study, samples: Samples) -> Iterator[Figure]:
    scale = words.score_format(study)
    named = study.scores.models
    each = {
        on: [(m, {named.index(m): scale.factor * of[m].scores}) for m in named if m in of]
        for on, of in samples.by_data_set.items()
    }
    lower = "" if study.scores.higher_is_better else " (lower is better)"
    label = scale.label(study.scores.metric or "score") + lower
    caption = (
        f"Each mark is a score ({words.basis(study)}). Bar: quartiles; white line: median; "
        "outline: Gaussian kernel density (Scott's rule)."
    )
    for page, (drawing, panels) in enumerate(plots.violins(each, label), 1):
        rows = [
            (data_set, model, len(of), scale(float(np.median(of)) / scale.factor))
            for data_set, models in panels
            for model, at in models
            for of in at.values()
        ]
        head = (study.noun, "model", "n", "median")
        suffix = f"_{page}" if page > 1 else ""
        yield Figure(f"violins{suffix}", "Distribution of scores", caption, drawing, head, rows)


def _leaderboard(board: Board, study: Study, number: int) -> Figure:
    unit = words.score_format(study, board.data_set)
    shown = board.rows[:_MOST_DRAWN]
    drawing, (left, right) = plots.grid(2, 2, (4.2, 0.9 + 0.3 * len(shown)), share_y=True)
    models = len(board.rows)
    label = unit.label(board.metric or "score")
    for y, row in enumerate(shown):
        colour, fill = (plots.colour(6), "white") if row.beaten else (plots.colour(0),) * 2
        low, high = (unit.factor * end for end in (row.mean.interval or (0, -1))[:2])
        if low <= high:  # not NaN
            left.plot([low, high], [y, y], color=colour, linewidth=1.6)
        left.plot([unit.factor * row.mean.value], [y], marker="o", color=colour, mfc=fill)
        ends = [row.low - 0.15, row.high + 0.15]
        right.plot(ends, [y, y], color=colour, linewidth=4, alpha=0.45)
        right.plot([row.rank], [y], marker="D", color=colour, mfc=fill, markersize=5)
    right.set(xlim=(0.4, models + 0.6), xticks=range(1, models + 1, 1 + (models - 1) // 10))
    right.tick_params(labelleft=False)
    left.set_yticks(range(len(shown)), [literal(row.model) for row in shown])
    left.invert_yaxis()
    left.set_xlabel(literal(label))
    right.set_xlabel("rank")
    for axes in (left, right):
        plots.ruled(axes, "both")
    means = (text.estimate(row.mean.value, row.mean.interval, unit) for row in shown)
    rows = [(row.model, mean, tables.rank(row)) for row, mean in zip(shown, means, strict=True)]
    more = f" The best {len(shown)} of {models}." if models > len(shown) else ""
    caption = (
        f"Left: means with intervals of {100 * study.rules.confidence:.3g} %. Right: ranks, 1 is "
        "best; a line covers the ranks that the tests leave open, for all models at once. Hollow: "
        f"another model was shown to be better.{more}"
    )
    columns = ("model", label, "rank")
    return Figure(f"board_{number}", tables.title(board), caption, drawing, columns, rows)


def _rank_diagram(ranking: Ranking, study: Study) -> Figure:
    """Draws average ranks over data sets; bars join models not told apart (Demšar 2006)."""
    ranks = dict(zip(ranking.models, ranking.average_ranks, strict=True))
    names = [f"{plots.wrapped(name, _RANK_LETTERS)} ({rank:.2f})" for name, rank in ranks.items()]
    drawing, axes = _rank_axis(names, [*ranks.values()], len(ranking.groups))
    for k, group in enumerate(ranking.groups):
        joined = [ranks[name] for name in group]
        axes.plot(joined, [-0.2 - 0.22 * k] * len(joined), "ko-", linewidth=2, markersize=5)
    assert study.run_design is not None
    tested = words.primary(study.run_design.primary)
    if study.run_design.unit != "dataset":
        critical = ranking.critical_difference
        tested = f"Nemenyi's test, level {ranking.alpha:g}"
        axes.plot([1, 1 + critical], [0.75] * 2, color="black", lw=2)
        axes.text(1, 0.82, f"critical difference {critical:.2f}", fontsize=9)
    said = (
        f" Models with a dot on the same bar were not told apart ({tested}), which does not show "
        "that they are equal."
    )
    title = f"Average ranks over {study.noun}s"
    columns = ("model", "average rank")
    rows = [(name, f"{rank:.3f}") for name, rank in ranks.items()]
    caption = f"1 is best.{said if ranking.groups else ''}"
    return Figure("critical_difference", title, caption, drawing, columns, rows)


def _rank_axis(names: list[str], ranks: list[float], bars: int) -> tuple["Drawing", "Axes"]:
    """Draws the axis of ranks; the better half of the names to its left, the others right."""
    from matplotlib.figure import Figure as Drawing

    models = len(names)
    half = (len(names) + 1) // 2
    sides = ("\n".join(of).split("\n") for of in (names[:half], names[half:]))
    left, right = (0.3 + _RANK_LETTER * max(map(len, lines)) for lines in sides)
    width = left + _RANK_AXIS + right
    top = -0.22 * bars - 0.3  # the first name is below all bars
    drawing = Drawing(figsize=(width, 1.3 + _RANK_LINE * half + 0.16 * bars))
    axes = drawing.add_axes((left / width, 0.03, _RANK_AXIS / width, 0.94))
    axes.axis("off")
    axes.set_ylim(top - 0.42 * (half - 1) - 0.2, 1.15)
    axes.plot([1, models], [0, 0], color="black", linewidth=1)
    for tick in range(1, models + 1):
        axes.plot([tick, tick], [0, 0.12], color="black", linewidth=1)
        if (tick - 1) % -(-models // _MOST_TICKS) == 0:
            axes.text(tick, 0.18, str(tick), ha="center", va="bottom", fontsize=9)
    beside = 0.15 * models / 4  # in ranks
    for k, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        first = k < half
        height = top - 0.42 * (k if first else models - 1 - k)
        edge = 1 - beside if first else models + beside
        axes.plot([rank, rank, edge], [0, height, height], color="#555555", linewidth=0.9)
        axes.annotate(
            name, (edge, height), (-4 if first else 4, 0), textcoords="offset points",
            ha="right" if first else "left", va="center", fontsize=9, linespacing=1.0,
        )  # fmt: skip
    return drawing, axes
