"""Variance components of items, runs, clusters and samples."""

import numpy as np
import pytest

from jaxeval.stats import crossed, items


def _scores(seed: int, shape: tuple[int, int, int] = (60, 4, 3)) -> np.ndarray:
    """Variances of items, runs, items x runs and samples: 1, .25, .5, 2."""
    generator, (i, r) = np.random.default_rng(seed), shape[:2]
    shapes = ((i, 1, 1), (1, r, 1), (i, r, 1), shape)
    draws = [generator.normal(size=size) for size in shapes]
    return sum(np.sqrt(v) * x for v, x in zip((1, 0.25, 0.5, 2), draws, strict=True))


@pytest.mark.parametrize("samples", [1, 3])
def test_components_are_those_of_the_crossed_design(samples: int) -> None:
    """Dies if an expectation of a mean square is wrong: estimates as of `crossed`, seed by split,
    and for normal scores about the same intervals."""
    scores = _scores(0)[..., :samples]
    actual, expected = items.components(scores), crossed.components(scores)
    names = {"item": "split", "run": "seed", "item x run": "interaction", "sample": "error"}
    assert len(actual.parts) == len(expected.components)
    for name, part in actual.parts.items():
        other = expected.components[names[name]]
        assert part.sd == pytest.approx(other.sd)
        assert part.sd_interval[:2] == pytest.approx(other.sd_interval[:2], rel=0.25)
    assert actual.total.sd == pytest.approx(expected.total.sd)


def test_missing_cells_leave_the_residual_variance_unbiased() -> None:
    """Dies if the cells that are filled in count as evidence: a fifth missing, 100 tables."""
    generator, estimates = np.random.default_rng(3), []
    for seed in range(100):
        scores = _scores(seed, (20, 3, 1))[..., 0]
        scores[generator.random(scores.shape) < 0.2] = np.nan
        scores[:3] = _scores(seed + 1_000, (3, 3, 1))[..., 0]
        estimates.append(items.components(scores).parts["item x run"].sd ** 2)
    assert np.mean(estimates) == pytest.approx(2.5, rel=0.08)


def test_intervals_of_right_and_wrong_answers_match_their_spread() -> None:
    """Dies if answers are taken as normal: of rare errors the sd between items is known worse."""
    generator = np.random.default_rng(4)
    rare = generator.random((100, 1)) < 0.05
    answers = 1.0 - (rare & (generator.random((100, 4)) < 0.8))
    low, high, *_ = items.components(answers).parts["item"].sd_interval
    expected = crossed.components(answers).components["split"].sd_interval
    assert high - low > 1.3 * (expected.high - expected.low)


_TWELVE_BY_FOUR = [
    *([-0.72, -1.02, -1.16, -0.22], [-0.72, -0.59, -0.49, 1.02], [-0.1, -1.13, -1.81, -0.04]),
    *([-0.84, -1.57, -1.83, -0.62], [-0.96, -1.68, 0.16, -0.38], [-0.93, -1.21, -1.37, -0.5]),
    *([0.21, -0.65, -0.7, 0.66], [2.24, -0.33, 1.83, 1.97], [-0.79, -0.04, -0.06, -0.66]),
    *([-0.49, -1.02, -0.76, 0.35], [0.53, 0.15, 1.33, 0.64], [0.56, -0.67, 0.41, 0.2]),
]


def test_components_and_error_are_those_of_a_mixed_model() -> None:
    """Dies if either differs from REML by statsmodels 0.15.0 (MixedLM, crossed variance components
    0 + C(item), 0 + C(run)), whose figures stand here."""
    parts = items.components(_TWELVE_BY_FOUR).parts
    variances = [parts[name].sd ** 2 for name in ("item", "run", "item x run")]
    assert variances == pytest.approx([0.47926441, 0.15312563, 0.31099855], rel=1e-5)
    mean = items.mean(_TWELVE_BY_FOUR)
    assert (mean.value, mean.se) == pytest.approx((-0.2875, 0.29103135), rel=1e-5)


def test_answers_that_are_all_right_leave_spread_open() -> None:
    """Dies if components of 0 in a table without a failure are certain: of [0, 0]."""
    components = items.components(np.ones((20, 3)))
    for part in (*components.parts.values(), components.total):
        assert part.sd == 0 and part.sd_interval[:2] == (0.0, np.inf)
    one_wrong = np.ones((20, 3))
    one_wrong[4, 1] = 0
    for part in items.components(one_wrong).parts.values():
        assert part.sd_interval.high < np.inf
