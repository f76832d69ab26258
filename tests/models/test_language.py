"""The language model against plain numpy: its size, losses in slices, sums of layers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.errors import ConfigError
from jaxeval.models import cells, language
from jaxeval.models.cells import Cell, Masks
from jaxeval.models.dropout import KeyedDropout
from jaxeval.models.language import LanguageShape
from tests import quick

T, B = 6, 4
QUIET = KeyedDropout({}, None)


@pytest.mark.parametrize(
    ("sizes", "ratio", "expected", "count"),
    [
        ((10_001, 1, True, 10_000_000), 0.224374398589, (1194, 268), 9_997_549),
        ((10_001, 4, True, 24_000_000), 1.3, (723, 723), None),
        ((33_279, 2, True, 24_000_000), 0.121502, (1227, 149), None),
        ((206, 4, False, 27_000_000), 1.0, (911, 911), 26_947_586),
        ((206, 4, False, 46_000_000), 1.0, (1192, 1192), None),
    ],
)
def test_published_sizes(
    sizes: tuple[int, int, bool, int], ratio: float, expected: tuple[int, int], count: int | None
) -> None:
    """Dies if the count misses the softmax bias or the projection (golden numbers)."""
    vocabulary, layers, tied, budget = sizes
    like = LanguageShape(vocabulary, 1, 1, layers, tied)
    shape = language._solve(like, budget, Cell(), ratio)
    assert (shape.hidden, shape.embedding) == expected
    assert count is None or shape.parameters(Cell()) == count


def test_the_largest_that_fits() -> None:
    """Dies if one more unit would fit, one fewer was needed, or a budget below the softmax bias
    gives a model of no units."""
    for cell in (Cell(gates="tied"), Cell("rhn", "tied", depth=5), Cell("nas", "untied")):
        shape = language._solve(LanguageShape(500, 1, 1), 60_000, cell, ratio=0.4)
        more = shape._replace(hidden=shape.hidden + 1, embedding=round(0.4 * (shape.hidden + 1)))
        assert shape.parameters(cell) <= 60_000 < more.parameters(cell)
    with pytest.raises(ConfigError, match="budget: expected at least"):
        language._solve(LanguageShape(10_000, 1, 1), 10_000, Cell())


def _model(shape: LanguageShape, cell: Cell) -> tuple[language.LanguageModel, Any]:
    """The model, and its parameters as a function of a key."""
    model = language.LanguageModel(shape, cell)
    inputs = np.zeros((1, B), np.int32), shape.start(cell, B), QUIET
    return model, lambda key: model.init(key, *inputs)["params"]


CELLS = [
    *(Cell(), Cell(gates="tied"), Cell("rhn", "untied"), Cell("rhn", "tied", depth=2)),
    Cell("nas", "untied"),
]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_model_has_the_parameters_of_its_budget(cell: Cell) -> None:
    """Dies if the solver counts another model than the one that is trained."""
    for embedding, tied in ((5, True), (9, False)):
        shape = LanguageShape(30, 9, embedding, 1 if cell.kind == "rhn" else 2, tied)
        leaves = jax.tree.leaves(jax.eval_shape(_model(shape, cell)[1], jax.random.key(0)))
        assert sum(leaf.size for leaf in leaves) == shape.parameters(cell)


def test_outputs_are_the_projected_sum_of_all_layers() -> None:
    """Dies if a layer reads the sum, or only the last layer is put out."""
    shape = LanguageShape(20, 8, 5, layers=3)
    model, init = _model(shape, Cell())
    params = jax.device_get(quick.jit(init)(jax.random.key(0)))
    tokens = np.random.default_rng(0).integers(0, 20, (T, B)).astype(np.int32)
    start = shape.start(Cell(), B)
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


@pytest.mark.parametrize("words", [1 << 23, 60])
def test_losses_in_slices_equal_a_plain_softmax(
    monkeypatch: pytest.MonkeyPatch, words: int
) -> None:
    """Dies if slicing changes a loss or a gradient, or loses the last positions."""
    monkeypatch.setattr(language, "_SLICE", words)
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
