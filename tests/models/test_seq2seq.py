"""What holds of both sequence-to-sequence models: padding, steps, counts, initial values."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models.attentive_lstm import AttentiveLstm
from jaxeval.models.dropout import HashedDropout
from jaxeval.models.seq2seq import Live, Seq2SeqShape, Seq2SeqSizes
from jaxeval.models.transformer import Transformer
from tests import quick
from tests.models import pairs
from tests.models.pairs import GIVEN

NONE = HashedDropout()
_SHAPE = Seq2SeqShape(pairs.SOURCES, pairs.TARGETS, 8, 6, 2, 3, 2)
MODELS = {
    "attentive_lstm": AttentiveLstm(_SHAPE._replace(decoder_layers=1, heads=1)),
    "transformer": Transformer(_SHAPE),
}
BOTH = pytest.mark.parametrize("name", MODELS)


def _parameters(name: str, seed: int) -> Any:
    return jax.tree.map(np.float32, pairs.parameters(MODELS[name], seed))


@BOTH
def test_padding_of_sources_changes_no_score(name: str) -> None:
    """Dies if what stands behind a source is read, or the backward way starts from it."""
    p, use = _parameters(name, 4), pairs.use(MODELS[name])
    first = use(p, GIVEN, NONE)
    padding = np.arange(GIVEN.source.shape[1])[None] >= np.asarray(GIVEN.length)[:, None]
    other = GIVEN._replace(source=jnp.where(padding, 0, GIVEN.source))
    assert np.any(other.source != GIVEN.source)
    np.testing.assert_array_equal(use(p, other, NONE), first)
    wide = other._replace(source=jnp.pad(other.source, ((0, 0), (0, 3)), constant_values=5))
    np.testing.assert_allclose(use(p, wide, NONE), first, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [*MODELS, "grouped"])
def test_writing_step_by_step_equals_teacher_forcing(name: str) -> None:
    """Dies if the step that writes differs from the one that learns, loses its state, writes the
    cache to a wrong place or layer, or if steps to come are looked at; grouped: eight computed
    heads are two."""
    like = "transformer" if name == "grouped" else name
    p, model = _parameters(like, 2), MODELS[like]
    if name == "grouped":
        model = Transformer(_SHAPE._replace(heads=8), Live(heads=jnp.float32(2)))
        use = quick.jit(lambda p: model.apply({"params": p}, GIVEN, NONE, method=pairs.stepped))
        actual = use(p)
    else:
        actual = pairs.use(model, pairs.stepped)(p, GIVEN, NONE)
    expected = pairs.use(MODELS[like])(p, GIVEN, NONE)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


@BOTH
def test_later_symbols_change_no_earlier_score(name: str) -> None:
    """Dies if a position looks ahead."""
    p, use = _parameters(name, 3), pairs.use(MODELS[name])
    first = np.asarray(use(p, GIVEN, NONE))
    for position in range(GIVEN.target.shape[1]):
        others = (GIVEN.target[:, position:] + 1) % pairs.TARGETS
        target = jnp.concatenate([GIVEN.target[:, :position], others], axis=1)
        actual = np.asarray(use(p, GIVEN._replace(target=target), NONE))
        np.testing.assert_array_equal(actual[:, :position], first[:, :position])
        assert np.all(np.any(actual[:, position:] != first[:, position:], axis=-1))


@pytest.mark.parametrize(
    ("model", "sizes", "published"),
    [
        (AttentiveLstm, (64, 33, 128, 512, 1, 1, 1), 6_859_426),
        (AttentiveLstm, (8, 6, 3, 7, 3, 1, 1), None),
        (Transformer, (64, 33, 256, 1024, 4, 4, 4), 7_407_137),
        (Transformer, (8, 6, 6, 7, 3, 1, 3), None),
    ],
)
def test_counts_are_those_of_the_parameters(
    model: type, sizes: tuple[int, ...], published: int | None
) -> None:
    """Dies if the cost model counts others than the model has, or the model has others than the
    public code's (confirmed by running it)."""
    shape = Seq2SeqShape(*sizes)
    count = sum(leaf.size for leaf in jax.tree.leaves(pairs.shapes(model(shape))))
    name = "transformer" if model is Transformer else "attentive_lstm"
    assert count == Seq2SeqSizes(name, shape, (1.0, 1.0), 1).parameters()
    assert published in (None, count)


