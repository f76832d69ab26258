"""Seeds within splits."""

import numpy as np
import pytest

from jaxeval import stats
from jaxeval.errors import DataError


def test_components_by_hand() -> None:
    """Dies if mean squares are wrong: MS between 8, within 2, two seeds a split -> 3 and 2."""
    components = stats.variance_components([[0.0, 2.0], [2.0, 4.0], [4.0, 6.0]])
    assert components.sd_seed**2 == pytest.approx(2.0)
    assert components.sd_split**2 == pytest.approx(3.0)
    assert components.share_split == pytest.approx(0.6)


def test_components_are_unbiased_for_unequal_numbers_of_seeds() -> None:
    """Dies if the unbalanced formula is wrong: 2,000 experiments, variances 4 and 1."""
    generator = np.random.default_rng(12)
    estimates = []
    for _ in range(2000):
        splits = generator.normal(0, 2, 8)
        groups = [s + generator.normal(0, 1, 2 + k % 4) for k, s in enumerate(splits)]
        part = stats.variance_components(groups)
        estimates.append((part.sd_split**2, part.sd_seed**2))
    np.testing.assert_allclose(np.mean(estimates, axis=0), [4.0, 1.0], rtol=0.06)


def test_splits_that_differ_less_than_their_seeds() -> None:
    """Dies if a negative estimate stands, or equal scores of a split differ by rounding."""
    components = stats.variance_components([[0.0, 4.0], [1.0, 3.0]])
    assert (components.sd_split, components.share_split) == (0.0, 0.0)
    assert stats.variance_components([[0.1] * 3, [0.7] * 3]).sd_seed == 0.0
    equal = stats.variance_components([[0.1] * 3, [0.1] * 3])
    assert (equal.sd_split, equal.sd_seed, equal.share_split) == (0.0, 0.0, None)


def test_designs_that_cannot_carry_it_are_refused() -> None:
    """Dies if one split, or one seed in each, gives components."""
    for scores in ([[1.0, 2.0]], [[1.0], [2.0]]):
        with pytest.raises(DataError, match="splits"):
            stats.variance_components(scores)
