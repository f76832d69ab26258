"""`python -m jaxeval.neighbourhood`: random settings near a config's, as one population."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from jaxeval import parameters, parsers
from jaxeval.config import markers
from jaxeval.config.markers import Range
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.parameters import Changes, Count, Natural, NonNegative, Number, Quiet
from jaxeval.report.document import Document, Figure, Table
from jaxeval.report.result import Result

if TYPE_CHECKING:
    from jaxeval.config.reading import Source

_LEAST = 5  # scores; with fewer nothing can be said of a trend
_PANELS = 4  # in a row
_HEAD = ("hyperparameter", "drawn from", "to", "of range", "Spearman's rho", "p (Holm)")


@dataclasses.dataclass(frozen=True)
class Trend:
    """How the score goes with one hyperparameter.

    Attributes:
      low, high: of the values drawn.
      rho: Spearman's.
      p_value: adjusted over all hyperparameters (Holm).
    """

    name: str
    low: float
    high: float
    rho: float
    p_value: float


@dataclasses.dataclass(frozen=True, repr=False)
class Neighbourhood(Result):
    """What settings around one scored.

    Attributes:
      failed: settings without a score; not near the best.
      within: how far from the best counts as near, in the metric's unit.
      near: settings beside the best itself.
      share: near / (settings - 1).
      share_interval: 95 %, Wilson's, of settings that score no better than the best.
      points: a score and values for each setting.
      ranges: that the values were drawn from.
    """

    metric: str
    part: str
    width: float
    settings: int
    failed: int
    best: float
    median: float
    worst: float
    sd: float
    within: float
    near: int
    share: float
    share_interval: tuple[float, float]
    trends: Sequence[Trend]
    points: Sequence[Mapping[str, float | None]]
    unit: str
    ranges: Mapping[str, Range]

    def document(self) -> Document:
        """The share near the best, the spread, a line a hyperparameter."""
        from jaxeval.report import scores, text

        low, high = (100 * end for end in self.share_interval)
        margin, metric = scores.difference(self.within, self.unit), f"{self.part} {self.metric}"
        failed = f", {self.failed} without a score" if self.failed else ""
        spread = ", ".join(
            f"{name} {scores.shown(getattr(self, name), self.unit)}"
            for name in ("best", "median", "worst", "sd")
        )
        rows = []
        for trend in self.trends:
            span = self.ranges[trend.name]
            of_range = f"{span.low:g} to {span.high:g}{' (log)' if span.log else ''}"
            drawn = (trend.name, f"{trend.low:.4g}", f"{trend.high:.4g}", of_range)
            rows.append((*drawn, f"{trend.rho:+.2f}", text.p_cell(trend.p_value)))
        return Document(
            answer=[
                f"{100 * self.share:.0f} % of the other settings, {self.near} of "
                f"{self.settings - 1}, come within {margin} of the best (95 % CI {low:.0f} to "
                f"{high:.0f} %, of settings that score no better); each was trained once, so the "
                "seeds' spread is in it."
            ],
            blocks=[
                f"{scores.label(metric, self.unit)} of {self.settings} settings{failed}: {spread}",
                Table(_HEAD, rows),
            ],
            figures=lambda: [self._figure(scores.label(metric, self.unit), margin)],
            title="Neighbourhood of a setting",
            signature=text.versions(),
        )

    def _figure(self, label: str, margin: str) -> Figure:
        """A panel a hyperparameter: score against value; the band is near the best."""
        from jaxeval.report import plots, scores

        names, factor = [*self.ranges], scores.factor(self.unit)
        drawing, panels = plots.grid(len(names), _PANELS, (2.5, 2.4), share_y=True)
        end = self.best + math.copysign(self.within, self.median - self.best)
        band = sorted(factor * bound for bound in (self.best, end))
        scored = [
            (number, factor * score, point)
            for number, point in enumerate(self.points, 1)
            if (score := point["score"]) is not None and np.isfinite(score)
        ]
        for number, (name, panel) in enumerate(zip(names, panels, strict=True)):
            values = [float(point[name] or 0) for _, _, point in scored]
            shown = [score for _, score, _ in scored]
            panel.scatter(values, shown, s=14, color=plots.colour(0), linewidths=0)
            panel.axhspan(*band, color="#E69F00", alpha=0.25, lw=0, zorder=0)
            panel.set_xlabel(plots.literal(name))
            if self.ranges[name].log:
                panel.set_xscale("log")
            if number % _PANELS == 0:
                panel.set_ylabel(plots.literal(label))
        rows = [
            (k, *(f"{point[name]:.6g}" for name in names), f"{score:.4f}")
            for k, score, point in scored
        ]
        said = f"Each point is a setting, trained once. The band: within {margin} of the best."
        columns = ("setting", *names, label)
        return Figure("neighbourhood", "Random settings near one", said, drawing, columns, rows)


@parameters.verb
def neighbourhood(
    config: "Source" = None,
    changes: Changes = (),
    *,
    data: str | Path | None = None,
    out: str | Path = "runs",
    settings: Count = 64,
    width: Annotated[float, Number(1e-6, 1)] = 0.2,
    within: NonNegative | None = None,
    range: Mapping[str, str] | None = None,
    part: Literal["dev", "test"] = "dev",
    seed: Natural = 1,
    quiet: Quiet = False,
) -> Neighbourhood:
    """Trains random settings near that of a config, as one population and one compilation.

    Each traced hyperparameter (learning rate, decay, dropout rates ...) is drawn from an interval
    of --width times its range around the config's value (Melis et al. 2018, section 7.3). Shows
    the score against each of them, and the share of settings near the best.

    Ranges (the authors did not publish theirs): learning rates .0001 to .1 and l2 1e-7 to .001,
    both logarithmic; dropout rates 0 to .9. A value of 0 of l2 stays 0.

    Args:
      config: TOML file or shipped name; absent: the embedded default.
      changes: change a config's key; key= unsets it.
      data: the corpus: a folder, for a text also a file, or tfds:NAME.
      out: the runs folder.
      settings: how many are drawn.
      width: of each interval, as a share of the range.
      within: what is near the best (the metric's equivalence margin).
      range: LOW:HIGH or LOW:HIGH:log of a hyperparameter.
      part: whose scores are compared.
      seed: of the settings drawn.
      quiet: without progress.

    Examples:
      python -m jaxeval.neighbourhood CONFIG --data DIR --settings 64 --save figures
      python -m jaxeval.neighbourhood CONFIG --width 0.15 --range learning_rate=0.001:0.01:log

    Raises:
      ConfigError, DataError, RunError: of the config, the ranges, the data.
    """
    if settings < _LEAST:
        raise ConfigError(f"{argument('settings', settings)}: expected at least {_LEAST}")
    from jaxeval import backend

    backend.prepare()
    from jaxeval import observe, studies
    from jaxeval.config import renamed
    from jaxeval.runs import metrics
    from jaxeval.studies import cohorts, proposers

    place = None if data is None else str(data)
    whole = studies.read(config, parameters.changed_keys(changes), place)
    # in an order that stays when they are renamed: every draw depends on those before it
    active = {name: h for name, h in markers.traced(whole).items() if h.active}
    names = sorted(active, key=lambda name: renamed.first_hyperparameter(name, whole.task))
    traced = {name: active[name] for name in names}
    ranges = ranges_of(traced, range or {})
    centre = {name: h.value for name, h in traced.items()}
    drawn = draw(centre, ranges, width, settings, seed)
    session = studies.Session()
    entries = cohorts.entries(proposers.neighbourhood(whole, drawn), session.loader)
    first = entries[0].record
    metrics.refuse_points("within", within or 0.0, first.unit)
    programs = cohorts.by_program(entries)
    rows = observe.train_cohorts(programs, Path(out), session=session, quiet=quiet)
    return Neighbourhood(
        metric=first.metric,
        part=part,
        width=width,
        unit=first.unit,
        ranges=ranges,
        **describe(
            [getattr(row, part) for row in rows],
            drawn,
            first.margin if within is None else within,
            first.higher_is_better,
        ),
    )


def ranges_of(
    traced: Mapping[str, markers.Hyperparameter], asked: Mapping[str, str]
) -> dict[str, Range]:
    """The range of each hyperparameter that is varied.

    Args:
      traced: all that may be varied.
      asked: LOW:HIGH or LOW:HIGH:log by name, before the defaults.

    Raises:
      ConfigError: no such hyperparameter, no range, or values that it cannot have.
    """
    ranges = {
        name: of.marker.range
        for name, of in traced.items()
        if of.marker.range is not None and not (of.marker.range.log and of.value == 0)
    }
    for name, text in asked.items():
        said = argument("range", {name: text})
        if name not in traced:
            raise ConfigError(f"{said}: expected one of {', '.join(traced)}")
        span, limits = _range(text, said), traced[name].marker.limits
        if not (limits.allow(span.low) and limits.allow(span.high)):
            raise ConfigError(f"{said}: expected {limits}")
        ranges[name] = span
    return {name: ranges[name] for name in traced if name in ranges}


def _range(text: str, said: str) -> Range:
    parts = text.split(":")
    try:
        low, high = map(float, parts[:2])
    except ValueError:
        low = high = math.nan
    log = parts[2:] == ["log"]
    if not (low < high and math.isfinite(high - low) and (log or not parts[2:])):
        raise ConfigError(f"{said}: expected LOW:HIGH or LOW:HIGH:log, with LOW below HIGH")
    if log and low <= 0:
        raise ConfigError(f"{said}: log needs numbers above 0")
    return Range(low, high, log)


def draw(
    centre: Mapping[str, float], ranges: Mapping[str, Range], width: float, count: int, seed: int
) -> list[dict[str, float]]:
    """Random settings around one.

    Each hyperparameter is drawn evenly from an interval of `width` times its range, with the
    centre's value in its middle, and cut off where the range ends. The k-th setting does not
    depend on how many there are.

    Raises:
      ConfigError: a centre outside its range.
    """
    for name, span in ranges.items():
        if not span.low <= centre[name] <= span.high:
            raise ConfigError(
                f"{name}: {centre[name]:g} is not between {span.low:g} and {span.high:g}; "
                "give it another range"
            )
    generator, settings = np.random.default_rng(seed), []
    for _ in [None] * count:
        setting = {}
        for name, span in ranges.items():
            middle = span.to_unit(centre[name])
            low, high = max(0.0, middle - width / 2), min(1.0, middle + width / 2)
            setting[name] = span.from_unit(generator.uniform(low, high))
        settings.append(setting)
    return settings


def describe(
    scores: Sequence[float | None],
    settings: Sequence[Mapping[str, float]],
    within: float,
    higher_is_better: bool,
) -> dict:
    """The numbers of a `Neighbourhood`, by field.

    The best is near itself: only the others are a sample, of settings that score no better.

    Args:
      scores: None where a setting failed.

    Raises:
      DataError: fewer than 5 scores.
    """
    from scipy import stats

    kept = [k for k, score in enumerate(scores) if score is not None and math.isfinite(score)]
    values = np.array([scores[k] for k in kept], float)
    if len(values) < _LEAST:
        raise DataError(f"neighbourhood: expected at least {_LEAST} scores, found {len(values)}")
    low, high = float(values.min()), float(values.max())
    best, worst = (high, low) if higher_is_better else (low, high)
    # .9 - .89 is above .01: differences that single precision does not tell are equal. Decimals
    # do not say that, as those of a ROPE do: scores may have any unit
    slack = np.finfo(np.float32).eps * np.maximum(np.abs(values), abs(best))
    near, others = int(np.sum(np.abs(values - best) <= within + slack)) - 1, len(scores) - 1
    interval = stats.binomtest(near, others).proportion_ci(method="wilson")
    columns = {name: np.array([settings[k][name] for k in kept]) for name in settings[0]}
    return {
        "settings": len(scores),
        "failed": len(scores) - len(kept),
        "best": best,
        "median": float(np.median(values)),
        "worst": worst,
        "sd": float(np.std(values, ddof=1)),
        "within": within,
        "near": near,
        "share": near / others,
        "share_interval": (float(interval.low), float(interval.high)),
        "trends": _trends(columns, values),
        "points": [{"score": s, **of} for s, of in zip(scores, settings, strict=True)],
    }


def _trends(columns: Mapping[str, np.ndarray], values: np.ndarray) -> list[Trend]:
    """A trend for each hyperparameter that was varied; none if all scores are equal."""
    from jaxeval.stats.multiple import adjust_p_values
    from jaxeval.stats.ranks import spearman

    varied = {name: column for name, column in columns.items() if np.ptp(column) > 0}
    if not varied or np.ptp(values) == 0:
        return []
    correlations = [spearman(column, values) for column in varied.values()]
    adjusted = adjust_p_values([p for _, p in correlations])
    return [
        Trend(name, float(column.min()), float(column.max()), rho, float(p))
        for (name, column), (rho, _), p in zip(varied.items(), correlations, adjusted, strict=True)
    ]


COMMANDS: parsers.Commands = {"": neighbourhood}

if __name__ == "__main__":
    parsers.start("neighbourhood", COMMANDS)
