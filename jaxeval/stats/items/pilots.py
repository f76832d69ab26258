"""What spreads the difference of two models' means, as a pilot shows it, and how sure that is.

Notation: I items, R runs and K samples of a model, C clusters.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import mean_squares
from jaxeval.stats.items import cells, differences, variances
from jaxeval.stats.items.cells import Labels, Scores
from jaxeval.stats.items.differences import Matched
from jaxeval.stats.items.variances import MeanSquares
from jaxeval.stats.mean_squares import Combination, MeanSquare, Term
from jaxeval.stats.results import fraction

_VARIANCES = ("items", "runs", "items_x_runs", "samples")
_ROUNDING = 1e-12  # of the largest score
_DRAWS = 100


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
        return {name: getattr(self, name) for name in _VARIANCES}


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
    pair = differences.pair(a, b, clusters)
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
    of_models = [cells.array(scores) for scores in (a, b)]
    if min(scores.shape[2] for scores in of_models) == 1:
        of_models = [cells.cell_means(scores) for scores in of_models]
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


class Pilot(NamedTuple):
    """The spread of a difference as a pilot shows it.

    Attributes:
      low, high: ends of the intervals of all variances; None: all of them are 0 there.
      draws: variances that the pilot leaves possible, drawn as `_drawn` says; None: all 0.
    """

    spread: Spread
    size: Size
    low: Spread | None
    high: Spread
    confidence: float
    draws: tuple[Spread | None, ...]


def pilot(
    a: Scores, b: Scores, *, clusters: Labels | None = None, confidence: float = 0.95
) -> Pilot:
    """The variances that a pilot shows, each with its modified large-sample interval.

    What cannot be told apart is in `items`. Items in clusters count with their design effect: new
    ones are taken to come in such clusters.

    Args:
      a, b, clusters: as of `estimates.difference`.

    Raises:
      DataError: as of `estimates.difference`; no spread at all.
    """
    confidence = fraction(confidence, "confidence")
    a, b = as_many_samples(a, b)
    parts = _parts(a, b, differences.pair(a, b, clusters))
    of_design, size = spread(a, b, clusters=clusters)
    ends = {name: mean_squares.limits(part, confidence) for name, part in parts.items()}
    low = {name: min(float(end[0]), getattr(of_design, name)) for name, end in ends.items()}
    high = {name: max(float(end[1]), getattr(of_design, name)) for name, end in ends.items()}
    return Pilot(
        of_design,
        size,
        _spread(of_design, low),
        dataclasses.replace(of_design, **high),
        confidence,
        tuple(_spread(of_design, of) for of in _drawn(parts)),
    )


def _spread(like: Spread, variances: Mapping[str, float]) -> Spread | None:
    """With these variances; None: all of them are 0."""
    return dataclasses.replace(like, **variances) if any(variances.values()) else None


def _drawn(parts: Mapping[str, Combination]) -> list[dict[str, float]]:
    """Variances that could have given this pilot.

    The expectation of a mean square is its value times its degrees of freedom over a chi-squared
    value, as under the prior 1 / variance (Box & Tiao 1973); differences are cut at 0. Values are
    quantiles in random order (Latin hypercube).
    """
    from scipy import special

    generator, expected = np.random.default_rng(0), dict[int, np.ndarray]()

    def value(term: Term) -> np.ndarray:
        square = term.square
        if id(square) not in expected:  # one of several parts is drawn once
            places = (generator.permutation(_DRAWS) + 0.5) / _DRAWS
            chi_squared = special.chdtri(square.df, places)
            expected[id(square)] = square.value * square.df / chi_squared
        return term.coefficient * expected[id(square)]

    drawn = {
        name: np.maximum(
            0.0, sum(map(value, part.plus)) - (value(part.minus) if part.minus else 0)
        )
        for name, part in parts.items()
    }
    return [
        dict(zip(drawn, map(float, row), strict=True)) for row in zip(*drawn.values(), strict=True)
    ]


def _parts(a: Scores, b: Scores, pair: Matched) -> dict[str, Combination]:
    """Each variance as a combination of mean squares."""
    of_models = [
        variances.mean_squares_of(scores, table, pair.groups)
        for scores, table in ((a, pair.a), (b, pair.b))
    ]
    if min(pair.a.cells.shape[1], pair.b.cells.shape[1]) == 1:
        of_one_run = Term(1.0, _of_items_and_a_run(pair, of_models))
        parts = {"items": Combination((of_one_run,), _samples(of_models, True))}
    else:
        parts = {"items": Combination((Term(1.0, _of_items(pair)),), _within(of_models))}
        items = len(pair.gaps)
        runs = _added([(1.0, of.run) for of in of_models if of.run])  # there are two of each
        rest = _added([(1.0, of.interaction) for of in of_models if of.interaction])
        parts["runs"] = Combination((Term(1 / items, runs),), Term(1 / items, rest))
        parts["items_x_runs"] = Combination((Term(1.0, rest),), _samples(of_models, True))
    samples = _samples(of_models, False)
    if samples is not None:
        parts["samples"] = Combination((samples,))
    return parts


def _of_items(pair: Matched) -> MeanSquare:
    """I times the variance of the mean difference over items; it expects the rest over R too.

    A sum over clusters, with the degrees of freedom that match its spread.
    """
    items = len(pair.gaps)
    sums = pair.groups.sums((pair.gaps - pair.gaps.mean())[:, np.newaxis])[:, 0] / items
    squares = items * sums**2 / (1 - pair.groups.sizes / items)
    return variances.by_items(squares, 1, 1)


def _of_items_and_a_run(pair: Matched, of_models: list[MeanSquares]) -> MeanSquare:
    """The same of one run of each, where a model may have several: with its items x runs whole."""
    beyond = [
        (1 - 1 / square.sizes[1], square.interaction)
        for square in of_models
        if square.interaction is not None
    ]
    return _added([(1.0, _of_items(pair)), *beyond])


def _within(of_models: list[MeanSquares]) -> Term | None:
    """What the means of items have of items x runs and samples."""
    within = [
        (1 / square.sizes[1], square.interaction)
        if square.interaction is not None
        else (1 / (square.sizes[1] * square.sizes[2]), square.sample)
        for square in of_models
    ]
    known = [(factor, square) for factor, square in within if square is not None]
    return Term(1.0, _added(known)) if known else None


def _samples(of_models: list[MeanSquares], of_cells: bool) -> Term | None:
    """Both models' variance of a sample or, of cells, of their means."""
    known = [
        (1 / square.sizes[2] if of_cells else 1.0, square.sample)
        for square in of_models
        if square.sample is not None
    ]
    return Term(1.0, _added(known)) if known else None


def _added(terms: list[tuple[float, MeanSquare]]) -> MeanSquare:
    """A sum of independent mean squares as one (Satterthwaite 1946)."""
    values = [factor * square.value for factor, square in terms]
    spread = sum(v**2 / square.df for v, (_, square) in zip(values, terms, strict=True))
    whole = np.sum(values, axis=0)
    most = sum(np.asarray(square.df) for _, square in terms)  # where all are 0
    return MeanSquare(
        whole, np.where(spread > 0, whole**2 / np.where(spread > 0, spread, 1), most)
    )
