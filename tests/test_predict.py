"""Saved models on files of one's own: from the command line and from Python; bad input."""

import importlib
import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval import runs
from jaxeval.errors import ConfigError, JaxevalError
from tests import predicting, tiny_corpora
from tests.predicting import SHORT, Trained
from tests.verbs import sweep, train

TAGS = [*tiny_corpora.TAGS, "model.encoder=window", "training.epochs=2", "--seeds", "3"]


@pytest.fixture(scope="module")
def tags(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    root = tmp_path_factory.mktemp("tags")
    return predicting.trained(root, tiny_corpora.tags, train, TAGS)


def _entities(tags: list[str]) -> set[tuple[int, int, str]]:
    """Spans of valid BIO tags."""
    begins = [k for k, tag in enumerate(tags) if tag.startswith("B")]
    inside = [[*(t.startswith("I") for t in tags[k + 1 :]), False] for k in begins]
    return {(k, k + i.index(False), tags[k][2:]) for k, i in zip(begins, inside, strict=True)}


def test_tags_are_those_that_were_scored(tags: Trained) -> None:
    """Dies if a word or a character gets another number than in training, sentences are mixed up,
    or tags are in another scheme than the files: F1 of dev is then another."""
    lines = [line[0].split(" ") for line in predicting.predicted(tags, "--which", "all")]
    assert [" ".join(line[:2]) for line in lines] == tags[1].read_text().splitlines()
    rows = [["", "O", "O", "O", "O"] if line == [""] else line for line in lines]
    gold, *columns = [[*column] for column in [*zip(*rows, strict=True)][1:]]
    for column, member in zip(columns, predicting.members(tags), strict=True):
        assert set(column) <= {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"}
        true, predicted = _entities(gold), _entities(column)
        f1 = 2 * len(true & predicted) / (len(true) + len(predicted))
        assert f1 == pytest.approx(member.dev, abs=1e-9)
    assert len({member.dev for member in predicting.members(tags)}) > 1


def test_words_alone_and_their_vote(tags: Trained, tmp_path: Path) -> None:
    """Dies if a file without tags, or with unknown words, is refused, or the vote is not that of
    most models, the best one deciding where all differ."""
    file = tmp_path / "words"
    file.write_text("-DOCSTART-\n\nQuux\nsaw\n☃\n\n\nin\nOslo\n" + "Supercalifragilistic\n" * 30)
    each = predicting.predicted(tags, "--which", "all", file=file)
    votes = predicting.predicted(tags, "--which", "vote", file=file)
    best = predicting.predicted(tags, file=file)
    assert [line[0] for line in votes] == file.read_text().splitlines()
    assert [len(line) for line in votes][:9] == [1, 1, 2, 2, 2, 1, 1, 2, 2]
    for line, (word, *tag), (_, *first) in zip(each, votes, best, strict=True):
        assert line[0] == word and first == line[1:2]
        assert not tag or line[1:].count(tag[0]) == max(map(line[1:].count, line[1:]))


def test_tags_are_evaluated(tags: Trained, capsys: pytest.CaptureFixture) -> None:
    """Dies if a part, or a file, has another score than in training, or another unit."""
    predicting.check_evaluated(tags, capsys, *TAGS)
    predicting.predicted(tags)
    assert f"(dev {100 * predicting.members(tags)[0].dev:.2f}); 1 of" in capsys.readouterr().err


def test_stdin_is_read_as_a_file(tags: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the numbers of CoNLL-U's words are taken for words, or JSON lines for texts."""
    each = [[str(k), word, *["_"] * 8] for k, word in enumerate(("Oslo", "saw", "Quux"), 1)]
    plain = "\n".join(w[1] for w in each)
    columns = "# text = x\n" + "\n".join(map("\t".join, each))
    shown = []
    for read in (plain, columns):
        stream = io.TextIOWrapper(io.BytesIO(read.encode()))
        monkeypatch.setattr(sys, "stdin", stream)
        lines = jaxeval.predict(tags[0], input="-").splitlines()
        shown.append([line.rpartition("\t")[2] for line in lines[-3:]])
    assert shown[0] == shown[1]
    verb = importlib.import_module("jaxeval.evaluate")
    assert verb._suffix(b'{"text": "so good"}\n') == ".jsonl"


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-40])


def _changed(key: str, value: Any) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        file.write_text(json.dumps({**json.loads(file.read_text()), key: value}))

    return change


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("seed1.npz", _cut),
        ("seed1.npz", lambda file: shutil.copy(file.with_name("other.npz"), file)),
        ("seed1.json", _cut),
        ("seed1.json", _changed("config", {"task": "tagging", "modle": {}})),
        ("vocabulary.json", _cut),
        ("vocabulary.json", _changed("words", {"saw": 10**6})),
        ("vocabulary.json", _changed("labels", ["O", "B-PER"])),
    ],
)
def test_damaged_files_are_named(
    name: str, damage: Callable[[Path], Any], tags: Trained, tmp_path: Path
) -> None:
    """Dies if a file that is not what was saved is used, or ends in a traceback."""
    folder = tmp_path / "runs"
    (models,) = (shutil.copytree(tags[0], folder) / "models").iterdir()
    np.savez(models / "other.npz", bias=np.zeros(2))
    damage(models / name)
    with pytest.raises(JaxevalError) as error:
        predicting.predicted((folder, *tags[1:]), "--seed", "1")
    message = str(error.value)
    assert "\n" not in message and len(message) < 400
    assert name in message or ("labels" in str(damage) or "seed1.npz" in message)


