"""Figures of a comparison: violins, distribution functions, profiles, average ranks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxeval.report import plots
from jaxeval.report.comparison import rank_diagram, words
from jaxeval.report.document import Figure
from jaxeval.report.plots import literal
from jaxeval.report.scores import ScoreFormat
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


class Panel(NamedTuple):
    """What one panel shows: some models on one data set."""

    data_set: str
    models: Sequence[str]
    part: str  # which models of how many; "" if all

    @property
    def title(self) -> str:
        """Data set and part, as far as there are several."""
        return plots.wrapped(", ".join(filter(None, (self.data_set, self.part))), _TITLE)


def draw(study: RunStudy) -> list[Figure]:
    """All figures that this study has data for; many data sets take several of a kind."""
    scale = words.scale_of_runs(study)
    drawn = [*_violins(study, scale), *_ecdfs(study, scale)]
    if study.across is not None:
        if study.across.aggregates is not None:
            drawn.append(_profiles(study, scale))
        if study.across.ranking is not None:
            drawn.append(rank_diagram.draw(study.across, study.rules.alpha))
    return drawn


def _label(study: RunStudy, scale: ScoreFormat) -> str:
    lower = "" if study.scores.higher_is_better else " (lower is better)"
    return literal(scale.label(study.scores.metric or "score") + lower)


def _panels(study: RunStudy, most: int) -> list[Panel]:
    """Every data set with its models, at most so many a panel."""
    panels = []
    for dataset, cell in study.samples.by_data_set.items():
        scored = [model for model in study.scores.models if model in cell]
        begin = 0
        for models in plots.chunks(scored, most):
            first, last = begin + 1, begin + len(models)
            part = "" if len(models) == len(scored) else f"{first} to {last} of {len(scored)}"
            panels.append(Panel(dataset, models, part))
            begin = last
    return panels


def _pages(
    panels: Sequence[Panel], size: tuple[float, float]
) -> Iterator[tuple[str, Sequence[Panel], "Drawing", Sequence["Axes"]]]:
    """Drawings of at most so many panels: ending of the name, panels, drawing, axes."""
    columns = max(1, min(3, int(_WIDEST / size[0])))
    for page, part in enumerate(plots.chunks(panels, columns * _MOST_ROWS), 1):
        drawing, all_axes = plots.grid(len(part), columns, size)
        for axes, panel in zip(all_axes, part, strict=True):
            axes.set_title(panel.title, fontsize=10)
        yield f"_{page}" if page > 1 else "", part, drawing, all_axes


def _share(panels: Sequence[Panel], all_axes: Sequence["Axes"], side: str) -> None:
    """Parts of one data set get one range."""
    for dataset in dict.fromkeys(panel.data_set for panel in panels):
        pairs = zip(panels, all_axes, strict=True)
        plots.same_limits([axes for panel, axes in pairs if panel.data_set == dataset], side)


def _values(study: RunStudy, scale: ScoreFormat, panel: Panel) -> dict[str, np.ndarray]:
    cell = study.samples.by_data_set[panel.data_set]
    return {model: cell[model].scores * scale.factor for model in panel.models}


def _violins(study: RunStudy, scale: ScoreFormat) -> Iterator[Figure]:
    panels = _panels(study, _MOST_VIOLINS)
    widest = max(len(panel.models) for panel in panels)
    order = {model: k for k, model in enumerate(study.scores.models)}
    slot = float(np.clip(max(map(len, order)) / _LETTERS_AN_INCH, *_SLOTS))
    width = max(3.3, slot * widest)
    letters = int(_LETTERS_AN_INCH * (width - _BESIDE) / (widest + 0.2))
    names = {model: plots.wrapped(model, letters) for model in order}
    size = width, 3.8 + _LINE * (plots.most_lines([*names.values()]) - 1)
    for ending, part, drawing, all_axes in _pages(panels, size):
        rows = []
        for panel, axes in zip(part, all_axes, strict=True):
            values = _values(study, scale, panel)
            rows += [
                (panel.data_set, m, len(v), scale(float(np.median(v)))) for m, v in values.items()
            ]
            _draw_violins(axes, values, order, names)
            axes.set_xlim(-0.6, widest - 0.4)  # as many slots as the fullest panel has models
            axes.set_ylabel(_label(study, scale))
        _share(part, all_axes, "y")
        yield Figure(
            f"violins{ending}",
            "Distribution of scores",
            f"Each mark is a score ({words.unit(study)}). Bar: quartiles; white line: median; "
            "outline: Gaussian kernel density (Scott's rule).",
            drawing,
            ("data set", "model", "n", "median"),
            rows,
        )


def _draw_violins(
    axes: "Axes",
    values: Mapping[str, np.ndarray],
    order: Mapping[str, int],
    names: Mapping[str, str],
) -> None:
    """Violins at their models' colours, with their names beneath."""
    for x, (model, scores) in enumerate(values.items()):
        k = order[model]
        plots.violin(axes, x, _thinned(scores), plots.colour(k), plots.marker(k))
    ticks = [f"{names[model]}\n(n = {len(scores)})" for model, scores in values.items()]
    axes.set_xticks(range(len(ticks)), ticks, fontsize=8)
    plots.ruled(axes)


