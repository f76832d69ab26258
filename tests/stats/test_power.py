"""Power of designs, against simulation and published tables."""

import numpy as np
import pytest

from jaxeval import stats
from jaxeval.errors import DataError


def test_cohens_tables() -> None:
    """Dies if the noncentral t is wrong (n per group for power .8, Cohen 1988: 393, 64, 26)."""
    assert [stats.required_seeds(d, 1.0) for d in (0.2, 0.5, 0.8)] == [394, 64, 26]
    assert stats.power(0.5, 1.0, 64) == pytest.approx(0.8015, abs=1e-4)  # G*Power 3.1


@pytest.mark.parametrize("design", [(1.0, 1.0, 6, 6), (2.0, 1.0, 5, 12), (0.0, 1.0, 8, 8)])
def test_power_equals_simulation(design: tuple[float, float, int, int]) -> None:
    """Dies if unequal sds or n are wrong: 4,000 experiments, three standard errors and 1 %."""
    from scipy import stats as reference

    gap, other, n, m = design
    generator = np.random.default_rng(11)
    a = generator.normal(gap, 1.0, (4000, n))
    b = generator.normal(0.0, other, (4000, m))
    seen = np.mean(reference.ttest_ind(a, b, axis=1, equal_var=False).pvalue < 0.05)
    claimed = stats.power(gap, 1.0, n, sd_other=other, n_other=m)
    error = 3 * np.sqrt(claimed * (1 - claimed) / 4000)
    assert abs(seen - claimed) < error + 0.01


def test_required_detectable_and_power_agree() -> None:
    """Dies if the three questions give answers that contradict each other."""
    for sd in (0.3, 2.0):
        for comparisons in (1, 6):
            n = stats.required_seeds(0.5, sd, comparisons=comparisons)
            assert stats.power(0.5, sd, n, comparisons=comparisons) >= 0.8
            if n > 2:
                assert stats.power(0.5, sd, n - 1, comparisons=comparisons) < 0.8
            gap = stats.detectable_difference(sd, 9, comparisons=comparisons)
            assert stats.power(gap, sd, 9, comparisons=comparisons) == pytest.approx(0.8, abs=1e-6)


def test_limits() -> None:
    """Dies if sure cases are not sure, or impossible ones run for ever."""
    assert stats.power(0.0, 1.0, 5) == pytest.approx(0.05, abs=1e-9)
    assert stats.power(100.0, 1.0, 5) == 1.0
    assert stats.power(0.1, 0.0, 5) == 1.0
    assert stats.detectable_difference(0.0, 5) == 0.0
    assert stats.required_seeds(20.0, 1.0) == 2
    for bad in ({"difference": 0.0, "sd": 1.0}, {"difference": 1e-9, "sd": 1.0}):
        with pytest.raises(DataError, match="difference"):
            stats.required_seeds(**bad)
    with pytest.raises(DataError, match="at least 2"):
        stats.power(1.0, 1.0, 1)
    with pytest.raises(DataError, match="sd"):
        stats.power(1.0, -1.0, 5)
