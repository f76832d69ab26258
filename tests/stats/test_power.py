"""Power of designs, against simulation and published tables."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from jaxeval.stats import hypotheses, power, ranks


def test_cohens_tables() -> None:
    """Dies if the noncentral t is wrong (n per group for power .8, Cohen 1988: 393, 64, 26)."""
    assert [power.TestDesign(1.0).required_seeds(d) for d in (0.2, 0.5, 0.8)] == [394, 64, 26]
    assert power.TestDesign(1.0).power(0.5, 64) == pytest.approx(0.8015, abs=1e-4)  # G*Power 3.1


def test_required_detectable_and_power_agree() -> None:
    """Dies if the three questions give answers that contradict each other."""
    for sd in (0.3, 2.0):
        for comparisons in (1, 6):
            design = power.TestDesign(sd, comparisons=comparisons)
            n = design.required_seeds(0.5)
            assert design.power(0.5, n) >= 0.8
            assert n == 2 or design.power(0.5, n - 1) < 0.8
            gap = design.detectable_difference(9)
            assert design.power(gap, 9) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize(
    ("counts", "sds"),
    [((5, 5), (1, 1)), ((10, 10), (1, 3)), ((7, 30), (2, 1)), ((60, 80), (3, 1))],
)
def test_the_promise_of_brunner_munzel_holds(
    counts: tuple[int, int], sds: tuple[float, float]
) -> None:
    """Dies if the power is that of another test: t at n = 5 gives this one .67 for its .8."""
    n, m = counts
    design = power.TestDesign(*sds, comparisons=2, test="brunner_munzel")
    gap = design.detectable_difference(n, m)
    draw = np.random.default_rng(12)
    a, b = draw.normal(gap, sds[0], (4000, n)), draw.normal(0, sds[1], (4000, m))
    labels = np.argsort(np.concatenate([a, b], axis=1), axis=1) < n
    p_values, _ = ranks.p_values(ranks.studentized(labels), n, m)
    assert np.mean(p_values <= 0.025) == pytest.approx(0.8, abs=0.03)
    assert p_values[0] == hypotheses.brunner_munzel(a[0], b[0]).p_value


@pytest.mark.parametrize("n", [7, 10, 60])
def test_the_promise_of_the_signed_ranks_holds(n: int) -> None:
    """Dies if the power on pairs is that of t: seven pairs have few ranks to go by."""
    design = power.TestDesign(1.0, paired=True, test="wilcoxon_signed_rank")
    gap = design.detectable_difference(n)
    drawn = np.random.default_rng(13).normal(gap, 1, (800, n))
    simulated = np.mean([hypotheses.wilcoxon_signed_rank(d, 0 * d).p_value <= 0.05 for d in drawn])
    assert simulated == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("design", [(1.0, 1.0, 6, 6), (2.0, 1.0, 5, 12), (0.0, 1.0, 8, 8)])
def test_power_equals_simulation(design: tuple[float, float, int, int]) -> None:
    """Dies if unequal sds or n are wrong: 4,000 experiments, three standard errors and 1 %."""
    gap, other, n, m = design
    generator = np.random.default_rng(11)
    a = generator.normal(gap, 1.0, (4000, n))
    b = generator.normal(0.0, other, (4000, m))
    simulated = np.mean(scipy_stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue < 0.05)
    claimed = power.TestDesign(1.0, other).power(gap, n, m)
    error = 3 * np.sqrt(claimed * (1 - claimed) / 4000)
    assert abs(simulated - claimed) < error + 0.01