def test_words_with_a_vector_of_the_file(tmp_path: Path) -> None:
    """Dies if a word outside the vocabulary loses its pretrained vector, or digits are not read
    as in training; a CoNLL-U line loses a column."""
    units = {
        "train": "Ann met\nBo left\nsaw Zoe\nA1 saw\n" * 6,
        "dev": "Cy left\nmet Di\nA7 met\n",
    }
    for part, content in {**units, "test": "Cy saw\nAnn left\n"}.items():
        sentences = [
            "".join(f"{k}\t{w}\t_\t{_tag(w)}" + "\t_" * 6 + "\n" for k, w in enumerate(words, 1))
            for words in map(str.split, content.splitlines())
        ]
        tiny_corpora.write(
            tmp_path / f"data/{part}.conllu", "# a comment\n" + "\n".join(sentences) + "\n"
        )
    names = "".join(f"{name} 1 {k} 0\n" for k, name in enumerate(("ann", "bo", "cy", "di")))
    tiny_corpora.write(tmp_path / "vectors", names + "met 0 0 1\nleft 0 1 1\n")
    words = [
        f"data.vectors={tmp_path / 'vectors'}",
        "model.words.trained=false",
        tiny_corpora.RATE,
    ]
    words += ["data.zero_digits=true", "model.encoder=window", "model.window.reach=0"]
    words += ["model.characters.encoder=none"]
    words += ["training.batch_size=4", "training.epochs=15", "model.classifier=softmax"]
    data, folder = tmp_path / "data", tmp_path / "runs"
    train([*words, *SHORT, "--seeds", "1", "--data", str(data), "--out", str(folder)])
    (tmp_path / "vectors").unlink()
    tagger = folder, data / "dev.conllu", runs.load(folder)
    lines = predicting.predicted(tagger)
    assert lines[0] == ["# a comment"] and lines[3] == [""]
    right = [line[3] == line[10] for line in lines if len(line) > 1]
    assert np.mean(right) == tagger[2][0].dev == 1.0  # by unknown words' vector it would not be


def _tag(word: str) -> str:
    return "V" if word in tiny_corpora.VERBS else "N"


SPACE = """
[hidden]
key = "model.hidden"
choices = [4, 8]
[learning_rate]
key = "training.optimiser.hyperparameters.learning_rate"
log_uniform = [1e-2, 4e-2]
"""

