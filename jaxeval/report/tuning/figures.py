"""Figures of a search: best score so far, importance, scores by each hyperparameter, settings."""

import dataclasses
import math
import statistics
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from jaxeval import space as spaces
from jaxeval.report import Figure, plots, scores, sweeps, text
from jaxeval.report.tuning import Tuned, importance
from jaxeval.sensitivity import metrics
from jaxeval.sensitivity.trials import Sweep
from jaxeval.tuning.history import Evaluation
from jaxeval.tuning.insight import Insight

if TYPE_CHECKING:  # imported late
    from matplotlib.axes import Axes

_LEAST_DF = 4  # of the noise, below which it says little
_FAINT: Any = {"s": 14, "color": plots.COLOURS[0], "alpha": 0.6, "linewidths": 0}
_IMPORTANCE = (
    "Sobol indices of the process's posterior over the whole space: the bar is the share of the "
    "objective's variance that a hyperparameter explains with all its interactions (total), the "
    "diamond what it explains by itself (first order). Lines are the spread over draws of the "
    "posterior (2.5 to 97.5 % quantiles). It is no confidence interval: the process expects "
    "interactions, so that of few scores total indices tend to be too high. "
    "Bad scores count by rank; near the best setting another hyperparameter may matter most."
)


def draw(tuned: Tuned) -> list[Figure]:
    """Draws all figures; none if no setting has a score."""
    if tuned.best is None:
        return []
    importance = [] if tuned.posterior is None else [_importance(tuned.posterior)]
    space: Any = tuned.search["space"]
    known = spaces.from_dict(space)
    scored = _scored(tuned)
    columns = {of.name: [e.values.get(of.name, "") for e, _ in scored] for of in known.parameters}
    means = np.array([mean for _, mean in scored]) / scores.factor(tuned.unit)
    axes = [
        dataclasses.replace(axis, scale=metrics.scale(of.distribution))
        for axis, of in zip(metrics.axes(columns, len(scored)), known.parameters, strict=True)
    ]
    settings = Sweep("settings", means, axes, tuned.metric, tuned.unit, tuned.higher_is_better)
    return [_best_so_far(tuned), *importance, _slices(tuned, settings), sweeps.parallel(settings)]


def _scored(tuned: Tuned) -> list[tuple[Evaluation, float]]:
    """Returns mean scores as shown; those stopped early only if no other has a score."""
    factor = scores.factor(tuned.unit)
    known = [(e, factor * e.mean) for e in tuned.evaluations if e.scores]
    return [(e, mean) for e, mean in known if not e.stopped] or known


def _best_so_far(tuned: Tuned) -> Figure:
    drawing, axes = plots.canvas(6.0, 4.0)
    factor, means = scores.factor(tuned.unit), {e.number: mean for e, mean in _scored(tuned)}
    axes.scatter(list(means), [*means.values()], label="a setting", **_FAINT)
    stopped = {
        e.number: factor * e.scores[0]
        for e in tuned.evaluations
        if e.stopped and e.number not in means
    }
    if stopped:
        style: Any = {"marker": "x", "s": 14, "linewidths": 0.8, "color": "#999999"}
        axes.scatter(list(stopped), [*stopped.values()], label="stopped early", **style)
    numbers = range(min(means), len(tuned.evaluations))
    better = np.maximum if tuned.higher_is_better else np.minimum
    worst = -math.inf if tuned.higher_is_better else math.inf
    best = better.accumulate([means.get(number, worst) for number in numbers])
    axes.step(numbers, best, where="post", color=plots.COLOURS[1], label="best so far")
    _draw_retrained(axes, tuned)
    cut_off = _focus(axes, tuned)  # before the band, which would flatten the rest
    noise, seeds = tuned.noise, tuned.search["seeds"]
    banded = noise is not None and tuned.noise_df >= _LEAST_DF
    if noise is not None and banded and isinstance(seeds, int):
        half = factor * float(special.stdtrit(tuned.noise_df, 0.975)) * noise / seeds**0.5
        style = {"step": "post", "alpha": 0.15, "linewidth": 0, "label": "its noise, 95 %"}
        axes.fill_between(numbers, best - half, best + half, color=plots.COLOURS[1], **style)
    axes.set(xlabel="setting", ylabel=plots.literal(scores.label(tuned.metric, tuned.unit)))
    axes.locator_params(axis="x", integer=True, min_n_ticks=1)
    plots.legend(drawing)  # within, it would cover scores
    again = "Retrained: the mean of the best setting's fresh seeds, with its 95 % interval."
    caption = (
        "Scores of settings in the order of their proposal."
        + (" The band is the noise of a score with other seeds." if banded else "")
        + (f" {again}" if tuned.retrained else "")
        + (" Crosses were stopped early." if stopped else "")
        + cut_off
    )
    rows = [
        (n, f"{means[n]:.6g}" if n in means else "-", f"{value:.6g}")
        for n, value in zip(numbers, best, strict=True)
    ]
    head = ("setting", scores.label(tuned.metric, tuned.unit), "best so far")
    return Figure("best_so_far", "Best score so far", caption, drawing, head, rows)


