"""The figure of a ledger: the progress of the base, and the difference of each candidate."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jaxeval.report import plots
from jaxeval.report.document import Figure
from jaxeval.report.plots import literal
from jaxeval.report.settlements import OUTCOMES, Candidate, Outcome, Settlements, signed

_MARKS: dict[Outcome, tuple[str, str, bool]] = {  # marker, colour, filled
    "kept": ("D", plots.COLOURS[2], True),
    "discarded": ("X", plots.COLOURS[1], True),
    "undecided": ("o", plots.COLOURS[0], False),
    "failed": ("s", plots.COLOURS[6], False),
    "unfinished": ("^", plots.COLOURS[6], False),
}


def draw(found: Settlements) -> list[Figure]:
    """Draws the progress; nothing before a candidate has a difference."""
    drawn = [of for of in found.candidates if of.difference is not None and of.mean is not None]
    return [_progress(found, drawn)] if drawn else []


def _style(outcome: Outcome) -> dict[str, Any]:
    marker, colour, filled = _MARKS[outcome]
    return {"marker": marker, "color": colour, "mfc": colour if filled else "white"}


def _legend(candidates: Sequence[Candidate], line: str) -> Iterator[Any]:
    """Yields handles of the base's line, and of the outcomes."""
    from matplotlib.lines import Line2D

    yield Line2D([], [], color=line, linewidth=2, label="base")
    there = {of.outcome for of in candidates}
    for outcome in (outcome for outcome in OUTCOMES if outcome in there):
        yield Line2D([], [], linestyle="", label=outcome, **_style(outcome))


def _progress(found: Settlements, drawn: Sequence[Candidate]) -> Figure:
    scale, blue = found.scale(), plots.COLOURS[0]
    drawing, axes = plots.canvas(7.0, 3.8)
    for of in found.bases:
        if not (of.scores and of.comparisons):
            continue
        ends = [of.comparisons[0] - 0.5, of.comparisons[-1] + 0.5]
        mean = scale.factor * float(np.mean(of.scores))
        axes.plot(ends, [mean, mean], color=blue, linewidth=2)
        if of.mean is not None:
            low, high = scale.factor * of.mean.low, scale.factor * of.mean.high
            axes.fill_between(ends, low, high, color=blue, alpha=0.18, linewidth=0)
    for one in drawn:
        style, mean = _style(one.outcome), scale.factor * (one.mean or 0.0)
        axes.plot([one.number], [mean], linestyle="", markersize=6, **style)
    bottom, top = axes.get_ylim()
    every = [bottom, top]
    for one in drawn:
        if one.interval is not None and not one.interval.absent:
            base = (one.mean or 0.0) - (one.difference or 0.0)
            ends = [scale.factor * (base + end) for end in one.interval[:2]]
            every += ends
            colour = _style(one.outcome)["color"]
            axes.plot([one.number] * 2, ends, color=colour, linewidth=1, zorder=1)
    # a wide interval would flatten the rest
    axes.set_ylim(max(min(every), 2 * bottom - top), min(max(every), 2 * top - bottom))
    axes.set(xlabel="comparison", ylabel=literal(scale.label(found.metric or "score")))
    axes.locator_params(axis="x", integer=True)
    plots.legend(drawing, [*_legend(drawn, blue)])
    chosen = "high" if found.higher_is_better else "low"
    caption = (
        "Blue: mean of the base by seeds with which it did not win, and its 95 % interval. Marks: "
        "the mean of each candidate in its comparison; lines: the base it met plus the interval "
        "of their difference, which holds at any time with probability 1 - level. A line that "
        f"ends at the frame goes on behind it. A kept one is too {chosen} on average, since it "
        f"was kept for being {chosen}; the base that follows is not."
    )
    rows = [
        (
            one.number,
            one.name,
            one.outcome,
            signed(scale, one.difference),
            scale.interval(one.interval),
        )
        for one in drawn
    ]
    head = ("comparison", "candidate", "outcome", scale.label("difference"), "interval")
    return Figure("progress", "Base after base", caption, drawing, head, rows)
