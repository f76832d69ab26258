"""Figures of a comparison: violins, distribution functions, average ranks, leaderboards."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxeval.report import plots
from jaxeval.report.comparison import tables, words
from jaxeval.report.document import Figure
from jaxeval.report.plots import literal
from jaxeval.stats.datasets import Across
from jaxeval.stats.items.leaderboard import Board
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.study import RunStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_MOST_POINTS = 500  # drawn of one sample
_MOST_VIOLINS = 10  # side by side
_WIDEST = 15.0  # inches
_MOST_ROWS = 4  # of panels in one figure
_SLOTS = (0.9, 1.5)  # inches of a violin with a short name, and with a long one
_LETTERS_PER_INCH = 15  # of a violin's name
_BESIDE = 0.65  # inches for the labels of scores
_LINE = 0.14  # inches of a line of a violin's name
_TITLE = 36  # letters of a line of a title
_MOST_DRAWN = 40  # models of a leaderboard
_MOST_BOARDS = 12
_RANK_AXIS = 4.2  # inches; names stand beside the axis
_RANK_LINE = 0.3  # inches between two names
_RANK_LETTERS = 40  # of a line of a name
_RANK_LETTER = 0.09  # inches
_MOST_TICKS = 15

# draws the scores of models into a panel; yields rows of the figure's data
_Draw = Callable[["Axes", Mapping[str, np.ndarray]], Iterable[tuple]]


def runs_figures(study: RunStudy) -> list[Figure]:
    """Returns violins, distribution functions, and average ranks over several data sets."""
    drawn = [*_violins(study), *_distribution_functions(study)]
    if study.across is not None and study.across.ranking is not None:
        drawn.append(_rank_diagram(study.across, study.rules.alpha))
    return drawn


def _label(study: RunStudy) -> str:
    lower = "" if study.scores.higher_is_better else " (lower is better)"
    metric = study.scores.metric or "score"
    return literal(words.score_format(study).label(metric) + lower)


def _pages(
    study: RunStudy, most: int, size: tuple[float, float], side: str, draw: _Draw
) -> Iterator[tuple[str, "Drawing", list[tuple]]]:
    """Yields (suffix of the name, drawing, rows): panels of data sets with at most `most` models.

    The panels of one data set share the limits of the x or y axis, `side`.
    """
    panels = [
        (data_set, models)
        for data_set, cell in study.samples.by_data_set.items()
        for models in plots.chunks([m for m in study.scores.models if m in cell], most)
    ]
    factor, columns = words.score_format(study).factor, max(1, min(3, int(_WIDEST / size[0])))
    for page, part in enumerate(plots.chunks(panels, columns * _MOST_ROWS), 1):
        drawing, all_axes = plots.grid(len(part), columns, size)
        rows, by_data_set = list[tuple](), dict[str, list["Axes"]]()
        for axes, (data_set, models) in zip(all_axes, part, strict=True):
            axes.set_title(plots.wrapped(data_set, _TITLE), fontsize=10)
            cell = study.samples.by_data_set[data_set]
            drawn = draw(axes, {model: cell[model].scores * factor for model in models})
            rows += [(data_set, *row) for row in drawn]
            by_data_set.setdefault(data_set, []).append(axes)
        for alike in by_data_set.values():
            plots.same_limits(alike, side)
        yield f"_{page}" if page > 1 else "", drawing, rows


def _thinned(scores: np.ndarray) -> np.ndarray:
    """Returns at most a few hundred evenly spaced order statistics."""
    if len(scores) <= _MOST_POINTS:
        return scores
    return np.quantile(scores, (np.arange(_MOST_POINTS) + 0.5) / _MOST_POINTS)


def _violins(study: RunStudy) -> Iterator[Figure]:
    scale, order = words.score_format(study), {m: k for k, m in enumerate(study.scores.models)}
    widest = max(
        len(models)
        for cell in study.samples.by_data_set.values()
        for models in plots.chunks([*cell], _MOST_VIOLINS)
    )
    slot = float(np.clip(max(map(len, order)) / _LETTERS_PER_INCH, *_SLOTS))
    width = max(3.3, slot * widest)
    letters = int(_LETTERS_PER_INCH * (width - _BESIDE) / (widest + 0.2))
    names = {model: plots.wrapped(model, letters) for model in order}

    def draw(axes: "Axes", values: Mapping[str, np.ndarray]) -> Iterator[tuple]:
        for x, (model, of) in enumerate(values.items()):
            k = order[model]
            plots.violin(axes, x, _thinned(of), plots.colour(k), plots.marker(k))
            yield model, len(of), scale(float(np.median(of)))
        ticks = [f"{names[model]}\n(n = {len(of)})" for model, of in values.items()]
        axes.set_xticks(range(len(ticks)), ticks, fontsize=8)
        plots.ruled(axes)
        axes.set_xlim(-0.6, widest - 0.4)  # as many slots as the fullest panel has models
        axes.set_ylabel(_label(study))

    size = width, 3.8 + _LINE * (plots.most_lines([*names.values()]) - 1)
    title, columns = "Distribution of scores", ("data set", "model", "n", "median")
    caption = (
        f"Each mark is a score ({words.replication(study)}). Bar: quartiles; white line: median; "
        "outline: Gaussian kernel density (Scott's rule)."
    )
    for suffix, drawing, rows in _pages(study, _MOST_VIOLINS, size, "y", draw):
        yield Figure(f"violins{suffix}", title, caption, drawing, columns, rows)


def _distribution_functions(study: RunStudy) -> Iterator[Figure]:
    order = {model: k for k, model in enumerate(study.scores.models)}
    several = any(len(cell) > plots.MOST for cell in study.samples.by_data_set.values())

    def draw(axes: "Axes", values: Mapping[str, np.ndarray]) -> Iterator[tuple]:
        for model, of in values.items():
            steps = np.sort(_thinned(of))
            share = np.arange(len(steps) + 1) / len(steps)
            axes.step([steps[0], *steps], share, where="post", **plots.line_style(order[model]))
            yield model, len(of)
        axes.set(xlabel=_label(study), ylabel="share at or below")
        if several:
            handles = plots.lines({model: order[model] for model in values})
            style: Any = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
            axes.legend(handles=handles, frameon=False, fontsize=8, **style)

    better = "higher" if study.scores.higher_is_better else "higher, and so worse,"
    title, columns = "Empirical distribution functions", ("data set", "model", "n")
    caption = (
        f"A curve further right is a {better} distribution; the Kolmogorov-Smirnov statistic "
        "is the largest vertical gap of two curves."
    )
    size = (6.0 if several else 4.2, 3.6)
    for suffix, drawing, rows in _pages(study, plots.MOST, size, "x", draw):
        if not several:
            plots.legend(drawing, plots.lines(order))
        yield Figure(f"ecdf{suffix}", title, caption, drawing, columns, rows)


def items_figures(study: ItemStudy) -> list[Figure]:
    """Returns a figure for each leaderboard: means and ranks with their intervals."""
    boards = [*([study.board] if study.board else []), *study.boards][:_MOST_BOARDS]
    return [_leaderboard(board, study, number) for number, board in enumerate(boards, 1)]


def _leaderboard(board: Board, study: ItemStudy, number: int) -> Figure:
    unit, shown = words.score_format(study, board.data_set), board.rows[:_MOST_DRAWN]
    drawing, (left, right) = plots.grid(2, 2, (4.2, 0.9 + 0.3 * len(shown)), share_y=True)
    models, label = len(board.rows), unit.label(board.metric or "score")
    for y, row in enumerate(shown):
        colour, fill = (plots.colour(6), "white") if row.beaten else (plots.colour(0),) * 2
        low, high = (unit.factor * end for end in row.mean.interval[:2])
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
    means = [f"{unit(row.mean.value)} {unit.interval(row.mean.interval)}" for row in shown]
    rows = [(row.model, mean, tables.rank(row)) for row, mean in zip(shown, means, strict=True)]
    more = f" The best {len(shown)} of {models}." if models > len(shown) else ""
    caption = (
        f"Left: means with intervals of {100 * study.rules.confidence:.3g} %. Right: ranks, 1 is "
        "best; a line covers the ranks that the tests leave open, for all models at once. Hollow: "
        f"another model was shown to be better.{more}"
    )
    columns = ("model", label, "rank")
    return Figure(f"board_{number}", tables.title(board), caption, drawing, columns, rows)


def _rank_diagram(across: Across, level: float) -> Figure:
    """Draws average ranks over data sets (Demšar 2006, figures 1 and 2).

    Without a control, bars join models that do not differ by Nemenyi's test. With one, a bar
    shows the Bonferroni-Dunn interval around it, and models that differ by Holm's more powerful
    procedure are marked.
    """
    assert across.ranking is not None
    ranking, control = across.ranking, across.control if across.against else None
    ranks = dict(zip(ranking.models, ranking.average_ranks, strict=True))
    rejected = ranking.iman_davenport.p_value <= level  # otherwise no model differs
    marked = {other.model for other in across.against if rejected and other.p_adjusted <= level}
    groups = () if across.against else ranking.groups
    names = [
        f"{plots.wrapped(name, _RANK_LETTERS)}{' *' if name in marked else ''} ({rank:.2f})"
        for name, rank in ranks.items()
    ]
    drawing, axes = _rank_axis(names, [*ranks.values()], len(groups))
    for k, group in enumerate(groups):
        ends = [ranks[group[0]] - 0.03, ranks[group[-1]] + 0.03]
        axes.plot(ends, [-0.2 - 0.22 * k] * 2, color="black", linewidth=3)
    difference = across.control_difference
    if control is not None and difference is not None:
        rank = ranks[control]
        low, high = max(1.0, rank - difference), min(float(len(ranks)), rank + difference)
        axes.axvspan(low, high, color="#bbbbbb", alpha=0.4, linewidth=0, zorder=0)
        axes.plot([low, high], [-0.1] * 2, color="black", linewidth=3, gid="control")
        axes.plot([rank], [-0.1], "o", color="white", markeredgecolor="black", markersize=6)
        axes.text(low, 0.82, f"control ± {difference:.2f} (Bonferroni-Dunn)", fontsize=9)
        caption = (
            f"1 is best. Grey: within the critical difference of the control {control} "
            f"(Bonferroni-Dunn, level {level:g}). Models marked * differ significantly from it by "
            "Holm's procedure, which is more powerful."
        )
    else:
        critical = ranking.critical_difference
        axes.plot([1, 1 + critical], [0.75] * 2, color="black", lw=2)
        axes.text(1, 0.82, f"critical difference {critical:.2f}", fontsize=9)
        caption = (
            "1 is best. Models joined by a bar do not differ significantly (Nemenyi's test, level "
            f"{ranking.alpha:g}), which does not show that they are equal."
        )
    title, columns = "Average ranks over data sets", ("model", "average rank")
    rows = [(name, f"{rank:.3f}") for name, rank in ranks.items()]
    return Figure("critical_difference", title, caption, drawing, columns, rows)


def _rank_axis(names: list[str], ranks: list[float], bars: int) -> tuple["Drawing", "Axes"]:
    """Draws the axis of ranks; the better half of the names to its left, the others right."""
    from matplotlib.figure import Figure as Drawing

    models, half = len(names), (len(names) + 1) // 2
    sides = ("\n".join(of).split("\n") for of in (names[:half], names[half:]))
    left, right = (0.3 + _RANK_LETTER * max(map(len, lines)) for lines in sides)
    width, top = left + _RANK_AXIS + right, -0.22 * bars - 0.3  # the first name is below all bars
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
