"""What spreads the difference of two models' mean scores: variances, and the error of a design.

Notation: I items, R runs and K samples of a model.
"""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import pairs, tables, variances
from jaxeval.stats.items.tables import Labels, Scores

VARIANCES = ("items", "runs", "items_x_runs", "samples")
_ROUNDING = 1e-12  # of the largest score


@dataclasses.dataclass(frozen=True)
class Spread:
    """Variances of the difference of two models' scores of an item.

    Attributes:
      items: over items, of the true difference (Miller's omega^2).
      runs: of a run's mean, both models' summed; 0 also where it is unknown.
      items_x_runs, samples: both models' summed.
      cluster_size: items in a cluster, on average; their design effect is in `items`.
    """

    items: float
    runs: float = 0.0
    items_x_runs: float = 0.0
    samples: float = 0.0
    cluster_size: float = 1.0

    def __post_init__(self) -> None:
        values = tuple(self.variances.values())
        if min(values) < 0 or not all(map(math.isfinite, values)) or not sum(values):
            raise DataError(
                f"variances: expected numbers from 0, one of them above 0, found {values}"
            )

    @property
    def variances(self) -> dict[str, float]:
        """By name."""
        return {name: getattr(self, name) for name in VARIANCES}


class Size(NamedTuple):
    """Items, and runs and samples of each model."""

    items: int
    runs: int = 1
    samples: int = 1


def spread(a: Scores, b: Scores, *, clusters: Labels | None = None) -> tuple[Spread, Size]:
    """The variances that a pilot shows, and its size; arguments and errors as of `difference`.

    Items in clusters count with their design effect: new items are taken to come in such clusters.
    """
    a, b = as_many_samples(a, b)
    pair = pairs.pair(a, b, clusters)
    items, _ = pair.a.cells.shape
    runs = min(pair.a.cells.shape[1], pair.b.cells.shape[1])
    variance = items * float(pair.parts().items.variance)
    kinds = {"run": 0.0, "item x run": 0.0, "sample": 0.0}
    rest = 0.0
    for scores, table in ((a, pair.a), (b, pair.b)):
        of_model = variances.mean_squares_of(scores, table, pair.groups)
        parts = variances.combinations(of_model)
        for name in kinds.keys() & parts.keys():
            kinds[name] += max(0.0, float(parts[name].estimate))
        within = of_model.interaction or of_model.sample
        if within is not None:
            each = of_model.sizes[1] * (1.0 if of_model.interaction else of_model.sizes[2])
            rest += float(within.value) / each
    unshared = max(0.0, variance - rest)
    if runs == 1:  # of both: what one of them alone shows of its runs is in items
        unshared += kinds["item x run"]
        kinds |= {"run": 0.0, "item x run": 0.0}
    largest = max(float(np.abs(table.cells).max()) for table in (pair.a, pair.b))
    if math.sqrt(variance + sum(kinds.values())) <= _ROUNDING * largest:
        raise DataError(
            f"the pilot shows no spread: on all of its {items} items the models differ by the "
            "same; expected one whose items tell them apart, or known standard deviations"
        )
    estimated = Spread(
        unshared,
        kinds["run"],
        kinds["item x run"],
        kinds["sample"],
        items / len(pair.groups.sizes),
    )
    return estimated, Size(items, runs, min(pair.a.samples, pair.b.samples))


def as_many_samples(a: Scores, b: Scores) -> tuple[np.ndarray, np.ndarray]:
    """Both models' scores; of several samples their means where the other model has one.

    What samples bring is then in items x runs of both: a plan has as many samples of each.
    """
    of_models = [tables.array(scores) for scores in (a, b)]
    if min(scores.shape[2] for scores in of_models) == 1:
        of_models = [tables.cell_means(scores) for scores in of_models]
    return of_models[0], of_models[1]


def error(of: Spread, size: Size) -> tuple[float, float]:
    """Variance of the difference, and Satterthwaite's degrees of freedom of its estimate."""
    crossed, of_items = interaction(of, size), df_items(of, size)
    by_items = of.items / size.items + crossed
    if size.runs == 1:
        return by_items, of_items
    df, between = size.runs - 1.0, of.runs / size.runs + crossed
    variance = by_items + of.runs / size.runs
    squares = by_items**2 / of_items + between**2 / (2 * df)
    squares += crossed**2 / (2 * df * of_items)
    return variance, variance**2 / squares if squares else of_items


def interaction(of: Spread, size: Size) -> float:
    """What items x runs, and samples, bring to the variance of the difference."""
    items, runs, samples = size
    return (of.items_x_runs + of.samples / samples) / (items * runs)


def df_items(of: Spread, size: Size) -> float:
    """Clusters less one; a pilot's may be cut into fewer items than two whole clusters."""
    return max(1.0, size.items / of.cluster_size - 1)
