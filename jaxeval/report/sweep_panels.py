"""Figures of sweeps with a panel for each hyperparameter: scores by value, and the best settings.

Sweeps may differ in their hyperparameters; a panel shows those that have its own.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxeval.report import summary
from jaxeval.report.figures import Figure, literal
from jaxeval.report.study_figures import COLOURS
from jaxeval.report.sweep_data import Sweep
from jaxeval.sensitivity.hyperparameters import Axis

_COLUMNS = 4
_LOG_RATIO = 100  # values on a logarithmic axis span more
_LOW = 0.2  # and their median is below this share of the ends' sum; .5 if they were drawn evenly
_LETTERS = 26  # that fit beneath a panel
_FEW = 6  # so many different values stand side by side
_MARKERS = "o^sDvP*X"


def marginals(sweeps: Sequence[Sweep]) -> Figure:
    """Score against each hyperparameter, all others as they were drawn."""
    drawing, panels = _grid(sweeps)
    for place, (name, panel) in enumerate(panels.items()):
        having = _having(sweeps, name)
        all_axes = [axis for _, _, axis in having]
        categories = _categories(all_axes) if _is_counted(all_axes) else []
        for order, (k, sweep, axis) in enumerate(having):
            middle = 0.2 * (order - (len(having) - 1) / 2)
            x = _shifted(axis, categories, middle) if _is_counted(all_axes) else _numbers(axis)
            y = sweep.shown[axis.active]
            panel.scatter(x, y, s=6, color=COLOURS[k % 8], marker=_MARKERS[k % 8])
        panel.set_xlabel(literal(name), fontsize=8)
        if _is_counted(all_axes):
            _name_ticks(panel, categories)
        elif _is_wide(all_axes):
            panel.set_xscale("log")
        else:
            panel.locator_params(axis="x", nbins=5)  # more labels run into one another
        if place % _COLUMNS == 0:
            panel.set_ylabel(literal(sweeps[0].label), fontsize=8)
    _legend(drawing, sweeps)
    return Figure(
        "marginals",
        "Scores by each hyperparameter",
        "Each mark is a run in which the hyperparameter has an effect.",
        drawing,
        ("sweep", "hyperparameter", "runs"),
        [(s.name, axis.name, int(axis.active.sum())) for s in sweeps for axis in s.axes],
    )


def best_settings(sweeps: Sequence[Sweep], rope: float) -> Figure:
    """Each hyperparameter's values in the best runs against all runs (figure 2 of the paper)."""
    drawing, panels = _grid(sweeps)
    rows: list[tuple] = []
    for name, panel in panels.items():
        having = _having(sweeps, name)
        all_axes = [axis for _, _, axis in having]
        panel.set_title(literal(name), fontsize=8)
        if _is_counted(all_axes):
            rows += _bars(panel, having, _categories(all_axes), rope)
        else:
            rows += _boxes(panel, having, rope)
            if _is_wide(all_axes):
                panel.set_yscale("log")
    _legend(drawing, sweeps)
    near = [f"{int(s.near_best(rope).sum())} of {len(s.scores)} ({s.name})" for s in sweeps]
    return Figure(
        "best_settings",
        "Settings of the best runs",
        f"Filled: runs within {summary.nearness(sweeps[0].fraction, rope)} of the sweep's best, "
        f"{'; '.join(near)}. Hollow: all runs. Bars are shares of the runs in which the "
        "hyperparameter has an effect, in percent; boxes are quartiles, whiskers the range, marks "
        "the best runs. Where filled and hollow differ, the hyperparameter may matter.",
        drawing,
        ("sweep", "hyperparameter", "runs", "n", "values"),
        rows,
    )


def _boxes(panel: Any, having: Sequence[tuple[int, Sweep, Axis]], rope: float) -> list[tuple]:
    """Two boxes a sweep, and the numbers behind them."""
    rows, ticks = [], []
    for k, sweep, axis in having:
        values, near = _numbers(axis), sweep.near_best(rope)[axis.active]
        assert values is not None
        for part, chosen, filled in (("all", values, False), ("best", values[near], True)):
            place = 2.4 * k + filled
            ticks.append((place, part))
            rows.append((sweep.name, axis.name, part, len(chosen), _quartiles(chosen)))
            if len(chosen):
                _box(panel, place, chosen, COLOURS[k % 8], filled)
    panel.set_xticks([at for at, _ in ticks], [part for _, part in ticks], fontsize=7)
    panel.set_xlim(min(at for at, _ in ticks) - 0.6, max(at for at, _ in ticks) + 0.6)
    return rows


def _box(panel: Any, place: float, values: np.ndarray, colour: str, filled: bool) -> None:
    made = panel.boxplot(
        [values],
        positions=[place],
        widths=0.7,
        whis=(0, 100),
        patch_artist=True,
        manage_ticks=False,
        medianprops={"color": "black"},
        whiskerprops={"color": colour},
        capprops={"color": colour},
    )
    made["boxes"][0].set(
        facecolor=colour if filled else "none", edgecolor=colour, alpha=0.5 if filled else 1.0
    )
    if filled:
        shift = 0.4 * ((np.arange(len(values)) * 0.618) % 1 - 0.5)
        panel.scatter(place + shift, values, s=4, color=colour, linewidths=0, zorder=3)


