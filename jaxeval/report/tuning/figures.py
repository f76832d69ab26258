"""Figures of a search: how its best score grew, its settings, and scores along each axis."""

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxeval.report import plots, scores
from jaxeval.report.figures import Figure
from jaxeval.report.tuning import as_json, importance, places
from jaxeval.report.tuning.as_json import Result
from jaxeval.sensitivity import hyperparameters
from jaxeval.space import space as spaces
from jaxeval.space.space import Parameter

if TYPE_CHECKING:  # imported late
    from matplotlib.axes import Axes

_PANELS = 3  # in a row
_LETTERS, _FEWEST_LETTERS = 36, 5  # beneath a panel, and in a line of a category
_FAINT: Any = {"s": 14, "color": plots.COLOURS[0], "alpha": 0.6, "linewidths": 0}


def draw(tree: Result) -> list[Figure]:
    """All figures; a search without a score has none."""
    if tree["best"] is None:
        return []
    of = tree["posterior"]
    along = {} if of is None else {row["name"]: row for row in of["neighbourhood"]}
    return [
        best_so_far(tree),
        *([] if of is None else [importance.figure(of)]),
        slices(tree, along),
        parallel_coordinates(tree),
    ]


def best_so_far(tree: Result) -> Figure:
    """The best score up to each setting, with the noise of a score as its band."""
    drawing, axes = plots.canvas(6.0, 4.0)
    factor, label = scores.factor(tree["unit"]), scores.label(tree["metric"], tree["unit"])
    means = {e["number"]: statistics.fmean(e["scores"]) for e in _scored(tree)}
    axes.scatter(list(means), [factor * v for v in means.values()], label="a setting", **_FAINT)
    _draw_stopped(axes, tree)
    known = [(n, factor * v) for n, v in enumerate(tree["best_so_far"]) if v is not None]
    numbers, best = (np.array(column) for column in zip(*known, strict=True))
    axes.step(numbers, best, where="post", color=plots.COLOURS[1], label="best so far")
    _draw_retrained(axes, tree)
    _focus(axes, tree)  # before the band, which would flatten the rest
    half = _half_width(tree)
    if half is not None:
        axes.fill_between(
            numbers, best - factor * half, best + factor * half, step="post",
            color=plots.COLOURS[1], alpha=0.15, linewidth=0, label="its noise, 95 %",
        )  # fmt: skip
    axes.set(xlabel="setting", ylabel=plots.literal(label))
    axes.locator_params(axis="x", integer=True)
    axes.legend(frameon=False, fontsize=8)
    return Figure(
        "best_so_far",
        "Best score so far",
        "Scores of settings in the order of their proposal. "
        + ("" if half is None else "The band is the noise of a score with other seeds. ")
        + "Retrained: the best setting with fresh seeds."
        + (" Crosses were stopped early." if _stopped(tree) else ""),
        drawing,
        ("setting", label, "best so far"),
        [
            (number, scores.shown(means.get(number), tree["unit"]), f"{value:.6g}")
            for number, value in known
        ],
    )


def _scored(tree: Result) -> list[Mapping[str, Any]]:
    """Evaluations with scores, of whole trainings where there are some."""
    known = [evaluation for evaluation in tree["evaluations"] if "scores" in evaluation]
    return [evaluation for evaluation in known if "stopped" not in evaluation] or known


def _stopped(tree: Result) -> list[Mapping[str, Any]]:
    """Evaluations whose trainings were stopped, where others were not."""
    shown = [evaluation["number"] for evaluation in _scored(tree)]
    return [e for e in tree["evaluations"] if "stopped" in e and e["number"] not in shown]


def _draw_stopped(axes: "Axes", tree: Result) -> None:
    factor, stopped = scores.factor(tree["unit"]), _stopped(tree)
    if stopped:
        means = [factor * statistics.fmean(e["scores"]) for e in stopped]
        style: Any = {"marker": "x", "s": 14, "linewidths": 0.8, "color": "#999999"}
        axes.scatter([e["number"] for e in stopped], means, label="stopped early", **style)


def _left_out(tree: Result) -> str:
    """What a caption says of them."""
    return " Settings that were stopped early are left out." if _stopped(tree) else ""


