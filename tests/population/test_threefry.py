"""Random bits on CPUs are those of JAX, and large arrays of them are drawn without its loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import prng  # JAX's own definition, the truth here

from jaxeval.population import threefry


@pytest.mark.parametrize("size", [1, 4095, 4096, 10_001])
def test_words_equal_jax(size: int):
    """A wrong rotation, key or round number gives other words, in the loop and without it."""
    rng = np.random.default_rng(size)
    keys = rng.integers(0, 2**32, 2, np.uint32)
    words = rng.integers(0, 2**32, (2, size), np.uint32)
    expected = prng._threefry2x32_lowering(*keys, *words, use_rolled_loops=False)
    found = jax.jit(threefry.hash_words)(*keys, *words)
    np.testing.assert_array_equal(found, expected)


def test_large_arrays_are_drawn_without_a_loop():
    """With JAX's loop, masks of two devices differed from run to run; `lanes` registers ours."""
    threefry.register()
    draw = jax.jit(lambda key: jax.random.bits(key, (35, 16, 81), jnp.uint16))
    assert "stablehlo.while" not in draw.lower(jax.random.key(0)).as_text()
