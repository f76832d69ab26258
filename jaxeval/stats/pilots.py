"""Variance components of the difference of two models' means, estimated from a pilot.

The model is score = mean + item + run + item x run + sample; all but the mean are random and
independent. Notation: I items, R runs and K samples of a model, C clusters.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs.scores import DataSetScores
from jaxeval.stats import estimates, variances
from jaxeval.stats.crossed import Combination, Variance
from jaxeval.stats.estimates import ScoreTable

_ROUNDING = 1e-12  # of the largest score
_MOST_DF = 1e6


@dataclasses.dataclass(frozen=True)
class Spread:
    """Variances of the difference of two models' scores of an item."""

    items: float  # of the true difference (Miller's omega^2), with the design effect of clusters
    runs: float = 0.0  # of run means, summed over both models; 0 also if unknown
    items_x_runs: float = 0.0  # summed over both models, as is `samples`
    samples: float = 0.0
    cluster_size: float = 1.0  # mean number of items in a cluster

    def __post_init__(self) -> None:
        values = tuple(self.variances.values())
        if min(values) < 0 or not all(map(math.isfinite, values)) or not sum(values):
            raise DataError(
                f"variances: expected numbers from 0, one of them above 0, found {values}"
            )

    @property
    def variances(self) -> dict[str, float]:
        """The variances by name."""
        return {name: getattr(self, name) for name in ("items", "runs", "items_x_runs", "samples")}


class Size(NamedTuple):
    """Numbers of items, and of runs and samples of each model."""

    items: int
    runs: int = 1
    samples: int = 1


class Pilot(NamedTuple):
    """Variances estimated from a pilot, with the ends of their intervals."""

    spread: Spread
    size: Size
    low: Spread | None  # None: all lower ends are 0
    high: Spread
    confidence: float


class _Squares(NamedTuple):
    """Mean squares of a model's cells. With variances v, their expectations are

    sample v_sample; interaction v_ir + v_sample / K; run v_ir + v_sample / K + I v_run.
    """

    run: Variance | None
    interaction: Variance | None
    sample: Variance | None
    runs: int
    samples: float


def pilot(data: DataSetScores, a: str, b: str, *, confidence: float = 0.95) -> Pilot:
    """Estimates the variances of A - B, each with its modified large-sample interval.

    Variances that cannot be told apart are in `items`. Samples are averaged if the other model has
    one.

    Args:
      data: has items with a score of both models.

    Raises:
      DataError: differences without any spread.
    """
    arrays = {name: data.models[name].scores for name in (a, b)}
    if min(scores.shape[2] for scores in arrays.values()) == 1:
        arrays = {m: estimates.cell_means(of)[..., np.newaxis] for m, of in arrays.items()}
    a_table, b_table = both = [*estimates.tables(arrays, data.clusters).values()]
    squares = [*map(_squares, both)]
    gaps = a_table.item_means - b_table.item_means
    spread = _estimated(both, squares, gaps)
    runs, samples = min(a_table.runs, b_table.runs), min(a_table.samples, b_table.samples)
    size = Size(len(gaps), runs, samples)
    low = {}
    high = {}
    for name, part in _parts(both, squares, gaps).items():
        least, most = part.limits(confidence)
        found = getattr(spread, name)
        low[name], high[name] = min(float(least), found), max(float(most), found)
    lowest = dataclasses.replace(spread, **low) if any(low.values()) else None
    return Pilot(spread, size, lowest, dataclasses.replace(spread, **high), confidence)


def _squares(table: ScoreTable) -> _Squares:
    items, runs = table.cells.shape
    centred = table.cells - table.cells.mean((-2, -1), keepdims=True)
    of_run = centred.mean(-2, keepdims=True)
    rest = centred - centred.mean(-1, keepdims=True) - of_run
    run = interaction = sample = None
    if runs > 1:
        run = Variance(items * np.sum(of_run[..., 0, :] ** 2, -1) / (runs - 1), runs - 1)
        squares = table.inflation * (np.sum(rest**2, axis=-1) / (runs - 1))
        interaction = _by_items(squares, items - 1, runs - 1)
    counts = np.sum(~np.isnan(table.values), -1)
    samples = 1.0
    counts = counts[counts > 0]
    if df := int(np.sum(counts - 1)):
        apart = table.values - estimates.cell_means(table.values)[..., np.newaxis]
        sample = _by_items(np.nansum(apart**2, axis=(1, 2)), df)
        samples = 1 / float(np.mean(1 / counts))  # harmonic mean
    return _Squares(run, interaction, sample, runs, samples)


