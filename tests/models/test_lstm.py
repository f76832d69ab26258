"""LSTM layers against plain numpy loops, numeric gradients and torch.nn.LSTM."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import lstm, recurrence
from tests import quick

VARIANTS = {
    "plain": lstm.LSTMVariant(),
    "keras": lstm.LSTMVariant(hard_sigmoid=True),
    "lample": lstm.LSTMVariant(coupled_forget=True, peepholes=True, learned_start=True),
}
STEPS, BATCH, SIZE, WIDTH = 5, 3, 4, 6


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _loop(
    variant: lstm.LSTMVariant,
    params: dict,
    inputs: np.ndarray,
    lengths: Any,
    reverse: bool,
    masks: Any,
) -> np.ndarray:
    """One sentence and step at a time, from the equations."""
    p = {name: np.asarray(value, np.float64) for name, value in params.items()}
    squash = (lambda x: np.clip(0.2 * x + 0.5, 0, 1)) if variant.hard_sigmoid else _sigmoid
    actual = np.zeros((len(inputs), inputs.shape[1], WIDTH))
    for b, length in enumerate(lengths):
        h = p.get("hidden_start", np.zeros(WIDTH)).copy()
        c = p.get("memory_start", np.zeros(WIDTH)).copy()
        order = range(length - 1, -1, -1) if reverse else range(length)
        for t in order:
            gates = []
            for g in range(variant.gates):
                columns = slice(g * WIDTH, (g + 1) * WIDTH)
                x_mask, h_mask = (m[g if len(m) > 1 else 0, b] for m in masks)
                gates.append(
                    (inputs[t, b] * x_mask) @ p["kernel"][:, columns]
                    + (h * h_mask) @ p["recurrent"][:, columns]
                    + p["bias"][columns]
                )
            i = squash(gates[0] + (c * p["peephole_in"] if variant.peepholes else 0))
            f = 1 - i if variant.coupled_forget else squash(gates[3])
            c = f * c + i * np.tanh(gates[2])
            o = squash(gates[1] + (c * p["peephole_out"] if variant.peepholes else 0))
            h = o * np.tanh(c)
            actual[t, b] = h
    return actual


def _case(name: str, reverse: bool, groups: int) -> tuple:
    variant, generator = VARIANTS[name], np.random.default_rng(3)
    inputs = generator.normal(size=(STEPS, BATCH, SIZE)).astype(np.float32)
    lengths = np.array([5, 1, 3])
    masks = [
        generator.choice([0.0, 2.0], size=(groups, BATCH, n)).astype(np.float32)
        for n in (SIZE, WIDTH)
    ]
    valid = np.arange(STEPS)[:, None] < lengths
    layer = lstm.LSTM(WIDTH, variant, reverse)
    shapes = jax.eval_shape(layer.init, jax.random.key(0), inputs, valid)["params"]
    drawn = {n: generator.normal(size=v.shape).astype(np.float32) * 0.5 for n, v in shapes.items()}
    return layer, drawn, inputs, lengths, valid, masks


def _pairwise(groups: list) -> pytest.MarkDecorator:
    """Each variant with each kind of mask, in turns forwards and backwards."""
    combinations = itertools.product(enumerate(VARIANTS), enumerate(groups))
    cases = [(name, (i + j) % 2 == 1, group) for (i, name), (j, group) in combinations]
    return pytest.mark.parametrize(("name", "reverse", "groups"), cases)


@_pairwise([1, "gates"])
def test_layer_equals_a_plain_loop(name: str, reverse: bool, groups: Any) -> None:
    """Dies if a gate, mask, peephole, start state or the handling of padding is wrong."""
    count = VARIANTS[name].gates if groups == "gates" else 1
    layer, params, inputs, lengths, valid, masks = _case(name, reverse, count)
    actual = quick.jit(layer.apply)({"params": params}, inputs, valid, *masks)
    expected = _loop(VARIANTS[name], params, inputs, lengths, reverse, masks)
    for b, length in enumerate(lengths):
        np.testing.assert_allclose(actual[:length, b], expected[:length, b], atol=2e-6)


@_pairwise([None, 1, "gates"])
def test_gradients_equal_those_of_a_plain_scan(name: str, reverse: bool, groups: Any) -> None:
    """Dies if the hand-written backward pass misses a path (kernel, mask, start, peephole)."""
    count = VARIANTS[name].gates if groups == "gates" else 1
    layer, params, inputs, _, valid, masks = _case(name, reverse, count)
    masks = [None, None] if groups is None else masks
    direction = np.random.default_rng(5).normal(size=(STEPS, BATCH, WIDTH)).astype(np.float32)

    def loss(params: dict, inputs: jax.Array) -> jax.Array:
        return jnp.sum(layer.apply({"params": params}, inputs, valid, *masks) * direction)

    def plain(cell, reverse, clip, x, bias, kernel, weights, start, valid, mask):  # type: ignore[no-untyped-def]
        def step(state, now):  # type: ignore[no-untyped-def]
            gates = now[0] + bias[None] + recurrence._project(state[0], kernel, mask)
            new = cell(gates, state[1], weights)
            carried = [jnp.where(now[1][:, None], n, o) for n, o in zip(new, state, strict=True)]
            return tuple(carried), carried[0]

        return jax.lax.scan(step, start, (x, valid), reverse=reverse)[1]

    actual = quick.jit(jax.grad(loss, (0, 1)))(params, inputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recurrence, "run", plain)
        expected = quick.jit(jax.grad(lambda *of: loss(*of), (0, 1)))(params, inputs)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5), actual, expected)


def test_clipping_inside_the_loop_bounds_the_gate_gradients() -> None:
    """Dies if `gradient_clip` is applied outside the loop or not at all."""
    inputs = np.ones((4, 2, 8), np.float32)
    valid = np.ones((4, 2), bool)
    for clip, expected in ((1e-3, 1e-3), (None, None)):
        cell = lstm.LSTMCell(lstm.LSTMVariant(gradient_clip=clip))
        start = (np.zeros((2, 2), np.float32), np.zeros((2, 2), np.float32))

        def total(x, cell=cell, clip=clip, start=start):  # type: ignore[no-untyped-def]
            kernel = jnp.ones((2, 8)) * 0.1
            return 100 * jnp.sum(
                recurrence.run(cell, False, clip, x, jnp.zeros(8), kernel, {}, start, valid, None)
            )

        largest = float(np.max(np.abs(quick.jit(jax.grad(total))(inputs))))
        assert largest == pytest.approx(expected) if expected else largest > 1.0


def test_frozen_inputs_get_no_gradient_and_the_rest_the_full_one() -> None:
    """Dies if `frozen` shifts features or stops the kernel's gradient."""
    layer, params, inputs, _, valid, _ = _case("plain", False, 1)
    frozen = lstm.LSTM(WIDTH, VARIANTS["plain"], frozen=3)

    def loss(layer: lstm.LSTM, params: dict, x: jax.Array) -> jax.Array:
        return jnp.sum(layer.apply({"params": params}, x, valid) ** 2)

    gradient = quick.jit(jax.grad(loss, (1, 2)), static_argnums=0)
    full, cut = gradient(layer, params, inputs), gradient(frozen, params, inputs)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), full[0], cut[0])
    np.testing.assert_allclose(cut[1][..., 3:], full[1][..., 3:], atol=1e-6)
    assert not np.any(cut[1][..., :3]) and np.all(full[1][0, 0, :3] != 0)


def test_equals_torch() -> None:
    """Dies if the plain variant is not the LSTM everybody means."""
    torch = pytest.importorskip("torch")
    layer, params, inputs, _, _, _ = _case("plain", False, 1)
    other = torch.nn.LSTM(SIZE, WIDTH)
    order = [0, 3, 2, 1]  # torch: i, f, candidate, o; ours: i, o, candidate, f

    def torch_order(value: np.ndarray) -> Any:
        blocks = np.split(value, 4, axis=-1)
        return torch.from_numpy(np.concatenate([blocks[g] for g in order], axis=-1).T.copy())

    with torch.no_grad():
        other.weight_ih_l0.copy_(torch_order(params["kernel"]))
        other.weight_hh_l0.copy_(torch_order(params["recurrent"]))
        other.bias_ih_l0.copy_(torch_order(params["bias"]))
        other.bias_hh_l0.zero_()
        expected = other(torch.from_numpy(inputs))[0].numpy()
    actual = quick.jit(layer.apply)({"params": params}, inputs, np.ones((STEPS, BATCH), bool))
    np.testing.assert_allclose(actual, expected, atol=1e-6)
