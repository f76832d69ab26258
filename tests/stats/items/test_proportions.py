"""Intervals of proportions against scipy's and the published ones."""

import pytest
from scipy import stats

from jaxeval.stats.items import proportions


@pytest.mark.parametrize("right", [0, 1, 13, 30])
def test_wilson_and_clopper_pearson_are_scipys(right: int) -> None:
    """Dies if a limit, also at none or all right, is not that of scipy's binomtest."""
    for method, scipys in (("wilson", "wilson"), ("clopper_pearson", "exact")):
        expected = stats.binomtest(right, 30).proportion_ci(method=scipys)
        interval = proportions.proportion(right, 30, method=method)
        assert interval[:2] == pytest.approx(tuple(expected), abs=1e-9)


def test_beta_intervals_are_quantiles_of_the_posterior() -> None:
    """Dies if a prior changes (Brown, Cai & DasGupta 2001; Bowyer et al. 2025)."""
    for method, prior in (("jeffreys", 0.5), ("beta", 1.0)):
        expected = stats.beta.ppf([0.05, 0.95], 7 + prior, 13 + prior)
        interval = proportions.proportion(7, 20, method=method, confidence=0.9)
        assert interval[:2] == pytest.approx(tuple(expected))


@pytest.mark.parametrize(
    ("first", "second", "published"),
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.0582, 0.8062)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
        ((0, 10), (0, 20), (-0.1611, 0.2775)),
        ((0, 10), (0, 10), (-0.2775, 0.2775)),
        ((10, 10), (0, 20), (0.6791, 1.0)),
        ((10, 10), (0, 10), (0.6075, 1.0)),
    ],
)
def test_differences_as_published(
    first: tuple[int, int], second: tuple[int, int], published: tuple[float, float]
) -> None:
    """Dies if it is not method 10 of Newcombe (1998, part 2, table II), or does not mirror."""
    interval = proportions.difference(first, second)
    assert interval[:2] == pytest.approx(published, abs=5e-5)
    assert proportions.difference(second, first)[:2] == pytest.approx((-interval[1], -interval[0]))
