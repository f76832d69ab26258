"""What a pilot says of the spread of a difference, and how sure that is.

Notation: I items, R runs and K samples of a model, C clusters.
"""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxeval.stats import mean_squares
from jaxeval.stats.items import pairs, planning, spreads, variances
from jaxeval.stats.items.spreads import Size, Spread
from jaxeval.stats.items.tables import Labels, Scores
from jaxeval.stats.items.variances import MeanSquares
from jaxeval.stats.mean_squares import Combination, MeanSquare, Term
from jaxeval.stats.results import fraction

METHOD = "modified large-sample"  # of the intervals of variances
_DRAWS = 100


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

    def expected_power(self, difference: float, size: Size, *, alpha: float = 0.05) -> float:
        """The power of a design, averaged over what the pilot leaves open ("assurance").

        A design whose power is .8 at the estimates has less on average: power falls faster where
        variances are larger than estimated than it rises where they are smaller. Of one run each
        it is what such designs reach; of several it is up to .08 less
        (docs/items_and_runs_measured.md).
        """
        return float(
            np.mean(
                [
                    1.0 if of is None else planning.power(difference, of, size, alpha=alpha)
                    for of in self.draws
                ]
            )
        )


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
    a, b = spreads.as_many_samples(a, b)
    parts = _parts(a, b, pairs.pair(a, b, clusters))
    spread, size = spreads.spread(a, b, clusters=clusters)
    ends = {name: mean_squares.limits(part, confidence) for name, part in parts.items()}
    low = {name: min(float(end[0]), getattr(spread, name)) for name, end in ends.items()}
    high = {name: max(float(end[1]), getattr(spread, name)) for name, end in ends.items()}
    return Pilot(
        spread,
        size,
        _spread(spread, low),
        dataclasses.replace(spread, **high),
        confidence,
        tuple(_spread(spread, of) for of in _drawn(parts)),
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


def _parts(a: Scores, b: Scores, pair: pairs.Pair) -> dict[str, Combination]:
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
    return variances.by_items(squares, 1, 1)


def _of_items_and_a_run(pair: pairs.Pair, of_models: list[MeanSquares]) -> MeanSquare:
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


def _needed(square: MeanSquare | None) -> MeanSquare:
    assert square is not None  # there are two runs
    return square
