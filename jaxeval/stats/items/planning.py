"""How many items, samples or runs show a difference, and which of them is cheapest."""

import dataclasses

from jaxeval.stats.items.tables import Labels, Scores


@dataclasses.dataclass(frozen=True)
class Spread:
    """Variances of the difference of two models' scores on an item.

    Attributes:
      items: of the true difference of an item, over items (Miller's omega^2).
      runs: of a run's mean, both models' summed.
      items_x_runs: both models' summed.
      samples: of one answer to an item, both models' summed.
    """

    items: float
    runs: float = 0.0
    items_x_runs: float = 0.0
    samples: float = 0.0


@dataclasses.dataclass(frozen=True)
class Costs:
    """What a thing costs, in any unit.

    Attributes:
      answer: one answer to one item by one run of a model.
      item: a new item (writing, annotation).
      run: a new run of a model (training).
    """

    answer: float = 1.0
    item: float = 0.0
    run: float = 0.0


@dataclasses.dataclass(frozen=True)
class Design:
    """What to buy: `items` x `runs` x `samples` of each model; `power` of the difference."""

    items: int
    runs: int
    samples: int
    cost: float
    power: float


def spread(a: Scores, b: Scores, *, clusters: Labels | None = None) -> Spread:
    """The variances, from a pilot."""
    raise NotImplementedError


def required_items(
    difference: float,
    of: Spread,
    *,
    runs: int = 1,
    samples: int = 1,
    power: float = 0.8,
    alpha: float = 0.05,
) -> int:
    """Fewest items; Miller (2024, equation 9) with one fixed run."""
    raise NotImplementedError
