"""The way back of a recurrence: by kernels as stored or transposed copies, on each backend."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import cells, recurrence, unroll

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
        return jnp.tanh(tap("recurrent", state)[0] + blocks[0])

    def loss(kernel: Any, inputs: Any) -> Any:
        start, kernels = jnp.zeros((rows, width)), {"recurrent": kernel}
        return jnp.sum(unroll.unroll(step, kernels, {}, {}, {}, inputs, start, "recurrent")[1])

    gradients = []
    for backend, stored in (("cpu", True), ("cpu", False), ("gpu", True)):
        monkeypatch.setattr(jax, "default_backend", lambda b=backend: b)
        monkeypatch.setattr(unroll, "_reads_as_stored", lambda rows, units, s=stored: s)
        gradients.append(jax.jit(jax.grad(loss, (0, 1)))(kernel, inputs))
    for other in gradients[1:]:
        for one, same in zip(gradients[0], other, strict=True):
            assert np.abs(one - same).max() < 1e-6 * np.abs(same).max()


def _equal_on_both(monkeypatch: pytest.MonkeyPatch, loss: Any, *inputs: Any) -> None:
    """Asserts: a loss and its gradients are those of a CPU where a GPU is said to be."""
    found = []
    for backend in ("cpu", "gpu"):
        monkeypatch.setattr(jax, "default_backend", lambda b=backend: b)
        found.append(jax.jit(jax.value_and_grad(loss, range(len(inputs))))(*inputs))
    for one, same in zip(*map(jax.tree.leaves, found), strict=True):
        np.testing.assert_allclose(one, same, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("reverse", "groups"), [(True, 0), (False, 1), (True, 4)])
def test_an_encoder_of_an_accelerator_has_the_states_and_gradients_of_a_cpu(
    monkeypatch: pytest.MonkeyPatch, reverse: bool, groups: int
) -> None:
    """Dies if states before a step are read at the wrong step, or gates from the wrong columns."""
    draw, width, rows = np.random.default_rng(3), 4, 3
    shapes = (STEPS, rows, 4 * width), (4 * width,), (width, 4 * width), *[(rows, width)] * 2
    inputs, bias, kernel, *start = (np.float32(draw.normal(size=shape)) for shape in shapes)
    valid = np.arange(STEPS)[:, None] < [5, 3, 1]
    mask = np.float32(draw.normal(size=(groups, rows, width))) if groups else None
    weight = draw.normal(size=(STEPS, rows, width))

    def loss(inputs: Any, bias: Any, kernel: Any, start: Any) -> Any:
        how = cells.PLAIN.update, reverse, None, inputs, bias, kernel, {}, tuple(start)
        return jnp.sum(weight * recurrence.run(*how, valid, mask))

    _equal_on_both(monkeypatch, loss, inputs, bias, kernel, start)


@pytest.mark.parametrize(
    "cell", [cells.Cell(), cells.Cell("rhn", "tied", depth=2), cells.Cell("nas")]
)
def test_a_layer_of_an_accelerator_has_the_gradients_of_a_cpu(
    monkeypatch: pytest.MonkeyPatch, cell: cells.Cell
) -> None:
    """Dies if biases count twice or not at all, or if what a step saves is read as another's."""
    layer, draw = cells.Layer(cell, 3), np.random.default_rng(4)
    inputs, *both = (np.float32(draw.normal(size=(*t, 2, 3))) for t in ((STEPS,), (), ()))
    start = both[0] if cell.kind == "rhn" else tuple(both)
    masks = cells.Masks(np.float32(draw.normal(size=(2, 3))))
    shapes = jax.eval_shape(layer.init, jax.random.key(0), inputs, start, masks)
    params = jax.tree.map(lambda leaf: np.float32(draw.normal(size=leaf.shape)), shapes)

    def loss(params: Any, inputs: Any, start: Any) -> Any:
        final, outputs = layer.apply(params, inputs, start, masks)
        return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves((final, outputs)))

    _equal_on_both(monkeypatch, loss, params, inputs, start)
