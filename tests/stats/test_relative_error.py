"""Relative error reduction: its limits, its intervals, tie groups."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from jaxeval.errors import DataError
from jaxeval.stats import multiple, relative_error


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
    each, mean = relative_error.reductions(scores, baseline)
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
    each, mean = relative_error.reductions(*scores)
    assert mean is not None
    for effect in (*each, mean):
        assert np.isnan(effect.interval[:2]).all() and np.isfinite(effect.estimate)
        assert effect.interval.method == "none: fewer than 5 seeds"


def test_no_interval_goes_beyond_all_errors() -> None:
    """Dies if the interval is of RER itself (to 1.05 here) rather than of the logarithm of what is
    left, or a task without errors breaks the mean, or has an interval of width zero."""
    baseline = np.full((2, 8), 0.7) + np.linspace(-0.1, 0.1, 8)
    scores = np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 0.95, 1.0, 0.8], [1.0] * 8])
    each, mean = relative_error.reductions(scores, baseline)
    assert mean is not None
    for effect in (each[0], mean):
        assert effect.interval.low < effect.estimate < effect.interval.high < 1
    assert each[1].estimate == 1 and np.isnan(each[1].interval[:2]).all()
    assert each[1].interval.absent == "no error is left"


def test_standard_errors_are_those_of_leaving_seeds_out() -> None:
    """Dies if an influence has another sign or scale: against the jackknife of many seeds."""
    generator = np.random.default_rng(4)
    common = generator.normal(size=400)
    s = np.array([[0.8], [0.95]]) + 0.01 * (generator.normal(size=(2, 400)) + common)
    b = np.array([[0.7], [0.9]]) + 0.02 * (generator.normal(size=(2, 400)) + common)

    def logarithms(s: np.ndarray, b: np.ndarray) -> np.ndarray:
        left = (1 - s.mean(axis=1)) / (1 - b.mean(axis=1))
        return np.log([*left, left.mean()])

    without = np.array(
        [logarithms(np.delete(s, k, axis=1), np.delete(b, k, axis=1)) for k in range(400)]
    )
    jackknife = np.sqrt(399 / 400 * np.sum((without - without.mean(axis=0)) ** 2, axis=0))
    each, mean = relative_error.reductions(s, b)
    assert mean is not None
    ends = np.array([effect.interval[:2] for effect in (*each, mean)])
    halves = np.log((1 - ends[:, 0]) / (1 - ends[:, 1])) / 2
    np.testing.assert_allclose(halves / stats.t.ppf(0.975, 399), jackknife, rtol=0.01)


@pytest.mark.parametrize(("seeds", "shared"), [(8, 0.0), (8, 0.8), (5, 0.0)])
def test_intervals_cover_what_they_say(seeds: int, shared: float) -> None:
    """Dies if normal quantiles stand for t's (.90 and less), tasks are taken apart, or the
    baseline's spread is left out.

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
        each, mean = relative_error.reductions(scores, baseline)
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
        groups = multiple.tie_groups(models, apart)
        assert sorted(map(sorted, largest)) == sorted(map(sorted, groups))
        assert groups[0][0] == "a" and len({*groups}) == len(groups)


@given(st.integers(1, 9), st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=36))
def test_tie_groups_cover_all_pairs(count: int, drawn: set[tuple[int, int]]) -> None:
    """Dies if two models share a group that differ, or none that do not; if one could be added."""
    models = [f"m{k}" for k in range(count)]
    apart = {frozenset((f"m{a}", f"m{b}")) for a, b in drawn if a < b < count}
    groups = multiple.tie_groups(models, apart)
    assert {model for group in groups for model in group} == {*models}
    together = {frozenset(p) for group in groups for p in itertools.combinations(group, 2)}
    assert together == {frozenset(p) for p in itertools.combinations(models, 2)} - apart
    for group in groups:
        others = ({frozenset((m, name)) for m in group} for name in models if name not in group)
        assert all(pairs & apart for pairs in others)
