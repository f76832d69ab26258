"""What sweeps say of sensitivity, in a sentence; and what they do not show."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from jaxeval.report import scores, text
from jaxeval.sensitivity import Analysis, Difference
from jaxeval.sensitivity.groups import Averaged, Contrast, Mean
from jaxeval.stats import multiple

_SHARE = "best_equivalent"  # what is said of: the share of runs near the best
_LEVEL = 0.05
_MOST_NAMED = 3  # differences of groups


def sentence(
    names: Sequence[str],
    analyses: Sequence[Analysis],
    gaps: Mapping[str, Difference],
    averaged: Averaged | None,
    unfit: str = "",
) -> str:
    """How many runs come near the best, of which sweep or group more do, or that it is not shown.

    Args:
      unfit: why nothing is shown; "": something may be.
    """
    margin = scores.difference(analyses[0].rope, "fraction")
    if averaged is not None:
        said = _of_groups(averaged, margin, unfit)
    elif len(analyses) == 2:
        said = _of_two(names, analyses, gaps.get(_SHARE), margin, unfit)
    elif len(analyses) == 1:
        said = _of_one(names[0], analyses[0], margin)
    else:
        said = _of_many(names, analyses, margin)
    return said + (f" ({unfit})" if unfit else "") + "."


def _of_one(name: str, of: Analysis, margin: str) -> str:
    interval = text.bounds(of.intervals.get(_SHARE))
    return (
        f"{of.best_equivalent:.2f} % {interval}".rstrip()
        + f" of the runs of {name} come within {margin} of the best, {of.max:.2f}"
    )


def _of_two(
    names: Sequence[str],
    of: Sequence[Analysis],
    gap: Difference | None,
    margin: str,
    unfit: str,
) -> str:
    """Which sweep has more runs near its best, where the difference's interval leaves out 0."""
    shares = " and ".join(f"{each.best_equivalent:.2f} %" for each in of)
    if gap is None or unfit:
        why = "" if unfit else "; there is no interval of their difference"
        return (
            f"Which of {names[0]} and {names[1]} has more runs within {margin} of its best was "
            f"not shown: {shares}{why}"
        )
    difference = f"difference {gap.estimate:.2f}, 95 % CI {text.bounds(gap.interval)}"
    if gap.interval.low <= 0 <= gap.interval.high:
        return (
            f"That one of {names[0]} and {names[1]} has more runs within {margin} of its best was "
            f"not shown: {shares}, {difference}"
        )
    more, fewer = names if gap.estimate > 0 else (names[1], names[0])
    return (
        f"More runs of {more} than of {fewer} come within {margin} of their best: {shares} "
        f"({names[0]}, {names[1]}), {difference}"
    )


def _of_many(names: Sequence[str], of: Sequence[Analysis], margin: str) -> str:
    order = np.argsort([each.best_equivalent for each in of], kind="stable")
    low, high = order[0], order[-1]
    return (
        f"Between {of[low].best_equivalent:.2f} % ({names[low]}) and "
        f"{of[high].best_equivalent:.2f} % ({names[high]}) of a sweep's runs come within {margin} "
        f"of its best; no two of the {len(of)} sweeps were compared"
    )


def _of_groups(averaged: Averaged, margin: str, unfit: str) -> str:
    """Which differences of groups were shown, corrected for their number."""
    tested = [(c, p) for c, p in zip(averaged.contrasts, corrected(averaged), strict=True)]
    shown = [(c, p) for c, p in tested if p < _LEVEL and not unfit]
    if not tested:
        means = "; ".join(
            f"{_mean(group.means.get(_SHARE))} of {group.name}" for group in averaged.groups
        )
        none = "; no two groups were compared" if len(averaged.groups) > 1 else ""
        return f"Runs within {margin} of their sweep's best, averaged: {means}{none}"
    count = (
        f"{len(shown)} of {text.counted(len(tested), 'difference')}" if shown else "No difference"
    )
    head = (
        f"{count} in the share of runs within {margin} of the best "
        f"{'were' if len(shown) > 1 else 'was'} shown"
    )
    named = [_shown(contrast, p) for contrast, p in shown[:_MOST_NAMED]]
    more = f"; {len(shown) - len(named)} more" if len(shown) > len(named) else ""
    if not named:
        least = min((p for _, p in tested if not math.isnan(p)), default=math.nan)
        return head + (f": least corrected p {text.p_value(least)}" if not unfit else "")
    return f"{head}: {'; '.join(named)}{more}"


def _shown(contrast: Contrast, p: float) -> str:
    gap = contrast.means[_SHARE]
    more, fewer = (contrast.a, contrast.b) if gap.mean > 0 else (contrast.b, contrast.a)
    return (
        f"{more} has more than {fewer} ({abs(gap.mean):.2f} points over "
        f"{gap.n} datasets, corrected p {text.p_value(p)})"
    )


def corrected(averaged: Averaged) -> list[float]:
    """Of each contrast's share of runs near the best: p of the paired t test, by Holm.

    NaN where the differences do not vary, or there is one: nothing is tested.
    """
    raw = [_p_value(contrast.means.get(_SHARE)) for contrast in averaged.contrasts]
    return [float(p) for p in multiple.adjust_p_values(raw)]


def _p_value(gap: Mean | None) -> float:
    if gap is None or not gap.sd:
        return math.nan
    t = abs(gap.mean) / (gap.sd / math.sqrt(gap.n))
    return float(2 * special.stdtr(gap.n - 1, -t))


def _mean(of: Mean | None) -> str:
    return "-" if of is None else f"{of.mean:.2f} % {text.bounds(of.interval)}".rstrip()
