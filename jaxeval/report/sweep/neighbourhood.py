"""What is around a setting, for the terminal and as a figure."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxeval.report import plots, scores, tables, text
from jaxeval.report.figures import Figure
from jaxeval.report.plots import literal
from jaxeval.sensitivity.neighbourhood import Neighbourhood, Range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = 4
_HEAD = ("hyperparameter", "drawn from", "to", "of range", "Spearman's rho", "p (Holm)")


def show(around: Neighbourhood, metric: str, unit: str, ranges: Mapping[str, Range]) -> None:
    """The share near the best, the spread, a line a hyperparameter."""
    console = tables.console()
    failed = f", {around.failed} without a score" if around.failed else ""
    low, high = around.share_interval
    best, median, worst, sd = (
        scores.shown(value, unit)
        for value in (around.best, around.median, around.worst, around.sd)
    )
    console.print(
        f"{100 * around.share:.0f} % of the other settings, {around.near} of "
        f"{around.settings - 1}, come within {scores.difference(around.within, unit)} of the best "
        f"(95 % CI {100 * low:.0f} to {100 * high:.0f} %, of settings that score no better); each "
        "was trained once, so the seeds' spread is in it.",
        markup=False,
        style="bold",
    )
    console.print(
        f"{scores.label(metric, unit)} of {around.settings} settings{failed}: best {best}, median "
        f"{median}, worst {worst}, sd {sd}",
        markup=False,
    )
    rows = []
    for trend in around.trends:
        span = ranges[trend.name]
        rows.append(
            (
                trend.name,
                f"{trend.low:.4g}",
                f"{trend.high:.4g}",
                f"{span.low:g} to {span.high:g}{' (log)' if span.log else ''}",
                f"{trend.rho:+.2f}",
                text.p_cell(trend.p_value),
            )
        )
    tables.print_table(console, _HEAD, rows)


def draw(
    dev: Sequence[float | None],
    settings: Sequence[Mapping[str, float]],
    ranges: Mapping[str, Range],
    metric: str,
    unit: str,
    around: Neighbourhood,
) -> Figure:
    """A panel a hyperparameter: score against value; the band is near the best.

    Args:
      dev: the score of each setting; None where it failed.
    """
    names, label = list(settings[0]), scores.label(metric, unit)
    drawing, panels = plots.grid(len(names), _COLUMNS, (2.5, 2.4), share_y=True)
    factor, band = scores.factor(unit), _band(around, unit)
    scored = [
        (k, factor * score)
        for k, score in enumerate(dev)
        if score is not None and np.isfinite(score)
    ]
    for number, (name, panel) in enumerate(zip(names, panels, strict=True)):
        _show(panel, [(settings[k][name], value) for k, value in scored], band)
        panel.set_xlabel(literal(name))
        if ranges[name].log:
            panel.set_xscale("log")
        if number % _COLUMNS == 0:
            panel.set_ylabel(literal(label))
    return Figure(
        "neighbourhood",
        "Random settings near one",
        "Each point is a setting, trained once. The band: within "
        f"{scores.difference(around.within, unit)} of the best.",
        drawing,
        ("setting", *names, label),
        [
            (k + 1, *(f"{settings[k][name]:.6g}" for name in names), f"{value:.4f}")
            for k, value in scored
        ],
    )


def _band(around: Neighbourhood, unit: str) -> list[float]:
    """Ends of what is near the best, on the side where the other scores are."""
    end = around.best + math.copysign(around.within, around.median - around.best)
    return sorted(scores.factor(unit) * bound for bound in (around.best, end))


def _show(panel: "Axes", points: Sequence[tuple[float, float]], band: Sequence[float]) -> None:
    """Points (value, score) of a hyperparameter, and the band of what is near the best."""
    values = [value for value, _ in points]
    shown = [score for _, score in points]
    panel.scatter(values, shown, s=14, color=plots.colour(0), linewidths=0)
    panel.axhspan(*band, color="#E69F00", alpha=0.25, lw=0, zorder=0)
