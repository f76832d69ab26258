"""Figures of a comparison: violins, distribution functions, average ranks, boards."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxeval.report import plots
from jaxeval.report.comparison import tables, words
from jaxeval.report.document import Figure
from jaxeval.report.plots import literal
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.items.study import Board, ItemStudy
from jaxeval.stats.study import RunStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_MOST_POINTS = 500  # drawn of one sample; the density and quartiles stand for the rest
_MOST_VIOLINS = 10  # side by side
_WIDEST = 15.0  # inches
_MOST_ROWS = 4  # of panels in one figure
_SLOTS = (0.9, 1.5)  # inches of a violin with a short name, and with a long one
_LETTERS_AN_INCH = 15  # of a violin's name
_BESIDE = 0.65  # inches, for the labels of scores
_LINE = 0.14  # inches, of a violin's name
_TITLE = 36  # letters of a line
_MOST_DRAWN = 40  # models of a board
_MOST_BOARDS = 12


_Draw = Callable[["Axes", Mapping[str, np.ndarray]], Iterable[tuple]]


class _Panel(NamedTuple):
    """Some models on one data set."""

    data_set: str
    models: Sequence[str]
    part: str  # which models of how many; "" if all


def of_runs(study: RunStudy) -> list[Figure]:
    """All figures that this study has data for; many data sets take several of a kind."""
    from jaxeval.report.comparison import rank_diagram

    scale = words.scale(study)
    drawn = [*_violins(study, scale), *_ecdfs(study, scale)]
    if study.across is not None and study.across.ranking is not None:
        drawn.append(rank_diagram.draw(study.across, study.rules.alpha))
    return drawn


def _label(study: RunStudy, scale: ScoreFormat) -> str:
    lower = "" if study.scores.higher_is_better else " (lower is better)"
    return literal(scale.label(study.scores.metric or "score") + lower)


def _panels(study: RunStudy, most: int) -> list[_Panel]:
    """Every data set with its models, at most so many a panel."""
    panels = []
    for data_set, cell in study.samples.by_data_set.items():
        scored = [model for model in study.scores.models if model in cell]
        for models in plots.chunks(scored, most):
            first = scored.index(models[0]) + 1
            part = f"{first} to {first + len(models) - 1} of {len(scored)}"
            panels.append(_Panel(data_set, models, "" if len(models) == len(scored) else part))
    return panels


def _pages(
    study: RunStudy, panels: Sequence[_Panel], size: tuple[float, float], side: str, draw: _Draw
) -> Iterator[tuple[str, "Drawing", list[tuple]]]:
    """Drawings of panels: ending of the name, drawing, rows. Parts of a data set share limits.

    Args:
      draw: the scores of models into axes; returns what its rows hold after the data set.
    """
    factor, columns = words.scale(study).factor, max(1, min(3, int(_WIDEST / size[0])))
    for page, part in enumerate(plots.chunks(panels, columns * _MOST_ROWS), 1):
        drawing, all_axes = plots.grid(len(part), columns, size)
        rows, by_data_set = list[tuple](), dict[str, list["Axes"]]()
        for axes, panel in zip(all_axes, part, strict=True):
            title = ", ".join(filter(None, (panel.data_set, panel.part)))
            axes.set_title(plots.wrapped(title, _TITLE), fontsize=10)
            cell = study.samples.by_data_set[panel.data_set]
            drawn = draw(axes, {model: cell[model].scores * factor for model in panel.models})
            rows += [(panel.data_set, *row) for row in drawn]
            by_data_set.setdefault(panel.data_set, []).append(axes)
        for alike in by_data_set.values():
            plots.same_limits(alike, side)
        yield f"_{page}" if page > 1 else "", drawing, rows


def _violins(study: RunStudy, scale: ScoreFormat) -> Iterator[Figure]:
    panels, label = _panels(study, _MOST_VIOLINS), _label(study, scale)
    widest = max(len(panel.models) for panel in panels)
    order = {model: k for k, model in enumerate(study.scores.models)}
    slot = float(np.clip(max(map(len, order)) / _LETTERS_AN_INCH, *_SLOTS))
    width = max(3.3, slot * widest)
    letters = int(_LETTERS_AN_INCH * (width - _BESIDE) / (widest + 0.2))
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
        axes.set_ylabel(label)

    size = width, 3.8 + _LINE * (plots.most_lines([*names.values()]) - 1)
    title, columns = "Distribution of scores", ("data set", "model", "n", "median")
    caption = (
        f"Each mark is a score ({words.unit(study)}). Bar: quartiles; white line: median; "
        "outline: Gaussian kernel density (Scott's rule)."
    )
    for ending, drawing, rows in _pages(study, panels, size, "y", draw):
        yield Figure(f"violins{ending}", title, caption, drawing, columns, rows)


def _thinned(scores: np.ndarray) -> np.ndarray:
    """At most a few hundred order statistics, evenly spaced."""
    if len(scores) <= _MOST_POINTS:
        return scores
    return np.quantile(scores, (np.arange(_MOST_POINTS) + 0.5) / _MOST_POINTS)


def _ecdfs(study: RunStudy, scale: ScoreFormat) -> Iterator[Figure]:
    panels, label = _panels(study, plots.MOST), _label(study, scale)
    order = {model: k for k, model in enumerate(study.scores.models)}
    several = any(panel.part for panel in panels)

    def draw(axes: "Axes", values: Mapping[str, np.ndarray]) -> Iterator[tuple]:
        for model, of in values.items():
            steps = np.sort(_thinned(of))
            share = np.arange(len(steps) + 1) / len(steps)
            axes.step([steps[0], *steps], share, where="post", **plots.line_style(order[model]))
            yield model, len(of)
        axes.set(xlabel=label, ylabel="share at or below")
        if several:
            _legend(axes, {model: order[model] for model in values})

    better = "higher" if study.scores.higher_is_better else "higher, and so worse,"
    title, columns = "Empirical distribution functions", ("data set", "model", "n")
    caption = (
        f"A curve further right is a {better} distribution; the Kolmogorov-Smirnov statistic "
        "is the largest vertical gap of two curves."
    )
    size = (6.0 if several else 4.2, 3.6)
    for ending, drawing, rows in _pages(study, panels, size, "x", draw):
        if not several:
            plots.legend(drawing, plots.lines(order))
        yield Figure(f"ecdf{ending}", title, caption, drawing, columns, rows)


def _legend(axes: "Axes", names: Mapping[str, int]) -> None:
    """The models of one panel, to its right."""
    handles, beside = plots.lines(names), (1.0, 0.5)
    axes.legend(
        handles=handles, frameon=False, fontsize=8, loc="center left", bbox_to_anchor=beside
    )


def of_items(study: ItemStudy) -> list[Figure]:
    """Means with intervals beside ranks with theirs."""
    boards = [*([study.board] if study.board else []), *study.boards][:_MOST_BOARDS]
    return [_board(board, study, number) for number, board in enumerate(boards, 1)]


def _board(board: Board, study: ItemStudy, number: int) -> Figure:
    unit, shown = words.scale(study, board.data_set), board.rows[:_MOST_DRAWN]
    drawing, (left, right) = plots.grid(2, 2, (4.2, 0.9 + 0.3 * len(shown)), share_y=True)
    models, label = len(board.rows), unit.label(board.metric or "score")
    for y, row in enumerate(shown):
        # nothing fills the marks of a model that another one beats
        colour, filled = (plots.colour(6), "white") if row.beaten else (plots.colour(0),) * 2
        low, high = (unit.factor * end for end in row.mean.interval[:2])
        if low <= high:  # else not known
            left.plot([low, high], [y, y], color=colour, linewidth=1.6)
        left.plot([unit.factor * row.mean.value], [y], marker="o", color=colour, mfc=filled)
        ends = [row.low - 0.15, row.high + 0.15]
        right.plot(ends, [y, y], color=colour, linewidth=4, alpha=0.45)
        right.plot([row.rank], [y], marker="D", color=colour, mfc=filled, markersize=5)
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
        f"Left: means with intervals of {100 * study.rules.confidence:.3g} %. Right: ranks, 1 the "
        "best; a line covers those that are left open, for all models at once. Hollow: another "
        f"model was shown to be better.{more}"
    )
    columns = ("model", label, "rank")
    return Figure(f"board_{number}", tables.title(board), caption, drawing, columns, rows)
