"""What holds of both sequence-to-sequence models: padding, steps, counts, initial values."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models.attentive_lstm import AttentiveLstm
from jaxeval.models.dropout import HashedDropout
from jaxeval.models.seq2seq import Live, Seq2SeqShape, Seq2SeqSizes
from jaxeval.models.transformer import Transformer
from tests.models import pairs
from tests.models.pairs import GIVEN

NONE = HashedDropout()
_SHAPE = Seq2SeqShape(pairs.SOURCES, pairs.TARGETS, 8, 6, 2, 3, 2)
MODELS = {
    "attentive_lstm": AttentiveLstm(_SHAPE._replace(decoder_layers=1, heads=1)),
    "transformer": Transformer(_SHAPE),
}


def _parameters(name: str, seed: int) -> Any:
    return jax.tree.map(np.float32, pairs.parameters(MODELS[name], seed))


@pytest.mark.parametrize("name", [*MODELS, "grouped", "short"])
def test_writing_step_by_step_equals_teacher_forcing(name: str) -> None:
    """Dies if the step that writes differs from the one that learns, loses its state, writes the
    cache to a wrong place or layer, or if steps to come are looked at; grouped: eight computed
    heads are two; short: symbols are more than steps, so that their gates are no table."""
    like = {"grouped": "transformer", "short": "attentive_lstm"}.get(name, name)
    p, model = _parameters(like, 2), MODELS[like]
    if name == "grouped":
        model = Transformer(_SHAPE._replace(heads=8), Live(heads=jnp.float32(2)))
        use = jax.jit(lambda p: model.apply({"params": p}, GIVEN, NONE, method=pairs.stepped))
        actual = use(p)
    else:
        stepped = functools.partial(pairs.stepped, spare=0) if name == "short" else pairs.stepped
        actual = pairs.use(model, stepped)(p, GIVEN, NONE)
    expected = pairs.use(MODELS[like])(p, GIVEN, NONE)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


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
