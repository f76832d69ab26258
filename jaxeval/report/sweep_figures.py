"""Figures of sweeps: score by rank, profile, and a panel for each hyperparameter."""

from collections.abc import Sequence

import numpy as np

from jaxeval.report import sweep_panels
from jaxeval.report.figures import Figure, canvas, legend_above, literal
from jaxeval.report.study_figures import style
from jaxeval.report.sweep_data import Sweep
from jaxeval.sensitivity import conventions, metrics


def draw(sweeps: Sequence[Sweep], convention: conventions.Name, rope: float) -> list[Figure]:
    """All figures of one or more sweeps; sweeps may differ in their hyperparameters."""
    found = [ranks(sweeps)]
    if any(sweep.axes for sweep in sweeps):
        found += [
            _profile(sweeps, conventions.BY_NAME[convention]),
            sweep_panels.marginals(sweeps),
            sweep_panels.best_settings(sweeps, rope),
        ]
    return found


def ranks(sweeps: Sequence[Sweep]) -> Figure:
    """Scores of all runs, best first. All sweeps have one metric."""
    drawing, axes = canvas(5.5, 4.0)
    rows = []
    for k, sweep in enumerate(sweeps):
        order = np.argsort(-sweep.gain, kind="stable")
        scores = sweep.shown[order]
        axes.plot(
            np.arange(1, len(scores) + 1),
            scores,
            marker=".",
            markersize=4,
            label=literal(sweep.name),
            **style(k),
        )
        rows += [(sweep.name, rank, f"{s:.2f}") for rank, s in enumerate(scores, 1)]
    label = sweeps[0].label
    axes.set(xlabel="rank of the run", ylabel=literal(label))
    axes.xaxis.get_major_locator().set_params(integer=True)
    legend_above(axes)
    return Figure(
        "ranks",
        "Score by rank",
        "All runs of a sweep, best first; runs without a score are left out. A flat line is an "
        "architecture that forgives.",
        drawing,
        ("sweep", "rank", label),
        rows,
    )


def _profile(sweeps: Sequence[Sweep], how: conventions.Convention) -> Figure:
    drawing, axes = canvas(6.5, 4.0)
    rows = []
    for k, sweep in enumerate(sweeps):
        if not sweep.axes:
            continue
        place = metrics.places(sweep.gain, sweep.axes, how)
        order = np.lexsort((-sweep.gain, place))
        x, y = place[order], sweep.shown[order]
        axes.plot(
            x, y, linewidth=0.8, marker=".", markersize=4, label=literal(sweep.name), **style(k)
        )
        rows += [(sweep.name, f"{a:.4f}", f"{b:.2f}") for a, b in zip(x, y, strict=True)]
    named = "distance from the best run" if how.path == "distance" else "average rank"
    axes.set(xlabel=f"{named}, all hyperparameters", ylabel=literal(sweeps[0].label))
    legend_above(axes)
    return Figure(
        "profile",
        "Scores along all hyperparameters",
        f"Runs by their {named}; ups and downs are what `maxima` and `mean change` count.",
        drawing,
        ("sweep", named, sweeps[0].label),
        rows,
    )
