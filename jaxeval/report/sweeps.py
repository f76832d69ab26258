"""Sweeps: their plan, and figures of scores by rank and by each hyperparameter."""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxeval.files import Json
from jaxeval.report import plots, scores, text
from jaxeval.report.document import Document, Figure, Result, Table
from jaxeval.report.plots import literal
from jaxeval.sensitivity import metrics
from jaxeval.sensitivity.metrics import Axis
from jaxeval.sensitivity.trials import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from jaxeval.studies.costs import Estimate  # imports jax

Place = Callable[[Sequence[object]], np.ndarray]  # values -> positions on an axis
_COLUMNS = 4
_FEW = 3.2, 2.6  # inches of a panel, where few stand in a row: they fill the width of a page
_LETTERS = 26  # that fit beneath a panel
_MARGIN = 0.05  # of an axis, on both sides of a range
_INCHES, _BEST = 1.3, 10  # of an axis; one run of so many is in colour
_PARALLEL = (
    "Each line is a run, through its value of each hyperparameter to its score; the best tenth is "
    "in colour. Values grow upwards; of words the first is at the bottom. A line "
    "has a gap where a hyperparameter has no effect."
)
_COHORT = ("cohort", "padded to", "runs", "rows at once", "compiling", "running", "wasted", "GB")
_REACH = 5.0  # points around scores that are all equal


def _read(sweep: Sweep) -> np.ndarray:
    return scores.factor(sweep.unit) * sweep.scores


def _score_limits(sweeps: Sequence[Sweep]) -> tuple[float, float]:
    """Returns the ends of an axis for the scores of all sweeps, with room if they are equal."""
    every = np.concatenate([_read(sweep) for sweep in sweeps])
    largest = scores.factor(sweeps[0].unit)  # of fractions
    if not len(every):
        return 0.0, largest
    low, high = float(every.min()), float(every.max())
    if low == high and largest > 1:
        low, high = max(0.0, low - _REACH), min(largest, high + _REACH)
    elif low == high:
        reach = 0.05 * abs(low) or 1.0
        low, high = low - reach, high + reach
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def _losses(sweeps: Sequence[Sweep]) -> str:
    return "".join(
        f" {of.lost} of {len(of.scores) + of.lost} runs of {of.name} ended without a score and "
        "are not shown."
        for of in sweeps
        if of.lost
    )


def ranks(sweeps: Sequence[Sweep], groups: Sequence[str] | None = None) -> Figure:
    """Draws the scores of all runs, best first; all sweeps have one metric.

    Args:
      groups: the group of each sweep; sweeps of a group share a colour and a legend entry.
    """
    drawing, axes = plots.canvas(5.5, 4.0)
    named = [sweep.name for sweep in sweeps] if groups is None else list(groups)
    rows, numbers = [], {name: k for k, name in enumerate(dict.fromkeys(named))}
    size, width = (4, 1.5) if groups is None else (1, 0.8)
    style: Any = {"marker": ".", "markersize": size, "linewidth": width}
    for sweep, group in zip(sweeps, named, strict=True):
        falling = _read(sweep)[np.argsort(-sweep.gain, kind="stable")]
        line = plots.line_style(numbers[group])
        axes.plot(np.arange(1, len(falling) + 1), falling, **style, **line)
        rows += [(sweep.name, rank, f"{s:.2f}") for rank, s in enumerate(falling, 1)]
    label = scores.label(sweeps[0].metric, sweeps[0].unit)
    axes.set(xlabel="rank of the run", ylabel=literal(label), ylim=_score_limits(sweeps))
    axes.locator_params(axis="x", integer=True)
    plots.legend(drawing, plots.lines(numbers))
    caption = "All runs of a sweep, best first. A flat line is an architecture that forgives."
    columns = ("sweep", "rank", label)
    return Figure("ranks", "Score by rank", caption + _losses(sweeps), drawing, columns, rows)


def marginals(sweeps: Sequence[Sweep]) -> Figure:
    """Draws scores against each hyperparameter, all others as they were drawn."""
    drawing, _ = draw_marginals(sweeps)
    plots.legend(drawing, plots.marks([sweep.name for sweep in sweeps]))
    rows = [(s.name, axis.name, int(axis.active.sum())) for s in sweeps for axis in s.axes]
    caption = "Each mark is a run in which the hyperparameter has an effect." + _losses(sweeps)
    columns, title = ("sweep", "hyperparameter", "runs"), "Scores by each hyperparameter"
    return Figure("marginals", title, caption, drawing, columns, rows)


