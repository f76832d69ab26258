"""Every seed on every split: score = mean + split + seed + interaction + error.

Two-way crossed random effects from the mean squares of a balanced table (Searle, Casella &
McCulloch 1992, chapter 4). Notation: S splits, R seeds, n runs a cell; with n = 1 the interaction
includes the error. With S = 1, seeds with repeated runs, there is no split and no interaction.
Intervals hold for normal scores. Values are [...]: of one table or of many of one shape.
"""

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy

from jaxeval.errors import DataError, counted
from jaxeval.stats import Interval, floats, t_quantile


class Variance(NamedTuple):
    """An estimate of a variance [...], such as a mean square, and its degrees of freedom."""

    value: np.ndarray
    df: Any  # [...], or a number for all


_Term = tuple[Any, Variance]  # a coefficient, at least 0, and a mean square


class Combination(NamedTuple):
    """A variance: a sum of multiples of mean squares, or one multiple less another."""

    plus: tuple[_Term, ...]
    minus: _Term | None = None

    @property
    def estimate(self) -> np.ndarray:
        """Unbiased estimate [...]; a difference may be below 0 by chance."""
        whole = np.sum([factor * square.value for factor, square in self.plus], axis=0)
        return whole if self.minus is None else whole - self.minus[0] * self.minus[1].value

    def limits(self, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        """Ends [...] of the modified large-sample interval, cut at 0.

        Graybill & Wang (1980) for sums; Ting, Burdick, Graybill, Jeyaratnam & Lu (1990) for
        differences, an F test where a limit is 0. Both in Burdick & Graybill (1992).
        """
        tail = (1 - confidence) / 2
        estimate = self.estimate
        terms = self.plus if self.minus is None else (self.plus[0], self.minus)
        values = [factor * square.value for factor, square in terms]
        dfs = [s.df for _, s in terms]
        # how far the limits of each mean square lie below and above it, relative to its size
        g = [1 - df / scipy.special.chdtri(df, tail) for df in dfs]
        h = [df / scipy.special.chdtri(df, 1 - tail) - 1 for df in dfs]
        if self.minus is None:
            below, above = (
                np.sum(np.square([e * v for e, v in zip(ends, values, strict=True)]), 0)
                for ends in (g, h)
            )
        else:
            upper, lower = (scipy.special.fdtri(*dfs, p) for p in (1 - tail, tail))
            g12 = ((upper - 1) ** 2 - (g[0] * upper) ** 2 - h[1] ** 2) / upper
            h12 = ((1 - lower) ** 2 - (h[0] * lower) ** 2 - g[1] ** 2) / lower
            first, second = values
            below = (g[0] * first) ** 2 + (h[1] * second) ** 2 + g12 * first * second
            above = (h[0] * first) ** 2 + (g[1] * second) ** 2 + h12 * first * second
        below, above = (np.sqrt(np.maximum(0.0, squared)) for squared in (below, above))
        return np.maximum(0.0, estimate - below), np.maximum(0.0, estimate + above)


class _MeanSquares(NamedTuple):
    """Mean squares of tables of one shape. Their expectations, with the variances v:

    error        v_error
    interaction  v_error + n v_interaction
    seed         v_error + n v_interaction + n S v_seed
    split        v_error + n v_interaction + n R v_split
    """

    split: Variance
    seed: Variance
    interaction: Variance
    error: Variance | None  # None for n = 1
    shape: tuple[Any, Any, int]  # S, R, n: numbers, or arrays of many designs

    @classmethod
    def from_tables(cls, scores: np.ndarray) -> "_MeanSquares":
        """Mean squares of tables [..., S, R, n]; exactly 0 if all scores are equal."""
        splits, seeds, repeats = scores.shape[-3:]
        cell = (scores - scores[..., :1, :1, :1]).mean(-1)  # [..., S, R]
        grand = cell.mean((-2, -1), keepdims=True)
        of_split, of_seed = (cell.mean(axis, keepdims=True) - grand for axis in (-1, -2))
        rest = cell - grand - of_split - of_seed

        def square(effects: np.ndarray, runs: int, df: int) -> Variance:
            df = max(1, df)  # one split: 0 / 1
            return Variance(runs * np.sum(effects**2, axis=(-2, -1)) / df, df)

        error = None
        if repeats > 1:  # of the runs of a cell
            apart = scores - scores[..., :1]
            df = splits * seeds * (repeats - 1)
            squares = np.sum((apart - apart.mean(-1, keepdims=True)) ** 2, axis=(-3, -2, -1))
            error = Variance(squares / df, df)
        return cls(
            square(of_split, seeds * repeats, splits - 1),
            square(of_seed, splits * repeats, seeds - 1),
            square(rest, repeats, (splits - 1) * (seeds - 1)),
            error,
            (splits, seeds, repeats),
        )

    @property
    def components(self) -> dict[str, Combination]:
        """Each variance component, then the variance of "any run", by their expectations."""
        splits, seeds, n = self.shape
        parts = {}
        sizes = {"split": n * seeds, "seed": n * splits, "interaction": n}
        for name, runs in sizes.items() if splits > 1 else [("seed", n)]:
            below = self.error if name == "interaction" or splits == 1 else self.interaction
            minus = None if below is None else (1 / runs, below)
            parts[name] = Combination(((1 / runs, getattr(self, name)),), minus)
        any_run: tuple[_Term, ...] = (
            (1 / (n * seeds), self.split),
            (1 / (n * splits), self.seed),
            ((1 - 1 / splits - 1 / seeds) / n, self.interaction),
        )
        if self.error is not None:
            parts["error"] = Combination(((1.0, self.error),))
            any_run += ((1 - 1 / n, self.error),)
        return {**parts, "any run": Combination(any_run)}

    @property
    def of_mean(self) -> tuple[np.ndarray, np.ndarray]:
        """Variance [...] of the mean over other splits and seeds, and its degrees of freedom.

        split + seed - interaction over all runs, by Satterthwaite (1946). If the variance of an
        effect is estimated as negative, its mean square and that of the interaction cancel.
        """
        splits, seeds, repeats = self.shape
        interaction, df_rest = self.interaction
        split, seed = (
            np.where(square.value >= interaction, square.value, 0.0)
            for square in (self.split, self.seed)
        )
        rest = interaction * (1.0 - (split > 0) - (seed > 0))
        whole = split + seed + rest
        scale = np.where(whole > 0, whole, 1.0)
        terms = ((split, self.split.df), (seed, self.seed.df), (rest, df_rest))
        inverse = sum((value / scale) ** 2 / df for value, df in terms)
        df = 1 / np.where(whole > 0, inverse, 1 / df_rest)
        return whole / (splits * seeds * repeats), df


@dataclasses.dataclass(frozen=True)
class _Component:
    """A part of the variance of one run's score."""

    sd: float
    sd_interval: Interval
    share: float | None  # of the sum of all parts; None without any variance
    negative: bool  # the variance was estimated as below 0, and is reported as 0


@dataclasses.dataclass(frozen=True)
class Crossed:
    """Components of the variance of scores, and the error of their mean."""

    splits: int  # 1: there are no parts split and interaction
    seeds: int
    repeats: int
    mean: float
    mean_se: float  # over other splits and other seeds, with `mean_df` degrees of freedom
    mean_df: float
    mean_interval: Interval
    components: Mapping[str, _Component]  # split, seed, interaction and, for n > 1, error
    total: _Component  # of one run, on any split with any seed: the components summed


def components(scores: Sequence | np.ndarray, confidence: float = 0.95) -> Crossed:
    """Variance components, total and mean of a crossed design, with intervals for normal scores.

    The components are the method of moments, which is REML if none is negative. Equal scores have
    no intervals, nor has an error of 0.

    Args:
      scores: [S, R] or [S, R, n]: seed r on split s in row s and column r; R >= 2, S or n >= 2.
    """
    expected = "expected [splits, seeds] or [splits, seeds, runs], 2 or more of both"
    table = floats(scores, f"crossed design: {expected}, all cells with as many runs")
    table = table[..., np.newaxis] if table.ndim == 2 else table
    few = table.ndim != 3 or table.shape[1] < 2 or max(table.shape[::2]) < 2
    if few or not np.isfinite(table).all():
        shape = list(np.shape(scores))
        raise DataError(f"crossed design: {expected}, finite numbers; found shape {shape}")
    squares = _MeanSquares.from_tables(table)
    parts = squares.components
    sizes = {name: float(part.estimate) for name, part in parts.items() if name != "any run"}
    sizes["any run"] = whole = sum(max(0.0, size) for size in sizes.values())
    variance, df = squares.of_mean
    mean = float(table[0, 0, 0] + (table - table[0, 0, 0]).mean())
    se = float(np.sqrt(variance))
    of_mean = Interval.t(mean, se, df, confidence, "t, Satterthwaite")
    varies = np.ptp(table) > 0
    none = Interval.none(confidence, "the scores do not vary")  # how much others vary is not known
    found = {}
    for name, part in parts.items():
        low, high = (float(np.sqrt(end)) for end in part.limits(confidence))
        size = sizes[name]
        known = varies and (size or name != "error")  # runs repeated on a CPU are equal
        interval = Interval(low, high, confidence, "modified large-sample") if known else none
        share = max(0.0, size) / whole if whole else None
        found[name] = _Component(float(np.sqrt(max(0.0, size))), interval, share, size < 0)
    total = found.pop("any run")
    of_mean = of_mean if varies else none
    return Crossed(*squares.shape, mean, se, float(df), of_mean, found, total)


def balanced(
    splits: Sequence[Hashable], seeds: Sequence[Hashable], scores: Sequence[float | None]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Arranges runs in any order as a table [S, R, n]; a score of None is missing.

    S and R are at least 2, or S is 1 and R and n are.

    While a cell has fewer scores than the fullest, drops the split or seed with the largest share
    of such cells; of equals a seed, which is cheaper to replace.

    Returns:
      The table, and a line for each split and seed that was left out.
    """
    names = list(dict.fromkeys(splits)), list(dict.fromkeys(seeds))
    cells: dict[tuple[Hashable, Hashable], list[float]] = {}
    for split, seed, score in zip(splits, seeds, scores, strict=True):
        cells.setdefault((split, seed), []).extend([] if score is None else [score])
    count = max(map(len, cells.values()), default=0)
    lacking = np.array(
        [[len(cells.get((s, r), ())) < max(1, count) for r in names[1]] for s in names[0]]
    ).reshape(*map(len, names))
    dropped = []
    keep = [list(range(len(of))) for of in names]
    while (lost := lacking[np.ix_(*keep)]).any():
        shares = lost.mean(1), lost.mean(0)
        axis = int(shares[1].max() >= shares[0].max())
        worst = int(shares[axis].argmax())
        cells_of = lost.shape[1 - axis]
        left_out = f"{('split', 'seed')[axis]} {names[axis][keep[axis].pop(worst)]} is left out"
        of = f"{round(shares[axis][worst] * cells_of)} of its {cells_of} cells"
        dropped.append(f"{left_out}: no score of {of if cells_of > 1 else 'a run'}")
    least = 1 if len(names[0]) == 1 and count > 1 else 2
    if len(keep[0]) < least or len(keep[1]) < 2:
        failed = sum(score is None for score in scores)
        raise DataError(
            "noise: expected every seed on every split, 2 or more of both, or 2 or more runs of "
            f"each seed; found {counted(len(scores), 'run')} ({failed} without a score) of "
            f"{counted(len(names[0]), 'split')} and {counted(len(names[1]), 'seed')}"
        )
    table = [[cells[names[0][s], names[1][r]] for r in keep[1]] for s in keep[0]]
    return np.array(table, np.float64), tuple(dropped)


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """Runs to train for a precision of the mean, each with its own split and seed.

    As many runs of a crossed or nested design are never more precise.
    """

    precision: float  # half-width of the mean's interval, at most
    runs: int | None  # None: more than `MOST`
    cautious_runs: int | None  # at the upper end of the interval of a run's sd
    MOST: ClassVar[int] = 10_000


def plan(crossed: Crossed, precision: float) -> TrainingPlan:
    """Plans what to train next for a precision of the mean, from scores that vary."""
    runs = np.arange(2, TrainingPlan.MOST + 1)
    reached = t_quantile(runs - 1, crossed.mean_interval.confidence) / np.sqrt(runs)
    found = []
    for sd in (crossed.total.sd, crossed.total.sd_interval.high):
        enough = runs[sd * reached <= precision]
        found.append(int(enough[0]) if len(enough) else None)
    return TrainingPlan(precision, *found)
