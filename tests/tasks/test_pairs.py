"""The task pairs: the laws of a Task, what a model reads, training end to end."""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval import runs, studies
from jaxeval.contracts import Batch
from jaxeval.data import generated_texts
from jaxeval.errors import DataError
from jaxeval.models import pairs as models
from jaxeval.models.pairs import PairModel
from jaxeval.predict import main as predict
from jaxeval.studies import prepared as preparing
from jaxeval.train import main as train
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
    choices, sizes = PairModel(hidden=5, layer=4), models.Sizes(3, 7)
    model = models.PairClassifier(choices, sizes)
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


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runs folder with two saved models of the generated pairs."""
    folder = tmp_path_factory.mktemp("pairs")
    changes = ["model.hidden=16", "model.layer=16", "training.epochs=12", "training.patience=0"]
    rate = "training.optimiser.hyperparameters.learning_rate=0.01"
    saved = ["training.save_models=true", "--seeds", "2", "--out", str(folder)]
    train([*SMALL, *changes, rate, *saved])
    return folder


@pytest.mark.parametrize("suffix", ["jsonl", "tsv"])
def test_predictions_are_those_that_were_scored(
    suffix: str, trained: Path, tmp_path: Path
) -> None:
    """Dies if sentences change places, a word gets another number than in training, a pair of
    unknown words is refused, or pairs are mixed up."""
    dev = generated_texts.pairs(137)["dev"]
    texts = [(" ".join(pair.premise), " ".join(pair.hypothesis)) for pair in dev]
    file, out = tmp_path / f"own.{suffix}", tmp_path / "out"
    lines = [
        json.dumps({"sentence1": first, "sentence2": second})
        if suffix == "jsonl"
        else f"{first}\t{second}\tunread"
        for first, second in [*texts, ("quux", "Zwölf Boxkämpfer jagen ihn quer")]
    ]
    file.write_text("\n".join(lines) + "\n")
    assert (
        predict([str(trained), "--which", "all", "--input", str(file), "--output", str(out)]) == 0
    )
    *predictions, unknown = map(json.loads, out.read_text().splitlines())
    assert [(line["premise"], line["hypothesis"]) for line in predictions] == texts
    members = sorted(runs.load(trained), key=lambda row: (-(row.dev or 0), row.seed))
    for number, row in enumerate(members):
        right = [
            line["label"][number] == pair.label
            for line, pair in zip(predictions, dev, strict=True)
        ]
        assert np.mean(right) == pytest.approx(row.dev, abs=1e-9)
    assert len(unknown["label"]) == 2 and all(1 / 3 < p <= 1 for p in unknown["probability"])


def test_what_is_no_pair_is_refused(trained: Path, tmp_path: Path) -> None:
    """Dies if a file without two sentences a line ends in a traceback."""
    for name, content, message in (
        ("a.tsv", "one sentence\n", "expected a column 2"),
        ("a.jsonl", '{"sentence1": "one"}\n', "JSON object with the texts sentence1, sentence2"),
        ("head.tsv", "sentence1\tsentence2\n", "no pair found"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(DataError, match=message):
            predict([str(trained), "--input", str(tmp_path / name)])