def _quartiles(values: np.ndarray) -> str:
    if not len(values):
        return "-"
    return " / ".join(f"{v:.4g}" for v in np.quantile(values, [0, 0.25, 0.5, 0.75, 1]))


def _bars(
    panel: Any, having: Sequence[tuple[int, Sweep, Axis]], categories: Sequence[str], rope: float
) -> list[tuple]:
    """Two bars a sweep and category, and the counts behind them."""
    width, rows = 0.8 / (2 * len(having)), []
    for order, (k, sweep, axis) in enumerate(having):
        used = np.array(_texts(axis), object)
        near = sweep.near_best(rope)[axis.active]
        for part, chosen, filled in (("all", used, False), ("best", used[near], True)):
            counts = Counter(chosen.tolist())
            shares = [100 * counts[one] / max(1, len(chosen)) for one in categories]
            at = np.arange(len(categories)) - 0.4 + width * (2 * order + filled + 0.5)
            colour = COLOURS[k % 8]
            panel.bar(
                at,
                shares,
                0.92 * width,
                facecolor=colour if filled else "none",
                edgecolor=colour,
                alpha=0.7 if filled else 1.0,
            )
            shown = ", ".join(f"{one}: {counts[one]}" for one in categories)
            rows.append((sweep.name, axis.name, part, len(chosen), shown))
    _name_ticks(panel, categories)
    panel.set_ylabel("% of runs", fontsize=7)
    return rows


def _grid(sweeps: Sequence[Sweep]) -> tuple[Any, dict[str, Any]]:
    """A drawing, and its panels by hyperparameter, in the order of the sweeps."""
    from matplotlib.figure import Figure as Canvas

    names = list(dict.fromkeys(axis.name for sweep in sweeps for axis in sweep.axes))
    columns = min(_COLUMNS, len(names))
    lines = -(-len(names) // columns)
    size = (max(4.0, 2.6 * columns), 0.4 + 2.2 * lines)
    drawing = Canvas(figsize=size, layout="constrained")
    panels = list(drawing.subplots(lines, columns, squeeze=False).flat)
    for panel in panels[len(names) :]:
        panel.axis("off")
    for panel in panels[: len(names)]:
        panel.tick_params(labelsize=7)
        panel.spines[["top", "right"]].set_visible(False)
    return drawing, dict(zip(names, panels, strict=False))


def _legend(drawing: Any, sweeps: Sequence[Sweep]) -> None:
    """One for all panels: a sweep may be in some of them only."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", marker=_MARKERS[k % 8], color=COLOURS[k % 8],
               label=literal(sweep.name))
        for k, sweep in enumerate(sweeps)
    ]  # fmt: skip
    drawing.legend(
        handles=handles, frameon=False, fontsize=8, loc="outside upper left", ncols=len(handles)
    )


def _having(sweeps: Sequence[Sweep], name: str) -> list[tuple[int, Sweep, Axis]]:
    return [
        (k, sweep, axis)
        for k, sweep in enumerate(sweeps)
        for axis in sweep.axes
        if axis.name == name
    ]


def _used(axis: Axis) -> list[Any]:
    return [value for value, on in zip(axis.values, axis.active, strict=True) if on]


def _texts(axis: Axis) -> list[str]:
    return [str(value) for value in _used(axis)]


def _numbers(axis: Axis) -> np.ndarray | None:
    """The values where the hyperparameter has an effect; None if they are words."""
    try:
        return np.array(_used(axis), np.float64)
    except (TypeError, ValueError):
        return None


def _categories(all_axes: Sequence[Axis]) -> list[str]:
    """All values as texts, by size for numbers, else in the order of the first sweep's ranks."""
    if all(_numbers(axis) is not None for axis in all_axes):
        numbers = {text: float(text) for axis in all_axes for text in _texts(axis)}
        return sorted(numbers, key=lambda text: numbers[text])
    ranked = [
        _texts(axis)[place] for axis in all_axes for place in np.argsort(axis.rank[axis.active])
    ]
    return list(dict.fromkeys(ranked))


def _is_counted(all_axes: Sequence[Axis]) -> bool:
    """Whether values are told apart rather than measured: words, or few numbers."""
    words = any(_numbers(axis) is None for axis in all_axes)
    return words or len(_categories(all_axes)) <= _FEW


def _shifted(axis: Axis, categories: Sequence[str], middle: float) -> np.ndarray:
    """Places of categories, so far beside them, spread so that equal scores can be told apart."""
    spread = 0.15 * ((np.arange(int(axis.active.sum())) * 0.618) % 1 - 0.5)
    return np.array([categories.index(text) for text in _texts(axis)]) + spread + middle


def _is_wide(all_axes: Sequence[Axis]) -> bool:
    """Whether values belong on a logarithmic axis: a wide range, and most of them low in it."""
    found = [v for v in map(_numbers, all_axes) if v is not None and len(v)]
    values = np.concatenate(found) if found else np.ones(1)
    low, high = values.min(), values.max()
    return bool(low > 0 and high / low > _LOG_RATIO and np.median(values) < _LOW * (low + high))


def _name_ticks(panel: Any, categories: Sequence[str]) -> None:
    """Categories as labels, aslant where they would run into one another."""
    slant = 20 if sum(map(len, categories)) > _LETTERS else 0
    panel.set_xticks(range(len(categories)), map(literal, categories), fontsize=7, rotation=slant)
    panel.set_xlim(-0.5, len(categories) - 0.5)
