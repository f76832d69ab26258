"""Power of the verdict's tests of location on normal scores.

Small samples by simulation with the very p-values of the tests, from fixed draws, so that the
answer to one question is always the same and rises with the difference. From 50 scores per model
by the asymptotic efficiency of the rank tests against t.
"""

import functools
import math

import numpy as np

from jaxeval.stats import ranks

SIMULATED = 50  # scores below which the tests themselves are simulated
_CELLS, _FEWEST, _MOST = 200_000, 1_000, 4_000  # simulated scores, experiments


def brunner_munzel(
    difference: float, sds: tuple[float, float], counts: tuple[int, int], level: float
) -> float:
    """Share of simulated experiments that reject at the level.

    The models are put into one order first: which is called A changes nothing.
    """
    (few, narrow), (many, wide) = sorted(zip(counts, sds, strict=True))
    scores = standard(few + many) * np.repeat([narrow, wide], [few, many])
    scores[:, :few] += difference
    labels = np.argsort(scores, axis=1) < few
    places = np.arange(few + many)
    ties = ranks.Ties(places, places + 1)
    p_values, _ = ranks.p_values(ranks.studentized_untied(labels), few, many, ties, 0)
    return float(np.mean(p_values <= level))


def signed_rank(difference: float, sd: float, pairs: int, level: float) -> float:
    """The same of Wilcoxon's test on pairs; sd of their differences."""
    sums = ranks.signed(standard(pairs) * sd + difference)
    p_values = ranks.exact_signed_p(np.minimum(*sums), 2 * np.arange(1, pairs + 1))
    return float(np.mean(p_values <= level))


def efficiency(sds: tuple[float, float], counts: tuple[int, int]) -> float:
    """Of Brunner-Munzel's test against Welch's for large normal samples; 3 / pi for equal sds.

    P(A > B) = Phi(difference / sqrt(s1^2 + s2^2)), and the placements of A have the variance
    arcsin(s1^2 / (s1^2 + s2^2)) / (2 pi).
    """
    shares = np.array(sds) ** 2 / (sds[0] ** 2 + sds[1] ** 2)
    return float(np.sum(shares / counts) / np.sum(np.arcsin(shares) / counts))


SIGNED_EFFICIENCY = 3 / math.pi  # Hodges & Lehmann 1956


def standard(size: int) -> np.ndarray:
    """Normal draws, as many rows of a size as there are cells: the same ones row by row."""
    rows = min(_MOST, max(_FEWEST, _CELLS // size))
    return _stream(max(_CELLS, rows * size))[: rows * size].reshape(rows, size)


@functools.lru_cache(maxsize=4)
def _stream(count: int) -> np.ndarray:
    drawn = np.random.default_rng(0).standard_normal(count)
    drawn.flags.writeable = False
    return drawn
