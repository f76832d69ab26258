"""Every seed on every split: score = mean + split + seed + interaction + error.

Two-way crossed random effects from the mean squares of a balanced table (Searle, Casella &
McCulloch 1992, chapter 4). Notation: S splits, R seeds, n runs a cell; with n = 1 `interaction` is
the sum of the last two. Intervals hold for normal scores. Values are [...]: of one table, or of
many of one shape.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.results import Interval, floats, fraction, no_interval


class MeanSquare(NamedTuple):
    """A sum of squares over its degrees of freedom."""

    value: np.ndarray  # [...]
    df: float | np.ndarray  # [...] or one of all


class Term(NamedTuple):
    """A mean square times a number of at least 0."""

    coefficient: float
    square: MeanSquare

    @property
    def value(self) -> np.ndarray:
        """[...]"""
        return self.coefficient * self.square.value


class Combination(NamedTuple):
    """A variance: a sum of terms, or one term less another."""

    plus: tuple[Term, ...]
    minus: Term | None = None

    @property
    def estimate(self) -> np.ndarray:
        """[...] unbiased; a difference is below 0 by chance."""
        whole = np.sum([term.value for term in self.plus], axis=0)
        return whole if self.minus is None else whole - self.minus.value


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
    """A part of the variance of one run's score."""

    sd: float
    sd_interval: Interval
    share: float | None  # of the sum of all parts; None without any variance
    negative: bool  # the estimate of the variance was below 0, and is reported as 0


@dataclasses.dataclass(frozen=True)
class Crossed:
    """Where the variance of scores comes from, and how well their mean is known."""

    splits: int
    seeds: int
    repeats: int
    mean: float
    mean_se: float  # over other splits and other seeds, of `mean_df` degrees of freedom
    mean_df: float
    mean_interval: Interval
    components: Mapping[str, Component]  # split, seed, interaction and, for n > 1, error
    total: Component  # of one run, on any split with any seed: the components summed


def components(scores: Sequence | np.ndarray, confidence: float = 0.95) -> Crossed:
    """Variance components, total and mean of a crossed design, with intervals for normal scores.

    The components are the method of moments, which is REML where none is negative; the mean has
    Satterthwaite's (1946) degrees of freedom. Equal scores have no intervals.

    Args:
      scores: [S, R] or [S, R, n]: seed r on split s in row s and column r; S, R >= 2.
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
    of_mean = Interval(mean - half, mean + half, confidence, "t, Satterthwaite")
    still = None
    if not np.ptp(table):  # how much others vary is not known
        of_mean = still = no_interval(confidence, "the scores do not vary")

    def component(size: float, part: Combination) -> Component:
        low, high = (float(np.sqrt(end)) for end in limits(part, confidence))
        interval = still or Interval(low, high, confidence, "modified large-sample")
        share = max(0.0, size) / whole if whole else None
        return Component(float(np.sqrt(max(0.0, size))), interval, share, size < 0)

    return Crossed(
        *(*squares.shape, mean, se, float(df), of_mean),
        {name: component(sizes[name], part) for name, part in parts.items()},
        component(whole, total(squares)),
    )


def _checked(scores: Sequence | np.ndarray) -> np.ndarray:
    """[S, R, n] float64."""
    expected = "expected [splits, seeds] or [splits, seeds, runs], 2 or more of both"
    table = floats(scores, f"crossed design: {expected}, all cells with as many runs")
    table = table[..., np.newaxis] if table.ndim == 2 else table
    if table.ndim != 3 or min(table.shape[:2]) < 2 or not table.size:
        raise DataError(f"crossed design: {expected}, found shape {list(np.shape(scores))}")
    if not np.isfinite(table).all():
        split, seed, _ = np.argwhere(~np.isfinite(table))[0]
        raise DataError(f"crossed design: a score of row {split}, column {seed} is not finite")
    return table


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

    error = None
    if repeats > 1:  # of the runs of a cell
        apart, df = scores - scores[..., :1], splits * seeds * (repeats - 1)
        squares = np.sum((apart - apart.mean(-1, keepdims=True)) ** 2, axis=(-3, -2, -1))
        error = MeanSquare(squares / df, df)
    return MeanSquares(
        square(of_split, seeds * repeats, df_split),
        square(of_seed, splits * repeats, df_seed),
        square(rest, repeats, df_split * df_seed),
        error,
        (splits, seeds, repeats),
    )


def combinations(squares: MeanSquares) -> dict[str, Combination]:
    """Each component as a combination of mean squares, by their expectations."""
    splits, seeds, n = squares.shape

    def beyond(square: MeanSquare, other: MeanSquare | None, runs: int) -> Combination:
        minus = None if other is None else Term(1 / runs, other)
        return Combination((Term(1 / runs, square),), minus)

    parts = {
        "split": beyond(squares.split, squares.interaction, n * seeds),
        "seed": beyond(squares.seed, squares.interaction, n * splits),
        "interaction": beyond(squares.interaction, squares.error, n),
    }
    if squares.error is not None:
        parts["error"] = beyond(squares.error, None, 1)
    return parts


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

    split + seed - interaction (mean squares) over all runs, by Satterthwaite. Where the variance
    of an effect is estimated as negative, its mean square and that of the interaction cancel.
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


def limits(of: Combination, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """[...] ends of the modified large-sample interval of a variance, cut at 0.

    Graybill & Wang (1980) for sums; Ting, Burdick, Graybill, Jeyaratnam & Lu (1990) for
    differences, an F test where a limit is 0. Both in Burdick & Graybill (1992).
    """
    from scipy import special

    tail, estimate = (1 - confidence) / 2, of.estimate
    terms = of.plus if of.minus is None else (of.plus[0], of.minus)
    ends = []  # how far the limits of each mean square lie below and above it, in its own size
    for term in terms:
        df = term.square.df
        low, high = special.chdtri(df, tail), special.chdtri(df, 1 - tail)
        ends.append((1 - df / low, df / high - 1))
    if of.minus is None:
        below, above = (
            np.sum(np.square([end[side] * t.value for end, t in zip(ends, terms, strict=True)]), 0)
            for side in (0, 1)
        )
    else:
        (g1, h1), (g2, h2) = ends
        upper, lower = (
            special.fdtri(*(term.square.df for term in terms), p) for p in (1 - tail, tail)
        )
        g12 = ((upper - 1) ** 2 - (g1 * upper) ** 2 - h2**2) / upper
        h12 = ((1 - lower) ** 2 - (h1 * lower) ** 2 - g2**2) / lower
        first, second = (term.value for term in terms)
        below = (g1 * first) ** 2 + (h2 * second) ** 2 + g12 * first * second
        above = (h1 * first) ** 2 + (g2 * second) ** 2 + h12 * first * second
    below, above = (np.sqrt(np.maximum(0.0, squared)) for squared in (below, above))
    return np.maximum(0.0, estimate - below), np.maximum(0.0, estimate + above)
