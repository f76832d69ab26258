"""The task sentiment: the laws of a Task, what is refused, training and predictions end to end."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval import runs, studies
from jaxeval.errors import ConfigError
from jaxeval.studies import prepared as preparing
from tests.tasks import of_words
from tests.verbs import predict, train

SMALL = [
    *("task=sentiment", "data.source.sentences=30", "data.dimension=8", "data.max_widths=1"),
    *("model.hidden=8", "training.batch_size=4"),
]
CHOICES = {
    "atae": [
        "model.architecture=atae",
        "model.words.target_table=true",
        "model.initial.kind=uniform",
        *(f"model.dropout.{s}=0.1" for s in ("input", "hidden", "attention_input", "attention")),
        "model.dropout.output=0.1",
    ],
    "ian": [
        *("model.architecture=ian", "data.rows=sentences", "model.target.inter_aspect=6"),
        "model.dropout.kind=naive",
        *(f"model.dropout.{site}=0.1" for site in ("input", "hidden", "output")),
    ],
    "cnn": [
        *("model.architecture=cnn", "model.words.trained=false", "model.cnn.filters=16"),
        *("model.dropout.input=0.1", "model.dropout.output=0.1"),
    ],
}


def _prepared(*changes: str) -> studies.Prepared:
    return studies.prepare(studies.read(None, [*SMALL, *changes]))


@pytest.mark.parametrize("name", CHOICES)
def test_laws(name: str) -> None:
    """Dies if a choice of the config breaks a law of a Task."""
    prepared = _prepared(*CHOICES[name])
    forms = prepared.data.corpus.buckets[0]["forms"]
    _, different = np.unique(forms, axis=0, return_index=True)  # what sees no target can learn it
    rows = [row for row in np.sort(different) if row in {*prepared.data.split(0).train[0]}][:6]
    hparams = dict(preparing.member_of(prepared).hparams)
    assert ("initial_scale" in hparams) == (name == "atae")
    of_words.check(prepared, np.array(rows))


def test_models_of_targets_need_targets(tmp_path: Path) -> None:
    """Dies if a target-dependent model is trained on whole texts, or a text model refuses them."""
    for part in ("train", "dev", "test"):
        lines = [f"so {word} a day in {part}\t{word}" for word in ("good", "bad", "fine")]
        (tmp_path / f"{part}.tsv").write_text("\n".join(lines) + "\n")
    data = f"data.source.path={tmp_path}"
    with pytest.raises(ConfigError, match="tdlstm reads a target, and these texts have none"):
        _prepared(data)
    batch = of_words.batch(_prepared(data, "model.architecture=bag").data, np.arange(3))
    assert batch.rows["targets"].tolist() == [1, 1, 1]
    with pytest.raises(ConfigError, match=r"data.rows = 'sentences', got 'targets'"):
        studies.read(None, [*SMALL, "model.target.inter_aspect=5"])


QUICK = [
    *("data.dimension=8", "model.hidden=8", "data.max_widths=1", "training.lanes=2"),
    *("training.batch_size=8", "training.evaluation_batch_size=32", "training.save_models=true"),
]
SAID = {"positive": ["good", "fine"], "negative": ["bad", "dull"], "neutral": ["there", "here"]}
UNKNOWN = {"positive": ["superb"], "negative": ["grim"], "neutral": ["nearby"]}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of two targets as JSON lines, a target each: what is said of the one tells nothing of
    the other. Dev has words that train lacks, so that models differ on it."""
    folder, draw = tmp_path_factory.mktemp("corpus"), np.random.default_rng(1)
    for part, count in (("train", 120), ("dev", 40), ("test", 40)):
        lines, words = [], {k: w + UNKNOWN[k] * (part == "dev") for k, w in SAID.items()}
        for _ in range(count):
            nouns = draw.choice(["soup", "bar", "waiter", "rice"], 2, replace=False).tolist()
            labels = draw.choice([*SAID], 2).tolist()
            clauses = [
                f"the {noun} was {draw.choice(words[label])}"
                for noun, label in zip(nouns, labels, strict=True)
            ]
            text = f"{clauses[0]} but {clauses[1]} ."
            for noun, label in zip(nouns, labels, strict=True):
                span = [text.index(noun), text.index(noun) + len(noun)]
                lines.append(json.dumps({"text": text, "span": span, "label": label}))
        (folder / f"{part}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def _trained(corpus: Path, folder: Path, name: str, *changes: str) -> list[runs.MemberRow]:
    options = ["--seeds", "2", "--data", str(corpus), "--out", str(folder)]
    train([name, *options, *QUICK, *changes])
    return runs.load(folder)


@pytest.fixture(scope="module")
def tdlstm(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list]:
    """Runs folder and members of TD-LSTM."""
    folder = tmp_path_factory.mktemp("runs")
    epochs = "training.epochs=8"
    return folder, _trained(corpus, folder, "moss2019/tdlstm_small", epochs)


def test_tdlstm_learns_what_targets_are_said_to_be(tdlstm: tuple[Path, list]) -> None:
    """Dies if a side, its direction or its target is another's."""
    assert min(member.test for member in tdlstm[1]) > 0.9


def _predicted(folder: Path, file: Path, *words: str) -> list[dict[str, Any]]:
    output = folder / "predicted"
    options = ["--input", str(file), "--output", str(output)]
    assert predict([str(folder), *options, *words]) == 0
    return [json.loads(line) for line in output.read_text().splitlines()]


def test_predictions_are_those_that_were_scored(tdlstm: tuple[Path, list], corpus: Path) -> None:
    """Dies if a word gets another number than in training, targets are mixed up, or a model's
    column is another's: the accuracy of dev is then another."""
    folder, members = tdlstm
    gold = {
        (line["text"], *line["span"]): line["label"]
        for line in map(json.loads, (corpus / "dev.jsonl").read_text().splitlines())
    }
    lines = _predicted(folder, corpus / "dev.jsonl", "--which", "all")
    assert len(lines) == len((corpus / "dev.jsonl").read_text().splitlines())
    best_first = sorted(members, key=lambda member: (-member.dev, member.seed))
    for column, member in enumerate(best_first):
        right = [gold[line["text"], *line["span"]] == line["label"][column] for line in lines]
        assert np.mean(right) == pytest.approx(member.dev, abs=1e-6)
    assert members[0].dev != members[1].dev
    for line in lines:
        assert line["target"] == line["text"][slice(*line["span"])]
        assert all(0.33 < value <= 1 for value in line["probability"])
