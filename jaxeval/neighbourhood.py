"""`jaxeval neighbourhood`: random settings near a config's, as one population."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import numpy as np

from jaxeval import parameters
from jaxeval.config import fields
from jaxeval.config.fields import Range
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.parameters import Changes, Natural, NonNegative, Number, Quiet
from jaxeval.report import Document, Figure, Result, Table, plots, scores, text

if TYPE_CHECKING:
    from jaxeval.config.reading import Source

_LEAST = 5  # scores; with fewer nothing can be said of a trend
_PANELS = 4  # in a row
_HEAD = ("hyperparameter", "drawn from", "to", "of range", "Spearman's rho", "p (Holm)")


class _Trend(NamedTuple):
    """The trend of the score with a hyperparameter: values drawn, Spearman's rho, p by Holm."""

    name: str
    low: float
    high: float
    rho: float
    p_value: float


@dataclasses.dataclass(frozen=True, repr=False)
class _Neighbourhood(Result):
    """Scores of random settings near a config's, in the metric's unit."""

    name: str  # of the config
    metric: str
    part: str
    width: float
    settings: int
    failed: int  # settings without a score; not near the best
    best: float
    median: float
    worst: float
    sd: float
    within: float  # how far from the best counts as near
    near: int  # settings beside the best itself
    share: float  # near / (settings - 1)
    share_interval: tuple[float, float]  # 95 %, Wilson's, of settings that score no better
    trends: Sequence[_Trend]
    points: Sequence[Mapping[str, float | None]]  # a score and values for each setting
    unit: str
    ranges: Mapping[str, Range]  # that the values were drawn from

    def document(self) -> Document:
        """The share near the best, the spread, and a row a hyperparameter."""
        low, high = (100 * end for end in self.share_interval)
        margin = scores.difference(self.within, self.unit)
        label = scores.label(f"{self.part} {self.metric}", self.unit)
        failed = f", {self.failed} without a score" if self.failed else ""
        named = {name: getattr(self, name) for name in ("best", "median", "worst", "sd")}
        spread = ", ".join(f"{name} {scores.shown(v, self.unit)}" for name, v in named.items())
        rows = []
        for name, first, last, rho, p in self.trends:
            span = self.ranges[name]
            whole = f"{span.low:g} to {span.high:g}{' (log)' if span.log else ''}"
            drawn = name, f"{first:.4g}", f"{last:.4g}", whole
            rows.append((*drawn, f"{rho:+.2f}", text.p_cell(p)))
        answer = (
            f"{100 * self.share:.0f} % of the other settings, {self.near} of {self.settings - 1}, "
            f"come within {margin} of the best (95 % CI {low:.0f} to {high:.0f} %, of settings "
            "that score no better); each was trained once, so this includes the effect of seeds."
        )
        if self.best == self.worst:
            same = f"the same {self.part} {self.metric}"
            answer = f"All scored settings have {same}: its sources of variance are unknown."
        table = [Table(_HEAD, rows)] if rows else []
        return Document(
            [answer],
            [f"{label} of {self.settings} settings{failed}: {spread}", *table],
            figures=lambda: [self._figure(label, margin)],
            title=f"Neighbourhood of {self.name}",
            signature=text.versions(),
        )

    def _figure(self, label: str, margin: str) -> Figure:
        """A panel a hyperparameter: score against value; the band is near the best."""
        factor = scores.factor(self.unit)
        drawing, panels = plots.grid(len(self.ranges), _PANELS, (2.5, 2.4), share_y=True)
        end = self.best + math.copysign(self.within, self.median - self.best)
        band = sorted(factor * bound for bound in (self.best, end))
        points = {k: p for k, p in enumerate(self.points, 1) if p["score"] is not None}
        shown = [factor * float(point["score"] or 0) for point in points.values()]
        for number, (name, panel) in enumerate(zip(self.ranges, panels, strict=True)):
            values = [float(point[name] or 0) for point in points.values()]
            panel.scatter(values, shown, s=14, color=plots.colour(0), linewidths=0)
            panel.axhspan(*band, color="#E69F00", alpha=0.25, lw=0, zorder=0)
            panel.set_xlabel(plots.literal(name))
            if self.ranges[name].log:
                plots.log_axis(panel, min(values), max(values))
            if number % _PANELS == 0:
                panel.set_ylabel(plots.literal(label))
        rows = [
            (number, *(f"{point[name]:.6g}" for name in self.ranges), f"{score:.4f}")
            for (number, point), score in zip(points.items(), shown, strict=True)
        ]
        caption = f"Each point is a setting, trained once. The band: within {margin} of the best."
        columns = ("setting", *self.ranges, label)
        return Figure("neighbourhood", "Random settings near one", caption, drawing, columns, rows)