def _bounded(values: Any, bound: float) -> None:
    """Asserts: uniform within the bound on both sides: its largest and its mean square."""
    flat = np.asarray(values, np.float64).reshape(-1)
    assert 0.9 * bound < np.abs(flat).max() < bound
    spread = (4 / 5 / flat.size) ** 0.5  # of the mean square of (-1, 1), times 3
    assert np.mean((flat / bound) ** 2) * 3 == pytest.approx(1, abs=4 * spread)
    assert np.mean(flat / bound) == pytest.approx(0, abs=4 / (3 * flat.size) ** 0.5)


@pytest.mark.parametrize(("model", "spread"), [(AttentiveLstm, 1.0), (Transformer, 24**-0.5)])
def test_initial_values_follow_the_public_code(model: type, spread: float) -> None:
    """Dies if weights start with another distribution, alike, or padding not at zero."""
    layers = (2, 1, 1) if model is AttentiveLstm else (2, 2, 4)
    made = model(Seq2SeqShape(40, 30, 24, 36, *layers))
    p = pairs.host(quick.jit(lambda key: pairs.initial(made, key))(jax.random.key(3)))
    for table in (p["source"], p["target"]):
        assert not np.any(table[0])
        drawn = table[1:]
        assert drawn.std() == pytest.approx(spread, rel=4 / (2 * drawn.size) ** 0.5)
        assert drawn.mean() == pytest.approx(0, abs=4 * spread / drawn.size**0.5)
    (_lstm if model is AttentiveLstm else _transformer)(p)
    rank = 2 if model is AttentiveLstm else 3  # of kernels, stacked by layer
    kernels = [leaf for leaf in jax.tree.leaves(p) if leaf.ndim == rank]
    matrices = [m for leaf in kernels for m in (leaf if rank == 3 else [leaf])]
    r = np.corrcoef([m[1:].reshape(-1)[:36] for m in matrices])  # no two start alike
    assert np.abs(r - np.eye(len(r))).max() < 0.75


def _lstm(p: Any) -> None:
    encoders = [p[f"encoder_{n}"][way] for n in (0, 1) for way in ("forward", "backward")]
    attention = p["attention"]
    for weights in (p["decoder"], *encoders, p["output"], {"score": attention["score"]}):
        for leaf in weights.values():
            _bounded(leaf, 36**-0.5)
    for leaf in (*attention["keys"].values(), attention["query"]):
        _bounded(leaf, (3 * 36) ** -0.5)
    for leaf in p["start"].values():
        _bounded(2 * leaf - 1, 1.0)


def _transformer(p: Any) -> None:
    encoder, decoder = (p[name]["layers"] for name in ("encoder", "decoder"))
    attentions = [encoder["self_attention"], decoder["self_attention"], decoder["cross_attention"]]
    for weights in attentions:
        _bounded(weights["in_projection"]["kernel"], (6 / (4 * 24)) ** 0.5)
        _bounded(weights["out_projection"]["kernel"], 24**-0.5)
        for name in ("in_projection", "out_projection"):
            assert not np.any(weights[name]["bias"])
    for layer in (encoder, decoder):
        for name, size in (("inner", 24), ("outer", 36)):
            for leaf in layer["feed_forward"][name].values():
                _bounded(leaf, size**-0.5)
    for leaf in p["output"].values():
        _bounded(leaf, 24**-0.5)
    for norm in (p["encoder"]["norm"], *(weights["norm"] for weights in attentions)):
        assert np.all(norm["scale"] == 1) and not np.any(norm["bias"])