def draw_marginals(
    sweeps: Sequence[Sweep], apart: float = 0.15
) -> tuple["Drawing", dict[str, tuple["Axes", Place]]]:
    """Draws a panel for each hyperparameter; returns them by name, with what places values.

    Args:
      apart: width in which equal scores of a word are kept apart.
    """
    every = [(k, sweep, axis) for k, sweep in enumerate(sweeps) for axis in sweep.axes]
    names, drawn = list(dict.fromkeys(axis.name for *_, axis in every)), {}
    size = {1: (4.0, 2.3), 2: _FEW, 3: _FEW}.get(len(names), (2.6, 2.3))
    drawing, panels = plots.grid(len(names), _COLUMNS, size, share_y=True)
    label = literal(scores.label(sweeps[0].metric, sweeps[0].unit))
    for number, (name, panel) in enumerate(zip(names, panels, strict=True)):
        members = [member for member in every if member[2].name == name]
        panel.tick_params(labelsize=7)
        place, words = _set_scale(panel, [axis for *_, axis in members])
        drawn[name] = panel, place
        for order, (k, sweep, axis) in enumerate(members):
            x = place(axis.used)
            if words:  # sweeps side by side
                x = plots.jitter(len(x), apart) + x + 0.2 * (order - (len(members) - 1) / 2)
            style: Any = {"s": 6, "color": plots.colour(k), "marker": plots.marker(k)}
            panel.scatter(x, _read(sweep)[axis.active], **style)
        panel.set_xlabel(literal(name), fontsize=8)
        if number % _COLUMNS == 0:
            panel.set_ylabel(label, fontsize=8)
    panels[0].set_ylim(*_score_limits(sweeps))
    return drawing, drawn


