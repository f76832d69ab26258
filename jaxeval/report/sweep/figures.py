"""Figures of sweeps: score by rank, profile, and a panel for each hyperparameter."""

from collections.abc import Sequence

import numpy as np

from jaxeval.report import plots
from jaxeval.report.figures import Figure
from jaxeval.report.plots import literal
from jaxeval.report.sweep import best, panels
from jaxeval.report.sweep.data import Sweep, score_limits
from jaxeval.sensitivity import conventions, metrics
from jaxeval.sensitivity.groups import Averaged

MOST = plots.MOST  # sweeps or groups that figures tell apart


def draw(sweeps: Sequence[Sweep], convention: conventions.Name, margin: float) -> list[Figure]:
    """All figures of one or more sweeps; sweeps may differ in their hyperparameters."""
    drawn = [ranks(sweeps)]
    if any(sweep.axes for sweep in sweeps):
        drawn += [
            _profile(sweeps, conventions.BY_NAME[convention]),
            panels.marginals(sweeps),
            best.near_best(sweeps, margin),
        ]
    return drawn


def draw_groups(sweeps: Sequence[Sweep], averaged: Averaged) -> list[Figure]:
    """The figures of sweeps that are averaged over datasets."""
    named = {k: name for name, members in averaged.sweeps.items() for k in members.values()}
    drawn = [ranks(sweeps, [named[k] for k in range(len(sweeps))])]
    if any(sweep.axes for sweep in sweeps):
        drawn.append(best.best_systems(sweeps, averaged.sweeps, averaged.over))
    return drawn


def ranks(sweeps: Sequence[Sweep], groups: Sequence[str] | None = None) -> Figure:
    """Scores of all runs, best first. All sweeps have one metric.

    Args:
      groups: of each sweep, which then share a colour and a line of the legend; None: each sweep
        has its own.
    """
    drawing, axes = plots.canvas(5.5, 4.0)
    named = [sweep.name for sweep in sweeps] if groups is None else list(groups)
    rows, shown = [], {name: k for k, name in enumerate(dict.fromkeys(named))}
    for sweep, group in zip(sweeps, named, strict=True):
        order = np.argsort(-sweep.gain, kind="stable")
        scores = sweep.shown[order]
        axes.plot(
            np.arange(1, len(scores) + 1),
            scores,
            marker=".",
            markersize=4 if groups is None else 1,
            linewidth=1.5 if groups is None else 0.8,
            **plots.line_style(shown[group]),
        )
        rows += [(sweep.name, rank, f"{s:.2f}") for rank, s in enumerate(scores, 1)]
    label = sweeps[0].label
    axes.set(xlabel="rank of the run", ylabel=literal(label), ylim=score_limits(sweeps))
    axes.locator_params(axis="x", integer=True)
    plots.legend(drawing, plots.lines(shown))
    return Figure(
        "ranks",
        "Score by rank",
        " ".join(
            [
                "All runs of a sweep, best first. A flat line is an architecture that forgives.",
                *panels.losses(sweeps),
            ]
        ),
        drawing,
        ("sweep", "rank", label),
        rows,
    )


def _profile(sweeps: Sequence[Sweep], how: conventions.Convention) -> Figure:
    drawing, axes = plots.canvas(6.5, 4.0)
    rows = []
    for k, sweep in enumerate(sweeps):
        if not sweep.axes:
            continue
        distance = metrics.places(sweep.gain, sweep.axes, how)
        order = np.lexsort((-sweep.gain, distance))
        x, y = distance[order], sweep.shown[order]
        axes.plot(x, y, linewidth=0.8, marker=".", markersize=4, **plots.line_style(k))
        rows += [(sweep.name, f"{a:.4f}", f"{b:.2f}") for a, b in zip(x, y, strict=True)]
    named = "distance from the best run" if how.path == "distance" else "average rank"
    axes.set(xlabel=f"{named}, all hyperparameters", ylabel=literal(sweeps[0].label))
    axes.set_ylim(*score_limits(sweeps))
    plots.legend(drawing, plots.lines({s.name: k for k, s in enumerate(sweeps) if s.axes}))
    return Figure(
        "profile",
        "Scores along all hyperparameters",
        f"Runs by their {named}; ups and downs are what `maxima` and `mean change` count.",
        drawing,
        ("sweep", named, sweeps[0].label),
        rows,
    )
