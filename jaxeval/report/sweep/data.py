"""A sweep as its figures need it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.report import summary
from jaxeval.runs.records import MemberRow
from jaxeval.sensitivity import hyperparameters, labels, recorded
from jaxeval.sensitivity.hyperparameters import Axis

_REACH = 5.0  # points around scores that are all equal


class Sweep(NamedTuple):
    """One architecture: its name, scores and hyperparameters.

    Attributes:
      scores: [n], one a run.
      metric: what the scores are, for labels.
      fraction: whether they are shown in percent.
      lost: runs that ended without a score, such as diverged ones; none of them is in `scores`.
    """

    name: str
    scores: np.ndarray
    axes: Sequence[Axis]
    metric: str = "score"
    fraction: bool = True
    higher_is_better: bool = True
    lost: int = 0

    @property
    def gain(self) -> np.ndarray:
        """[n] scores of which higher is better."""
        return self.scores if self.higher_is_better else -self.scores

    @property
    def shown(self) -> np.ndarray:
        """[n] scores as people read them."""
        return 100 * self.scores if self.fraction else self.scores

    @property
    def label(self) -> str:
        """Of an axis of scores."""
        return f"{self.metric} (%)" if self.fraction else self.metric

    def near_best(self, rope: float) -> np.ndarray:
        """[n] bool: the runs that are as good as the best, see `summary.near_best`."""
        return summary.near_best(self.scores, self.fraction, self.higher_is_better, rope)


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
        summary.is_fraction(first.metric),
        first.higher_is_better,
        len(rows) - len(scored),
    )


def of_experiments(groups: Sequence[Sequence[MemberRow]]) -> list[Sweep]:
    """The sweeps among experiments, under names that tell them apart."""
    found = [(rows[0].experiment, of_members(rows)) for rows in groups]
    sweeps = [(key, sweep) for key, sweep in found if sweep is not None]
    names = labels.told_apart(
        [sweep.name for _, sweep in sweeps], [[key[:8]] for key, _ in sweeps]
    )
    return [sweep._replace(name=name) for (_, sweep), name in zip(sweeps, names, strict=True)]


def score_limits(sweeps: Sequence[Sweep]) -> tuple[float, float]:
    """Ends of an axis that shows the scores of all sweeps, with room even where they are equal."""
    scores = np.concatenate([sweep.shown for sweep in sweeps])
    if not len(scores):
        return (0.0, 100.0) if sweeps[0].fraction else (0.0, 1.0)
    low, high = float(scores.min()), float(scores.max())
    if low == high:
        reach = _REACH if sweeps[0].fraction else 0.05 * abs(low) or 1.0
        low, high = low - reach, high + reach
        if sweeps[0].fraction:
            low, high = max(0.0, low), min(100.0, high)
    margin = 0.04 * (high - low)
    return low - margin, high + margin
