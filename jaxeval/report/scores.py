"""Scores in the unit of their metric.

Fractions and error rates are stored from 0 to 1 and shown in percent; others are shown as stored.
"""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from jaxeval.report import text
from jaxeval.runs.metrics import PERCENT
from jaxeval.stats import Interval, describe

_NAMED = ("bits", "nats")  # units that are written after a number
_MOST_DECIMALS = 6
_SIGNIFICANT = 12  # digits of a float that survive rounding
_SMALL = 0.01  # as shown: below this, scores that need more decimals get an exponent
_LARGE = 1e9  # from this on scores of which the last digits say nothing do
_ROUNDING = 1e-9  # of the largest score: a smaller sd means equal scores
_LISTED = 100  # scores of a sample
_OUTLYING = 1e-3  # of the largest sd: smaller ones do not ask for digits
_UNLIKE = 1e-4  # of the largest sd: if it asks for no digits, smaller ones ask for their own
_WIDE = 1e6  # from this on, scores with digits of their own get an exponent


def factor(unit: str) -> float:
    """Returns the factor from a stored score to the shown one."""
    return 100.0 if unit in PERCENT else 1.0


def label(metric: str, unit: str) -> str:
    """Names a metric with its unit, for axes and table heads."""
    if unit in PERCENT:
        return f"{metric} (%)"
    return f"{metric} ({unit})" if unit in _NAMED and unit not in metric else metric


def shown(value: float | None, unit: str) -> str:
    """Formats one score: percent with two decimals, others with four digits or whole."""
    if value is None:
        return "-"
    if unit in PERCENT:
        return f"{100 * value:z.2f}"
    return f"{value:.0f}" if abs(value) >= 999.95 else f"{value:z#.4g}"


def setting(value: object) -> str:
    """Formats a value of a hyperparameter: numbers with four digits, others as JSON."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value)


def difference(value: float, unit: str) -> str:
    """Formats a difference set by the user, such as a margin: "1 point", "0.05 bits", "3"."""
    number = f"{factor(unit) * value:g}"
    if unit in PERCENT:
        return f"{number} point" + ("" if number == "1" else "s")
    return f"{number} {unit}" if unit in _NAMED else number


@dataclasses.dataclass(frozen=True)
class ScoreFormat:
    """Formats the scores of one table with the same decimals and exponent.

    If one that is huge (a run that diverged) would make all others zeros, each has its own.
    """

    unit: str
    decimals: int
    exponent: int = 0
    alone: bool = False  # each score has its own decimals and exponent

    @property
    def factor(self) -> float:
        """The factor from a stored score to the shown one."""
        return factor(self.unit)

    def label(self, metric: str) -> str:
        """Names a metric with its unit."""
        return label(metric, self.unit)

    def __call__(self, value: float | None) -> str:
        """Formats a score; rounding errors of sums in another order do not show."""
        if value is None or not math.isfinite(value):
            return "-"
        value = float(f"{value:.{_SIGNIFICANT}g}") * factor(self.unit)
        if self.alone:
            return f"{value:.2e}" if abs(value) >= _WIDE else shown(value, "")
        value /= 10.0**self.exponent
        return f"{value:z.{self.decimals}f}" + (f"e{self.exponent:+03d}" if self.exponent else "")

    def difference(self, value: float) -> str:
        """Formats a difference of scores with its unit."""
        unit = "points" if self.unit in PERCENT else self.unit if self.unit in _NAMED else ""
        return f"{self(value)} {unit}".rstrip()

    def signed(self, value: float | None) -> str:
        """Formats a difference with its sign."""
        return ("+" if value is not None and value > 0 else "") + self(value)

    def described(self, values: Sequence[float] | np.ndarray) -> tuple[str, str, str]:
        """Formats number, mean and sd of a sample; "-" if there is none."""
        mean = float(np.mean(values)) if len(values) else None
        sd = describe.sd(np.asarray(values, float)) if len(values) > 1 else None
        return str(len(values)), self(mean), self(sd)

    def interval(self, bounds: Interval | None) -> str:
        """Formats an interval, as `text.bounds`."""
        return text.bounds(bounds, self)

    def ci(self, bounds: Interval) -> str:
        """Formats an interval with its level, or says why there is none."""
        if bounds.absent:
            return f"no {text.confidence(bounds)} as {bounds.absent}"
        return f"{text.confidence(bounds)} {self.interval(bounds)}"


def score_format(unit: str, sds: Sequence[float], largest: float) -> ScoreFormat:
    """Returns the format that shows two digits of the smallest spread; equal scores get four.

    Small scores that six decimals would show as zeros get a common exponent, so do huge ones.

    Args:
      sds: standard deviations of samples, as stored.
      largest: largest absolute score, as stored.
    """
    spreads = [sd for sd in sds if sd > _ROUNDING * largest]
    top = factor(unit) * largest
    if spreads:
        smallest = factor(unit) * max(min(spreads), _OUTLYING * max(spreads))
        decimals = 1 - math.floor(math.log10(smallest))
        if decimals < 0 and any(0 < sd < _UNLIKE * max(spreads) for sd in sds):
            return ScoreFormat(unit, 0, alone=True)
        decimals = max(2, decimals) if unit in PERCENT else decimals
    else:
        decimals = 3 - math.floor(math.log10(top)) if largest else 2
    small = decimals > _MOST_DECIMALS and top < _SMALL
    huge = decimals < 0 and top >= _LARGE
    exponent = math.floor(math.log10(top)) if small or huge else 0
    return ScoreFormat(unit, max(0, min(_MOST_DECIMALS, decimals + exponent)), exponent)


def listed(samples: Mapping[str, Sequence[float]]) -> list[str]:
    """Returns a line for each sample with its scores as stored, of many the first."""
    return [
        f"{name}: {', '.join(f'{x:g}' for x in of[:_LISTED])}"
        + f" ... ({len(of)} in all)" * (len(of) > _LISTED)
        for name, of in samples.items()
    ]


def format_of(unit: str, samples: Iterable[Sequence[float]]) -> ScoreFormat:
    """Returns the format of all scores of some samples."""
    known = [np.array(of) for of in samples if len(of)]
    largest = max((float(np.abs(of).max()) for of in known), default=0.0)
    return score_format(unit, [describe.sd(of) for of in known if len(of) > 1], largest)
