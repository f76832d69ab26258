"""Panels of sweeps, one for each hyperparameter, and what stands on their axes.

Sweeps may differ in their hyperparameters; a panel shows those that have its own. Its scale is
that of the space from which the values were drawn; without a space, numbers are on a linear one.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from jaxeval.report import plots, scores
from jaxeval.report.plots import literal
from jaxeval.sensitivity import hyperparameters
from jaxeval.sensitivity.hyperparameters import Axis
from jaxeval.sensitivity.trials import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

COLUMNS = 4
_LETTERS = 26  # that fit beneath a panel
_MARGIN = 0.05  # of an axis, on both sides of a range
_REACH = 5.0  # points around scores that are all equal


def shown(sweep: Sweep) -> np.ndarray:
    """[n] scores as people read them."""
    return scores.factor(sweep.unit) * sweep.scores


def label(sweep: Sweep) -> str:
    """Of an axis of scores."""
    return scores.label(sweep.metric, sweep.unit)


def score_limits(sweeps: Sequence[Sweep]) -> tuple[float, float]:
    """Ends of an axis that shows the scores of all sweeps, with room even where they are equal."""
    every = np.concatenate([shown(sweep) for sweep in sweeps])
    largest = scores.factor(sweeps[0].unit)  # of fractions
    if not len(every):
        return 0.0, largest
    low, high = float(every.min()), float(every.max())
    if low == high:
        reach = _REACH if largest > 1 else 0.05 * abs(low) or 1.0
        low, high = low - reach, high + reach
        if largest > 1:
            low, high = max(0.0, low), min(largest, high)
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def losses(sweeps: Sequence[Sweep]) -> list[str]:
    """What a caption says of runs that no figure can show; nothing where there are none."""
    return [
        f"{sweep.lost} of {len(sweep.scores) + sweep.lost} runs of {sweep.name} ended without a "
        "score and are not shown."
        for sweep in sweeps
        if sweep.lost
    ]


class Panel(NamedTuple):
    """A hyperparameter of some sweeps.

    Attributes:
      members: the sweeps that have it, with their numbers.
      categories: all values, in order, where they are told apart; None: they are measured.
    """

    name: str
    drawn: "Axes"
    members: Sequence[tuple[int, Sweep, Axis]]
    categories: list[str] | None

    def scale(self, side: Literal["x", "y"]) -> None:
        """Gives an axis the scale and range of the space, or the categories as labels."""
        if self.categories is None:
            _measure(self.drawn, side, [axis for _, _, axis in self.members])
        elif side == "x":  # aslant where they would run into one another
            slant = 20 if sum(map(len, self.categories)) > _LETTERS else 0
            labels: Any = map(literal, self.categories)
            self.drawn.set_xticks(range(len(self.categories)), labels, fontsize=7, rotation=slant)
            self.drawn.set_xlim(-0.5, len(self.categories) - 0.5)
        else:
            self.drawn.set_yticks(
                range(len(self.categories)), map(literal, self.categories), fontsize=7
            )
            self.drawn.set_ylim(-0.5, len(self.categories) - 0.5)


def grid(sweeps: Sequence[Sweep], share_y: bool = False) -> tuple["Drawing", list[Panel]]:
    """A drawing, and its panels, in the order of the sweeps' hyperparameters."""
    every = [(k, sweep, axis) for k, sweep in enumerate(sweeps) for axis in sweep.axes]
    names = list(dict.fromkeys(axis.name for _, _, axis in every))
    width = 2.6 if len(names) > 1 else 4.0
    drawing, drawn = plots.grid(len(names), COLUMNS, (width, 2.3), share_y=share_y)
    panels = []
    for name, panel in zip(names, drawn, strict=True):
        panel.tick_params(labelsize=7)
        members = [member for member in every if member[2].name == name]
        categories = _categories([axis for _, _, axis in members])
        panels.append(Panel(name, panel, members, categories))
    return drawing, panels


def texts(axis: Axis) -> list[str]:
    """The values where the hyperparameter has an effect, as people read them."""
    return [hyperparameters.text(value) for value in axis.used]


def numbers(axis: Axis) -> np.ndarray:
    """The same as numbers."""
    return np.array(axis.used, np.float64)


def _categories(axes: Sequence[Axis]) -> list[str] | None:
    if all(axis.scale.categories is None for axis in axes):
        return None
    named = [text for axis in axes for text in (axis.scale.categories or texts(axis))]
    try:
        return sorted(dict.fromkeys(named), key=float)
    except ValueError:
        return [*dict.fromkeys(named)]


def _measure(panel: "Axes", side: str, axes: Sequence[Axis]) -> None:
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