def _thinned(scores: np.ndarray) -> np.ndarray:
    """At most a few hundred order statistics, evenly spaced."""
    if len(scores) <= _MOST_POINTS:
        return scores
    return np.quantile(scores, (np.arange(_MOST_POINTS) + 0.5) / _MOST_POINTS)


def _ecdfs(study: RunStudy, scale: ScoreFormat) -> Iterator[Figure]:
    panels = _panels(study, plots.MOST)
    order = {model: k for k, model in enumerate(study.scores.models)}
    several = any(panel.part for panel in panels)
    better = "higher" if study.scores.higher_is_better else "higher, and so worse,"
    for ending, part, drawing, all_axes in _pages(panels, (6.0 if several else 4.2, 3.6)):
        rows = []
        for panel, axes in zip(part, all_axes, strict=True):
            values = _values(study, scale, panel)
            rows += [(panel.data_set, model, len(v)) for model, v in values.items()]
            for model, scores in values.items():
                steps = np.sort(_thinned(scores))
                share = np.arange(len(steps) + 1) / len(steps)
                line = plots.line_style(order[model])
                axes.step([steps[0], *steps], share, where="post", **line)
            axes.set(xlabel=_label(study, scale), ylabel="share at or below")
            if several:
                _legend_beside(axes, {model: order[model] for model in values})
        _share(part, all_axes, "x")
        if not several:
            plots.legend(drawing, plots.lines(order))
        yield Figure(
            f"ecdf{ending}",
            "Empirical distribution functions",
            f"A curve further right is a {better} distribution; the Kolmogorov-Smirnov statistic "
            "is the largest vertical gap of two curves.",
            drawing,
            ("data set", "model", "n"),
            rows,
        )


def _legend_beside(axes: "Axes", names: Mapping[str, int]) -> None:
    """The models of one panel, to its right."""
    axes.legend(
        handles=plots.lines(names),
        frameon=False,
        fontsize=8,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
    )


def _profiles(study: RunStudy, scale: ScoreFormat) -> Figure:
    """Performance profiles (Agarwal et al. 2021) with point-wise bands."""
    assert study.across is not None and study.across.aggregates is not None
    profiles = study.across.aggregates.profiles
    taus, higher = profiles.thresholds * scale.factor, study.scores.higher_is_better
    side = "above" if higher else "at or below"  # where scores are better
    order = {model: k for k, model in enumerate(profiles.shares)}
    parts = list(plots.chunks(list(order), plots.MOST))
    several = len(parts) > 1
    drawing, all_axes = plots.grid(len(parts), 2, (6.0, 3.6) if several else (5.5, 4.0))
    rows: list[tuple[str, str, str]] = []
    for axes, models in zip(all_axes, parts, strict=True):
        for model in models:
            share, low, high = (v if higher else 1 - v for v in profiles.shares[model])
            axes.plot(taus, share, **plots.line_style(order[model]))
            colour = plots.colour(order[model])
            axes.fill_between(taus, low, high, color=colour, alpha=0.15, linewidth=0)
            rows += [
                (model, scale(t), f"{s:.4f}")
                for t, s in zip(profiles.thresholds, share, strict=True)
            ]
        axes.set(xlabel=_label(study, scale), ylabel=f"share of scores {side}")
        plots.ruled(axes)
        if several:
            _legend_beside(axes, {model: order[model] for model in models})
    if not several:
        plots.legend(drawing, plots.lines(order))
    return Figure(
        "profiles",
        "Performance profiles",
        f"Share of scores {side} a threshold, so that a higher curve is better, "
        f"{len(study.across.data_sets)} data sets weighted equally; bands: stratified "
        "bootstrap, point by point.",
        drawing,
        ("model", "threshold", f"share {side}"),
        rows,
    )