def _by_items(squares: np.ndarray, divisor: int, centred: int | None = None) -> Variance:
    """Sum of squares [I] over items or clusters, with the df that match its spread.

    A mean square of normal scores with m degrees of freedom has variance 2 mean^2 / m; m follows
    from the variance seen. If squares are about a mean over items, `centred` is the degrees of
    freedom d of one item, and the variance is (v + 2 mean^2 / (d (n - 1))) / n.
    """
    count = squares.shape[-1]
    mean = squares.mean(-1)
    seen = squares.var(-1, ddof=1) / count  # of the mean over items
    if centred is not None:
        seen = seen + 2 * mean**2 / (centred * count * (count - 1))
    matched = 2 * mean**2 / np.where(seen > 0, seen, 1.0)
    df = np.clip(np.where(seen > 0, matched, _MOST_DF), 1.0, _MOST_DF)
    return Variance(squares.sum(-1) / divisor, df)


def _estimated(
    tables: Sequence[ScoreTable], squares: Sequence[_Squares], gaps: np.ndarray
) -> Spread:
    items = len(gaps)
    groups = tables[0].groups
    variance = items * float(variances.items_part(gaps, groups).value)
    runs = crossing = samples = rest = 0.0
    for of in squares:
        if of.run is not None and of.interaction is not None:
            beyond = Combination(((1 / items, of.run),), (1 / items, of.interaction))
            runs += max(0.0, float(beyond.estimate))
            below = None if of.sample is None else (1 / of.samples, of.sample)
            whole = Combination(((1.0, of.interaction),), below)
            crossing += max(0.0, float(whole.estimate))
            rest += float(of.interaction.value) / of.runs
        elif of.sample is not None:
            rest += float(of.sample.value) / (of.runs * of.samples)
        samples += 0.0 if of.sample is None else max(0.0, float(of.sample.value))
    unshared = max(0.0, variance - rest)
    if min(of.runs for of in squares) == 1:  # what one alone shows of its runs is in items
        unshared = unshared + crossing
        runs = 0.0
        crossing = 0.0
    largest = max(table.largest for table in tables)
    if math.sqrt(variance + runs + crossing + samples) <= _ROUNDING * largest:
        raise DataError(
            "the pilot shows no spread: the models differ by the same amount on all of its "
            f"{items} items; expected another pilot, or known standard deviations"
        )
    return Spread(unshared, runs, crossing, samples, items / len(groups.sizes))


def _parts(
    tables: Sequence[ScoreTable], squares: Sequence[_Squares], gaps: np.ndarray
) -> dict[str, Combination]:
    """The variances of `Spread` as combinations of mean squares, for their intervals."""
    items = len(gaps)
    groups = tables[0].groups
    # I times the variance of the mean difference over items; it expects the rest over R too
    sums = groups.sums((gaps - gaps.mean())[:, np.newaxis])[:, 0] / items
    of_items = _by_items(items * sums**2 / (1 - groups.sizes / items), 1, 1)
    of_cells, of_samples, within, beyond = [], [], [], []
    for of in squares:
        if of.sample is not None:
            of_samples.append((1.0, of.sample))
            of_cells.append((1 / of.samples, of.sample))
        if of.interaction is not None:
            within.append((1 / of.runs, of.interaction))
            beyond.append((1 - 1 / of.runs, of.interaction))
        elif of.sample is not None:
            within.append((1 / (of.runs * of.samples), of.sample))
    cell = _term(of_cells)
    if min(of.runs for of in squares) == 1:  # where one has several, with its items x runs whole
        one_run = (1.0, _added([(1.0, of_items), *beyond]))
        parts = {"items": Combination((one_run,), cell)}
    else:
        run = _added([(1.0, of.run) for of in squares if of.run])  # there are two of each
        rest = _added([(1.0, of.interaction) for of in squares if of.interaction])
        parts = {
            "items": Combination(((1.0, of_items),), _term(within)),
            "runs": Combination(((1 / items, run),), (1 / items, rest)),
            "items_x_runs": Combination(((1.0, rest),), cell),
        }
    if sample := _term(of_samples):
        parts["samples"] = Combination((sample,))
    return parts


def _term(terms: list[tuple[float, Variance]]) -> tuple[float, Variance] | None:
    return (1.0, _added(terms)) if terms else None


def _added(terms: list[tuple[float, Variance]]) -> Variance:
    """The sum of independent mean squares as one."""
    return variances.add([Variance(factor * square.value, square.df) for factor, square in terms])
