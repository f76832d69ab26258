"""What a pilot says of the spread of a difference, and how sure that is.

Notation: I items, R runs and K samples of a model, C clusters.
"""

from typing import NamedTuple

import numpy as np

from jaxeval.stats import mean_squares
from jaxeval.stats.items import pairs, planning, variances
from jaxeval.stats.items.planning import Size, Spread
from jaxeval.stats.items.tables import Labels, Scores
from jaxeval.stats.items.variances import MeanSquares
from jaxeval.stats.mean_squares import Combination, MeanSquare, Term
from jaxeval.stats.results import fraction


class Pilot(NamedTuple):
    """The spread of a difference as a pilot shows it.

    Attributes:
      low, high: ends of the intervals of all variances; None: all of them are 0 there.
    """

    spread: Spread
    size: Size
    low: Spread | None
    high: Spread
    confidence: float


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
    fraction(confidence, "confidence")
    a, b = planning.as_many_samples(a, b)
    parts = _parts(a, b, pairs.pair(a, b, clusters))
    spread, size = planning.spread(a, b, clusters=clusters)
    ends = {name: mean_squares.limits(part, confidence) for name, part in parts.items()}
    low = {name: min(float(end[0]), getattr(spread, name)) for name, end in ends.items()}
    high = {name: max(float(end[1]), getattr(spread, name)) for name, end in ends.items()}
    return Pilot(
        spread, size, Spread(**low) if any(low.values()) else None, Spread(**high), confidence
    )


def _parts(a: Scores, b: Scores, pair: pairs.Pair) -> dict[str, Combination]:
    """Each variance as a combination of mean squares."""
    of_models = [
        variances.mean_squares_of(scores, table, pair.groups)
        for scores, table in ((a, pair.a), (b, pair.b))
    ]
    parts = {"items": Combination((Term(1.0, _of_items(pair)),), _within(of_models))}
    if min(pair.a.cells.shape[1], pair.b.cells.shape[1]) > 1:
        items = len(pair.gaps)
        runs = _added([(1.0, _needed(square.run)) for square in of_models])
        rest = _added([(1.0, _needed(square.interaction)) for square in of_models])
        parts["runs"] = Combination((Term(1 / items, runs),), Term(1 / items, rest))
        parts["items_x_runs"] = Combination((Term(1.0, rest),), _samples(of_models, True))
    samples = _samples(of_models, False)
    if samples is not None:
        parts["samples"] = Combination((samples,))
    return parts


def _of_items(pair: pairs.Pair) -> MeanSquare:
    """I times the variance of the mean difference over items; it expects the rest over R too.

    A sum over clusters, with the degrees of freedom that match its spread.
    """
    items = len(pair.gaps)
    sums = pair.groups.sums((pair.gaps - pair.gaps.mean())[:, np.newaxis])[:, 0] / items
    squares = items * sums**2 / (1 - pair.groups.sizes / items)
    return variances.by_items(squares, 1)


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


def _needed(square: MeanSquare | None) -> MeanSquare:
    assert square is not None  # there are two runs
    return square
