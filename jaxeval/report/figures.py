"""Figures of score distributions (matplotlib, object API, reproducible SVG bytes)."""

import hashlib
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxeval.errors import RunError
from jaxeval.report import summary
from jaxeval.runs import experiments
from jaxeval.runs.records import CurveRow, MemberRow

# Okabe & Ito's colours, told apart by all; dev and test differ in marker as well
_DEV, _TEST, _INK = "#0072B2", "#D55E00", "#222222"
_MARKERS = {"dev": "o", "test": "^"}
_COLOURS = {"dev": _DEV, "test": _TEST}
_FEWEST = 3  # distinct scores a violin needs


class Figure(NamedTuple):
    """A drawn figure with the words that say the same."""

    name: str
    title: str
    caption: str
    drawing: Any  # matplotlib.figure.Figure
    columns: Sequence[str]  # the numbers behind it
    rows: Sequence[Sequence[Any]]


def canvas(width: float, height: float) -> tuple[Any, Any]:
    """An empty drawing and its axes."""
    from matplotlib.figure import Figure as Canvas

    drawing = Canvas(figsize=(width, height), layout="constrained")
    axes = drawing.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    return drawing, axes


def _scale(metric: str) -> tuple[float, str]:
    return (100.0, f"{metric} (%)") if summary.is_fraction(metric) else (1.0, metric)


def _scored(members: Sequence[MemberRow]) -> list[MemberRow]:
    return [row for row in members if row.dev is not None and row.test is not None]


def violins(groups: Sequence[Sequence[MemberRow]]) -> Figure:
    """Dev and test scores of experiments that share a metric: a panel a data set, all points."""
    metric = groups[0][0].metric
    factor, label = _scale(metric)
    names = experiments.dataset_names([members[0] for members in groups])
    panels = {key: [members for members in groups if members[0].data_hash == key] for key in names}
    drawing, all_axes = _panels([len(there) for there in panels.values()])
    rows: list[tuple[Any, ...]] = []
    for axes, (key, there) in zip(all_axes, panels.items(), strict=True):
        where = (names[key],) if len(panels) > 1 else ()
        rows += [(*row, *where) for row in _panel(axes, there, factor)]
        axes.set_ylabel(label)
        axes.set_title(literal("".join(where)), fontsize=10)
    _legend(all_axes[0])
    return Figure(
        f"distributions_{metric}",
        f"Distribution of {metric} over members",
        "Each mark is a member (seed or split) at the epoch of its best dev score. Wide bar: "
        "first to third quartile; white line: median. Where there are at least three different "
        "scores, a Gaussian kernel density (Scott's rule) is drawn around them, cut at the lowest "
        "and highest score."
        + (" Scores of different data sets are no comparison." if len(panels) > 1 else ""),
        drawing,
        (
            "experiment",
            "part",
            "seed",
            "split",
            label,
            *(("data set",) if len(panels) > 1 else ()),
        ),
        rows,
    )


def _panels(widths: Sequence[int]) -> tuple[Any, list[Any]]:
    """A drawing with axes side by side, as wide as their violins."""
    from matplotlib.figure import Figure as Canvas

    size = (max(4.5, len(widths) + 2.2 * sum(widths)), 4.2)
    drawing = Canvas(figsize=size, layout="constrained")
    grid = drawing.subplots(1, len(widths), squeeze=False, width_ratios=list(widths))
    for axes in grid.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    return drawing, list(grid.flat)


def _panel(
    axes: Any, groups: Sequence[Sequence[MemberRow]], factor: float
) -> list[tuple[Any, ...]]:
    """Draws the experiments of one data set; the numbers drawn."""
    rows, ticks = [], []
    for place, members in enumerate(groups):
        for offset, part in ((-0.2, "dev"), (0.2, "test")):
            scored = _scored(members)
            values = np.array([getattr(row, part) for row in scored], float) * factor
            rows += [
                (row.name, part, row.seed, row.split, f"{v:.3f}")
                for row, v in zip(scored, values, strict=True)
            ]
            violin(axes, place + offset, values, _COLOURS[part], _MARKERS[part])
        ticks.append(f"{literal(members[0].name)}\n(n = {len(_scored(members))})")
    axes.set_xticks(range(len(groups)), ticks)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    return rows


def violin(axes: Any, place: float, values: np.ndarray, colour: str, marker: str) -> None:
    """A density with quartiles, median and all points, at a place of the x axis."""
    if not len(values):
        return
    if len(np.unique(values)) >= _FEWEST:
        body = axes.violinplot([values], [place], widths=0.36, showextrema=False)["bodies"][0]
        body.set(facecolor=colour, alpha=0.25, edgecolor=colour)
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    axes.plot([place, place], [low, high], color=colour, linewidth=7, solid_capstyle="butt")
    axes.plot([place - 0.03, place + 0.03], [middle, middle], color="white", linewidth=2)
    # fixed offsets by rank, so that equal scores stay apart and the figure is reproducible
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    shift = ((ranks * 0.618) % 1.0 - 0.5) * 0.2
    axes.scatter(
        place + shift, values, s=22, marker=marker, c=colour, edgecolors="white", linewidths=0.6,
        zorder=3,
    )  # fmt: skip


