"""The task pairs: the laws of a Task, what a model reads, training end to end."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval import studies
from jaxeval.contracts import Batch
from jaxeval.models.sentences import PairClassifier, PairModel
from tests.models import sentences
from tests.tasks import of_words

SMALL = "data.dimension=8 data.max_widths=1 model.hidden=8 model.layer=8 training.batch_size=8"


def test_laws() -> None:
    """Dies if the task breaks a law that the trainer relies on."""
    changes = ["task=pairs", *SMALL.split(), "model.words.trained=false"]
    config = studies.read(
        None, [*changes, *(f"model.dropout.{s}=0.2" for s in ("input", "output"))]
    )
    of_words.check(studies.prepare(config), np.arange(6))


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
    model = PairClassifier(choices, 3, 7)
    shapes = jax.eval_shape(model.init, jax.random.key(0), batch, {}, None)["params"]
    params = jax.tree.map(lambda s: draw.normal(size=s.shape).astype(np.float32), shapes)
    values = jax.jit(lambda p: model.apply({"params": p}, batch, {}, None))(params)
    for pair in range(4):
        states = []
        for side, (forms, length) in sides.items():
            words = [1 if word == 4 else word for word in forms[pair, : length[pair]]]
            states.append(sentences.states(params[side]["lstm"], params["words"][words])[-1])
        layer, last = params["layer"], params["logits"]
        hidden = np.tanh(np.concatenate(states) @ layer["kernel"] + layer["bias"])
        expected = hidden @ last["kernel"] + last["bias"]
        np.testing.assert_allclose(values[pair], expected, rtol=2e-4, atol=2e-5)
