"""The language model against plain numpy: its size, losses in slices, sums of layers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.errors import ConfigError
from jaxeval.models import cells, language
from jaxeval.models.cells import Masks
from jaxeval.models.dropout import KeyedDropout
from jaxeval.models.language import LanguageModelSettings

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
    settings = LanguageModelSettings(layers=layers, tied=tied, budget=budget, ratio=ratio)
    sized = settings.sized(vocabulary)
    assert (sized.hidden, sized.embedding) == expected
    assert count is None or sized.parameters(vocabulary) == count


def test_the_largest_that_fits() -> None:
    """Dies if one more unit would fit, one fewer was needed, or a budget below the softmax bias
    gives a model of no units."""
    for cell in ({"gates": "tied"}, {"kind": "rhn", "gates": "tied", "depth": 5}, {"kind": "nas"}):
        sized = LanguageModelSettings(**cell, budget=60_000, ratio=0.4).sized(500)
        assert sized.hidden is not None
        size = {"hidden": sized.hidden + 1, "embedding": round(0.4 * (sized.hidden + 1))}
        more = LanguageModelSettings(**cell, **size)
        assert sized.parameters(500) <= 60_000 < more.parameters(500)
    with pytest.raises(ConfigError, match="budget: expected at least"):
        LanguageModelSettings(budget=10_000).sized(10_000)


def _model(choices: LanguageModelSettings, words: int) -> tuple[language.LanguageModel, Any]:
    """The model, and its parameters as a function of a key."""
    model = language.LanguageModel(choices, words)
    inputs = np.zeros((1, B), np.int32), choices.start(B), QUIET
    return model, lambda key: model.init(key, *inputs)["params"]


CELLS: list[dict[str, Any]] = [
    *({}, {"gates": "tied"}, {"kind": "rhn"}, {"kind": "rhn", "gates": "tied", "depth": 2}),
    {"kind": "nas"},
]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_model_has_the_parameters_of_its_budget(cell: dict[str, Any]) -> None:
    """Dies if the solver counts another model than the one that is trained."""
    layers = 1 if cell.get("kind") == "rhn" else 2
    for size, tied in ((5, True), (9, False)):
        sizes = {"hidden": 9, "embedding": size, "layers": layers, "tied": tied}
        choices = LanguageModelSettings(**cell, **sizes)
        leaves = jax.tree.leaves(jax.eval_shape(_model(choices, 30)[1], jax.random.key(0)))
        assert sum(leaf.size for leaf in leaves) == choices.parameters(30)


def test_outputs_are_the_projected_sum_of_all_layers() -> None:
    """Dies if a layer reads the sum, or only the last layer is put out."""
    choices = LanguageModelSettings(hidden=8, embedding=5, layers=3)
    model, init = _model(choices, 20)
    params = jax.device_get(jax.jit(init)(jax.random.key(0)))
    tokens = np.random.default_rng(0).integers(0, 20, (T, B)).astype(np.int32)
    start = choices.start(B)
    apply = jax.jit(lambda params, *inputs: model.apply({"params": params}, *inputs, QUIET))
    _, actual = apply(params, tokens, start)
    x = params["embedding"][tokens]
    total = np.zeros((T, B, 8), np.float32)
    for number in range(3):
        layer = cells.Layer(choices, 8)
        apply = jax.jit(layer.apply)
        _, x = apply({"params": params[f"layer_{number}"]}, x, start[number], Masks())
        total = total + np.asarray(x)
    np.testing.assert_allclose(actual, total @ params["projection"], atol=1e-6)


@pytest.mark.parametrize(
    ("backend", "vocabulary", "slices"),
    [("cpu", 8869, 3), ("cpu", 3324, 3), ("cpu", 256, 1), ("gpu", 8869, 1)],
)
def test_slices_are_smaller_on_cpus(
    backend: str, vocabulary: int, slices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if CPUs sum a table's gradient over many positions at once: two lost parts of it."""
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    outputs, targets = jnp.zeros((35, 16, 2)), jnp.zeros((35, 16), int)
    assert len(language._slices(vocabulary, outputs, targets, jnp.ones((35, 16)))[0]) == slices


@pytest.mark.parametrize("words", [1 << 23, 60])
def test_losses_in_slices_equal_a_plain_softmax(
    monkeypatch: pytest.MonkeyPatch, words: int
) -> None:
    """Dies if slicing changes a loss or a gradient, or loses the last positions."""
    monkeypatch.setattr(language, "_SLICE_ON_CPU", words)
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

    losses = jax.jit(lambda *of: language.token_losses(*of, targets))(*scored)
    np.testing.assert_allclose(losses, -np.log((p * gold).sum(-1)), rtol=1e-5)
    value, gradients = jax.jit(jax.value_and_grad(total, argnums=(0, 1, 2)))(*scored)
    assert float(value) == pytest.approx(
        -3 * np.sum(weight * np.log((p * gold).sum(-1))), rel=1e-5
    )
    back = 3 * (p - gold) * weight[..., None]
    expected = (np.einsum("tbv,tbe->ve", back, outputs), back.sum((0, 1)), back @ table)
    for mine, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)
