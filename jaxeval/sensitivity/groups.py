"""Sweeps of several datasets: metrics averaged over datasets, for each architecture or task.

These are the tables over languages of Wiemerslage et al. (2024), with what they lack: intervals,
Student's t over the values of sweeps, one a dataset, whose spread holds both how datasets differ
and how uncertain each sweep is. Groups are compared by differences on the datasets they share.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import ConfigError, argument
from jaxeval.sensitivity import analysis
from jaxeval.stats.results import Interval

_ROUNDING = 1e-9  # of percentages, counts and correlations: a smaller spread is none
Labels = Mapping[str, str]
Values = Mapping[str, float]  # path of a metric -> value


class Mean(NamedTuple):
    """A metric over n datasets; of two or more the sd (over n - 1), where they differ a CI."""

    n: int
    mean: float
    sd: float | None = None
    interval: Interval | None = None


class Group(NamedTuple):
    """The sweeps whose labels agree, one a dataset (dataset -> name), and the means by path."""

    name: str
    labels: Labels
    sweeps: Mapping[str, str]
    means: Mapping[str, Mean]


class Contrast(NamedTuple):
    """Group `a` minus group `b` on the datasets that both have."""

    a: str
    b: str
    datasets: Sequence[str]
    means: Mapping[str, Mean]


def average(
    values: Mapping[str, Values],
    labels: Mapping[str, Labels],
    by: Sequence[str],
    over: str = "dataset",
    confidence: float = 0.95,
) -> tuple[list[Group], list[Contrast]]:
    """Groups of sweeps, averaged over datasets, and each two that share two datasets or more.

    Args:
      values, labels: of each sweep, by its name.
      by: labels that tell groups apart.
      over: the label of datasets.

    Raises:
      ConfigError: a sweep without one of the labels, or two of one group and dataset.
    """
    members: dict[tuple[str, ...], dict[str, str]] = {}
    for name, known in labels.items():
        for label in (label for label in (*by, over) if label not in known):
            has = f"it has {', '.join(sorted(known)) or 'none'}"
            where = "columns of one value, and the parts of its name between dashes"
            raise ConfigError(f"{label}: {name} has no such label; {has} ({where})")
        sweeps = members.setdefault(tuple(known[label] for label in by), {})
        if (same := sweeps.setdefault(known[over], name)) != name:
            asked = f"{argument('by', ','.join(by))} {argument('over', over)}"
            raise ConfigError(
                f"{asked}: {same} and {name} are of one group and of one {over}, {known[over]}"
            )
    groups = []
    for key, sweeps in members.items():
        means = _means([values[name] for name in sweeps.values()], confidence)
        labelled = dict(zip(by, key, strict=True))
        groups.append(Group(", ".join(key) or "all", labelled, sweeps, means))
    contrasts = []
    for a, b in itertools.combinations(groups, 2):
        shared = [dataset for dataset in a.sweeps if dataset in b.sweeps]
        if len(shared) > 1:
            pairs = [(values[a.sweeps[name]], values[b.sweeps[name]]) for name in shared]
            gaps = [{path: p[path] - q[path] for path in p if path in q} for p, q in pairs]
            means = _means(gaps, confidence, difference=True)
            contrasts.append(Contrast(a.name, b.name, shared, means))
    return groups, contrasts


def _means(
    sweeps: Sequence[Values], confidence: float, difference: bool = False
) -> dict[str, Mean]:
    """Of each metric that some sweep has."""
    return {
        path: mean(
            [sweep[path] for sweep in sweeps if path in sweep],
            confidence,
            analysis.bounds(path, difference),
        )
        for path in dict.fromkeys(path for sweep in sweeps for path in sweep)
    }


def mean(
    values: Sequence[float],
    confidence: float = 0.95,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Mean:
    """Mean, sd and t interval, within the bounds of the metric, of independent values."""
    from scipy import stats

    drawn, n = np.array(values, float), len(values)
    centre = float(drawn.mean())
    if n < 2 or np.ptp(drawn) < _ROUNDING:
        return Mean(n, centre, 0.0 if n > 1 else None)
    sd = float(drawn.std(ddof=1))
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * sd / math.sqrt(n)
    interval = Interval(centre - half, centre + half, confidence, f"t over {n} datasets")
    return Mean(n, centre, sd, interval.clip(*bounds))
