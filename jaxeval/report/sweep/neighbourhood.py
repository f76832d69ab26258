"""What is around a setting: the share of settings near the best, and how scores go with each."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jaxeval.config.markers import Range
from jaxeval.report import plots, scores, text
from jaxeval.report.document import Document, Figure, Table
from jaxeval.report.result import Result

_PANELS = 4  # in a row
_HEAD = ("hyperparameter", "drawn from", "to", "of range", "Spearman's rho", "p (Holm)")


class Trend(NamedTuple):
    """How the score goes with a hyperparameter: values drawn, Spearman's rho, p by Holm."""

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
        low, high = (100 * end for end in self.share_interval)
        margin, unit = scores.difference(self.within, self.unit), self.unit
        label = scores.label(f"{self.part} {self.metric}", unit)
        failed = f", {self.failed} without a score" if self.failed else ""
        named = ("best", "median", "worst", "sd")
        spread = ", ".join(f"{name} {scores.shown(getattr(self, name), unit)}" for name in named)
        rows = []
        for name, first, last, rho, p in self.trends:
            span = self.ranges[name]
            of_range = f"{span.low:g} to {span.high:g}{' (log)' if span.log else ''}"
            drawn = (name, f"{first:.4g}", f"{last:.4g}", of_range)
            rows.append((*drawn, f"{rho:+.2f}", text.p_cell(p)))
        return Document(
            answer=[
                f"{100 * self.share:.0f} % of the other settings, {self.near} of "
                f"{self.settings - 1}, come within {margin} of the best (95 % CI {low:.0f} to "
                f"{high:.0f} %, of settings that score no better); each was trained once, so the "
                "seeds' spread is in it."
            ],
            blocks=[
                f"{label} of {self.settings} settings{failed}: {spread}",
                Table(_HEAD, rows),
            ],
            figures=lambda: [self._figure(label, margin)],
            title="Neighbourhood of a setting",
            signature=text.versions(),
        )

    def _figure(self, label: str, margin: str) -> Figure:
        """A panel a hyperparameter: score against value; the band is near the best."""
        names, factor = [*self.ranges], scores.factor(self.unit)
        drawing, panels = plots.grid(len(names), _PANELS, (2.5, 2.4), share_y=True)
        end = self.best + math.copysign(self.within, self.median - self.best)
        band = sorted(factor * bound for bound in (self.best, end))
        scored = [(k, of) for k, of in enumerate(self.points, 1) if of["score"] is not None]
        shown = [factor * float(of["score"] or 0) for _, of in scored]
        for number, (name, panel) in enumerate(zip(names, panels, strict=True)):
            values = [float(of[name] or 0) for _, of in scored]
            panel.scatter(values, shown, s=14, color=plots.colour(0), linewidths=0)
            panel.axhspan(*band, color="#E69F00", alpha=0.25, lw=0, zorder=0)
            panel.set_xlabel(plots.literal(name))
            if self.ranges[name].log:
                panel.set_xscale("log")
            if number % _PANELS == 0:
                panel.set_ylabel(plots.literal(label))
        rows = [
            (k, *(f"{of[name]:.6g}" for name in names), f"{score:.4f}")
            for (k, of), score in zip(scored, shown, strict=True)
        ]
        said = f"Each point is a setting, trained once. The band: within {margin} of the best."
        columns = ("setting", *names, label)
        return Figure("neighbourhood", "Random settings near one", said, drawing, columns, rows)
