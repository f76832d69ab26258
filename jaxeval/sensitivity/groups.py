"""Sweeps of several datasets: metrics averaged over datasets, for each architecture or task.

These are the tables over languages of Wiemerslage et al. (2024), with what they lack: intervals.
A dataset is the unit: the interval of a mean is Student's t over the values of its sweeps, one a
dataset, whose spread holds both how datasets differ and how uncertain each sweep is. Two groups
are compared on the datasets that both have, by the differences there.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import ConfigError
from jaxeval.sensitivity import analysis, intervals
from jaxeval.sensitivity.analysis import Analysis
from jaxeval.sensitivity.hyperparameters import Axis
from jaxeval.sensitivity.labels import Labels
from jaxeval.stats.results import Interval

_ROUNDING = 1e-9  # of percentages, counts and correlations: a smaller spread is none


class Mean(NamedTuple):
    """A metric over datasets.

    Attributes:
      n: datasets in which it has a value.
      sd: n - 1 in the denominator, as published; None for one dataset.
      interval: None for one dataset, and where all have the same value.
    """

    n: int
    mean: float
    sd: float | None
    interval: Interval | None


class Group(NamedTuple):
    """The sweeps whose labels agree, one a dataset.

    Attributes:
      labels: in which its sweeps agree.
      sweeps: dataset -> place of its sweep.
      means: path of a metric (`analysis.values`) -> its mean.
    """

    labels: Labels
    sweeps: Mapping[str, int]
    means: Mapping[str, Mean]

    @property
    def name(self) -> str:
        """For people."""
        return ", ".join(self.labels.values()) or "all"


class Contrast(NamedTuple):
    """Group `a` minus group `b` on the datasets that both have.

    Attributes:
      name: in what the two differ, and behind it in what they agree.
    """

    name: str
    a: str
    b: str
    datasets: Sequence[str]
    means: Mapping[str, Mean]


class Averaged(NamedTuple):
    """All groups, and each two of them on the datasets that both have."""

    over: str  # the label of datasets
    groups: Sequence[Group]
    contrasts: Sequence[Contrast]

    @property
    def sweeps(self) -> dict[str, Mapping[str, int]]:
        """Name of a group -> dataset -> place of its sweep."""
        return {group.name: group.sweeps for group in self.groups}


def average(
    analyses: Sequence[Analysis],
    labels: Sequence[Labels],
    names: Sequence[str],
    by: Sequence[str],
    over: str = "dataset",
    confidence: float = 0.95,
) -> Averaged:
    """Metrics of sweeps averaged over datasets, in the order of the groups' first sweeps.

    Args:
      labels, names: of the sweeps, in the order of their analyses.
      by: labels that tell groups apart.
      over: the label of datasets.

    Raises:
      ConfigError: a sweep without one of the labels, or two of one group and dataset.
    """
    numbers: dict[tuple[str, ...], dict[str, int]] = {}
    for number, (known, name) in enumerate(zip(labels, names, strict=True)):
        key, dataset = tuple(_label(known, label, name) for label in by), _label(known, over, name)
        group = numbers.setdefault(key, {})
        if dataset in group:
            raise ConfigError(
                f"--by {','.join(by)} --over {over}: {names[group[dataset]]} and {name} are of "
                f"one group and of one {over}, {dataset}; name another label in --by, or leave "
                "one of them out"
            )
        group[dataset] = number
    values = [analysis.values(sweep) for sweep in analyses]
    groups = [
        Group(dict(zip(by, key, strict=True)), sweeps, _means(values, sweeps, confidence))
        for key, sweeps in numbers.items()
    ]
    return Averaged(over, groups, _contrasts(groups, values, confidence))


def _label(known: Labels, label: str, name: str) -> str:
    if label not in known:
        has = ", ".join(sorted(known)) or "none"
        give = (
            f"--file-name '{{{label}}}-...' reads it from the name, as does a column of one value"
        )
        raise ConfigError(f"{label}: {name} has no such label; it has {has}; {give}")
    return known[label]


def _means(
    values: Sequence[Mapping[str, float]], sweeps: Mapping[str, int], confidence: float
) -> dict[str, Mean]:
    paths = dict.fromkeys(path for number in sweeps.values() for path in values[number])
    return {
        path: mean(
            [values[number][path] for number in sweeps.values() if path in values[number]],
            confidence,
            intervals.range_of(path),
        )
        for path in paths
    }


def _contrasts(
    groups: Sequence[Group], values: Sequence[Mapping[str, float]], confidence: float
) -> list[Contrast]:
    """Each two groups that share at least two datasets."""
    contrasts = []
    for a, b in itertools.combinations(groups, 2):
        shared = [dataset for dataset in a.sweeps if dataset in b.sweeps]
        if len(shared) > 1:
            pairs = [(values[a.sweeps[name]], values[b.sweeps[name]]) for name in shared]
            gaps = _gaps(pairs, confidence)
            contrasts.append(Contrast(_against(a.labels, b.labels), a.name, b.name, shared, gaps))
    return contrasts


def _against(a: Labels, b: Labels) -> str:
    differing = [label for label in a if a[label] != b[label]]
    first, second = (", ".join(labels[label] for label in differing) for labels in (a, b))
    alike = ", ".join(a[label] for label in a if label not in differing)
    return f"{first} - {second}" + (f": {alike}" if alike else "")


def _gaps(
    pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]], confidence: float
) -> dict[str, Mean]:
    gaps: dict[str, list[float]] = {}
    for first, second in pairs:
        for path in first:
            if path in second:
                gaps.setdefault(path, []).append(first[path] - second[path])
    return {
        path: mean(values, confidence, intervals.range_of_difference(path))
        for path, values in gaps.items()
    }


def mean(
    values: Sequence[float],
    confidence: float = 0.95,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Mean:
    """Mean, sd and t interval of values that are independent of one another, one a dataset.

    Args:
      bounds: of the metric, where the interval ends at the latest.
    """
    from scipy import stats

    drawn = np.array(values, float)
    centre = float(drawn.mean())
    if len(drawn) < 2:
        return Mean(len(drawn), centre, None, None)
    if np.ptp(drawn) < _ROUNDING:
        return Mean(len(drawn), centre, 0.0, None)
    sd = float(drawn.std(ddof=1))
    half = float(stats.t.ppf((1 + confidence) / 2, len(drawn) - 1)) * sd / math.sqrt(len(drawn))
    method = f"t over {len(drawn)} datasets"
    interval = Interval(centre - half, centre + half, confidence, method)
    return Mean(len(drawn), centre, sd, intervals.within(interval, bounds))


class BestSystem(NamedTuple):
    """The setting of a sweep's best run, the first of equals."""

    setting: Mapping[str, object]  # values of the hyperparameters that have an effect in it
    score: float
    ties: int  # runs with this score


def best_system(scores: np.ndarray, axes: Sequence[Axis]) -> BestSystem:
    """What was drawn for the best run, the first of equal ones. scores: [n]."""
    best = int(np.argmax(scores))
    setting = {axis.name: axis.values[best] for axis in axes if axis.active[best]}
    return BestSystem(setting, float(scores[best]), int(np.sum(scores == scores[best])))
