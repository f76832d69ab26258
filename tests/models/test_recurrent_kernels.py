"""The way back of a recurrence: by kernels as stored or transposed copies, on each backend."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import recurrence

STEPS = 5


@pytest.mark.parametrize(("rows", "width"), [(3, 6), (32, 257)])
def test_gradients_through_kernels_as_stored_are_those_through_transposed_copies(
    monkeypatch: pytest.MonkeyPatch, rows: int, width: int
) -> None:
    """Dies if the way back sums over the wrong axis (the square kernel would let it), or
    if an accelerator, which saves sums only, has other gradients; or large products others."""
    draw = np.random.default_rng(5)
    kernel = draw.normal(size=(width, width)) / width**0.5
    inputs = draw.normal(size=(STEPS, rows, width))

    def step(tap: Any, weights: Any, masks: Any, state: Any, blocks: Any) -> tuple:
        state = jnp.tanh(tap("recurrent", state)[0] + blocks[0])
        return state, state

    def loss(kernel: Any, inputs: Any) -> Any:
        start, kernels = jnp.zeros((rows, width)), {"recurrent": kernel}
        return jnp.sum(recurrence.unroll(step, kernels, {}, {}, inputs, start, "recurrent")[1])

    gradients = []
    for backend, stored in (("cpu", True), ("cpu", False), ("gpu", True)):
        monkeypatch.setattr(jax, "default_backend", lambda b=backend: b)
        monkeypatch.setattr(recurrence, "_reads_as_stored", lambda rows, units, s=stored: s)
        gradients.append(jax.grad(loss, (0, 1))(jnp.asarray(kernel), jnp.asarray(inputs)))
    for other in gradients[1:]:
        for one, same in zip(gradients[0], other, strict=True):
            assert np.abs(one - same).max() < 1e-6 * np.abs(same).max()


@pytest.mark.parametrize("rows", [5, 48])
def test_products_of_a_loop_are_products(rows: int) -> None:
    """Dies if 48 rows with many units, multiplied by a transposed copy, give another product."""
    draw = np.random.default_rng(2)
    x, kernel = draw.normal(size=(rows, 512)), draw.normal(size=(512, 528))
    product = recurrence._product_of(jnp.asarray(kernel, jnp.float32), rows)
    np.testing.assert_allclose(product(jnp.asarray(x, jnp.float32)), x @ kernel, atol=2e-4)
