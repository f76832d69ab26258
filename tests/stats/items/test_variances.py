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
    found, expected = items.components(scores), crossed.components(scores)
    names = {"item": "split", "run": "seed", "item x run": "interaction", "sample": "error"}
    assert len(found.parts) == len(expected.components)
    for name, part in found.parts.items():
        other = expected.components[names[name]]
        assert part.sd == pytest.approx(other.sd)
        assert part.sd_interval[:2] == pytest.approx(other.sd_interval[:2], rel=0.25)
    assert found.total.sd == pytest.approx(expected.total.sd)


def test_clusters_are_told_from_items() -> None:
    """Dies if the variance of unequal clusters, 4, is in that of items: mean of 150 tables."""
    generator, sizes = np.random.default_rng(1), 1 + np.arange(30) % 5
    clusters = np.repeat(np.arange(30), sizes)
    estimates = []
    for _ in range(150):
        item = 2 * generator.normal(size=30)[clusters] + generator.normal(size=len(clusters))
        scores = item[:, None] + generator.normal(size=(len(clusters), 2))
        parts = items.components(scores, clusters=clusters).parts
        estimates.append([parts[name].sd ** 2 for name in ("cluster", "item", "item x run")])
    assert np.mean(estimates, axis=0) == pytest.approx([4, 1, 1], rel=0.1)


def test_one_run_leaves_items_and_samples() -> None:
    """Dies if the items' variance contains that of the mean of their samples."""
    generator = np.random.default_rng(2)
    scores = generator.normal(size=(4_000, 1, 1)) + 2 * generator.normal(size=(4_000, 1, 3))
    parts = items.components(scores).parts
    assert {name: part.sd for name, part in parts.items()} == pytest.approx(
        {"item": 1, "sample": 2}, rel=0.05
    )


def test_missing_cells_leave_the_residual_variance_unbiased() -> None:
    """Dies if the cells that are filled in count as evidence: a fifth missing, 100 tables."""
    generator, variances = np.random.default_rng(3), []
    for seed in range(100):
        scores = _scores(seed, (20, 3, 1))[..., 0]
        scores[generator.random(scores.shape) < 0.2] = np.nan
        scores[:3] = _scores(seed + 1_000, (3, 3, 1))[..., 0]
        variances.append(items.components(scores).parts["item x run"].sd ** 2)
    assert np.mean(variances) == pytest.approx(2.5, rel=0.08)


def test_intervals_of_right_and_wrong_answers_match_their_spread() -> None:
    """Dies if answers are taken as normal: of rare errors the sd between items is known worse."""
    generator = np.random.default_rng(4)
    rare = generator.random((100, 1)) < 0.05
    answers = 1.0 - (rare & (generator.random((100, 4)) < 0.8))
    low, high, *_ = items.components(answers).parts["item"].sd_interval
    expected = crossed.components(answers).components["split"].sd_interval
    assert high - low > 1.3 * (expected.high - expected.low)
