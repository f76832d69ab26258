"""Scales of scores: fractions of one model beside percentages of another."""

import re
from collections.abc import Mapping

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs.layout import words_of
from jaxeval.runs.metrics import LOWER_UNITS, PERCENT, unit_of

_APART = 10  # least factor between percent and fractions that may be those of one model
# metrics without an upper end, on any scale
_UNBOUNDED = re.compile(
    r"rewards?|returns?|throughput|speed|speedup|second|time|psnr|snr|elbo|likelihoods?"
    r"|log_?probs?|informations?|gains?|ratio"
)


def refuse_two(
    scores: Mapping[str, np.ndarray],
    metric: str | None,
    unit: str | None,
    source: str | None,
    *,
    items: bool = False,
) -> None:
    """Raises DataError if one model's scores are fractions and another's are percent.

    Fractions: all scores lie in [0, 1], one strictly between. Percent: all lie in (1, 100]; far
    above the fractions, if the metric may be any. Scores of 0 are ignored. Only metrics of which
    higher is better are checked.

    Args:
      scores: model -> its scores.
      unit: the unit that the source records; "number" switches the check off.
      items: the scores are of items: 0 and 1 are fractions, and only well-known fractions count.
    """
    known_unit = unit_of(metric)
    open_ended = _UNBOUNDED.search("_".join(words_of(metric or ""))) or known_unit in LOWER_UNITS
    if open_ended or unit not in (None, "", *PERCENT) or (items and known_unit != "fraction"):
        return
    known = {model: values[values != 0] for model, values in scores.items() if np.any(values)}
    low = [m for m, x in known.items() if x.max() <= 1 and (items or 0 < x.min() < 1)]
    high = [m for m, x in known.items() if x.max() > 1]
    high = [m for m in high if items or (known[m].min() > 1 and known[m].max() <= 100)]
    if known_unit == "fraction" and not items:  # both within a model, most of them fractions
        mixed = [m for m, x in known.items() if 0 < np.median(x) < 1 and 10 < x.max() <= 100]
        low, high = mixed or low, mixed or high
    middle = {model: float(np.median(of)) for model, of in known.items()}
    low, high = sorted(low, key=middle.__getitem__), sorted(high, key=middle.__getitem__)
    least = 0 if known_unit == "fraction" else _APART
    if low and high and middle[high[-1]] >= least * middle[low[0]]:
        raise DataError(
            f"the scores of {low[0]} look like fractions ({known[low[0]].min():g}), those of "
            f"{high[-1]} like percent ({known[high[-1]].max():g}); expected one scale: multiply "
            "or divide by 100, or, if they are on one scale, add a column unit with the value "
            "number",
            source,
        )