def _half_width(tree: Result) -> float | None:
    """Of the interval that a setting's mean score has by its seeds alone."""
    noise, df, seeds = tree["noise"], tree["noise_df"], tree["search"]["seeds"]
    assert isinstance(seeds, int)
    if not noise or df < as_json.LEAST_DF:
        return None
    return as_json.two_sided(df) * noise / seeds**0.5


def _draw_retrained(axes: "Axes", tree: Result) -> None:
    """A line and a band for the mean with fresh seeds and its interval."""
    again: Any = tree["retrained"]
    if again is None or again["optimism"] is None:
        return
    factor, optimism = scores.factor(tree["unit"]), again["optimism"]
    summary = next(iter(again["parts"].values()))
    style: Any = {"color": plots.COLOURS[2], "linewidth": 1.2}
    axes.axhline(factor * optimism["mean"], linestyle="--", label="best, retrained", **style)
    limits = axes.get_ylim()
    if summary["mean_interval"] is not None:
        low, high = (factor * summary["mean_interval"][end] for end in ("low", "high"))
        axes.axhspan(low, high, color=plots.COLOURS[2], alpha=0.15, linewidth=0)
    axes.set_ylim(limits)  # a wide interval would flatten the rest


def _focus(axes: "Axes", tree: Result) -> None:
    """Leaves settings out of sight that are worse than most: they would flatten the rest."""
    factor = scores.factor(tree["unit"])
    means = np.array([factor * statistics.fmean(e["scores"]) for e in _scored(tree)])
    low, middle = np.quantile(means, [0.05, 0.95])
    span = max(middle - low, 1e-12)
    bottom, top = axes.get_ylim()
    if tree["higher_is_better"]:
        axes.set_ylim(max(bottom, low - span), top)
    else:
        axes.set_ylim(bottom, min(top, middle + span))


