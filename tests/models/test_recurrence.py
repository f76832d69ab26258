"""Recurrent layers against plain numpy loops, finite differences, torch and golden numbers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import cells, recurrence
from jaxeval.models.cells import Cell, Masks

STEPS, BATCH, SIZE, WIDTH = 5, 3, 4, 6
VARIANTS = {
    "plain": cells.LSTMVariant(),
    "keras": cells.LSTMVariant(hard_sigmoid=True),
    "lample": cells.LSTMVariant(coupled_forget=True, peepholes=True, learned_start=True),
}


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _loop(
    variant: cells.LSTMVariant,
    p: dict,
    inputs: np.ndarray,
    lengths: Any,
    reverse: bool,
    masks: Any,
) -> np.ndarray:
    """One sentence and step at a time, from the equations; 0 at padding."""
    squash = (lambda x: np.clip(0.2 * x + 0.5, 0, 1)) if variant.hard_sigmoid else _sigmoid
    actual, zeros = np.zeros((len(inputs), inputs.shape[1], WIDTH)), np.zeros(WIDTH)
    for b, length in enumerate(lengths):
        h, c = p.get("hidden_start", zeros), p.get("memory_start", zeros)
        for t in range(length - 1, -1, -1) if reverse else range(length):
            gates = []
            for g in range(variant.gates):
                columns = slice(g * WIDTH, (g + 1) * WIDTH)
                x_mask, h_mask = (1 if m is None else m[g if len(m) > 1 else 0, b] for m in masks)
                of_input = (inputs[t, b] * x_mask) @ p["kernel"][:, columns]
                of_state = (h * h_mask) @ p["recurrent"][:, columns]
                gates.append(of_input + of_state + p["bias"][columns])
            i = squash(gates[0] + (c * p["peephole_in"] if variant.peepholes else 0))
            f = 1 - i if variant.coupled_forget else squash(gates[3])
            c = f * c + i * np.tanh(gates[2])
            o = squash(gates[1] + (c * p["peephole_out"] if variant.peepholes else 0))
            h = actual[t, b] = o * np.tanh(c)
    return actual


def _follows(compiled: Any, at: Any, gradient: Any) -> None:
    """Asserts: the slope of a loss in a random direction is its gradient's."""
    draw = np.random.default_rng(2)
    along = jax.tree.map(lambda v: draw.normal(size=v.shape), at)

    def move(step: float) -> float:
        return float(compiled(jax.tree.map(lambda v, d: v + step * d, at, along))[0][0])

    dots = jax.tree.map(lambda g, d: np.sum(g * d), gradient, along)
    slope = (move(1e-6) - move(-1e-6)) / 2e-6
    assert sum(jax.tree.leaves(dots)) == pytest.approx(slope, rel=1e-6)


def _case(name: str, reverse: bool, groups: int) -> tuple:
    variant, draw = VARIANTS[name], np.random.default_rng(3)
    inputs, lengths = draw.normal(size=(STEPS, BATCH, SIZE)), np.array([5, 1, 3])
    masks = [draw.choice([0.0, 2.0], size=(groups, BATCH, n)) for n in (SIZE, WIDTH)]
    valid = np.arange(STEPS)[:, None] < lengths
    layer = cells.LSTM(WIDTH, variant, reverse)
    shapes = jax.eval_shape(layer.init, jax.random.key(0), inputs, valid)["params"]
    drawn = {n: draw.normal(size=v.shape) * 0.5 for n, v in shapes.items()}
    return layer, drawn, inputs, lengths, valid, masks


CASES = [  # each variant, kind of mask and direction
    ("plain", False, None),
    ("plain", True, "gates"),
    ("keras", True, 1),
    ("lample", False, "gates"),
    ("lample", True, None),
]


@pytest.mark.parametrize(("name", "reverse", "groups"), CASES)
def test_layers_and_their_gradients(name: str, reverse: bool, groups: Any) -> None:
    """Dies if a gate, mask, peephole, start state or the handling of padding is wrong, or the
    hand-written backward pass misses a path: a plain loop and finite differences."""
    with jax.enable_x64(True):
        count = VARIANTS[name].gates if groups == "gates" else 1
        layer, params, inputs, lengths, valid, masks = _case(name, reverse, count)
        masks = [None, None] if groups is None else masks
        weight = np.random.default_rng(5).normal(size=(STEPS, BATCH, WIDTH))

        def loss(at: tuple) -> tuple:
            output = layer.apply({"params": at[0]}, at[1], valid, *masks)
            return jnp.sum(output * weight), output

        compiled = jax.jit(jax.value_and_grad(loss, has_aux=True))
        (_, actual), gradient = compiled((params, inputs))
        expected = _loop(VARIANTS[name], params, inputs, lengths, reverse, masks)
        np.testing.assert_allclose(actual * valid[..., None], expected, atol=1e-12)
        _follows(compiled, (params, inputs), gradient)


def test_clipping_inside_the_loop_bounds_the_gate_gradients() -> None:
    """Dies if `gradient_clip` is applied outside the loop or not at all."""
    inputs = np.ones((4, 2, 8), np.float32)
    valid = np.ones((4, 2), bool)
    for clip, expected in ((1e-3, 1e-3), (None, None)):
        cell = cells.LSTMVariant().update
        start = (np.zeros((2, 2), np.float32), np.zeros((2, 2), np.float32))

        def total(x, cell=cell, clip=clip, start=start):  # type: ignore[no-untyped-def]
            kernel = jnp.ones((2, 8)) * 0.1
            return 100 * jnp.sum(
                recurrence.run(cell, False, clip, x, jnp.zeros(8), kernel, {}, start, valid, None)
            )

        largest = float(np.max(np.abs(jax.jit(jax.grad(total))(inputs))))
        assert largest == pytest.approx(expected) if expected else largest > 1.0


