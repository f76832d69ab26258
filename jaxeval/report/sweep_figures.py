"""Figures of sweeps: score by rank, profile over all hyperparameters, and one panel for each."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxeval.report.figures import Figure, canvas, literal
from jaxeval.report.study_figures import style
from jaxeval.sensitivity import conventions, metrics
from jaxeval.sensitivity.hyperparameters import Axis

_COLUMNS = 4
_LOG_RATIO = 100  # values that span more are drawn on a logarithmic axis


class Sweep(NamedTuple):
    """One architecture: its name, scores and hyperparameters."""

    name: str
    scores: np.ndarray
    axes: Sequence[Axis]


def draw(sweeps: Sequence[Sweep], convention: conventions.Name) -> list[Figure]:
    """All figures of one or more sweeps."""
    found = [_ranks(sweeps)]
    if sweeps[0].axes:
        found += [_profile(sweeps, conventions.BY_NAME[convention]), _marginals(sweeps)]
    return found


def _ranks(sweeps: Sequence[Sweep]) -> Figure:
    drawing, axes = canvas(5.5, 4.0)
    rows = []
    for k, sweep in enumerate(sweeps):
        falling = 100 * -np.sort(-sweep.scores)
        axes.plot(np.arange(1, len(falling) + 1), falling, label=literal(sweep.name), **style(k))
        rows += [(sweep.name, rank, f"{s:.2f}") for rank, s in enumerate(falling, 1)]
    axes.set(xlabel="rank of the run", ylabel="score (%)")
    axes.legend(frameon=False)
    return Figure(
        "ranks",
        "Score by rank",
        "All runs of a sweep, best first. A flat line is an architecture that forgives.",
        drawing,
        ("sweep", "rank", "score (%)"),
        rows,
    )


def _profile(sweeps: Sequence[Sweep], how: conventions.Convention) -> Figure:
    drawing, axes = canvas(6.5, 4.0)
    rows = []
    for k, sweep in enumerate(sweeps):
        place = metrics.places(sweep.scores, sweep.axes, how)
        order = np.lexsort((-sweep.scores, place))
        x, y = place[order], 100 * sweep.scores[order]
        axes.plot(
            x, y, linewidth=0.8, marker=".", markersize=4, label=literal(sweep.name), **style(k)
        )
        rows += [(sweep.name, f"{a:.4f}", f"{b:.2f}") for a, b in zip(x, y, strict=True)]
    named = "distance from the best run" if how.path == "distance" else "average rank"
    axes.set(xlabel=f"{named}, all hyperparameters", ylabel="score (%)")
    axes.legend(frameon=False)
    return Figure(
        "profile",
        "Scores along all hyperparameters",
        f"Runs by their {named}; ups and downs are what `maxima` and `mean change` count.",
        drawing,
        ("sweep", named, "score (%)"),
        rows,
    )


def _marginals(sweeps: Sequence[Sweep]) -> Figure:
    from matplotlib.figure import Figure as Canvas

    names = [axis.name for axis in sweeps[0].axes]
    columns = min(_COLUMNS, len(names))
    lines = -(-len(names) // columns)
    drawing = Canvas(figsize=(2.6 * columns, 2.2 * lines), layout="constrained")
    panels = list(drawing.subplots(lines, columns, squeeze=False).flat)
    for panel in panels[len(names) :]:
        panel.axis("off")
    for place, (panel, name) in enumerate(zip(panels, names, strict=False)):
        for k, sweep in enumerate(sweeps):
            axis = next((one for one in sweep.axes if one.name == name), None)
            if axis is not None:
                _panel(panel, axis, sweep, k)
        panel.set_xlabel(literal(name), fontsize=8)
        panel.tick_params(labelsize=7)
        panel.spines[["top", "right"]].set_visible(False)
        if place % columns == 0:
            panel.set_ylabel("score (%)", fontsize=8)
    panels[0].legend(frameon=False, fontsize=7)
    return Figure(
        "marginals",
        "Scores by each hyperparameter",
        "Each mark is a run in which the hyperparameter has an effect.",
        drawing,
        ("sweep", "hyperparameter", "runs"),
        [(s.name, axis.name, int(axis.active.sum())) for s in sweeps for axis in s.axes],
    )


def _panel(panel: Any, axis: Axis, sweep: Sweep, k: int) -> None:
    y = 100 * sweep.scores[axis.active]
    used = [value for value, on in zip(axis.values, axis.active, strict=True) if on]
    colour = {"color": style(k)["color"], "label": literal(sweep.name)}
    try:
        x = np.array(used, np.float64)
    except (TypeError, ValueError):
        names = list(dict.fromkeys(str(used[p]) for p in np.argsort(axis.rank[axis.active])))
        shift = 0.15 * ((np.arange(len(y)) * 0.618) % 1 - 0.5) + 0.2 * k
        at = np.array([names.index(str(value)) for value in used]) + shift
        panel.scatter(at, y, s=6, marker="o^sDvP*X"[k % 8], **colour)
        panel.set_xticks(range(len(names)), [literal(one) for one in names], fontsize=6)
        return
    panel.scatter(x, y, s=6, marker="o^sDvP*X"[k % 8], **colour)
    if len(x) and x.min() > 0 and x.max() / x.min() > _LOG_RATIO:
        panel.set_xscale("log")
