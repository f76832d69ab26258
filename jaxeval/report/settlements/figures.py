"""Figures of a ledger: the progress of the base, and the difference of each candidate."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxeval.report import plots
from jaxeval.report.document import Figure
from jaxeval.report.plots import literal
from jaxeval.report.settlements import OUTCOMES, Candidate, Outcome, Settlements, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS: dict[Outcome, tuple[str, str, bool]] = {  # marker, colour, filled
    "kept": ("D", plots.COLOURS[2], True),
    "discarded": ("X", plots.COLOURS[1], True),
    "undecided": ("o", plots.COLOURS[0], False),
    "failed": ("s", plots.COLOURS[6], False),
    "unfinished": ("^", plots.COLOURS[6], False),
}
_MOST_ROWS = 40  # in a figure
_LETTERS = 40  # of a name
_REACH = 4.0  # times the median end of an interval; further ones are cut off


def draw(found: Settlements) -> list[Figure]:
    """Draws the progress and the differences; none before a candidate has a difference."""
    drawn = [of for of in found.candidates if of.difference is not None]
    if not drawn:
        return []
    parts = [*plots.chunks(drawn, _MOST_ROWS)]
    forests = [_forest(found, part, page) for page, part in enumerate(parts, 1)]
    return [_progress(found), *forests]


def _style(outcome: Outcome) -> dict[str, Any]:
    marker, colour, filled = _MARKS[outcome]
    return {"marker": marker, "color": colour, "mfc": colour if filled else "white"}


def _legend(candidates: Sequence[Candidate], line: str | None = None) -> Iterator[Any]:
    """Yields handles of the outcomes, and of the base's line if it has a colour."""
    from matplotlib.lines import Line2D

    if line:
        yield Line2D([], [], color=line, linewidth=2, label="base")
    there = {of.outcome for of in candidates}
    for outcome in (outcome for outcome in OUTCOMES if outcome in there):
        yield Line2D([], [], linestyle="", label=outcome, **_style(outcome))


def _progress(found: Settlements) -> Figure:
    scale, blue = found.scale(), plots.COLOURS[0]
    drawing, axes = plots.canvas(7.0, 3.8)
    rows: list[Sequence[object]] = []
    for of in found.bases:
        rows.append((of.name, of.kept or "-", len(of.scores), scale.interval(of.mean) or "-"))
        if not (of.scores and of.comparisons):
            continue
        ends = [of.comparisons[0] - 0.5, of.comparisons[-1] + 0.5]
        mean = scale.factor * float(np.mean(of.scores))
        axes.plot(ends, [mean, mean], color=blue, linewidth=2)
        if of.mean is not None:
            low, high = scale.factor * of.mean.low, scale.factor * of.mean.high
            axes.fill_between(ends, low, high, color=blue, alpha=0.18, linewidth=0)
    shown = [of for of in found.candidates if of.mean is not None]
    for one in shown:
        mean = scale.factor * (one.mean or 0.0)
        axes.plot([one.number], [mean], linestyle="", markersize=6, **_style(one.outcome))
    axes.set(xlabel="comparison", ylabel=literal(scale.label(found.metric or "score")))
    axes.locator_params(axis="x", integer=True)
    plots.legend(drawing, [*_legend(shown, blue)])
    chosen = "high" if found.higher_is_better else "low"
    caption = (
        "Line: mean of the base by seeds with which it did not win; band: its 95 % interval. "
        "Marks: the mean of each candidate in its comparison. That of a kept one is too "
        f"{chosen} on average, since it was kept for being {chosen}; the line that follows is not."
    )
    if not found.bases[-1].scores:
        caption += " The last base has no fresh score yet."
    head = ("base", "won comparison", "seeds", "95 % CI")
    return Figure("progress", "Base after base", caption, drawing, head, rows)


def _forest(found: Settlements, part: Sequence[Candidate], page: int) -> Figure:
    scale = found.scale()
    drawing, axes = plots.canvas(7.0, 1.3 + 0.27 * len(part))
    plots.ruled(axes, "x")
    axes.axvline(0, color="#555555", linewidth=1)
    rows: list[Sequence[object]] = []
    for y, of in enumerate(part):
        style, gap = _style(of.outcome), of.difference or 0.0
        if (bounds := _bounds(of)) is not None:
            axes.plot(scale.factor * bounds, [y, y], color=style["color"], linewidth=1.5)
        axes.plot([scale.factor * gap], [y], linestyle="", markersize=7, **style)
        interval = scale.interval(of.interval) or "-"
        rows.append((of.number, of.name, of.outcome, signed(scale, gap), interval))
    names = [f"{of.number} {of.name[:_LETTERS]}: {of.outcome}" for of in part]
    axes.set_yticks(range(len(part)), [literal(name) for name in names], fontsize=8)
    axes.set_ylim(len(part) - 0.4, -0.6)
    _focus(axes, part, scale.factor)
    better = "right of 0 is better" if found.higher_is_better else "left of 0 is better"
    axes.set_xlabel(literal(f"{scale.label('difference')}, candidate - base ({better})"))
    plots.legend(drawing, [*_legend(part)])
    caption = (
        "Mark: difference between a candidate and its base; line: the interval that holds it at "
        "any time, each with probability 1 - level of its comparison. A line that ends at the "
        "frame goes on behind it."
    )
    suffix = f"_{page}" if page > 1 else ""
    head = ("comparison", "candidate", "outcome", scale.label("difference"), "interval")
    return Figure(f"differences{suffix}", "Each candidate", caption, drawing, head, rows)


def _bounds(of: Candidate) -> np.ndarray | None:
    known = of.interval is not None and not of.interval.absent
    return np.array(of.interval[:2]) if of.interval is not None and known else None


def _focus(axes: "Axes", part: Sequence[Candidate], factor: float) -> None:
    """Cuts off the ends of a few wide intervals, which would flatten the rest."""
    ends = [bounds for of in part if (bounds := _bounds(of)) is not None] or [np.zeros(2)]
    reach = _REACH * float(np.median(np.abs(ends)))
    every = [0.0, *(of.difference or 0.0 for of in part), *np.clip(ends, -reach, reach).flat]
    low, high = factor * min(every), factor * max(every)
    margin = 0.06 * (high - low) or 1.0
    axes.set_xlim(low - margin, high + margin)
