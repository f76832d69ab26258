"""The tagging task: the laws of a Task, padding, and every choice of the config."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval import studies
from jaxeval.config import fields
from jaxeval.contracts import Batch, Task
from jaxeval.data import generated
from jaxeval.models import tagging as models
from jaxeval.tasks import tagging
from tests.tasks import of_words

SMALL = ["model.layers=[12]", "data.dimension=8", "training.batch_size=4"]
CHOICES = {  # every choice of the config is made by one of them
    "lample": "characters.encoder=lstm cell.coupled_forget=true cell.peepholes=true projection=10 "
    "cell.learned_start=true cell.gradient_clip=5.0 transitions=from_input dropout.kind=naive "
    "dropout.characters=0.5 dropout.inverted=false words.unknown_rate=0.5 casing=embedding",
    "ukp2017": "layers=[12,10] words.trained=false casing=one_hot cell.hard_sigmoid=true "
    "dropout.layer_input=0.25 dropout.state=0.25 dropout.per_gate=true characters.masked=false "
    "characters.full_padding=true",
    "window": "encoder=window window.hidden=16 casing=capitals classifier=softmax "
    "dropout.kind=naive dropout.output=0.5 characters.encoder=none",
}


PLAIN = ["model.encoder=window", "model.characters.encoder=none"]  # of which little is compiled


@pytest.fixture(autouse=True)
def _tiny_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = generated.sentences(1, 12, 12, 12)
    monkeypatch.setattr(generated, "sentences", lambda seed: dict(sentences))


def _prepared(changes: list[str]) -> studies.Prepared:
    return studies.prepare(studies.read(None, [*SMALL, *changes]))


def _init(task: Task, seed: int, batch: Batch) -> Any:
    return jax.device_get(jax.jit(task.init)(jax.random.key(seed), batch, {}))


@pytest.mark.parametrize("name", CHOICES)
def test_laws(name: str) -> None:
    """Dies if a choice of the config breaks a law of a Task."""
    scoring = ["scoring.rule=ukp", "data.scheme=bio"] if name == "ukp2017" else []
    prepared = _prepared([*(f"model.{word}" for word in CHOICES[name].split()), *scoring])
    bucket = int(np.argmax([len(b["length"]) for b in prepared.data.corpus.buckets]))
    softmax = prepared.config.model.classifier == "softmax"

    def decisions(batch: Batch) -> float:
        return 1.0 if softmax else float(np.mean(batch.rows["length"]))

    of_words.check(prepared, np.arange(6), bucket, decisions)


def test_tags_do_not_depend_on_the_bucket() -> None:
    """Dies if padding changes a tag: dev and test of a small corpus lie in its widest bucket."""
    prepared = _prepared([])
    task, batch = prepared.problem.task, of_words.batch(prepared.data, np.arange(6), -1)
    wider = {n: c if c.ndim == 1 else np.pad(c, ((0, 0), (0, 7))) for n, c in batch.rows.items()}
    params, predict = _init(task, 7, batch), jax.jit(task.predict)
    each = [
        np.asarray(predict(params, (), own, jax.random.key(0), {})[0])
        for own in (batch, batch._replace(rows=wider))
    ]
    real = np.arange(each[0].shape[1]) < batch.rows["length"][:, None]
    assert (each[0] == each[1][:, : each[0].shape[1]])[real].all()


@pytest.mark.parametrize("selected", [False, True])
def test_softmax_loss_and_gradient_are_those_of_numpy(selected: bool) -> None:
    """Dies if another label's log-probability is picked, or padding counts."""
    draw = np.random.default_rng(0)
    x, length = draw.normal(size=(4, 3, 5)), np.array([4, 1, 3])
    labels = draw.integers(0, 5, (3, 4))

    def loss(emissions: jax.Array) -> jax.Array:
        logits = models.TaggerLogits(emissions, None)
        arrays = jnp.asarray(labels), jnp.asarray(length)
        return tagging._sentence_losses(logits, *arrays, selected=selected)

    losses, pull = jax.vjp(jax.jit(loss), jnp.float32(x))
    probs = np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
    real = np.arange(4)[:, None] < length
    of_label = np.take_along_axis(probs, labels.T[..., None], axis=-1)[..., 0]
    expected = -np.where(real, np.log(of_label), 0).sum(axis=0)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    gradient = np.where(real[..., None], probs - np.eye(5)[labels.T], 0)
    np.testing.assert_allclose(pull(jnp.ones(3))[0], gradient, rtol=1e-4, atol=1e-6)


