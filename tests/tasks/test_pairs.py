"""The task pairs: the laws of a Task, what a model reads, training end to end."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval import studies
from jaxeval.contracts import Batch
from jaxeval.models.sentences import PairClassifier, PairModel, PairSizes
from jaxeval.studies import prepared as preparing
from tests import conformance, quick
from tests.models import sentences

SMALL = [
    *("task=pairs", "data.dimension=8", "data.max_widths=1", "model.hidden=8", "model.layer=8"),
    "training.batch_size=8",
]


def _prepared(*changes: str) -> studies.Prepared:
    return studies.prepare(studies.read(None, [*SMALL, *changes]))


def _batch(prepared: studies.Prepared, rows: Any) -> Batch:
    columns = {n: jnp.asarray(c[rows]) for n, c in prepared.data.corpus.buckets[0].items()}
    shared = jax.tree.map(jnp.asarray, prepared.data.corpus.shared)
    tables = jax.tree.map(jnp.asarray, prepared.data.split(0).tables)
    return Batch(columns, jnp.ones(len(rows)), shared, tables)


def test_laws() -> None:
    """Dies if the task breaks a law that the trainer relies on."""
    prepared = _prepared("model.words.trained=false", "model.dropout.output=0.3")
    hparams = dict(preparing.member_of(prepared).hparams)
    conformance.check(
        conformance.Case(
            prepared.problem.task,
            _batch(prepared, np.arange(6)),
            {name: jnp.float32(value) for name, value in hparams.items()},
            ["labels"],
            3,
            lambda b: 1.0,
            lambda b: b.rows["labels"],
        )
    )


def test_logits_are_those_computed_word_by_word() -> None:
    """Dies if both sentences share an LSTM, change places, or padding is read."""
    draw = np.random.default_rng(0)
    sides = {
        "premise": (draw.integers(1, 7, (4, 6)), np.array([6, 2, 1, 4])),
        "hypothesis": (draw.integers(1, 7, (4, 6)), np.array([3, 5, 1, 6])),
    }
    rows = {side: forms for side, (forms, _) in sides.items()}
    rows |= {f"{side}_length": length for side, (_, length) in sides.items()}
    vectors = draw.normal(size=(7, 3)).astype(np.float32)
    shared = {"row": np.arange(7), "vectors": vectors, "pretrained": np.ones(7, bool)}
    split = {"known": np.arange(7) != 4}
    batch = jax.tree.map(jnp.asarray, Batch(rows, np.ones(4), shared, split))
    choices = PairModel(hidden=5, layer=4)
    model = PairClassifier(choices, PairSizes(3, 7))
    shapes = jax.eval_shape(model.init, jax.random.key(0), batch, {}, None)["params"]
    params = jax.tree.map(lambda s: draw.normal(size=s.shape).astype(np.float32), shapes)
    values = quick.jit(lambda p: model.apply({"params": p}, batch, {}, None))(params)
    for pair in range(4):
        states = []
        for side, (forms, length) in sides.items():
            words = [1 if word == 4 else word for word in forms[pair, : length[pair]]]
            states.append(sentences.states(params[side]["lstm"], params["words"][words])[-1])
        layer, last = params["layer"], params["logits"]
        hidden = np.tanh(np.concatenate(states) @ layer["kernel"] + layer["bias"])
        expected = hidden @ last["kernel"] + last["bias"]
        np.testing.assert_allclose(values[pair], expected, rtol=2e-4, atol=2e-5)
