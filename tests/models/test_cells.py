"""The cells against plain numpy loops, golden numbers and finite differences."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import cells
from jaxeval.models.cells import Cell, Masks
from tests import quick

T, B, D, H = 5, 3, 4, 6
KINDS = [
    Cell("lstm", "untied"),
    Cell("lstm", "tied"),
    Cell("lstm", "capped"),
    Cell("lstm", "capped", clip=0.2),
    Cell("lstm", "capped", layer_norm=True),
    Cell("rhn", "untied"),
    Cell("rhn", "tied", depth=3),
    Cell("nas", "untied"),
]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def _norm(x: np.ndarray, groups: int, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    parts = x.reshape(len(x), groups, -1)
    actual = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + 1e-5)
    return actual.reshape(x.shape) * scale + shift


def _loop(cell: Cell, p: dict, x: np.ndarray, state: Any, masks: Masks) -> tuple[Any, np.ndarray]:
    """The cell written again, step by step, from the paper's equations."""
    step = {"rhn": _rhn_step, "nas": _nas_step, "lstm": _lstm_step}[cell.kind]
    drop = 1.0 if masks.state is None else np.asarray(masks.state)
    new = 1.0 if masks.update is None else np.asarray(masks.update)
    outputs = []
    for row in x:
        state = step(cell, p, row, state, drop, new)
        outputs.append(state if cell.kind == "rhn" else state[0])
    return state, np.stack(outputs)


def _rhn_step(cell: Cell, p: dict, row: np.ndarray, s: Any, drop: Any, new: Any) -> Any:
    for level in range(cell.depth):
        z = (s * drop) @ p[f"recurrent_{level}"]
        z = z + p[f"bias_{level}"] + (row @ p["kernel"] if level == 0 else 0)
        parts = np.split(z, cell.blocks, axis=1)
        c = _sigmoid(parts[1])
        t = 1 - c if cell.gates == "tied" else _sigmoid(parts[2])
        s = c * s + t * (np.tanh(parts[0]) * new)
    return s


def _nas_step(cell: Cell, p: dict, row: np.ndarray, state: Any, drop: Any, new: Any) -> Any:
    h, c = state
    a = np.split(row @ p["kernel"], 8, axis=1)
    b = np.split((h * drop) @ p["recurrent"], 8, axis=1)
    of_sums = [_sigmoid, _relu, _sigmoid, None, np.tanh, _sigmoid, np.tanh, _sigmoid]
    q = [_relu(a[k] * b[k]) if f is None else f(a[k] + b[k]) for k, f in enumerate(of_sums)]
    c = np.tanh(np.tanh(q[0] * q[1]) + c) * np.tanh(q[2] + q[3])
    return np.tanh(c * np.tanh(np.tanh(q[4] * q[5]) + _sigmoid(q[6] + q[7]))), c


def _lstm_step(cell: Cell, p: dict, row: np.ndarray, state: Any, drop: Any, new: Any) -> Any:
    h, c = state
    z = row @ p["kernel"] + p["bias"] + (h * drop) @ p["recurrent"]
    if cell.layer_norm:
        z = _norm(z, cell.blocks, p["gate_scale"], p["gate_shift"])
    j, o, f, *i = np.split(z, cell.blocks, axis=1)
    f = _sigmoid(f)
    input_gate = 1 - f if cell.gates == "tied" else _sigmoid(i[0])
    if cell.gates == "capped":
        input_gate = np.minimum(1 - f, input_gate)
    c = f * c + input_gate * np.tanh(j) * new
    memory = _norm(c, 1, p["memory_scale"], p["memory_shift"]) if cell.layer_norm else c
    h = _sigmoid(o) * np.tanh(memory)
    return h, c if cell.clip is None else np.clip(c, -cell.clip, cell.clip)


def _case(cell: Cell, seed: int = 0) -> tuple[Any, dict, np.ndarray, Any, Masks]:
    layer = cells.Layer(cell, H)
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(T, B, D))
    state = jax.tree.map(lambda z: draw.normal(size=z.shape), cells.start(cell, B, H))
    update = None if cell.kind == "nas" else draw.integers(0, 2, (B, H)) * 1.5
    masks = Masks(draw.integers(0, 2, (B, H)) * 2.0, update)
    shapes = jax.eval_shape(layer.init, jax.random.key(seed), x, state, Masks())["params"]
    params = jax.tree.map(lambda v: draw.normal(size=v.shape) * 0.5, shapes)
    return layer, params, x, state, masks


