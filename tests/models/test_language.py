"""The language model against plain numpy: losses in slices, sums of layers, counts, dropout."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import budget, cells, language
from jaxeval.models.budget import LanguageShape
from jaxeval.models.cells import Cell, Masks
from tests import quick

T, B = 6, 4
QUIET = language.window_dropout({}, None)


def _model(shape: LanguageShape, cell: Cell) -> tuple[language.LanguageModel, Any]:
    """The model, and its parameters as a function of a key."""
    model = language.LanguageModel(shape, cell)
    tokens = np.zeros((1, B), np.int32)
    start = language.start(shape, cell, B)
    init = lambda key: model.init(key, tokens, start, QUIET)["params"]  # noqa: E731
    return model, init


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("embedding", [5, 9])
@pytest.mark.parametrize(
    "cell", [Cell(), Cell("rhn", "tied", depth=2), Cell("nas", "untied")], ids=str
)
def test_the_model_has_the_parameters_of_its_budget(
    cell: Cell, embedding: int, tied: bool
) -> None:
    """Dies if the solver counts another model than the one that is trained."""
    shape = LanguageShape(30, 9, embedding, layers=1 if cell.kind == "rhn" else 2, tied=tied)
    _, init = _model(shape, cell)
    count = sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(init, jax.random.key(0))))
    assert count == budget.parameter_count(shape, cell)


def test_outputs_are_the_projected_sum_of_all_layers() -> None:
    """Dies if a layer reads the sum, or only the last layer is put out."""
    shape = LanguageShape(20, 8, 5, layers=3)
    model, init = _model(shape, Cell())
    params = jax.device_get(quick.jit(init)(jax.random.key(0)))
    tokens = np.random.default_rng(0).integers(0, 20, (T, B)).astype(np.int32)
    start = language.start(shape, Cell(), B)
    apply = quick.jit(lambda params, *inputs: model.apply({"params": params}, *inputs, QUIET))
    _, actual = apply(params, tokens, start)
    x = params["embedding"][tokens]
    total = np.zeros((T, B, 8), np.float32)
    for number in range(3):
        layer = cells.Layer(Cell(), 8)
        apply = quick.jit(layer.apply)
        _, x = apply({"params": params[f"layer_{number}"]}, x, start[number], Masks())
        total = total + np.asarray(x)
    np.testing.assert_allclose(actual, total @ params["projection"], atol=1e-6)


@pytest.mark.parametrize("words", [1 << 23, 50, 7])
def test_losses_in_slices_equal_a_plain_softmax(
    monkeypatch: pytest.MonkeyPatch, words: int
) -> None:
    """Dies if slicing changes a loss or a gradient, or loses the last positions."""
    monkeypatch.setattr(language, "SLICE", words)
    draw = np.random.default_rng(1)
    table, bias = draw.normal(size=(12, 5)), draw.normal(size=12)
    outputs, targets = draw.normal(size=(T, B, 5)), draw.integers(0, 12, (T, B))
    weight = draw.normal(size=(T, B))
    scores = outputs @ table.T + bias
    p = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    gold = np.eye(12)[targets]
    scored = tuple(np.float32(a) for a in (table, bias, outputs))

    def total(table: jax.Array, bias: jax.Array, outputs: jax.Array) -> jax.Array:
        weights = jnp.asarray(weight, jnp.float32)
        loss = language.weighted_loss(table, bias, outputs, jnp.asarray(targets), weights)
        return 3.0 * loss

    losses = quick.jit(lambda *of: language.token_losses(*of, targets))(*scored)
    np.testing.assert_allclose(losses, -np.log((p * gold).sum(-1)), rtol=1e-5)
    value, gradients = quick.jit(jax.value_and_grad(total, argnums=(0, 1, 2)))(*scored)
    assert float(value) == pytest.approx(
        -3 * np.sum(weight * np.log((p * gold).sum(-1))), rel=1e-5
    )
    back = 3 * (p - gold) * weight[..., None]
    expected = (np.einsum("tbv,tbe->ve", back, outputs), back.sum((0, 1)), back @ table)
    for mine, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)


def test_masks_are_shared_over_time_where_they_must_be() -> None:
    """Dies if state dropout changes within a window, or input dropout does not."""
    rates = {"state": jnp.float32(0.5), "input": jnp.float32(0.5)}
    drop = language.window_dropout(rates, jax.random.key(0))
    state = drop.mask("state", (B, 64), 0)
    assert state is not None and state.shape == (B, 64)
    other = drop.mask("state", (B, 64), 1)
    assert other is not None and not np.array_equal(state, other)
    fresh = np.asarray(drop.elements("input", jnp.ones((T, B, 64))))
    assert not np.array_equal(fresh[0], fresh[1])
    assert drop.mask("update", (B, 8)) is None
    assert language.window_dropout(rates, None).mask("state", (B, 8)) is None