TRAIN = "red S-COL\ndog O\n\nred S-COL\nfox O\nran O\n"
OTHERS = {"train": TRAIN, "dev": "ç S-LOC\n", "test": "owl O\nowls O\n\nlynx B-ORG\nx E-ORG\n"}
WORDS_ALONE = [*PLAIN, "model.window.reach=0", "model.casing=none"]


def _of_files(folder: Path, parts: dict[str, str], *changes: str) -> studies.Prepared:
    folder.mkdir()
    for part, content in parts.items():
        (folder / part).write_text(content)
    (folder / "vectors").write_text("owl 1 2\nred 3 4\nlynx 3 4\n")
    vectors = [f"data.source.path={folder}", f"data.vectors={folder / 'vectors'}"]
    return _prepared([*vectors, *changes])


def _initial(prepared: studies.Prepared) -> Any:
    return _init(prepared.problem.task, 7, of_words.batch(prepared.data, np.arange(1)))


def test_words_outside_train_have_the_vector_read_or_none(tmp_path: Path) -> None:
    """Dies if a read vector is lost beside trained ones, or another word is not the unknown one.

    "lynx" has the vector that "red" begins with; "owls" and "x" have none.
    """
    prepared = _of_files(tmp_path / "c", OTHERS, *WORDS_ALONE)
    params, tagged = _initial(prepared), prepared.data
    forms = ["", *sorted({w for text in OTHERS.values() for w in text.split()[::2]})]
    batch = of_words.batch(tagged, np.zeros(len(forms), int))
    alone = {
        "forms": np.arange(len(forms), dtype=np.int32)[:, None],
        "labels": np.zeros((len(forms), 1), np.int32),
        "length": np.ones(len(forms), np.int32),
    }
    sizes = models.Sizes(
        len(tagged.saved["labels"]),
        len(tagged.saved["characters"]) + 2,
        8,
        tagged.table.vocabulary,
    )
    model = models.Tagger(prepared.config.model, sizes)
    rates = dict.fromkeys(fields.active(prepared.config.model.dropout), 0.0)
    apply = jax.jit(lambda params, batch: model.apply({"params": params}, batch, rates, None))
    actual: Any = apply(params, batch._replace(rows=alone))
    emissions = dict(zip(forms, np.asarray(actual.emissions[0]).tolist(), strict=True))
    assert emissions["lynx"] == emissions["red"] != emissions["owl"] != emissions["dog"]
    assert emissions["owls"] == emissions["x"] == emissions["ç"] != emissions["owl"]


def test_tags_that_train_lacks_count_as_errors(tmp_path: Path) -> None:
    """Dies if a gold entity that cannot be predicted is left out of recall, or is found."""
    prepared = _of_files(tmp_path / "c", OTHERS)
    tagged, task = prepared.data, prepared.problem.task
    counts: dict[str, float] = {}
    for number, rows in enumerate(tagged.split(0).test):
        if len(rows):
            batch = of_words.batch(tagged, rows, number)
            predicted = np.minimum(batch.rows["labels"], len(tagged.saved["labels"]) - 1)
            for name, count in jax.jit(task.count)(predicted, batch).items():
                counts[name] = counts.get(name, 0.0) + float(count)
    assert counts["gold_spans"] == 1 and counts["right_spans"] == 0
    assert (counts["words"], counts["right_words"]) == (4, 2)