def _equal(actual: tuple[Any, Any], expected: tuple[Any, np.ndarray]) -> None:
    """Asserts: end states and outputs [T, B, H] are the same."""
    for mine, other in zip(*map(jax.tree.leaves, (actual, expected)), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("cell", KINDS, ids=str)
def test_equals_a_numpy_loop(cell: Cell) -> None:
    """Dies if a gate, the order of blocks or the place of the clip is wrong, or if what a window
    ends with is not what the next one has to begin with: the loop begins anywhere."""
    with jax.enable_x64(True):
        layer, params, x, state, _ = _case(cell)
        actual = quick.jit(layer.apply)({"params": params}, x, state, Masks())
        _equal(actual, _loop(cell, params, x, state, Masks()))


@pytest.mark.parametrize("cell", KINDS, ids=str)
def test_masks_and_gradients(cell: Cell) -> None:
    """Dies if a mask is lost or in the wrong place, or if the kernels' gradients, taken out of
    the loop, miss a level, a step or a mask: a numpy loop and finite differences."""
    with jax.enable_x64(True):
        layer, params, x, state, masks = _case(cell, 1)
        draw = np.random.default_rng(2)
        weight = draw.normal(size=(T, B, H))
        ends = jax.tree.map(lambda s: draw.normal(size=s.shape), state)

        def loss(tree: tuple) -> tuple[jax.Array, tuple]:
            p, inputs, begin = tree
            end, outputs = layer.apply({"params": p}, inputs, begin, masks)
            last = sum(
                jnp.sum(a * b) for a, b in zip(*map(jax.tree.leaves, (end, ends)), strict=True)
            )
            return jnp.sum(outputs * weight) + last, (end, outputs)

        at = (params, x, state)
        compiled = quick.jit(jax.value_and_grad(loss, has_aux=True))
        (_, actual), gradient = compiled(at)
        _equal(actual, _loop(cell, params, x, state, masks))
        along = jax.tree.map(lambda v: draw.normal(size=v.shape), at)

        def move(step: float) -> float:
            return float(compiled(jax.tree.map(lambda v, d: v + step * d, at, along))[0][0])

        slope = (move(1e-6) - move(-1e-6)) / 2e-6
        dots = jax.tree.map(lambda g, d: np.sum(g * d), gradient, along)
        assert sum(jax.tree.leaves(dots)) == pytest.approx(slope, rel=1e-6)


def _single(cell: Cell, inputs: tuple[float, float, float], **bias: float) -> Any:
    """One unit, of x, h and c; all weights .5."""
    layer = cells.Layer(cell, 1)
    x, h, c = (np.full((1, 1), value) for value in inputs)
    state = h if cell.kind == "rhn" else (h, c)
    shapes = jax.eval_shape(layer.init, jax.random.key(0), x[None], state, Masks())["params"]
    params = {name: np.full(leaf.shape, 0.5) for name, leaf in shapes.items()}
    for name in params:
        if name.startswith("bias"):
            params[name] = np.zeros_like(params[name])
            params[name][{"lstm": 2, "rhn": 1}[cell.kind]] = 1.0
    end, _ = quick.jit(layer.apply)({"params": params}, x[None], state, Masks())
    return [float(leaf[0, 0]) for leaf in jax.tree.leaves(end)]


def test_golden_numbers() -> None:
    """Dies if a cell departs from the public code (independent float64 computation)."""
    with jax.enable_x64(True):
        inputs = (1.0, 0.5, 0.2)
        assert _single(Cell("lstm", "untied"), inputs) == pytest.approx([0.365607330, 0.601770200])
        assert _single(Cell("nas", "untied"), inputs) == pytest.approx([0.313246245, 0.389576419])
        depth = Cell("rhn", "untied", depth=2)
        assert _single(depth, (1.0, 0.2, 0.0)) == pytest.approx([0.541020536])


@pytest.mark.parametrize("cell", KINDS, ids=str)
@pytest.mark.parametrize("inputs", [3, 8])
def test_the_count_is_that_of_the_parameters(cell: Cell, inputs: int) -> None:
    """Dies if the budget solver counts other parameters than the layer has."""
    layer = cells.Layer(cell, H)
    shapes = jax.eval_shape(
        layer.init,
        jax.random.key(0),
        jnp.zeros((T, B, inputs)),
        cells.start(cell, B, H),
        Masks(),
    )
    count = sum(leaf.size for leaf in jax.tree.leaves(shapes))
    assert count == cells.parameter_count(cell, inputs, H)


def test_initial_values_follow_the_public_code() -> None:
    """Dies if tiles or biases start with another spread."""
    layer = cells.Layer(Cell("lstm", "capped"), 64)
    start = cells.start(Cell(), 2, 64)
    params = _initial(layer, np.zeros((2, 2, 400), np.float32), start)
    assert params["kernel"].std() == pytest.approx(400**-0.5, rel=0.02)
    assert params["recurrent"].std() == pytest.approx(64**-0.5, rel=0.02)
    _, output_gate, forget, _ = np.split(params["bias"], 4)
    assert forget.mean() == pytest.approx(1.0, abs=0.06)
    assert output_gate.std() == pytest.approx(64**-0.5, rel=0.3)
    rhn = cells.Layer(Cell("rhn", "tied", depth=2), 8)
    rhn_params = _initial(rhn, np.zeros((2, 2, 4), np.float32), np.zeros((2, 8), np.float32))
    np.testing.assert_array_equal(rhn_params["bias_1"], [0] * 8 + [1] * 8)


def _initial(layer: Any, x: np.ndarray, state: Any) -> Any:
    init = quick.jit(lambda key: layer.init(key, x, state, Masks())["params"])
    return jax.device_get(init(jax.random.key(1)))
