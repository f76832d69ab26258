"""What is around a setting, for the terminal and as a figure."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxeval.report.figures import Figure, literal
from jaxeval.sensitivity.neighbourhood import Neighbourhood, Range

_COLUMNS = 4


def show(found: Neighbourhood, metric: str, ranges: Mapping[str, Range]) -> None:
    """The spread, the share near the best, a line a hyperparameter."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True, width=160)
    failed = f", {found.failed} without a score" if found.failed else ""
    low, high = found.share_interval
    console.print(
        f"{metric} of {found.settings} settings{failed}: best {found.best:.4g}, median "
        f"{found.median:.4g}, worst {found.worst:.4g}, sd {found.sd:.3g}"
    )
    console.print(
        f"within {found.within:g} of the best: {found.near} of {found.settings}, "
        f"{100 * found.share:.0f} % (95 % interval {100 * low:.0f} to {100 * high:.0f} %)"
    )
    table = Table(box=None, pad_edge=False)
    for title in ("hyperparameter", "drawn from", "to", "of range", "Spearman's rho", "p (Holm)"):
        table.add_column(title, no_wrap=True)
    for trend in found.trends:
        span = ranges[trend.name]
        table.add_row(
            trend.name,
            f"{trend.low:.4g}",
            f"{trend.high:.4g}",
            f"{span.low:g} to {span.high:g}{' (log)' if span.log else ''}",
            f"{trend.rho:+.2f}",
            "<.001" if trend.p_value < 0.001 else f"{trend.p_value:.3f}",
        )
    console.print(table)
    console.print(
        "each setting was trained once, with a seed of its own: the spread has the seeds' in it"
    )


def draw(
    scores: Sequence[float | None],
    settings: Sequence[Mapping[str, float]],
    ranges: Mapping[str, Range],
    metric: str,
    found: Neighbourhood,
) -> Figure:
    """A panel a hyperparameter: score against value; the band is near the best."""
    from matplotlib.figure import Figure as Canvas

    names = list(settings[0])
    columns = min(_COLUMNS, len(names))
    rows = -(-len(names) // columns)
    drawing = Canvas(figsize=(0.6 + 2.4 * columns, 0.4 + 2.3 * rows), layout="constrained")
    panels: Any = drawing.subplots(rows, columns, squeeze=False, sharey=True)
    kept = [k for k, score in enumerate(scores) if score is not None and np.isfinite(score)]
    values = [float(scores[k]) for k in kept]  # type: ignore[arg-type]
    near = (found.best, found.best + math.copysign(found.within, found.median - found.best))
    for place, panel in enumerate(panels.flat):
        if place >= len(names):
            panel.axis("off")
            continue
        name = names[place]
        panel.scatter(
            [settings[k][name] for k in kept], values, s=14, color="#0072B2", linewidths=0
        )
        panel.axhspan(*near, color="#E69F00", alpha=0.25, lw=0, zorder=0)
        panel.set_xlabel(literal(name))
        if ranges[name].log:
            panel.set_xscale("log")
        if place % columns == 0:
            panel.set_ylabel(literal(metric))
    return Figure(
        "neighbourhood",
        "Random settings near one",
        f"Each point is a setting, trained once. The band: within {found.within:g} of the best.",
        drawing,
        ("setting", *names, metric),
        [
            (k + 1, *(f"{settings[k][n]:.6g}" for n in names), f"{v:.4f}")
            for k, v in zip(kept, values, strict=True)
        ],
    )
