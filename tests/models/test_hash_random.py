"""Uniform numbers of hashed bits: none of them is an end of its interval."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import hash_random, ragged
from tests import quick


def test_no_draw_is_an_end_of_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the last of 2**24 steps is rounded to 1, of which the normal quantile is infinite,
    or any other step is moved."""
    ends = np.array([0, 255, 2**31, 2**32 - 512, 2**32 - 256, 2**32 - 1], np.uint32)
    drawn = np.asarray(quick.jit(hash_random.open_interval)(ends), np.float64)
    last = 1 - 2.0**-24
    assert drawn.tolist() == [2.0**-25, 2.0**-25, 0.5, 1 - 2.0**-23, last, last]
    others = np.random.default_rng(0).integers(0, 2**32 - 256, 10_000, dtype=np.uint32)
    middles = ((others >> 8) + np.float32(0.5)).astype(np.float32) * np.float32(2.0**-24)
    np.testing.assert_array_equal(quick.jit(hash_random.open_interval)(others), middles)
    monkeypatch.setattr(hash_random, "bits", lambda *_: jnp.uint32(2**32 - 1))
    assert np.isfinite(ragged.normal(jax.random.key(5), ragged.axis(2), ragged.axis(3))).all()
