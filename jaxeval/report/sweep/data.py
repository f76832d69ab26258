"""A sweep as its figures need it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.report import scores as units
from jaxeval.runs.records import MemberRow
from jaxeval.sensitivity import conventions, hyperparameters, labels, metrics, recorded
from jaxeval.sensitivity.hyperparameters import Axis

_REACH = 5.0  # points around scores that are all equal


class Sweep(NamedTuple):
    """One architecture: its name, scores and hyperparameters.

    Attributes:
      scores: [n], one a run.
      metric: what the scores are, for labels.
      unit: of the metric.
      lost: runs that ended without a score, such as diverged ones; none of them is in `scores`.
    """

    name: str
    scores: np.ndarray
    axes: Sequence[Axis]
    metric: str = "score"
    unit: str = "fraction"
    higher_is_better: bool = True
    lost: int = 0

    @property
    def gain(self) -> np.ndarray:
        """[n] scores of which higher is better."""
        return self.scores if self.higher_is_better else -self.scores

    @property
    def shown(self) -> np.ndarray:
        """[n] scores as people read them."""
        return units.factor(self.unit) * self.scores

    @property
    def label(self) -> str:
        """Of an axis of scores."""
        return units.label(self.metric, self.unit)

    def near_best(self, margin: float) -> np.ndarray:
        """[n] bool: the runs equivalent to the best, see the function `near_best`."""
        return near_best(self.scores, margin, self.higher_is_better)


def near_best(scores: np.ndarray, margin: float, higher_is_better: bool) -> np.ndarray:
    """Which scores are within a margin of the best of them, itself included.

    Scores are compared by the default convention of sensitivity: to six decimals.

    Args:
      scores: [n].

    Returns:
      [n] bool.
    """
    if not len(scores):
        return np.zeros(0, bool)
    best = scores.max() if higher_is_better else scores.min()
    return metrics.within(best, scores, margin, conventions.DEFAULT)


def of_members(rows: Sequence[MemberRow]) -> Sweep | None:
    """The dev scores of a recorded sweep; None of another experiment.

    Args:
      rows: at least one, all of one experiment. Those without a score are counted (`lost`).
    """
    first = rows[0]
    space = recorded.space_of(first.config, first.name)
    if space is None:
        return None
    scored = [row for row in rows if row.dev is not None]
    values = recorded.values(space, [row.hparams for row in scored])
    declared = recorded.declared(space).only(values)
    axes = hyperparameters.axes(values, declared, len(scored))
    return Sweep(
        first.name,
        np.array([row.dev for row in scored], float),
        axes,
        f"dev {first.metric}",
        first.unit,
        first.higher_is_better,
        len(rows) - len(scored),
    )


def of_experiments(groups: Sequence[Sequence[MemberRow]]) -> list[Sweep]:
    """The sweeps among experiments, under names that tell them apart."""
    drawn = [(rows[0].experiment, of_members(rows)) for rows in groups]
    sweeps = [(key, sweep) for key, sweep in drawn if sweep is not None]
    names = labels.told_apart(
        [sweep.name for _, sweep in sweeps], [[key[:8]] for key, _ in sweeps]
    )
    return [sweep._replace(name=name) for (_, sweep), name in zip(sweeps, names, strict=True)]


def score_limits(sweeps: Sequence[Sweep]) -> tuple[float, float]:
    """Ends of an axis that shows the scores of all sweeps, with room even where they are equal."""
    scores = np.concatenate([sweep.shown for sweep in sweeps])
    largest = units.factor(sweeps[0].unit)  # of fractions
    if not len(scores):
        return 0.0, largest
    low, high = float(scores.min()), float(scores.max())
    if low == high:
        reach = _REACH if largest > 1 else 0.05 * abs(low) or 1.0
        low, high = low - reach, high + reach
        if largest > 1:
            low, high = max(0.0, low), min(largest, high)
    margin = 0.04 * (high - low)
    return low - margin, high + margin
