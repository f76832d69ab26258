"""Figures of a study: violins, distribution functions, profiles, critical difference."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxeval.report import verdict
from jaxeval.report.figures import Figure, canvas, legend_above, literal, violin
from jaxeval.stats.study import Study

# Okabe & Ito's colours with line styles, so that they are told apart without colour too
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
_STYLES = ("-", "--", "-.", ":")
_MARKERS = "o^sDvP*X"
_MOST_POINTS = 500  # drawn of one sample; the density and quartiles stand for the rest


def draw(study: Study) -> list[Figure]:
    """All figures that this study has data for."""
    scale = verdict.Scale(study)
    found = [_violins(study, scale), _ecdf(study, scale)]
    if study.across is not None:
        if study.across.aggregates is not None:
            found.append(_profiles(study, scale))
        if study.across.ranking is not None:
            found.append(_critical_difference(study))
    return found


def style(place: int) -> dict[str, Any]:
    """Colour and line of the k-th model."""
    return {"color": COLOURS[place % 8], "linestyle": _STYLES[(place // 2) % 4]}


def _label(study: Study, scale: verdict.Scale) -> str:
    metric = literal(study.table.metric or "score")
    return f"{metric} (%)" if scale.percent else metric


def _cells(study: Study, scale: verdict.Scale) -> list[tuple[str, str, np.ndarray]]:
    factor = 100 if scale.percent else 1
    return [
        (dataset, model, sample.scores * factor)
        for dataset, cell in study.samples.by_dataset.items()
        for model, sample in cell.items()
    ]


def _grid(names: Sequence[str], width: float, height: float) -> tuple[Any, list[Any]]:
    """A drawing with axes for each data set, at most three side by side."""
    from matplotlib.figure import Figure as Canvas

    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    drawing = Canvas(figsize=(0.6 + width * columns, height * rows), layout="constrained")
    axes = list(drawing.subplots(rows, columns, squeeze=False).flat)
    for one in axes[len(names) :]:
        one.axis("off")
    for one, name in zip(axes, names, strict=False):
        one.spines[["top", "right"]].set_visible(False)
        one.set_title(literal(name), fontsize=10)
    return drawing, axes[: len(names)]


def _violins(study: Study, scale: verdict.Scale) -> Figure:
    names, order = study.samples.datasets, list(study.table.models)
    cells = _cells(study, scale)
    drawing, all_axes = _grid(names, max(3.0, 0.9 * len(order)), 3.8)
    for axes, dataset in zip(all_axes, names, strict=True):
        ticks = []
        for place, (_, model, scores) in enumerate(c for c in cells if c[0] == dataset):
            k = order.index(model)
            violin(axes, place, _thinned(scores), COLOURS[k % 8], _MARKERS[k % 8])
            ticks.append(f"{literal(model)}\n(n = {len(scores)})")
        axes.set_xticks(range(len(ticks)), ticks, fontsize=8)
        axes.set_xlim(-0.6, len(ticks) - 0.4)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_ylabel(_label(study, scale))
    return Figure(
        "violins",
        "Distribution of scores",
        f"Each mark is a score ({verdict.unit(study)}). Bar: quartiles; white line: median; "
        "outline: Gaussian kernel density (Scott's rule).",
        drawing,
        ("data set", "model", "n", "median"),
        [(d, m, len(s), f"{np.median(s):.4g}") for d, m, s in cells],
    )


def _thinned(scores: np.ndarray) -> np.ndarray:
    """At most a few hundred order statistics, evenly spaced."""
    if len(scores) <= _MOST_POINTS:
        return scores
    return np.quantile(scores, (np.arange(_MOST_POINTS) + 0.5) / _MOST_POINTS)


def _ecdf(study: Study, scale: verdict.Scale) -> Figure:
    from matplotlib.lines import Line2D

    names, order = study.samples.datasets, list(study.table.models)
    drawing, all_axes = _grid(names, 4.2, 3.6)
    for axes, dataset in zip(all_axes, names, strict=True):
        for _, model, scores in (c for c in _cells(study, scale) if c[0] == dataset):
            values = np.sort(_thinned(scores))
            share = np.arange(len(values) + 1) / len(values)
            line = style(order.index(model))
            axes.step([values[0], *values], share, where="post", **line)
        axes.set(xlabel=_label(study, scale), ylabel="share at or below")
    handles = [Line2D([], [], label=literal(model), **style(k)) for k, model in enumerate(order)]
    drawing.legend(handles=handles, frameon=False, fontsize=8, loc="outside upper left")
    return Figure(
        "ecdf",
        "Empirical distribution functions",
        "A curve further right is a higher distribution; the Kolmogorov-Smirnov statistic is the "
        "largest vertical gap of two curves.",
        drawing,
        ("data set", "model", "n"),
        [(d, m, len(s)) for d, m, s in _cells(study, scale)],
    )


def _profiles(study: Study, scale: verdict.Scale) -> Figure:
    """Performance profiles (Agarwal et al. 2021) with point-wise bands."""
    assert study.across is not None and study.across.aggregates is not None
    factor = 100 if scale.percent else 1
    profiles = study.across.aggregates.profiles
    taus = profiles.thresholds
    drawing, axes = canvas(5.5, 4.0)
    rows = []
    for place, (model, (share, below, above)) in enumerate(profiles.shares.items()):
        axes.plot(taus * factor, share, label=literal(model), **style(place))
        axes.fill_between(
            taus * factor, below, above, color=COLOURS[place % 8], alpha=0.15, linewidth=0
        )
        rows += [
            (model, f"{t * factor:.4g}", f"{s:.4f}") for t, s in zip(taus, share, strict=True)
        ]
    axes.set(xlabel=_label(study, scale), ylabel="share of scores above")
    legend_above(axes, columns=3)
    return Figure(
        "profiles",
        "Performance profiles",
        f"Share of scores above a threshold, {len(study.across.datasets)} data sets weighted "
        "equally; bands: stratified bootstrap, point by point.",
        drawing,
        ("model", "threshold", "share above"),
        rows,
    )


def _critical_difference(study: Study) -> Figure:
    """Average ranks; bars join models that Nemenyi's test cannot tell apart (Demsar 2006)."""
    assert study.across is not None and study.across.ranking is not None
    from matplotlib.figure import Figure as Canvas

    ranking, against = study.across.ranking, study.across.against
    level = study.comparison.rules.alpha
    shown = ranking.iman_davenport.p_value <= level  # else no model is said to differ
    apart = {one.model for one in against if shown and one.p_adjusted <= level}
    groups = () if against else ranking.groups  # Nemenyi's, of all pairs
    names, ranks = ranking.models, np.array(ranking.average_ranks)
    half = (len(names) + 1) // 2
    height = 1.3 + 0.3 * half + 0.16 * len(groups)
    drawing = Canvas(figsize=(7.5, height))
    axes = drawing.add_axes((0.22, 0.03, 0.56, 0.94))
    axes.axis("off")
    depth = 0.22 * len(groups) + 0.3
    axes.set_ylim(-depth - 0.42 * (half - 1) - 0.2, 1.15)
    first, last = 1, len(names)
    axes.plot([first, last], [0, 0], color="black", linewidth=1)
    for tick in range(first, last + 1):
        axes.plot([tick, tick], [0, 0.12], color="black", linewidth=1)
        axes.text(tick, 0.18, str(tick), ha="center", va="bottom", fontsize=9)
    if not against:
        axes.plot([first, first + ranking.critical_difference], [0.75] * 2, color="black", lw=2)
        said = f"critical difference {ranking.critical_difference:.2f}"
        axes.text(first, 0.82, said, fontsize=9)
    for k, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = k < half
        height = -depth - 0.42 * (k if left else len(names) - 1 - k)
        edge = first - 0.15 if left else last + 0.15
        axes.plot([rank, rank, edge], [0, height, height], color="#555555", linewidth=0.9)
        axes.text(
            edge + (-0.05 if left else 0.05), height,
            f"{literal(name)}{' *' if name in apart else ''} ({rank:.2f})",
            ha="right" if left else "left", va="center", fontsize=9,
        )  # fmt: skip
    place = dict(zip(names, ranks, strict=True))
    for k, group in enumerate(groups):
        ends = [place[group[0]] - 0.03, place[group[-1]] + 0.03]
        axes.plot(ends, [-0.2 - 0.22 * k] * 2, color="black", linewidth=3)
    return Figure(
        "critical_difference",
        "Average ranks over data sets",
        f"1 is best. Models marked * differ from the control {study.across.control} by Holm's "
        f"procedure on average ranks at level {level:g}."
        if against
        else "1 is best. Models joined by a bar are not told apart by Nemenyi's test at level "
        f"{ranking.alpha:g}; the test needs many data sets to see anything.",
        drawing,
        ("model", "average rank"),
        [(n, f"{r:.3f}") for n, r in zip(names, ranks, strict=True)],
    )