def test_frozen_inputs_get_no_gradient_and_the_rest_the_full_one() -> None:
    """Dies if `frozen` shifts features or stops the kernel's gradient."""
    layer, params, inputs, _, valid, _ = _case("plain", False, 1)
    frozen = cells.LSTM(WIDTH, VARIANTS["plain"], frozen=3)

    def loss(layer: cells.LSTM, params: dict, x: jax.Array) -> jax.Array:
        return jnp.sum(layer.apply({"params": params}, x, valid) ** 2)

    gradient = jax.jit(jax.grad(loss, (1, 2)), static_argnums=0)
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
        expected = other(torch.from_numpy(np.float32(inputs)))[0].numpy()
    actual = jax.jit(layer.apply)({"params": params}, inputs, np.ones((STEPS, BATCH), bool))
    np.testing.assert_allclose(actual, expected, atol=1e-6)


KINDS = [
    Cell(kind="lstm", gates="untied"),
    Cell(kind="lstm", gates="tied"),
    Cell(kind="lstm", gates="capped", clip=0.2),
    Cell(kind="rhn", gates="untied"),
    Cell(kind="rhn", gates="tied", depth=3),
    Cell(kind="nas"),
]


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def _cell_loop(
    cell: Cell, p: dict, x: np.ndarray, state: Any, masks: Masks
) -> tuple[Any, np.ndarray]:
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
    j, o, f, *i = np.split(z, cell.blocks, axis=1)
    f = _sigmoid(f)
    input_gate = 1 - f if cell.gates == "tied" else _sigmoid(i[0])
    if cell.gates == "capped":
        input_gate = np.minimum(1 - f, input_gate)
    c = f * c + input_gate * np.tanh(j) * new
    h = _sigmoid(o) * np.tanh(c)
    return h, c if cell.clip is None else np.clip(c, -cell.clip, cell.clip)


def _cell_case(cell: Cell, seed: int = 0) -> tuple[Any, dict, np.ndarray, Any, Masks]:
    layer = cells.Layer(cell, WIDTH)
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(STEPS, BATCH, SIZE))
    both = [draw.normal(size=(BATCH, WIDTH)) for _ in range(1 if cell.kind == "rhn" else 2)]
    state = both[0] if cell.kind == "rhn" else tuple(both)
    update = None if cell.kind == "nas" else draw.integers(0, 2, (BATCH, WIDTH)) * 1.5
    masks = Masks(draw.integers(0, 2, (BATCH, WIDTH)) * 2.0, update)
    shapes = jax.eval_shape(layer.init, jax.random.key(seed), x, state, Masks())["params"]
    params = jax.tree.map(lambda v: draw.normal(size=v.shape) * 0.5, shapes)
    return layer, params, x, state, masks


def _equal(actual: tuple[Any, Any], expected: tuple[Any, np.ndarray]) -> None:
    """Asserts: end states and outputs [T, B, H] are the same."""
    for mine, other in zip(*map(jax.tree.leaves, (actual, expected)), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("cell", KINDS, ids=str)
def test_cells_and_their_gradients(cell: Cell) -> None:
    """Dies if a gate, the order of blocks, the place of the clip or of a mask is wrong, or what a
    window ends with is not what the next begins with (the loop begins anywhere); or if a kernel's
    gradient misses a level, a step or a mask: a numpy loop and finite differences."""
    with jax.enable_x64(True):
        layer, params, x, state, masks = _cell_case(cell, 1)
        draw = np.random.default_rng(2)
        weight = draw.normal(size=(STEPS, BATCH, WIDTH))
        ends = jax.tree.map(lambda s: draw.normal(size=s.shape), state)

        def loss(tree: tuple) -> tuple[jax.Array, tuple]:
            p, inputs, begin = tree
            end, outputs = layer.apply({"params": p}, inputs, begin, masks)
            last = sum(
                jnp.sum(a * b) for a, b in zip(*map(jax.tree.leaves, (end, ends)), strict=True)
            )
            return jnp.sum(outputs * weight) + last, (end, outputs)

        at = (params, x, state)
        compiled = jax.jit(jax.value_and_grad(loss, has_aux=True))
        (_, actual), gradient = compiled(at)
        _equal(actual, _cell_loop(cell, params, x, state, masks))
        _follows(compiled, at, gradient)


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
    end, _ = jax.jit(layer.apply)({"params": params}, x[None], state, Masks())
    return [float(leaf[0, 0]) for leaf in jax.tree.leaves(end)]


def test_golden_numbers() -> None:
    """Dies if a cell departs from the public code (independent float64 computation)."""
    with jax.enable_x64(True):
        inputs = (1.0, 0.5, 0.2)
        assert _single(Cell(kind="lstm", gates="untied"), inputs) == pytest.approx(
            [0.365607330, 0.601770200]
        )
        assert _single(Cell(kind="nas"), inputs) == pytest.approx([0.313246245, 0.389576419])
        depth = Cell(kind="rhn", gates="untied", depth=2)
        assert _single(depth, (1.0, 0.2, 0.0)) == pytest.approx([0.541020536])
