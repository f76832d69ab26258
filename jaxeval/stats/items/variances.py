"""Where the variance of one answer's score comes from: clusters, items, runs, samples.

    score = mean + cluster + item + run + item x run + sample

all but the mean random and independent. Estimated from mean squares, as `crossed` does for splits
and seeds; means of cells [I, R] stand for the samples in them, K of each. With one sample the last
two are one part, with one run the item contains them. What clusters x runs bring counts as items
x runs. Notation: I items, R runs, C clusters.
"""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxeval.stats import crossed, mean_squares
from jaxeval.stats.crossed import Component
from jaxeval.stats.items import cells
from jaxeval.stats.items.cells import Groups, Labels, Scores, Table
from jaxeval.stats.mean_squares import Combination, MeanSquare, Term
from jaxeval.stats.results import fraction

_MOST_DF = 1e6


@dataclasses.dataclass(frozen=True)
class Components:
    """Parts of the variance of one answer.

    Attributes:
      parts: of "cluster", "item", "run", "item x run", "sample" those that can be told apart.
      total: of any answer of any run to any item: the parts summed.
    """

    parts: Mapping[str, Component]
    total: Component


class MeanSquares(NamedTuple):
    """Of the means of cells, [...] each; None where there is none.

    With the variances v of the parts, K samples and n the size of a cluster they expect

    sample       v_sample
    item x run   v_ir + v_sample / K
    run          v_ir + v_sample / K + I v_run
    item         v_ir + v_sample / K + R v_item
    cluster      v_ir + v_sample / K + R v_item + R n v_cluster
    """

    item: MeanSquare
    cluster: MeanSquare | None
    run: MeanSquare | None
    interaction: MeanSquare | None
    sample: MeanSquare | None
    sizes: tuple[float, float, float, float]  # I, R, K, n


def components(
    scores: Scores, *, clusters: Labels | None = None, confidence: float = 0.95
) -> Components:
    """The variance components, by the method of moments, with intervals.

    Intervals are the modified large-sample ones of `mean_squares`; the degrees of freedom of mean
    squares over many items are those that match their spread between items (right and wrong
    answers are not normal), of runs R - 1. Where all that a part is estimated from is 0, as where
    every answer is right, its interval has no upper end: infinity.

    Args:
      scores, clusters: as of `estimates.mean`.

    Raises:
      DataError: as of `estimates.mean`; fewer than two items.
    """
    confidence = fraction(confidence, "confidence")
    table = cells.table(scores)
    groups = cells.groups(clusters, table, len(scores))
    squares = mean_squares_of(scores, table, groups)
    parts, whole = combinations(squares), total(squares)
    sizes = {name: float(part.estimate) for name, part in parts.items()}
    of_all = sum(max(0.0, size) for size in sizes.values())
    return Components(
        {name: _component(sizes[name], part, of_all, confidence) for name, part in parts.items()},
        _component(of_all, whole, of_all, confidence),
    )


def _component(size: float, part: Combination, whole: float, confidence: float) -> Component:
    component = crossed.component(size, part, whole, confidence)
    _, high = limits(part, confidence)
    interval = component.sd_interval._replace(high=float(np.sqrt(high)))
    return dataclasses.replace(component, sd_interval=interval)