def _draw_retrained(axes: "Axes", tuned: Tuned) -> None:
    again = tuned.retrained
    if again is None or not (searched := next(iter(again.scores.values()))):
        return
    summary = next(iter(again.parts.values()))
    mean = statistics.fmean(searched)
    style: Any = {"color": plots.COLOURS[2], "linewidth": 1.2, "linestyle": "--"}
    axes.axhline(scores.factor(tuned.unit) * mean, label="best, retrained", **style)
    limits = axes.get_ylim()
    if summary.mean_interval is not None:
        low, high = (scores.factor(tuned.unit) * end for end in summary.mean_interval[:2])
        axes.axhspan(low, high, color=plots.COLOURS[2], alpha=0.15, linewidth=0)
    axes.set_ylim(limits)  # a wide interval would flatten the rest


def _focus(axes: "Axes", tuned: Tuned) -> str:
    """Cuts off settings that are far worse than most and would flatten the rest; says how many."""
    means = np.array([mean for _, mean in _scored(tuned)])
    low, high = np.quantile(means, [0.05, 0.95])
    span = high - low
    bottom, top = axes.get_ylim()
    if span and tuned.higher_is_better:
        axes.set_ylim(max(bottom, low - span), top)
    elif span:
        axes.set_ylim(bottom, min(top, high + span))
    bottom, top = axes.get_ylim()
    cut = int(((means < bottom) | (means > top)).sum())
    return f" Cut off: {text.counted(cut, 'much worse setting')}." if cut else ""


def _importance(insight: Insight) -> Figure:
    rows = insight.importance[::-1]
    drawing, axes = plots.canvas(6.0, 1.2 + 0.34 * len(rows))
    plots.ruled(axes, "x")
    places = np.arange(len(rows))
    total, first = np.array([r.total for r in rows]), np.array([r.first for r in rows])
    axes.barh(places, total, height=0.5, color=plots.COLOURS[0], alpha=0.35, label="total")
    axes.plot(first, places + 0.24, "D", color=plots.COLOURS[1], ms=4, label="first order")
    for mean, spreads, height, colour in (
        (total, [r.total_spread for r in rows], places, plots.COLOURS[0]),
        (first, [r.first_spread for r in rows], places + 0.24, plots.COLOURS[1]),
    ):
        # a mean may lie beside the quantiles
        errors = np.maximum(np.array([[-1.0], [1.0]]) * (np.array(spreads).T - mean), 0.0)
        style: Any = {"fmt": "none", "ecolor": colour, "capsize": 2, "linewidth": 1}
        axes.errorbar(mean, height, xerr=errors, **style)
    axes.set_yticks(places, [plots.literal(row.name) for row in rows])
    axes.set(xlabel="share of the variance", xlim=(0, 1))
    plots.legend(drawing)  # within, it would cover bars
    table = importance(insight)
    return Figure("importance", "Importance", _IMPORTANCE, drawing, table.columns, table.rows)


def _slices(tuned: Tuned, settings: Sweep) -> Figure:
    drawing, panels = sweeps.draw_marginals([settings], apart=0.0)
    scored = _scored(tuned)
    ring: Any = {"s": 60, "facecolors": "none", "edgecolors": plots.COLOURS[1]}
    for name, value in tuned.values.items():
        panel, place = panels[name]
        height = scores.factor(tuned.unit) * (tuned.best.mean if tuned.best else 0.0)
        panel.scatter(place([value]), [height], **ring)
    cut_off = _focus(drawing.axes[0], tuned)
    left_out = " Settings that were stopped early are left out."
    every = sum(bool(e.scores) for e in tuned.evaluations)
    caption = (
        "Each point is a setting; the ring is the one that was taken. All other hyperparameters "
        "differ too, and the search tried good regions more often."
        + (left_out if every > len(scored) else "")
        + cut_off
    )
    rows = [
        (axis.name, e.values[axis.name], f"{mean:.6g}")
        for axis in settings.axes
        for e, mean in scored
        if axis.name in e.values
    ]
    head = ("hyperparameter", "value", scores.label(tuned.metric, tuned.unit))
    return Figure("slices", "Scores along each hyperparameter", caption, drawing, head, rows)
