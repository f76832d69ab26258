"""Relative error reduction: its limits, its intervals, tie groups."""

import itertools

import numpy as np
import pytest

from jaxeval.errors import DataError
from jaxeval.stats import relative_error, tie_groups


def test_limits_of_the_reduction() -> None:
    """Dies if numerator or denominator is another: (s - b) / (1 - b)."""
    assert relative_error.reduction(0.7, 0.7) == 0
    assert relative_error.reduction(1.0, 0.7) == 1
    reductions = relative_error.reduction(np.array([0.85, 0.0]), np.array([0.7, 0.9]))
    np.testing.assert_allclose(reductions, np.array([0.5, -9.0]))
    with pytest.raises(DataError, match=r"the baseline makes no error \(score 1\)"):
        relative_error.reduction(0.5, 1.0)
    with pytest.raises(DataError, match="scores from 0 to 1"):
        relative_error.reduction(85.0, 0.5)


def test_the_mean_over_tasks_has_no_weights() -> None:
    """Dies if tasks are weighted, or means over seeds are taken of reductions of single seeds."""
    scores = np.array([[0.8, 0.9, 0.85, 0.83, 0.87], [0.5, 0.6, 0.7, 0.55, 0.65]])
    baseline = np.array([[0.7, 0.8, 0.75, 0.76, 0.74], [0.6, 0.6, 0.6, 0.6, 0.6]])
    each, mean = relative_error.reductions(scores, baseline, resamples=200)
    expected = [(0.85 - 0.75) / 0.25, 0.0]
    np.testing.assert_allclose([effect.estimate for effect in each], expected, atol=1e-12)
    assert mean is not None and mean.estimate == pytest.approx(0.2)
    for effect in (*each, mean):
        assert effect.interval.low < effect.estimate < effect.interval.high
    with pytest.raises(DataError, match="makes no error"):
        relative_error.reductions(scores, np.ones_like(scores))


@pytest.mark.parametrize("seeds", [1, 4])
def test_few_seeds_have_no_interval(seeds: int) -> None:
    """Dies if so few seeds get an interval: of width zero, or one that covers too seldom."""
    scores = np.random.default_rng(0).uniform(0.6, 0.9, (2, 2, seeds))
    each, mean = relative_error.reductions(*scores, resamples=50)
    assert mean is not None
    for effect in (*each, mean):
        assert np.isnan(effect.interval[:2]).all() and np.isfinite(effect.estimate)
        assert effect.interval.method == "none: fewer than 5 seeds"


def test_no_interval_goes_beyond_all_errors() -> None:
    """Dies if RER itself is studentised (to 1.03 here) rather than the logarithm of what is left,
    or a seed without errors breaks it."""
    baseline = np.full((2, 8), 0.7) + np.linspace(-0.1, 0.1, 8)
    scores = np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 0.95, 1.0, 0.8], [1.0] * 8])
    each, mean = relative_error.reductions(scores, baseline, resamples=500)
    assert mean is not None
    for effect in (each[0], mean):
        assert effect.interval.low < effect.estimate < effect.interval.high <= 1
    assert each[1].interval[:2] == (1.0, 1.0)


def test_the_baseline_against_itself_is_zero() -> None:
    """Dies if seeds of the model and of the baseline are resampled apart."""
    scores = np.random.default_rng(0).uniform(0.6, 0.9, (3, 8))
    each, mean = relative_error.reductions(scores, scores, resamples=500)
    assert mean is not None
    for effect in (*each, mean):
        assert effect.interval[:2] == pytest.approx((0.0, 0.0), abs=1e-12)


@pytest.mark.parametrize(("seeds", "shared"), [(8, 0.0), (8, 0.8), (5, 0.0)])
def test_intervals_cover_what_they_say(seeds: int, shared: float) -> None:
    """Dies if intervals of eight seeds are percentile ones (.90 and less), tasks are resampled
    apart, or the baseline's spread is left out.

    Args:
      shared: of the spread of a seed, between the model and the baseline and all tasks.
    """
    generator = np.random.default_rng(1)
    truth = (np.array([0.8, 0.6]) - np.array([0.7, 0.5])) / (1 - np.array([0.7, 0.5]))
    covered = np.zeros(3)
    trials = 400
    for _ in range(trials):
        common = shared * generator.normal(size=(1, seeds))
        noise = [common + (1 - shared) * generator.normal(size=(2, seeds)) for _ in range(2)]
        scores = np.array([[0.8], [0.6]]) + 0.01 * noise[0]
        baseline = np.array([[0.7], [0.5]]) + 0.02 * noise[1]
        each, mean = relative_error.reductions(scores, baseline, resamples=400)
        assert mean is not None
        expected = [*truth, truth.mean()]
        for k, (effect, value) in enumerate(zip((*each, mean), expected, strict=True)):
            covered[k] += effect.interval.low <= value <= effect.interval.high
    assert np.all(covered / trials > 0.92) and np.all(covered / trials < 0.98)


def test_groups_hold_what_was_not_told_apart() -> None:
    """Dies if a group holds a pair that differs, a pair that does not differ shares no group, or a
    group lies in another: against all subsets, of all ways in which four models can differ."""
    models = ["a", "b", "c", "d"]
    pairs = [frozenset(pair) for pair in itertools.combinations(models, 2)]
    for flags in itertools.product([False, True], repeat=len(pairs)):
        apart = {pair for pair, flag in zip(pairs, flags, strict=True) if flag}
        tied = [
            {*subset}
            for size in range(1, 5)
            for subset in itertools.combinations(models, size)
            if not any(pair <= {*subset} for pair in apart)
        ]
        largest = [part for part in tied if not any(part < other for other in tied)]
        groups = tie_groups.groups(models, apart)
        assert sorted(map(sorted, largest)) == sorted(map(sorted, groups))
        assert groups[0][0] == "a" and len({*groups}) == len(groups)