TEXT = [*tiny_corpora.TEXT, "training.evaluation_batch_size=1", "--seeds", "3"]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Padded members of several sizes."""
    root = tmp_path_factory.mktemp("pairs")
    (root / "space.toml").write_text(SPACE)
    words = ["--space", str(root / "space.toml"), "--trials", "3", "--programs", "1"]
    return predicting.trained(root, tiny_corpora.pairs, sweep, [*tiny_corpora.PAIRS, *words])


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return predicting.trained(tmp_path_factory.mktemp("text"), tiny_corpora.text, train, TEXT)


def test_outputs_are_those_that_were_scored(pairs: Trained) -> None:
    """Dies if a symbol gets another number than in training, an unknown one is refused, or padded
    members of several sizes lose their own sizes."""
    lines, members = predicting.predicted(pairs, "--which", "all"), predicting.members(pairs)
    for column, member in enumerate(members, 2):
        right = [line[1] == line[column] for line in lines]
        assert np.mean(right) == pytest.approx(member.dev, abs=1e-9)
    assert members[0].dev > members[-1].dev
    assert {json.loads(member.hparams)["hidden"] for member in members} == {4, 8}


def test_hypotheses_have_log_probabilities(pairs: Trained, tmp_path: Path) -> None:
    """Dies if hypotheses are not ranked, are fewer than asked for, or cut by another length."""
    file = tmp_path / "sources"
    file.write_text("abc\n\nb\n")
    lines = predicting.predicted(pairs, "--n-best", "3", "--max-length", "4", file=file)
    assert [source for source, *_ in lines] == ["abc"] * 3 + ["b"] * 3
    totals = np.array([float(line[2]) for line in lines]).reshape(2, 3)
    assert (np.diff(totals) <= 0).all() and (totals < 0).all() and (totals > -50).all()
    assert np.exp(totals).sum(1).max() < 1.001
    short = predicting.predicted(pairs, "--max-length", "1", file=file)
    assert max(len(line[1]) for line in short) == 1 < max(len(line[1]) for line in lines)
    file.write_text("abc\n" + "b" * 200)
    assert len(predicting.predicted(pairs, "--max-length", "200", file=file)) == 2
    file.write_text("abc\n\nb\n")
    wide = predicting.predicted(pairs, "--beam", "3", "--max-length", "4", file=file)
    assert [line[1] for line in wide] == [lines[0][1], lines[3][1]]
    several = ("--n-best", "3", "--beam", "3", "--max-length", "4")
    assert predicting.predicted(pairs, *several, file=file) == lines
    with pytest.raises(ConfigError, match="--beam 2: less than --n-best 3"):
        predicting.predicted(pairs, "--n-best", "3", "--beam", "2")
    with pytest.raises(ConfigError, match="--n-best: for a single model, got 3"):
        predicting.predicted(pairs, "--n-best", "3", "--which", "all")


def test_texts_are_as_likely_as_was_scored(text: Trained) -> None:
    """Dies if a token gets another number, is read twice or not at all, or the average of
    probabilities is of something else."""
    head, row = predicting.predicted(text, "--whole", "--which", "all")
    lines = predicting.predicted(text, "--which", "all")
    models = [f"seed{member.seed}" for member in predicting.members(text)]
    of_models = [f"{name} {model}" for model in models for name in ("nats", "perplexity")]
    assert head == ["line", "tokens", *of_models] and row[0] == "all"
    for value, member in zip(row[3::2], predicting.members(text), strict=True):
        assert float(value) == pytest.approx(member.dev, rel=1e-5)
    assert len(lines) == 1 + len(text[1].read_text().splitlines())
    assert [line[1] for line in lines[1:3]] == ["8", "5"] and lines[-1][1] == "1"
    assert sum(float(line[2]) for line in lines[1:]) == pytest.approx(float(row[2]), abs=1e-4)
    of_last = [-float(nats) for nats in lines[-1][2::2]]  # a single token
    vote = predicting.predicted(text, "--which", "vote")[-1]
    assert -float(vote[2]) == pytest.approx(np.log(np.mean(np.exp(of_last))), abs=1e-5)


def test_a_text_is_evaluated(text: Trained, capsys: pytest.CaptureFixture) -> None:
    """Dies if a part, or a file, has another score than in training."""
    predicting.check_evaluated(text, capsys, *TEXT)