def parallel(sweep: Sweep) -> Figure:
    """Draws each run as a line through the values of its hyperparameters to its score."""
    label, read = scores.label(sweep.metric, sweep.unit), _read(sweep)
    columns, order = len(sweep.axes) + 1, np.argsort(-sweep.gain, kind="stable")
    drawing, panel = plots.canvas(max(5.5, _INCHES * columns), 4.0)
    panel.grid(visible=False)
    heights, heads = np.full((len(read), columns), np.nan), list[str]()
    for place, axis in enumerate(sweep.axes):
        heights[axis.active, place], ends = _heights(axis)
        heads.append(f"{plots.wrapped(axis.name, 16)}\n{plots.wrapped(ends, 20)}")
    low, high = float(read.min()), float(read.max())
    heights[:, -1] = _between(read, low, high)
    heads.append(f"{literal(label)}\n{low:.2f} to {high:.2f}")
    best = max(1, len(read) // _BEST)
    for runs, colour, width in (
        (order[best:], "#999999", 0.6),
        (order[:best], plots.colour(1), 1.6),
    ):
        style: Any = {"color": colour, "linewidth": width, "marker": "o", "markersize": 2.5}
        panel.plot(np.arange(columns), heights[runs].T, **style)
    for place in range(columns):
        panel.axvline(place, color="#dddddd", linewidth=0.8, zorder=0)
    panel.set_xticks(range(columns), heads, fontsize=7)
    panel.set_yticks([])
    panel.spines[["left", "bottom"]].set_visible(False)
    panel.set_xlim(-0.4, columns - 0.4)
    texts = [
        [metrics.text(value) if on else "-" for value, on in both]
        for both in (zip(axis.values, axis.active, strict=True) for axis in sweep.axes)
    ]
    rows = [
        (str(rank), *(column[run] for column in texts), f"{read[run]:.2f}")
        for rank, run in enumerate(order.tolist(), 1)
    ]
    head = ("rank", *(axis.name for axis in sweep.axes), label)
    return Figure("parallel", "Settings and scores", _PARALLEL, drawing, head, rows)


def _heights(axis: Axis) -> tuple[np.ndarray, str]:
    """Returns heights from 0 to 1 of the used values; the ends of the axis, or its words."""
    low, high, used = axis.scale.low, axis.scale.high, axis.used
    if axis.scale.categories is not None or any(isinstance(of, str) for of in used):
        named = _categories([axis])
        at = _between(np.arange(len(named)), 0, len(named) - 1)
        places = [named.index(metrics.text(of)) for of in used]
        return at[places] + plots.jitter(len(places), 0.04), ", ".join(named)
    values = np.array(used, float)
    if not len(values):
        return values, ""
    low, high = (values.min() if low is None else low), (values.max() if high is None else high)
    ends = f"{low:.4g} to {high:.4g}"
    if axis.scale.log and low > 0:
        return _between(np.log(values), np.log(low), np.log(high)), ends
    return _between(values, low, high), ends


def _between(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Maps a range to that from 0 to 1; all values to the middle if it is empty."""
    return (values - low) / (high - low) if high > low else np.full(len(values), 0.5)


def _set_scale(panel: "Axes", axes: Sequence[Axis]) -> tuple[Place, bool]:
    """Gives an x axis the range of the space; returns what places values, and whether on words."""
    scales = [axis.scale for axis in axes]
    if any(scale.categories is not None for scale in scales):
        named = _categories(axes)
        slant = 20 if sum(map(len, named)) > _LETTERS else 0  # else labels would overlap
        shown = [plots.wrapped(name, _LETTERS) for name in named]
        panel.set_xticks(range(len(named)), shown, fontsize=7, rotation=slant)
        panel.set_xlim(-0.5, len(named) - 0.5)
        return lambda v: np.array([named.index(metrics.text(x)) for x in v], float), True
    ends = [end for scale in scales for end in (scale.low, scale.high) if end is not None]
    ends += [number for axis in axes for number in np.array(axis.used, float)]
    if ends:
        _set_range(panel, min(ends), max(ends), any(scale.log for scale in scales))
    if panel.get_xscale() == "linear":
        locator: Any = panel.xaxis.get_major_locator()
        whole = all(scale.whole for scale in scales)
        locator.set_params(nbins=5, integer=whole)  # more labels would overlap
    return lambda values: np.array(values, float), False


def _set_range(panel: "Axes", low: float, high: float, log: bool) -> None:
    if log and low > 0:
        panel.set_xscale("log")
        stretch = (high / low) ** _MARGIN if high > low else 2.0
        panel.set_xlim(low / stretch, high * stretch)
    else:
        margin = _MARGIN * (high - low) or 0.5 * abs(low) or 0.5
        panel.set_xlim(low - margin, high + margin)


def _categories(axes: Sequence[Axis]) -> list[str]:
    texts = ([metrics.text(of) for of in axis.used] for axis in axes)
    both = zip(axes, texts, strict=True)
    named = [*dict.fromkeys(t for axis, used in both for t in axis.scale.categories or used)]
    with contextlib.suppress(ValueError):
        named = sorted(named, key=float)
    return named


@dataclasses.dataclass(frozen=True, repr=False)
class SweepPlan(Result):
    """The plan of a sweep: the values of each run, cohorts, warnings about the data."""

    runs: Sequence[Mapping[str, Json]]
    cohorts: "Sequence[Estimate]"
    warnings: Sequence[str] = ()
    jobs: str | None = None  # of a launcher

    def to_dict(self) -> dict[str, Json]:
        """Returns runs, numbered from 1, and cohorts; unknown costs are null."""
        cohorts: list[Json] = []
        for of in self.cohorts:
            costs: dict[str, Json] = {
                "micro_batch": of.micro_batch,
                "compile_seconds": of.compile_seconds,
                "train_seconds": of.seconds,
                "wasted": of.wasted,
                "megabytes": _bytes(of) / 2**20,
            }
            known = costs if of.operations else dict.fromkeys(costs)
            numbers: list[Json] = [number + 1 for number in of.jobs]
            cohorts.append({"runs": numbers, "size": of.shape.describe(), **known})
        warnings: dict[str, Json] = {"warnings": [*self.warnings]} if self.warnings else {}
        jobs: dict[str, Json] = {"jobs": self.jobs} if self.jobs else {}
        return {"runs": list(self.runs), "cohorts": cohorts, **self._totals(), **jobs, **warnings}

    def _totals(self) -> dict[str, float | None]:
        """Returns seconds and wasted operations; None for a task whose members are not padded."""
        operations = sum(of.operations for of in self.cohorts)
        needed = sum(of.needed for of in self.cohorts)
        totals = {
            "compile_seconds": sum(of.compile_seconds for of in self.cohorts),
            "train_seconds": sum(of.seconds for of in self.cohorts),
            "wasted": 1 - needed / operations if operations else 0.0,
        }
        known = all(of.operations for of in self.cohorts)
        return {name: value if known else None for name, value in totals.items()}

    def document(self) -> Document:
        """Returns a row for each cohort, and the estimate of the whole."""
        rows = []
        for number, of in enumerate(self.cohorts, 1):
            seconds = text.duration(of.compile_seconds), text.duration(of.seconds)
            size = f"{100 * of.wasted:.0f} %", f"{_bytes(of) / 2**30:.2f}"
            costs = [str(of.micro_batch), *seconds, *size] if of.operations else ["-"] * 5
            rows.append([str(number), of.shape.describe(), str(len(of.jobs)), *costs])
        runs = text.counted(sum(len(of.jobs) for of in self.cohorts), "run")
        answer, totals = [f"{runs}, {text.counted(len(self.cohorts), 'program')}"], self._totals()
        compiling, training, wasted = totals.values()
        if compiling is not None and training is not None and wasted is not None:
            answer = [
                f"{answer[0]}; {100 * wasted:.0f} % of the operations are padding",
                f"estimate: {text.duration(compiling)} of compiling, {text.duration(training)} of "
                "training and evaluation if no run stops early, by a cost model",
            ]
        answer += [f"jobs: {self.jobs}"] if self.jobs else []
        table = Table(_COHORT, rows, words=2)
        return Document(answer, (table,), notes=self.warnings, title="Plan of a sweep")


def _bytes(cohort: "Estimate") -> int:
    """Returns the bytes of all members: parameters, the best ones, two moments of Adam."""
    return 4 * 4 * cohort.shape.parameters() * len(cohort.jobs)