@parameters.verb
def neighbourhood(
    config: "Source" = None,
    changes: Changes = (),
    *,
    data: str | Path | None = None,
    out: str | Path = "runs",
    settings: Annotated[int, Number(_LEAST, parameters.MOST)] = 64,
    width: Annotated[float, Number(1e-6, 1)] = 0.2,
    within: NonNegative | None = None,
    range: Mapping[str, str] | None = None,
    part: Literal["dev", "test"] = "dev",
    seed: Natural = 1,
    quiet: Quiet = False,
) -> _Neighbourhood:
    """Trains random settings near that of a config, as one population.

    Draws each traced hyperparameter (learning rate, decay, dropout rates ...) from an interval
    around the config's value (Melis et al. 2018, section 7.3). The interval is --width times the
    range. Default ranges: learning rates .0001 to .1 and l2 1e-7 to .001, both logarithmic;
    dropout rates 0 to .9. An l2 of 0 stays 0.

    Args:
      settings: number of settings.
      width: width of each interval, as a share of the range.
      within: distance from the best score that counts as near (default: the metric's margin).
      range: range of a hyperparameter, as NAME=LOW:HIGH or NAME=LOW:HIGH:log; repeatable.
      part: part of the data whose scores are compared.

    Examples:
      jaxeval neighbourhood CONFIG --data DIR --settings 64 --save figures
      jaxeval neighbourhood CONFIG --width 0.15 --range learning_rate=0.001:0.01:log
    """
    from jaxeval import backend

    backend.prepare()
    from jaxeval import observe, studies
    from jaxeval.runs import metrics
    from jaxeval.studies import prepared

    whole = studies.read(config, [*changes], data)
    active = {name: h for name, h in fields.traced(whole).items() if h.active}
    # every draw depends on those before it: of language models, sites stand among the others
    prefix = "dropout_" if whole.task == "language" else ""
    traced = {name: active[name] for name in sorted(active, key=lambda n: n.removeprefix(prefix))}
    ranges = _choose_ranges(traced, range or {})
    drawn = _draw({name: h.value for name, h in traced.items()}, ranges, width, settings, seed)
    rows = observe.train(
        prepared.neighbourhood(whole, drawn),
        Path(out),
        check=lambda known: metrics.refuse_points("within", within or 0.0, known[0].record.unit),
        quiet=quiet,
    )
    first = rows[0]
    scored = [getattr(row, part) for row in rows]
    near = first.margin if within is None else within
    found = _describe(scored, drawn, near, first.higher_is_better)
    shown = {"unit": first.unit, "ranges": ranges, **found}
    return _Neighbourhood(whole.name, first.metric, part, width, **shown)


def _choose_ranges(
    traced: Mapping[str, fields.Hyperparameter], asked: Mapping[str, str]
) -> dict[str, Range]:
    """Returns the range of each hyperparameter to vary: LOW:HIGH[:log] as asked, or its own."""
    ranges = {
        name: h.marker.range
        for name, h in traced.items()
        if h.marker.range is not None and not (h.marker.range.log and h.value == 0)
    }
    for name, words in asked.items():
        named = argument("range", {name: words})
        parts = words.split(":")
        if name not in traced:
            raise ConfigError(f"{named}: expected one of {', '.join(traced)}")
        limits = traced[name].marker.limits
        log = parts[2:] == ["log"]
        try:
            low, high = map(float, parts[:2])
        except ValueError:
            low = high = math.nan
        least = low > 0 if log else not parts[2:]
        if not (least and low < high and limits.allows(low) and limits.allows(high)):
            form = "LOW:HIGH, or LOW:HIGH:log of numbers above 0, LOW below HIGH"
            raise ConfigError(f"{named}: expected {form}; {name} is {limits}")
        ranges[name] = Range(low, high, log)
    return {name: ranges[name] for name in traced if name in ranges}


