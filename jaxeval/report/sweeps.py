"""Sweeps: their plan, and figures of scores by rank and by each hyperparameter."""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxeval.files import Json
from jaxeval.report import Document, Figure, Result, Table, plots, scores, text
from jaxeval.report.plots import literal
from jaxeval.sensitivity import metrics
from jaxeval.sensitivity.metrics import Axis
from jaxeval.sensitivity.trials import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from jaxeval.studies.costs import Estimate  # imports jax

_Place = Callable[[Sequence[object]], np.ndarray]  # values -> positions on an axis
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


class _Ruler:
    """Places the values of a hyperparameter on an axis, by the range that the space gives."""

    def __init__(self, axes: Sequence[Axis]):
        scales = [axis.scale for axis in axes]
        self.words: list[str] = []
        if any(scale.categories is not None for scale in scales):
            each = [axis.scale.categories or map(metrics.text, axis.used) for axis in axes]
            self.words = [*dict.fromkeys(word for words in each for word in words)]
            with contextlib.suppress(ValueError):
                self.words.sort(key=float)
            ends = [0.0, len(self.words) - 1.0]
        else:
            ends = [end for of in scales for end in (of.low, of.high) if end is not None]
            ends += [number for axis in axes for number in np.array(axis.used, float)]
        self.low, self.high = min(ends, default=np.nan), max(ends, default=np.nan)
        self.log = any(scale.log for scale in scales) and self.low > 0
        self._whole = all(scale.whole for scale in scales)

    def place(self, values: Sequence[object]) -> np.ndarray:
        """Returns positions: of a word its number, from 0."""
        texts = [self.words.index(metrics.text(of)) for of in values] if self.words else values
        return np.array(texts, float)

    def height(self, values: Sequence[object]) -> np.ndarray:
        """Returns positions between the ends, from 0 to 1; .5 if there is one position."""
        at = self.place(values)
        low = np.float64(self.low)
        high = np.float64(self.high)
        if self.log and not self.words:
            at, low, high = np.log(at), np.log(low), np.log(high)
        return (at - low) / (high - low) if high > low else np.full(len(at), 0.5)

    def set(self, panel: "Axes") -> None:
        """Gives the x axis of a panel its range and its ticks."""
        low, high = self.low, self.high
        if self.words:
            slant = 20 if sum(map(len, self.words)) > _LETTERS else 0  # else labels would overlap
            shown = [plots.wrapped(word, _LETTERS) for word in self.words]
            panel.set_xticks(range(len(shown)), shown, fontsize=7, rotation=slant)
            panel.set_xlim(low - 0.5, high + 0.5)
            return
        if self.log:
            plots.log_axis(panel, low, high)
            stretch = (high / low) ** _MARGIN if high > low else 2.0
            panel.set_xlim(low / stretch, high * stretch)
            return
        if low <= high:  # not NaN
            margin = _MARGIN * (high - low) or 0.5 * abs(low) or 0.5
            panel.set_xlim(low - margin, high + margin)
        locator: Any = panel.xaxis.get_major_locator()
        locator.set_params(nbins=5, integer=self._whole)  # more labels would overlap


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
    rows = []
    numbers = {name: k for k, name in enumerate(dict.fromkeys(named))}
    size, width = (4, 1.5) if groups is None else (1, 0.8)
    style: Any = {"marker": ".", "markersize": size, "linewidth": width}
    for sweep, group in zip(sweeps, named, strict=True):
        falling = _read(sweep)[np.argsort(-sweep.gain, kind="stable")]
        line = plots.line_style(numbers[group])
        axes.plot(np.arange(1, len(falling) + 1), falling, **style, **line)
        rows += [(sweep.name, rank, f"{s:.2f}") for rank, s in enumerate(falling, 1)]
    label = scores.label(sweeps[0].metric, sweeps[0].unit)
    axes.set(xlabel="rank of the run", ylabel=literal(label), ylim=_score_limits(sweeps))
    axes.locator_params(axis="x", integer=True, min_n_ticks=1)
    plots.legend(drawing, {name: plots.line_style(k) for name, k in numbers.items()})
    caption = "All runs of a sweep, best first. A flat line: settings matter little."
    columns = ("sweep", "rank", label)
    return Figure("ranks", "Score by rank", caption + _losses(sweeps), drawing, columns, rows)


def marginals(sweeps: Sequence[Sweep]) -> Figure:
    """Draws scores against each hyperparameter, all others as they were drawn."""
    drawing, _ = draw_marginals(sweeps)
    plots.legend(drawing, plots.marks([sweep.name for sweep in sweeps]))
    rows = [(s.name, axis.name, int(axis.active.sum())) for s in sweeps for axis in s.axes]
    caption = "Each mark is a run in which the hyperparameter has an effect." + _losses(sweeps)
    columns = ("sweep", "hyperparameter", "runs")
    title = "Scores by each hyperparameter"
    return Figure("marginals", title, caption, drawing, columns, rows)


