"""Several tasks: every pair of models on each, means over tasks, ranks and ties."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from jaxeval.stats.items.estimates import Estimate, Factor
from jaxeval.stats.items.tables import Labels, Scores


@dataclasses.dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
      metric: its name; means are taken only over tasks of one metric.
      scores: model -> [I, R] or [I, R, K], row i the same item of all models.
      clusters: [I] labels.
    """

    name: str
    metric: str
    scores: Mapping[str, Scores]
    clusters: Labels | None = None
    higher_is_better: bool = True


@dataclasses.dataclass(frozen=True)
class TaskPair:
    """Two models on a task; `p_adjusted` is Holm's over all pairs and tasks."""

    task: str
    a: str
    b: str
    difference: Estimate
    p_adjusted: float


@dataclasses.dataclass(frozen=True)
class OverallPair:
    """Two models over all tasks.

    Attributes:
      mean_over_tasks: mean of the tasks' differences: on these very tasks.
      tasks_as_sample: the same mean, with the spread between tasks: on other such tasks; None for
        a single task.
      p_adjusted: Holm's over all pairs, of `mean_over_tasks`; None where that has no p.
    """

    a: str
    b: str
    mean_over_tasks: Estimate
    tasks_as_sample: Estimate | None
    p_adjusted: float


@dataclasses.dataclass(frozen=True)
class Place:
    """A model's rank by its mean over tasks, 1 the best, with its interval by joint bootstrap."""

    model: str
    mean: float
    rank: int
    low: int
    high: int


@dataclasses.dataclass(frozen=True)
class Suite:
    """Everything that is said of models on several tasks.

    Attributes:
      overall, places, tie_groups: empty where tasks have several metrics, which `notes` says.
      tie_groups: the largest groups of neighbouring places of which no two models differ
        (`OverallPair.p_adjusted` at alpha), best first.
    """

    pairs: tuple[TaskPair, ...]
    overall: tuple[OverallPair, ...]
    places: tuple[Place, ...]
    tie_groups: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def compare(
    tasks: Sequence[Task],
    *,
    over: Collection[Factor] | None = None,
    shared_runs: bool = True,
    alpha: float = 0.05,
    resamples: int = 2_000,
    seed: int = 0,
) -> Suite:
    """Compares all pairs of models on every task and over all tasks.

    Args:
      shared_runs: whether run r of a model is the same trained network on every task.

    Raises:
      DataError: as of `estimates.difference`; two tasks of one name; means are asked of models
        that lack a task.
    """
    raise NotImplementedError
