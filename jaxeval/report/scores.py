"""Scores as people read them: by the unit of their metric; no value decides what it is.

Fractions and error rates are stored from 0 to 1 and read in percent, all others as they are.
"""

import dataclasses
import math
from collections.abc import Sequence

from jaxeval.report import text
from jaxeval.runs.metrics import PERCENT
from jaxeval.stats.results import Interval

_NAMED = ("bits", "nats")  # units that follow a number
# nats are below 0 where the likelihood is a density
_LIMITS = {
    "fraction": (0.0, 1.0),
    "error rate": (0.0, math.inf),
    "bits": (0.0, math.inf),
    "perplexity": (1.0, math.inf),
}
_MOST_DIGITS = 6
_SIGNIFICANT = 12  # digits of a float that rounding leaves alone
_SMALL = 0.01  # as read: where more digits are needed, scores are in powers of ten
_ROUNDING = 1e-9  # of the largest score: a smaller sd is that of equal scores
_OUTLYING = 1e-3  # of the largest sd: smaller ones do not ask for digits


def factor(unit: str) -> float:
    """What a stored score is multiplied by to be read."""
    return 100.0 if unit in PERCENT else 1.0


def limits(unit: str) -> tuple[float, float]:
    """Between which stored scores lie; an error rate may be above 1 where words are inserted."""
    return _LIMITS.get(unit, (-math.inf, math.inf))


def label(metric: str, unit: str) -> str:
    """A metric with the unit that `shown` has, for axes and heads of tables."""
    if unit in PERCENT:
        return f"{metric} (%)"
    return f"{metric} ({unit})" if unit in _NAMED and unit not in metric else metric


def shown(value: float | None, unit: str, digits: int = 2) -> str:
    """A score on its own: percent with so many decimals, others with two digits more in all."""
    if value is None:
        return "-"
    if unit in PERCENT:
        return f"{100 * value:.{digits}f}"
    return f"{value:.0f}" if abs(value) >= 10 ** (digits + 2) else f"{value:.{digits + 2}g}"


def difference(value: float, unit: str) -> str:
    """A difference that was set in advance, such as a margin: 1 point, 0.05 bits, 3."""
    number = f"{factor(unit) * value:g}"
    if unit in PERCENT:
        return f"{number} point" + ("" if number == "1" else "s")
    return f"{number} {unit}" if unit in _NAMED else number


@dataclasses.dataclass(frozen=True)
class ScoreFormat:
    """Scores of one table, all with the decimals that their spread needs, and one exponent."""

    unit: str
    decimals: int
    exponent: int = 0

    @property
    def factor(self) -> float:
        """As the function `factor`."""
        return factor(self.unit)

    def label(self, metric: str) -> str:
        """As the function `label`."""
        return label(metric, self.unit)

    def __call__(self, value: float | None) -> str:
        """A score; sums in another order, .09625 and .09625000000000017, are the same one."""
        if value is None or not math.isfinite(value):
            return "-"
        value = float(f"{value:.{_SIGNIFICANT}g}") * self.factor / 10.0**self.exponent
        return f"{value:.{self.decimals}f}" + (f"e{self.exponent:+03d}" if self.exponent else "")

    def difference(self, value: float) -> str:
        """A difference of scores with its unit."""
        unit = "points" if self.unit in PERCENT else self.unit if self.unit in _NAMED else ""
        return f"{self(value)} {unit}".rstrip()

    def interval(self, bounds: Interval | None) -> str:
        """[low, high]; nothing where there is none, - without ends."""
        if bounds is None:
            return ""
        return "-" if bounds.absent else f"[{self(bounds.low)}, {self(bounds.high)}]"

    def ci(self, bounds: Interval) -> str:
        """The same under its name; why there is none."""
        if bounds.absent:
            return f"no {text.confidence(bounds)} as {bounds.absent}"
        return f"{text.confidence(bounds)} {self.interval(bounds)}"


def scale(unit: str, sds: Sequence[float], largest: float) -> ScoreFormat:
    """The scale on which the smallest spread is seen; equal scores have four digits.

    Small scores that six decimals would show as zeros have an exponent, the same for all.

    Args:
      sds: standard deviations of samples, as stored.
      largest: absolute score.
    """
    spreads, read = [sd for sd in sds if sd > _ROUNDING * largest], factor(unit)
    if spreads:
        smallest = read * max(min(spreads), _OUTLYING * max(spreads))
        decimals = 2 - math.floor(math.log10(smallest))
        decimals = max(2, decimals - 1) if unit in PERCENT else decimals
    else:
        decimals = 3 - math.floor(math.log10(read * largest)) if largest else 2
    exponent = 0
    if decimals > _MOST_DIGITS and read * largest < _SMALL:
        exponent = math.floor(math.log10(read * largest))
    return ScoreFormat(unit, max(0, min(_MOST_DIGITS, decimals + exponent)), exponent)