def draw_marginals(
    sweeps: Sequence[Sweep], apart: float = 0.15
) -> tuple["Drawing", dict[str, tuple["Axes", _Place]]]:
    """Draws a panel for each hyperparameter; returns them by name, with what places values.

    Args:
      apart: width in which equal scores of a word are kept apart.
    """
    every = [(k, sweep, axis) for k, sweep in enumerate(sweeps) for axis in sweep.axes]
    names = list(dict.fromkeys(axis.name for *_, axis in every))
    drawn: dict[str, tuple[Axes, _Place]] = {}
    size = {1: (4.0, 2.3), 2: _FEW, 3: _FEW}.get(len(names), (2.6, 2.3))
    drawing, panels = plots.grid(len(names), _COLUMNS, size, share_y=True)
    label = literal(scores.label(sweeps[0].metric, sweeps[0].unit))
    for number, (name, panel) in enumerate(zip(names, panels, strict=True)):
        members = [member for member in every if member[2].name == name]
        panel.tick_params(labelsize=7)
        ruler = _Ruler([axis for *_, axis in members])
        ruler.set(panel)
        drawn[name] = panel, ruler.place
        for order, (k, sweep, axis) in enumerate(members):
            x = ruler.place(axis.used)
            if ruler.words:  # sweeps side by side
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
    heights = np.full((len(read), columns), np.nan)
    heads: list[str] = []
    texts: list[list[str]] = []
    for place, axis in enumerate(sweep.axes):
        ruler = _Ruler([axis])
        heights[axis.active, place] = ruler.height(axis.used)
        ends = f"{ruler.low:.4g} to {ruler.high:.4g}" if axis.used else ""
        if ruler.words:
            ends = ", ".join(ruler.words)
            heights[axis.active, place] += plots.jitter(len(axis.used), 0.04)
        heads.append(f"{plots.wrapped(axis.name, 16)}\n{plots.wrapped(ends, 20)}")
        both = zip(axis.values, axis.active, strict=True)
        texts.append([metrics.text(value) if on else "-" for value, on in both])
    low, high = float(read.min()), float(read.max())
    heights[:, -1] = (read - low) / (high - low) if high > low else 0.5
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
    rows = [
        (str(rank), *(column[run] for column in texts), f"{read[run]:.2f}")
        for rank, run in enumerate(order.tolist(), 1)
    ]
    head = ("rank", *(axis.name for axis in sweep.axes), label)
    return Figure("parallel", "Settings and scores", _PARALLEL, drawing, head, rows)


class _Cohort(NamedTuple):
    """Runs of a sweep that share a program; None: not known of this task."""

    runs: Sequence[int]  # from 1
    size: str  # what they are padded to
    micro_batch: int | None = None  # rows that are computed at once
    compile_seconds: float | None = None
    train_seconds: float | None = None
    wasted: float | None = None  # share of the operations
    megabytes: float | None = None  # of parameters, the best ones, two moments of Adam


@dataclasses.dataclass(frozen=True, repr=False)
class SweepPlan(Result):
    """The plan of a sweep; costs are None for a task whose members are not padded."""

    runs: Sequence[Mapping[str, Json]]  # their values
    cohorts: Sequence[_Cohort]
    compile_seconds: float | None
    train_seconds: float | None
    wasted: float | None
    jobs: str | None = None  # of a launcher
    warnings: Sequence[str] = ()

    def document(self) -> Document:
        """Returns a row for each cohort, and the estimate of the whole."""
        rows = []
        for number, of in enumerate(self.cohorts, 1):
            costs = ["-"] * 5
            if of.compile_seconds is not None and of.train_seconds is not None:
                seconds = text.duration(of.compile_seconds), text.duration(of.train_seconds)
                size = f"{100 * (of.wasted or 0):.0f} %", f"{(of.megabytes or 0) / 2**10:.2f}"
                costs = [str(of.micro_batch), *seconds, *size]
            rows.append([str(number), of.size, str(len(of.runs)), *costs])
        runs = text.counted(sum(len(of.runs) for of in self.cohorts), "run")
        answer = [f"{runs}, {text.counted(len(self.cohorts), 'program')}"]
        if self.compile_seconds is not None and self.train_seconds is not None:
            answer = [
                f"{answer[0]}; {100 * (self.wasted or 0):.0f} % of the operations are padding",
                f"estimate: {text.duration(self.compile_seconds)} of compiling, "
                f"{text.duration(self.train_seconds)} of training and evaluation if no run stops "
                "early, by a cost model",
            ]
        answer += [f"jobs: {self.jobs}"] if self.jobs else []
        table = Table(_COHORT, rows, words=2)
        return Document(answer, (table,), notes=self.warnings, title="Plan of a sweep")


def plan(
    estimates: "Sequence[Estimate]",
    runs: Sequence[Mapping[str, Json]] = (),
    jobs: str | None = None,
    warnings: Sequence[str] = (),
) -> SweepPlan:
    """Returns the plan of a sweep, given the estimate of each cohort."""
    cohorts = []
    for of in estimates:
        size = 4 * 4 * of.shape.parameters() * len(of.jobs) / 2**20
        costs = of.micro_batch, of.compile_seconds, of.seconds, of.wasted, size
        numbers = [number + 1 for number in of.jobs]
        cohorts.append(_Cohort(numbers, of.shape.describe(), *(costs if of.operations else ())))
    if not all(of.operations for of in estimates):
        return SweepPlan(runs, cohorts, None, None, None, jobs, warnings)
    names = ("operations", "needed", "compile_seconds", "seconds")
    whole, needed, compiling, training = (sum(getattr(of, n) for of in estimates) for n in names)
    wasted = 1 - needed / whole if whole else 0.0
    return SweepPlan(runs, cohorts, compiling, training, wasted, jobs, warnings)