def limits(of: Combination, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """[...] ends of the interval of a variance; no upper one where there is no spread at all."""
    low, high = mean_squares.limits(of, confidence)
    seen = sum(term.value for term in (*of.plus, *([of.minus] if of.minus else [])))
    return low, np.where(np.asarray(seen) > 0, high, np.inf)


def mean_squares_of(scores: Scores, table: Table, groups: Groups) -> MeanSquares:
    """The mean squares of a model's scores, of which `table` is the checked form."""
    squares = of_table(table.cells, groups, table.inflation)
    return _with_samples(squares, cells.array(scores)[table.kept])


def of_table(cells: np.ndarray, groups: Groups, inflation: float = 1.0) -> MeanSquares:
    """The mean squares of tables [..., I, R], one sample each."""
    items, runs = cells.shape[-2:]
    centred = cells - cells.mean((-2, -1), keepdims=True)
    of_item, of_run = centred.mean(-1, keepdims=True), centred.mean(-2, keepdims=True)
    rest = centred - of_item - of_run
    run = interaction = None
    if runs > 1:
        run = MeanSquare(items * np.sum(of_run[..., 0, :] ** 2, -1) / (runs - 1), runs - 1)
        squares = np.sum(rest**2, axis=-1) / (runs - 1)
        interaction = by_items(inflation * squares, items - 1, runs - 1)
    count = len(groups.sizes)
    size = (items - float(np.sum(groups.sizes**2)) / items) / (count - 1)
    sums = groups.sums(of_item)  # [..., C, 1]
    sizes = groups.sizes[:, np.newaxis]
    between = runs * (sums**2 / sizes)[..., 0]
    cluster = None
    if count < items:
        cluster = by_items(between, count - 1, 1)
        between = runs * groups.sums(of_item**2)[..., 0] - between
        item = by_items(between, items - count)
    else:
        item = by_items(between, items - 1, 1)
    return MeanSquares(item, cluster, run, interaction, None, (items, runs, 1.0, size))


def combinations(squares: MeanSquares) -> dict[str, Combination]:
    """Each part as a combination of mean squares, by their expectations."""
    items, runs, samples, size = squares.sizes
    sample = squares.sample
    below = squares.interaction or sample
    scale = 1.0 if squares.interaction is not None else 1 / samples
    parts = {}
    if squares.cluster is not None:
        parts["cluster"] = _beyond(squares.cluster, squares.item, 1 / (runs * size))
    parts["item"] = _beyond(squares.item, below, 1 / runs, scale)
    if squares.run is not None:
        parts["run"] = _beyond(squares.run, squares.interaction, 1 / items)
        parts["item x run"] = _beyond(squares.interaction, sample, 1.0, 1 / samples)
    if sample is not None:
        parts["sample"] = _beyond(sample, None, 1.0)
    return parts


def total(squares: MeanSquares) -> Combination:
    """The parts summed, in which no mean square is subtracted."""
    items, runs, samples, size = squares.sizes
    terms = []
    if squares.cluster is not None:
        terms.append(Term(1 / (runs * size), squares.cluster))
    within = 1.0 if squares.cluster is None else 1 - 1 / size
    terms.append(Term(within / runs, squares.item))
    if squares.run is not None and squares.interaction is not None:
        terms.append(Term(1 / items, squares.run))
        terms.append(Term(max(0.0, 1 - 1 / runs - 1 / items), squares.interaction))
    if squares.sample is not None:
        terms.append(Term(1 - 1 / samples, squares.sample))
    return Combination(tuple(terms))


def _beyond(
    square: MeanSquare | None, other: MeanSquare | None, factor: float, of_other: float = 1.0
) -> Combination:
    assert square is not None
    minus = None if other is None else Term(factor * of_other, other)
    return Combination((Term(factor, square),), minus)


def _with_samples(squares: MeanSquares, values: np.ndarray) -> MeanSquares:
    """With the mean square within cells, where any has two or more samples."""
    counts = np.sum(~np.isnan(values), -1)
    df = int(np.sum(counts[counts > 0] - 1))
    if not df:
        return squares
    apart = np.nansum((values - cells.cell_means(values)[..., np.newaxis]) ** 2, axis=(1, 2))
    items, runs, _, size = squares.sizes
    samples = 1 / float(np.mean(1 / counts[counts > 0]))  # harmonic mean
    sample = by_items(apart, df)
    return squares._replace(sample=sample, sizes=(items, runs, samples, size))


def by_items(squares: np.ndarray, divisor: int, centred: int | None = None) -> MeanSquare:
    """A sum over items (clusters) of squares [..., I], with the df that match its spread.

    Of normal scores a mean square with m degrees of freedom has variance 2 mean^2 / m; equating it
    to the one seen gives its degrees of freedom. About a mean over the items the variance is
    (v + 2 mean^2 / (d (n - 1))) / n, v that of one item's square; at d = 1 that is the usual
    variance of s^2. Without the second part two items, whose squares are equal, would show their
    spread exactly.

    Args:
      centred: d, the degrees of freedom of one item's square, where squares are about a mean over
        items; None: they are not.
    """
    value = squares.sum(-1) / divisor
    count = squares.shape[-1]
    seen = squares.var(-1, ddof=1) / count  # of the mean over items
    mean = squares.mean(-1)
    if centred is not None:
        seen = seen + 2 * mean**2 / (centred * count * (count - 1))
    matched = 2 * mean**2 / np.where(seen > 0, seen, 1.0)
    return MeanSquare(value, np.clip(np.where(seen > 0, matched, _MOST_DF), 1.0, _MOST_DF))
