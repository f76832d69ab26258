"""Every seed on every split: the variance that the split, the seed and both together bring.

    score = mean + split + seed + interaction + error

Two-way crossed random effects, estimated from the mean squares of a balanced table (Searle,
Casella & McCulloch 1992, chapter 4). Notation: S splits, R seeds, n runs a cell, which is one seed
on one split. With n = 1 interaction and error cannot be told apart: `interaction` is their sum.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import mean_squares
from jaxeval.stats.mean_squares import Combination, MeanSquare, Term
from jaxeval.stats.results import Interval, floats, fraction, no_interval

_FEWEST = 2  # splits, and seeds


class MeanSquares(NamedTuple):
    """Of tables of one shape. Their expectations, with the variances v of the effects:

    error        v_error
    interaction  v_error + n v_interaction
    seed         v_error + n v_interaction + n S v_seed
    split        v_error + n v_interaction + n R v_split
    """

    split: MeanSquare
    seed: MeanSquare
    interaction: MeanSquare
    error: MeanSquare | None  # None for n = 1
    shape: tuple[int, int, int]  # S, R, n


@dataclasses.dataclass(frozen=True)
class Component:
    """A part of the variance of one run's score.

    Attributes:
      share: of the sum of all parts; None without any variance.
      negative: the estimate of the variance was below 0, and is reported as 0.
    """

    sd: float
    sd_interval: Interval
    share: float | None
    negative: bool


@dataclasses.dataclass(frozen=True)
class Crossed:
    """Where the variance of scores comes from, and how well their mean is known.

    Attributes:
      mean_se: standard error over other splits and other seeds, of `mean_df` degrees of freedom.
      components: split, seed, interaction and, for n > 1, error.
      total: of one run, on any split with any seed: the components summed.
    """

    splits: int
    seeds: int
    repeats: int
    mean: float
    mean_se: float
    mean_df: float
    mean_interval: Interval
    components: Mapping[str, Component]
    total: Component


def components(scores: Sequence | np.ndarray, confidence: float = 0.95) -> Crossed:
    """Variance components, total and mean of a crossed design, with intervals for normal scores.

    The components are the method of moments, which is REML where none is negative; the mean has
    Satterthwaite's (1946) degrees of freedom. docs/noise.md has the coverage of all intervals,
    which equal scores do not have.

    Args:
      scores: [S, R] or [S, R, n]: seed r on split s in row s and column r; S, R >= 2.

    Raises:
      DataError: fewer splits or seeds, another shape, or a score that is not finite.
    """
    confidence = fraction(confidence, "confidence")
    table = _checked(scores)
    squares = of_table(table)
    parts = combinations(squares)
    sizes = {name: float(part.estimate) for name, part in parts.items()}
    whole = sum(max(0.0, size) for size in sizes.values())
    split, seed, interaction = (square.value for square in squares[:3])
    variance, df = mean_variance(split, seed, interaction, squares.shape)
    mean, se = float(table[0, 0, 0] + (table - table[0, 0, 0]).mean()), float(np.sqrt(variance))
    half = se * float(t_quantile(df, confidence))
    crossed = Crossed(
        *squares.shape,
        mean,
        se,
        float(df),
        Interval(mean - half, mean + half, confidence, "t, Satterthwaite"),
        {name: component(sizes[name], part, whole, confidence) for name, part in parts.items()},
        component(whole, total(squares), whole, confidence),
    )
    return crossed if np.ptp(table) else _without_intervals(crossed)


def _without_intervals(of: Crossed) -> Crossed:
    """Of equal scores: how much others vary is not known."""
    absent = no_interval(of.mean_interval.confidence, "the scores do not vary")
    return dataclasses.replace(
        of,
        mean_interval=absent,
        components={
            name: dataclasses.replace(part, sd_interval=absent)
            for name, part in of.components.items()
        },
        total=dataclasses.replace(of.total, sd_interval=absent),
    )


def _checked(scores: Sequence | np.ndarray) -> np.ndarray:
    """[S, R, n] float64."""
    expected = f"expected [splits, seeds] or [splits, seeds, runs], {_FEWEST} or more of both"
    table = floats(scores, f"crossed design: {expected}, all cells with as many runs")
    table = table[..., np.newaxis] if table.ndim == 2 else table
    if table.ndim != 3 or min(table.shape[:2]) < _FEWEST or not table.size:
        raise DataError(f"crossed design: {expected}, found shape {list(np.shape(scores))}")
    if not np.isfinite(table).all():
        split, seed, _ = np.argwhere(~np.isfinite(table))[0]
        raise DataError(f"crossed design: a score of row {split}, column {seed} is not finite")
    return table


def component(size: float, part: Combination, whole: float, confidence: float) -> Component:
    """A part of a variance that is `whole`, as estimated and with its interval."""
    low, high = (float(np.sqrt(end)) for end in mean_squares.limits(part, confidence))
    return Component(
        float(np.sqrt(max(0.0, size))),
        Interval(low, high, confidence, mean_squares.METHOD),
        max(0.0, size) / whole if whole else None,
        size < 0,
    )


def of_table(scores: np.ndarray) -> MeanSquares:
    """The mean squares of tables [..., S, R, n]; exactly 0 where all scores are equal."""
    splits, seeds, repeats = scores.shape[-3:]
    cell = (scores - scores[..., :1, :1, :1]).mean(-1)  # [..., S, R]
    grand = cell.mean((-2, -1), keepdims=True)
    of_split, of_seed = (cell.mean(axis, keepdims=True) - grand for axis in (-1, -2))
    rest = cell - grand - of_split - of_seed
    df_split, df_seed = splits - 1, seeds - 1

    def square(effects: np.ndarray, runs: int, df: int) -> MeanSquare:
        return MeanSquare(runs * np.sum(effects**2, axis=(-2, -1)) / df, df)

    return MeanSquares(
        square(of_split, seeds * repeats, df_split),
        square(of_seed, splits * repeats, df_seed),
        square(rest, repeats, df_split * df_seed),
        _within(scores) if repeats > 1 else None,
        (splits, seeds, repeats),
    )


def _within(scores: np.ndarray) -> MeanSquare:
    """Of the runs of a cell."""
    splits, seeds, repeats = scores.shape[-3:]
    apart = scores - scores[..., :1]
    df = splits * seeds * (repeats - 1)
    squares = np.sum((apart - apart.mean(-1, keepdims=True)) ** 2, axis=(-3, -2, -1))
    return MeanSquare(squares / df, df)


def combinations(squares: MeanSquares) -> dict[str, Combination]:
    """Each component as a combination of mean squares, by their expectations."""
    splits, seeds, n = squares.shape

    def beyond(square: MeanSquare, other: MeanSquare, runs: int) -> Combination:
        return Combination((Term(1 / runs, square),), Term(1 / runs, other))

    parts = {
        "split": beyond(squares.split, squares.interaction, n * seeds),
        "seed": beyond(squares.seed, squares.interaction, n * splits),
    }
    if squares.error is None:
        return {**parts, "interaction": Combination((Term(1.0, squares.interaction),))}
    return {
        **parts,
        "interaction": beyond(squares.interaction, squares.error, n),
        "error": Combination((Term(1.0, squares.error),)),
    }


def total(squares: MeanSquares) -> Combination:
    """The components summed, in which no mean square is subtracted."""
    splits, seeds, n = squares.shape
    terms = (
        Term(1 / (n * seeds), squares.split),
        Term(1 / (n * splits), squares.seed),
        Term((1 - 1 / splits - 1 / seeds) / n, squares.interaction),
    )
    of_error = () if squares.error is None else (Term(1 - 1 / n, squares.error),)
    return Combination((*terms, *of_error))


def mean_variance(
    split: np.ndarray,
    seed: np.ndarray,
    interaction: np.ndarray,
    shape: tuple[int | np.ndarray, int | np.ndarray, int | np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """[...] variance of the mean over other splits and seeds, and its degrees of freedom.

    split + seed - interaction over all runs, by Satterthwaite. Where the variance of an effect is
    estimated as negative, it is 0: its mean square and that of the interaction cancel.

    Args:
      split, seed, interaction: mean squares.
      shape: S, R, n.
    """
    splits, seeds, repeats = shape
    split, seed = (np.where(square >= interaction, square, 0.0) for square in (split, seed))
    rest = interaction * (1.0 - (split > 0) - (seed > 0))
    df_rest = (splits - 1) * (seeds - 1)
    whole = split + seed + rest
    scale = np.where(whole > 0, whole, 1.0)
    terms = ((split, splits - 1), (seed, seeds - 1), (rest, df_rest))
    inverse = sum((value / scale) ** 2 / df for value, df in terms)
    df = 1 / np.where(whole > 0, inverse, 1 / df_rest)
    return whole / (splits * seeds * repeats), df


def t_quantile(df: np.ndarray, confidence: float) -> np.ndarray:
    """[...] how many standard errors an interval reaches to either side."""
    from scipy import special

    return -special.stdtrit(df, (1 - confidence) / 2)
