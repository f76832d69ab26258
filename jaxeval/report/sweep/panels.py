"""Panels of sweeps, one for each hyperparameter, and the figure of scores in them.

Sweeps may differ in their hyperparameters; a panel shows those that have its own. Its scale is
that of the space from which the values were drawn; without a space, numbers are on a linear one.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxeval.report import plots
from jaxeval.report.figures import Figure
from jaxeval.report.plots import literal
from jaxeval.report.sweep.data import Sweep, score_limits
from jaxeval.sensitivity import hyperparameters
from jaxeval.sensitivity.hyperparameters import Axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_COLUMNS = 4
_LETTERS = 26  # that fit beneath a panel
_MARGIN = 0.05  # of an axis, on both sides of a range


def marginals(sweeps: Sequence[Sweep]) -> Figure:
    """Score against each hyperparameter, all others as they were drawn."""
    drawing, panels = grid(sweeps, share_y=True)
    for number, (name, panel) in enumerate(panels.items()):
        members = having(sweeps, name)
        axes = [axis for _, _, axis in members]
        categories = categories_of(axes)
        for order, (k, sweep, axis) in enumerate(members):
            middle = 0.2 * (order - (len(members) - 1) / 2)
            x = numbers(axis) if categories is None else _shifted(axis, categories, middle)
            y = sweep.shown[axis.active]
            panel.scatter(x, y, s=6, color=plots.colour(k), marker=plots.marker(k))
        panel.set_xlabel(literal(name), fontsize=8)
        if categories is None:
            measure(panel, "x", axes)
        else:
            name_ticks(panel, categories)
        if number % _COLUMNS == 0:
            panel.set_ylabel(literal(sweeps[0].label), fontsize=8)
    next(iter(panels.values())).set_ylim(*score_limits(sweeps))
    plots.legend(drawing, plots.marks([sweep.name for sweep in sweeps]))
    return Figure(
        "marginals",
        "Scores by each hyperparameter",
        " ".join(
            ["Each mark is a run in which the hyperparameter has an effect.", *losses(sweeps)]
        ),
        drawing,
        ("sweep", "hyperparameter", "runs"),
        [(s.name, axis.name, int(axis.active.sum())) for s in sweeps for axis in s.axes],
    )


def losses(sweeps: Sequence[Sweep]) -> list[str]:
    """What a caption says of runs that no figure can show; nothing where there are none."""
    return [
        f"{sweep.lost} of {len(sweep.scores) + sweep.lost} runs of {sweep.name} ended without a "
        "score and are not shown."
        for sweep in sweeps
        if sweep.lost
    ]


def grid(sweeps: Sequence[Sweep], share_y: bool = False) -> tuple["Drawing", dict[str, "Axes"]]:
    """A drawing, and its panels by hyperparameter, in the order of the sweeps."""
    names = list(dict.fromkeys(axis.name for sweep in sweeps for axis in sweep.axes))
    width = 2.6 if len(names) > 1 else 4.0
    drawing, panels = plots.grid(len(names), _COLUMNS, (width, 2.3), share_y=share_y)
    for panel in panels:
        panel.tick_params(labelsize=7)
    return drawing, dict(zip(names, panels, strict=True))


def having(sweeps: Sequence[Sweep], name: str) -> list[tuple[int, Sweep, Axis]]:
    """The sweeps that have a hyperparameter, each with its number."""
    return [
        (k, sweep, axis)
        for k, sweep in enumerate(sweeps)
        for axis in sweep.axes
        if axis.name == name
    ]


def texts(axis: Axis) -> list[str]:
    """The values where the hyperparameter has an effect, as people read them."""
    used = (value for value, on in zip(axis.values, axis.active, strict=True) if on)
    return [hyperparameters.text(value) for value in used]


def numbers(axis: Axis) -> np.ndarray:
    """The same as numbers."""
    used = (value for value, on in zip(axis.values, axis.active, strict=True) if on)
    return np.array(list(used), np.float64)


def categories_of(axes: Sequence[Axis]) -> list[str] | None:
    """All values of a panel whose values are told apart, in order; None: they are measured."""
    if all(axis.scale.categories is None for axis in axes):
        return None
    named = [text for axis in axes for text in (axis.scale.categories or texts(axis))]
    return _sorted_numbers(dict.fromkeys(named))


def _sorted_numbers(names: Iterable[str]) -> list[str]:
    """By size if all are numbers, else as they are."""
    try:
        return sorted(names, key=float)
    except ValueError:
        return list(names)


def _shifted(axis: Axis, categories: Sequence[str], middle: float) -> np.ndarray:
    """Places of categories, so far beside them, spread so that equal scores can be told apart."""
    spread = plots.jitter(int(axis.active.sum()), 0.15)
    return np.array([categories.index(text) for text in texts(axis)]) + spread + middle


def measure(panel: "Axes", side: str, axes: Sequence[Axis]) -> None:
    """Gives the x or y axis of a panel the scale and the range that its values were drawn from."""
    drawn = np.concatenate([numbers(axis) for axis in axes])
    known = [(axis.scale.low, axis.scale.high) for axis in axes]
    ends = [end for pair in known for end in pair if end is not None] + drawn.tolist()
    if not ends:
        return
    low, high = min(ends), max(ends)
    if any(axis.scale.log for axis in axes) and low > 0:
        getattr(panel, f"set_{side}scale")("log")
        stretch = (high / low) ** _MARGIN if high > low else 2.0
        getattr(panel, f"set_{side}lim")(low / stretch, high * stretch)
        return
    margin = _MARGIN * (high - low) or 0.5 * abs(low) or 0.5
    getattr(panel, f"set_{side}lim")(low - margin, high + margin)
    ticks = getattr(panel, f"{side}axis").get_major_locator()
    whole = all(axis.scale.whole for axis in axes)
    ticks.set_params(nbins=5, integer=whole)  # more labels run into one another


def name_ticks(panel: "Axes", categories: Sequence[str]) -> None:
    """Categories as labels, aslant where they would run into one another."""
    slant = 20 if sum(map(len, categories)) > _LETTERS else 0
    panel.set_xticks(range(len(categories)), map(literal, categories), fontsize=7, rotation=slant)
    panel.set_xlim(-0.5, len(categories) - 0.5)
