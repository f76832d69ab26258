"""Classifiers of targets against the same computed word by word, and against the papers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.config import reading
from jaxeval.models import sentiment
from jaxeval.models.sentiment import SITES, TARGETED, SentimentModel
from tests.models import sentences

MODELS: dict[str, dict[str, Any]] = {
    "majority": {"architecture": "majority"},
    "bag": {"architecture": "bag", "bag": [5, 4]},
    "cnn": {"architecture": "cnn", "cnn": {"widths": [2, 3, 5], "filters": 4}},
    "lstm": {"architecture": "lstm", "initial": {"kind": "torch"}},
    "tdlstm apart": {
        "architecture": "tdlstm",
        "target": {"include": False},
        "words": {"initialiser": "normal"},
    },
    "tclstm": {"architecture": "tclstm", "words": {"target_table": True}},
    "tclstm apart": {"architecture": "tclstm", "target": {"include": False}},
    "atae": {"architecture": "atae", "words": {"target_table": True}},
    "atae as run": {"architecture": "atae", "attention": {"projection": "none"}},
    "ae": {
        "architecture": "atae",
        "attention": {"target": False, "bias": False, "projection": "linear"},
        "target": {"encoder": "lstm"},
    },
    "ae weighted": {
        "architecture": "atae",
        "attention": {"target": False, "projection": "linear"},
        "target": {"position": "weighting"},
    },
    "atae at places": {
        "architecture": "atae",
        "target": {"position": "embedding", "position_size": 3, "max_distance": 2},
    },
    "ian": {"architecture": "ian", "words": {"target_table": True}, "tanh_logits": True},
    "ian weighted": {"architecture": "ian", "target": {"position": "weighting"}},
    "tdlstm between": {"architecture": "tdlstm", "target": {"inter_aspect": 6}},
}


def _choices(name: str) -> SentimentModel:
    return reading.read(SentimentModel, {"hidden": 5, **MODELS[name]})


@pytest.mark.parametrize("name", MODELS)
def test_logits_are_those_computed_word_by_word(name: str) -> None:
    """Dies if a kernel's rows are mixed up, a mask lets padding in or leaves a word out, a side is
    read in the wrong direction, an attention reads another state, or targets change places.

    What is computed word by word knows of no padding and no other sentence.
    """
    choices, batch = _choices(name), sentences.batch()
    params = sentences.params(choices, batch)
    logits = sentences.logits(choices, params, batch)
    reference = sentences.Reference(choices, params, batch)
    for sentence, targets in enumerate(np.asarray(batch.rows["targets"])):
        expected = reference.logits(sentence)
        actual = logits[sentence, : int(targets)]
        np.testing.assert_allclose(actual, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["ian weighted"])
def test_targets_without_words_give_numbers(name: str) -> None:
    """Dies if padding's empty target makes the gradients of all others nan."""
    choices, batch = _choices(name), sentences.batch()
    params = sentences.params(choices, batch)
    rows = {name: np.array(column) for name, column in batch.rows.items()}
    rows["start"][1, 1] = rows["end"][1, 1] = 0
    empty = batch._replace(rows=jax.tree.map(jnp.asarray, rows))
    model = sentiment.Classifier(choices, sentences.SIZES)

    def total(tree: Any) -> Any:
        logits = model.apply({"params": tree}, empty, {}, None)
        return jnp.sum(logits[jnp.array([0, 2, 3])]) + jnp.sum(logits[1, 0])

    leaves = jax.tree.leaves(jax.jit(jax.grad(total))(params))
    assert all(np.isfinite(leaf).all() for leaf in leaves)


def test_a_variational_mask_is_the_same_at_all_words() -> None:
    """Dies if words of a sentence lose different features, or those of naive dropout the same.

    The mean vector of equal words is one of them, times its mask.
    """
    batch = sentences.batch(train=True)
    batch = batch._replace(rows={**batch.rows, "forms": jnp.asarray(np.full((4, 9), 5))})
    for kind, same in (("variational", True), ("naive", False)):
        dropout = {"kind": kind, "input": 0.5}
        tree = {"architecture": "bag", "bag": [], "dropout": dropout}
        choices = reading.read(SentimentModel, tree)
        params = sentences.params(choices, batch)
        params["logits"] = {
            "kernel": np.eye(4, 3, dtype=np.float32),
            "bias": np.zeros(3, np.float32),
        }
        model = sentiment.Classifier(choices, sentences.SIZES)
        rates = {"dropout_input": jnp.float32(0.5)}
        dropped = jax.jit(model.apply)({"params": params}, batch, rates, jax.random.key(0))
        ratio = np.asarray(dropped / sentences.logits(choices, params, batch)).round(4)
        assert ({*ratio.ravel().tolist()} == {0.0, 2.0}) is same


def test_a_table_of_targets_begins_as_that_of_texts_and_learns_apart() -> None:
    """Dies if words of targets are read from the texts' table, or read vectors are drawn anew."""
    choices, batch = _choices("ian"), sentences.batch()
    model = sentiment.Classifier(choices, sentences.SIZES)
    tree = jax.jit(model.init)(jax.random.key(0), batch, {}, None)["params"]
    tables = [tree["embedding"][table] for table in ("words", "target_words")]
    read = batch.shared["vectors"][: sentences.VOCABULARY]
    pretrained = np.asarray(batch.shared["pretrained"][: sentences.VOCABULARY])
    for table in tables:
        np.testing.assert_array_equal(table[pretrained], read[pretrained])
        assert np.all(table[~pretrained] != read[~pretrained])
    moved = {**tree, "embedding": {"words": tables[0], "target_words": tables[1] + 1}}
    logits = [sentences.logits(choices, params, batch) for params in (tree, moved)]
    assert np.abs(logits[0] - logits[1]).max() > 1e-3


def test_wrong_choices_are_told() -> None:
    """Dies if a variant is accepted that a model does not have."""
    for tree, message in (
        ({"architecture": "lstm", "target": {"inter_aspect": 5}}, "lstm has none"),
        ({"architecture": "tdlstm", "target": {"position": "weighting"}}, "expected atae, ian"),
        ({"architecture": "tdlstm", "words": {"target_table": True}}, "tdlstm has none"),
        ({"initial": {"kind": "torch", "zero_biases": True}}, "kind = 'uniform'"),
    ):
        with pytest.raises(Exception, match=message):
            reading.read(SentimentModel, tree)
    assert {*SITES} > TARGETED