def _draw(
    centre: Mapping[str, float], ranges: Mapping[str, Range], width: float, count: int, seed: int
) -> list[dict[str, float]]:
    """Draws settings around one; the k-th does not depend on how many there are.

    Each hyperparameter is uniform on an interval of `width` times its range around the centre's
    value, cut off where the range ends; ConfigError if that value lies outside.
    """
    for name, span in ranges.items():
        if not span.low <= centre[name] <= span.high:
            outside = f"{centre[name]:g} is not between {span.low:g} and {span.high:g}"
            raise ConfigError(f"{name}: {outside}; give it another range")
    generator = np.random.default_rng(seed)
    middles = {name: span.to_unit(centre[name]) for name, span in ranges.items()}
    ends = {n: (max(0.0, m - width / 2), min(1.0, m + width / 2)) for n, m in middles.items()}
    drawn = (
        {name: span.at(generator.uniform(*ends[name])) for name, span in ranges.items()}
        for _ in range(count)
    )
    return [{name: float(f"{value:.6g}") for name, value in of.items()} for of in drawn]


def _describe(
    scores: Sequence[float | None],
    settings: Sequence[Mapping[str, float]],
    within: float,
    higher_is_better: bool,
) -> dict:
    """Returns the numbers of a `_Neighbourhood`, by field; a setting that failed scores None.

    The best is near itself: only the others are a sample, of settings that score no better.
    """
    from scipy import stats

    scored = [k for k, score in enumerate(scores) if score is not None]
    values = np.array([scores[k] for k in scored], float)
    if len(values) < _LEAST:
        raise DataError(f"neighbourhood: expected at least {_LEAST} scores, found {len(values)}")
    ends = float(values.min()), float(values.max())
    worst, best = ends if higher_is_better else ends[::-1]
    # .9 - .89 is above .01: differences that single precision does not tell apart are equal
    slack = np.finfo(np.float32).eps * np.maximum(np.abs(values), abs(best))
    near = int(np.sum(np.abs(values - best) <= within + slack)) - 1
    others = len(scores) - 1
    interval = stats.binomtest(near, others).proportion_ci(method="wilson")
    return {
        "settings": len(scores),
        "failed": len(scores) - len(scored),
        "best": best,
        "median": float(np.median(values)),
        "worst": worst,
        "sd": float(np.std(values, ddof=1)),
        "within": within,
        "near": near,
        "share": near / others,
        "share_interval": (float(interval.low), float(interval.high)),
        "trends": _trends([settings[k] for k in scored], values),
        "points": [{"score": s, **each} for s, each in zip(scores, settings, strict=True)],
    }


def _trends(settings: Sequence[Mapping[str, float]], values: np.ndarray) -> list[_Trend]:
    """The trend of each hyperparameter that was varied; none if all scores are equal."""
    from jaxeval.stats.multiple import adjust_p_values
    from jaxeval.stats.ranks import spearman

    columns = {name: np.array([setting[name] for setting in settings]) for name in settings[0]}
    varied = {name: c for name, c in columns.items() if np.ptp(c) > 0 and np.ptp(values) > 0}
    found = [spearman(column, values)[:2] for column in varied.values()]
    adjusted = [*adjust_p_values([float(p) for _, p in found])] if found else []
    return [
        _Trend(name, float(column.min()), float(column.max()), float(rho), float(p))
        for (name, column), (rho, _), p in zip(varied.items(), found, adjusted, strict=True)
    ]
