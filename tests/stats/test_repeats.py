"""Runs repeated with the same seed, against simulation and chi-squared intervals."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxeval.stats.nested import noise


def test_components_of_a_small_table() -> None:
    """Dies if a mean square has wrong degrees of freedom; by hand: MSW 1, MSB 18."""
    components = noise([[0.0, math.sqrt(2)], [3.0, 3 + math.sqrt(2)]])
    assert (components.seeds, components.repeats) == (2, 2)
    assert components.sd_repeat == pytest.approx(1.0)
    assert components.sd_seed == pytest.approx(math.sqrt((9 - 1) / 2))
    assert components.sd == pytest.approx(math.sqrt(1 + 4))
    low, high = components.sd_repeat_interval[:2]
    assert low == pytest.approx(math.sqrt(2 / stats.chi2.ppf(0.975, 2)))
    assert high == pytest.approx(math.sqrt(2 / stats.chi2.ppf(0.025, 2)))


def test_without_noise_of_repeats_the_interval_is_that_of_seeds() -> None:
    """Dies if equal repeats widen the interval: then it is the chi-squared one of the means."""
    means = [1.1, 2.3, 4.7, 4.9]  # their own means, of three each, are rounded
    components = noise([[m, m, m] for m in means])
    assert components.sd_repeat_interval.absent == "repeats of a seed do not vary"
    equal = noise([[0.5, 0.5]] * 3)
    assert equal.sd_seed_interval.absent == "the scores do not vary"
    assert components.sd_repeat == 0 and components.sd_seed == pytest.approx(np.std(means, ddof=1))
    squares = 3 * np.var(means, ddof=1)
    for end, tail in zip(components.sd_seed_interval[:2], (0.975, 0.025), strict=True):
        assert end == pytest.approx(math.sqrt(squares / stats.chi2.ppf(tail, 3)))


def test_intervals_hold_what_they_promise() -> None:
    """Dies if an interval leaves out the truth more often than it says (95 %, 600 tables)."""
    draw, hits = np.random.default_rng(0), np.zeros(2)
    for _ in range(600):
        table = 0.5 * draw.normal(size=(8, 1)) + 0.3 * draw.normal(size=(8, 4))
        components = noise(table.tolist())
        hits[0] += components.sd_repeat_interval[0] <= 0.3 <= components.sd_repeat_interval[1]
        hits[1] += components.sd_seed_interval[0] <= 0.5 <= components.sd_seed_interval[1]
    assert 0.92 < hits[0] / 600 < 0.98
    assert hits[1] / 600 > 0.93
