"""A sweep as its figures need it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.report import summary
from jaxeval.runs.records import MemberRow
from jaxeval.sensitivity import hyperparameters, recorded
from jaxeval.sensitivity.hyperparameters import Axis


class Sweep(NamedTuple):
    """One architecture: its name, scores and hyperparameters.

    Attributes:
      scores: [n], one a run.
      metric: what the scores are, for labels.
      fraction: whether they are shown in percent.
    """

    name: str
    scores: np.ndarray
    axes: Sequence[Axis]
    metric: str = "score"
    fraction: bool = True
    higher_is_better: bool = True

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
      rows: at least one, all of one experiment. Those without a score are left out.
    """
    first = rows[0]
    space = recorded.space_of(first.config, first.name)
    if space is None:
        return None
    scored = [row for row in rows if row.dev is not None]
    values = recorded.values(space, [row.hparams for row in scored])
    axes = hyperparameters.axes(values, recorded.declared(space), len(scored))
    return Sweep(
        first.name,
        np.array([row.dev for row in scored], float),
        axes,
        f"dev {first.metric}",
        summary.is_fraction(first.metric),
        first.higher_is_better,
    )