def slices(tree: Result, along: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Scores along each hyperparameter, in the settings where it is active.

    Args:
      along: `neighbourhood` of the posterior, by hyperparameter; {} of methods without one.
    """
    parameters = _parameters(tree)
    drawing, panels = plots.grid(len(parameters), _PANELS, (3.2, 2.6), share_y=True)
    label = scores.label(tree["metric"], tree["unit"])
    rows: list[Sequence[object]] = []
    for number, (panel, parameter) in enumerate(zip(panels, parameters, strict=True)):
        rows += _slice(panel, tree, parameter)
        if parameter.name in along:
            _draw_posterior(panel, tree, parameter, along[parameter.name])
        if number % _PANELS == 0:
            panel.set_ylabel(plots.literal(label))
    _focus(panels[0], tree)
    return Figure(
        "slices",
        "Scores along each hyperparameter",
        "Each point is a setting; the ring is the one that was taken. All other hyperparameters "
        "differ too, and the search tried good regions more often."
        + _left_out(tree)
        + (
            " The line is the posterior median of the best setting with another value, its band "
            "the 95 % interval: of the score without the noise of seeds, which with one seed a "
            "setting is a matter of the model's prior. Below, in the same colour: values that "
            "are not told apart from the best setting's."
            if along
            else ""
        ),
        drawing,
        ("hyperparameter", "value", label),
        rows,
    )


def _slice(panel: "Axes", tree: Result, parameter: Parameter) -> list[Sequence[object]]:
    name, scale = parameter.name, hyperparameters.scale(parameter.distribution)
    factor, best = scores.factor(tree["unit"]), tree["best"]
    assert best is not None
    points = [
        (evaluation["values"][name], factor * statistics.fmean(evaluation["scores"]))
        for evaluation in _scored(tree)
        if name in evaluation["values"]
    ]
    at = [places.on_axis(parameter, value) for value, _ in points]
    panel.scatter(at, [score for _, score in points], **_FAINT)
    if name in best["values"]:
        position = places.on_axis(parameter, best["values"][name])
        panel.scatter(
            [position],
            [factor * best["mean"]],
            s=60,
            facecolors="none",
            edgecolors=plots.COLOURS[1],
        )
    if scale.categories is not None:
        letters = max(_FEWEST_LETTERS, _LETTERS // len(scale.categories))
        names = [plots.wrapped(name, letters) for name in scale.categories]
        panel.set_xticks(range(len(names)), names, fontsize=8)
        panel.set_xlim(-0.5, len(scale.categories) - 0.5)
    elif scale.log:
        panel.set_xscale("log")
    panel.set_xlabel(plots.literal(name))
    return [(name, value, f"{score:.6g}") for value, score in points]


def _draw_posterior(
    panel: "Axes", tree: Result, parameter: Parameter, along: Mapping[str, Any]
) -> None:
    factor = scores.factor(tree["unit"])
    at = [places.on_axis(parameter, value) for value in along["values"]]
    median, low, high = (factor * np.array(along[name]) for name in ("median", "low", "high"))
    alike = [places.on_axis(parameter, value) for value in along["alike"]]
    ends = panel.get_xaxis_transform()  # places across, the panel's height from 0 to 1
    style: Any = {"color": plots.COLOURS[2], "linewidth": 4, "solid_capstyle": "butt"}
    if hyperparameters.scale(parameter.distribution).categories is None:
        panel.plot(at, median, color=plots.COLOURS[2], linewidth=1.2)
        panel.fill_between(at, low, high, color=plots.COLOURS[2], alpha=0.15, linewidth=0)
        panel.plot(alike, [0.01] * len(alike), transform=ends, **style)
    else:
        panel.plot(alike, [0.02] * len(alike), "s", color=style["color"], transform=ends)
        bars: Any = {"color": plots.COLOURS[2], "fmt": "_", "capsize": 3, "linewidth": 1.2}
        panel.errorbar(at, median, (median - low, high - median), **bars)


def parallel_coordinates(tree: Result) -> Figure:
    """Each setting as a line through its values, the better the stronger."""
    parameters = _parameters(tree)
    drawing, axes = plots.canvas(max(5.0, 1.3 * len(parameters)), 4.0)
    axes.grid(visible=False)
    sign = 1.0 if tree["higher_is_better"] else -1.0
    ordered = sorted(_scored(tree), key=lambda e: sign * statistics.fmean(e["scores"]))
    rows: list[Sequence[object]] = []
    for rank, evaluation in enumerate(ordered):
        values = evaluation["values"]
        heights = [
            places.in_range(p, values[p.name]) if p.name in values else np.nan for p in parameters
        ]
        share = (rank + 1) / len(ordered)
        best = rank >= len(ordered) - max(1, len(ordered) // 10)
        style: Any = {"alpha": 0.4 * share, "linewidth": 1.0, "marker": ".", "markersize": 4}
        if best:
            style = {"alpha": 0.9, "linewidth": 2.2, "marker": "D", "markersize": 5}
        axes.plot(range(len(parameters)), heights, color=plots.COLOURS[int(best)], **style)
        score = scores.shown(statistics.fmean(evaluation["scores"]), tree["unit"])
        rows.append((score, *(values.get(p.name, "") for p in parameters)))
    for column, parameter in enumerate(parameters):
        axes.axvline(column, color="#bbbbbb", linewidth=0.8, zorder=0)
        _label(axes, column, parameter)
    names = [places.name(parameter) for parameter in parameters]
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=8)
    axes.set(ylim=(-0.1, 1.1), yticks=[])
    axes.spines[["left", "bottom"]].set_visible(False)
    label = scores.label(tree["metric"], tree["unit"])
    return Figure(
        "parallel_coordinates",
        "Settings",
        "Each line is a setting; those of the best tenth are thick, with diamonds, and the better "
        "another one is the stronger is its line. A gap: the hyperparameter was inactive."
        + _left_out(tree),
        drawing,
        (label, *names),
        rows[::-1],
    )


def _label(axes: "Axes", column: int, parameter: Parameter) -> None:
    """The ends of a range, or all choices."""
    low, high, between = places.labels(parameter)
    style: Any = {"fontsize": 7, "annotation_clip": False}
    axes.annotate(low, (column, -0.07), ha="center", **style)
    axes.annotate(high, (column, 1.04), ha="center", **style)
    for height, name in between.items():
        axes.annotate(name, (column, height), (4, 3), textcoords="offset points", **style)


def _parameters(tree: Result) -> tuple[Parameter, ...]:
    space: Any = tree["search"]["space"]
    return spaces.from_dict(space).parameters
