"""The power of `differences.difference` over items and runs, of normal scores.

The mean squares that the test's error and degrees of freedom are made of are independent and
chi-squared; the power is the mean, over these, of the probability that a normal difference lies
beyond the test's own limits, taken over a rank-1 lattice (Korobov) of P points.
"""

import functools

import numpy as np

from jaxeval.stats.items import parts as parts_of
from jaxeval.stats.items.parts import Part, Parts, RunPart

_POINTS, _GENERATOR = 1_024, 363  # of Korobov's lattice, the best of 19 tried
_WILSON_HILFERTY = 50.0  # df from which their approximation errs by less than 1e-4
_LARGEST_INVERSE_DF = 2.0
_TABLE = 8_001  # inverse degrees of freedom of which critical values are kept


def over_both(
    difference: float,
    items: float,
    between: float,
    interaction: float,
    df_items: float,
    runs: int,
    alpha: float,
) -> float:
    """Probability that the two-sided test over items and runs shows a true difference.

    Args:
      items: variance of the mean difference over items, of these runs, with `df_items`.
      between: of the two models' means over runs, summed; interaction: of items x runs of either.
    """
    from scipy import special

    def drawn(dimension: int, variance: float, df: float) -> Part:
        return Part(variance * _mean_squares(dimension, df), np.asarray(df))

    df, rest = runs - 1.0, (runs - 1.0) * df_items
    of_models = tuple(
        RunPart(drawn(k, between / 2, df), drawn(k + 2, interaction / 2, rest)) for k in (1, 2)
    )
    part = parts_of.total(Parts(drawn(0, items, df_items), of_models), ("items", "runs"))
    true = items + between - interaction
    limit = _critical(part.df, alpha) * np.sqrt(part.variance / true)
    shift = difference / np.sqrt(true)
    return float(np.mean(special.ndtr(shift - limit) + special.ndtr(-shift - limit)))


@functools.lru_cache(maxsize=1)
def _lattice() -> tuple[np.ndarray, np.ndarray]:
    """[5, P] probabilities, and their normal quantiles."""
    from scipy import special

    steps = np.array([[pow(_GENERATOR, k, _POINTS)] for k in range(5)])
    whole = (steps * np.arange(_POINTS) % _POINTS + 0.5) / _POINTS
    places = 1 - np.abs(2 * whole - 1)  # the baker's transformation: as if periodic
    places = np.clip(places, 1e-9, 1 - 1e-9)
    return places, special.ndtri(places)


def _mean_squares(dimension: int, df: float) -> np.ndarray:
    """[P] chi-squared over its degrees of freedom; of many by Wilson & Hilferty (1931)."""
    if df <= _WILSON_HILFERTY:
        return _few(dimension, df)
    spread = 2 / (9 * df)
    return np.asarray((1 - spread + _lattice()[1][dimension] * np.sqrt(spread)) ** 3)


@functools.lru_cache(maxsize=1024)
def _few(dimension: int, df: float) -> np.ndarray:
    from scipy import special

    return np.asarray(special.chdtri(df, 1 - _lattice()[0][dimension]) / df)


def _critical(df: np.ndarray, alpha: float) -> np.ndarray:
    """[P] of the t distribution, two-sided."""
    return np.interp(1 / df, *_limits(alpha))


@functools.lru_cache(maxsize=8)
def _limits(alpha: float) -> tuple[np.ndarray, np.ndarray]:
    from scipy import special

    inverse = np.linspace(0, _LARGEST_INVERSE_DF, _TABLE)
    of_t = special.stdtrit(1 / inverse[1:], alpha / 2)
    return inverse, -np.concatenate([[special.ndtri(alpha / 2)], of_t])