def _legend(axes: Any) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", marker=_MARKERS[p], color=_COLOURS[p], label=p)
        for p in ("dev", "test")
    ]
    axes.legend(handles=handles, frameon=False, loc="best")


def legend_above(axes: Any, columns: int = 1) -> None:
    """A legend over the panel, where no data can be beneath it."""
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns)


def scatter(members: Sequence[MemberRow]) -> Figure:
    """Dev against test score of one experiment's members."""
    metric = members[0].metric
    factor, label = _scale(metric)
    scored = _scored(members)
    drawing, axes = canvas(4.5, 4.2)
    dev = [(row.dev or 0.0) * factor for row in scored]
    test = [(row.test or 0.0) * factor for row in scored]
    axes.scatter(dev, test, s=28, c=_DEV, edgecolors="white", linewidths=0.6, zorder=3)
    for row, x, y in zip(scored, dev, test, strict=True):
        if len(scored) <= 16:
            name = str(row.seed) + (f"/{row.split}" if row.split else "")
            axes.annotate(name, (x, y), (4, 3), textcoords="offset points", fontsize=8)
    axes.set(xlabel=f"dev {label}", ylabel=f"test {label}")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    found = summary.of_members(members)
    rho = "not defined" if found.rho is None else f"{found.rho:.2f}"
    return Figure(
        "dev_test",
        "Test score against dev score",
        f"Each mark is a member, named by its seed (seed/split). Spearman's rho: {rho}, "
        f"n = {len(scored)}.",
        drawing,
        ("seed", "split", f"dev {label}", f"test {label}"),
        [
            (r.seed, r.split, f"{x:.3f}", f"{y:.3f}")
            for r, x, y in zip(scored, dev, test, strict=True)
        ],
    )


def curves(points: Sequence[CurveRow], metric: str) -> Figure:
    """Dev score by epoch: median and quantile bands over the members still training."""
    factor, label = _scale(metric)
    by_epoch: dict[int, list[float]] = {}
    for row in points:
        if row.part == "dev" and row.metric == metric and row.value is not None:
            by_epoch.setdefault(row.epoch, []).append(row.value * factor)
    epochs = sorted(by_epoch)
    table = [
        (e, len(by_epoch[e]), *np.quantile(by_epoch[e], [0, 0.25, 0.5, 0.75, 1])) for e in epochs
    ]
    drawing, axes = canvas(6.0, 4.2)
    if table:
        _, _, low, q1, median, q3, high = map(np.array, zip(*table, strict=True))
        axes.fill_between(
            epochs, low, high, color=_DEV, alpha=0.12, linewidth=0, label="min to max"
        )
        axes.fill_between(epochs, q1, q3, color=_DEV, alpha=0.3, linewidth=0, label="quartiles")
        axes.plot(epochs, median, color=_DEV, marker="o", markersize=3, label="median")
        legend_above(axes, columns=3)
    axes.set(xlabel="epoch", ylabel=f"dev {label}")
    axes.xaxis.get_major_locator().set_params(integer=True)
    return Figure(
        "curves",
        "Learning curves on dev",
        "Median, quartiles and range over the members still training in that epoch; members that "
        "have stopped early or diverged are not carried forward, so n falls (see the table).",
        drawing,
        ("epoch", "n", "min", "q1", "median", "q3", "max"),
        [(e, n, *(f"{v:.3f}" for v in five)) for e, n, *five in table],
    )


def to_svg(figure: Figure, salt: str) -> str:
    """The figure as an <svg> element; equal figures give equal bytes.

    Args:
      figure: what to draw.
      salt: keeps the ids of several figures on one page apart.
    """
    import matplotlib

    stream = io.StringIO()
    with matplotlib.rc_context(_style(salt)):
        figure.drawing.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    return _own_ids(text[text.index("<svg") :], hashlib.sha256(salt.encode()).hexdigest()[:8])


def _own_ids(svg: str, prefix: str) -> str:
    """Prefixes all ids and what refers to them: glyphs of all figures are named alike."""
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    return svg.replace("url(#", f"url(#{prefix}-")


def _style(salt: str) -> Any:
    return {
        "svg.hashsalt": hashlib.sha256(salt.encode()).hexdigest(),
        "svg.fonttype": "path",
    }


def folder(path: Path) -> Path:
    """A folder to write figures to, made where it is missing.

    Raises:
      RunError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{path}: no folder for figures ({error.strerror or error})"
        raise RunError(message) from None
    return path


def save(figure: Figure, into: Path, stem: str) -> list[Path]:
    """Writes STEM.svg and STEM.png (200 dots an inch) into a folder."""
    import matplotlib

    paths = [folder(into) / f"{stem}.{kind}" for kind in ("svg", "png")]
    for path in paths:
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        try:
            with matplotlib.rc_context(_style(stem)):
                figure.drawing.savefig(path, dpi=200, facecolor="white", metadata=metadata)
        except OSError as error:
            message = f"{path}: cannot be written ({error.strerror or error})"
            raise RunError(message) from None
    return paths


def save_all(drawn: Sequence[Figure], into: Path) -> list[Path]:
    """Saves figures under their own names."""
    return [path for figure in drawn for path in save(figure, into, figure.name)]


def literal(name: str) -> str:
    """A name as a label: matplotlib would read what stands between dollars as a formula."""
    return name.replace("$", r"\$")
