"""Saved models on files of one's own; the corpus they were trained on is gone by then."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxeval
from jaxeval import runs
from jaxeval.errors import ConfigError, DataError, JaxevalError, RunError
from jaxeval.predict import main as predict
from jaxeval.sweep import main as sweep  # jaxeval.sweep itself is the API's function
from jaxeval.train import main as train
from tests import tiny_corpora

SHORT = ["training.save_models=true", "training.evaluation_batch_size=8", "training.patience=0"]
SPACE = """
[hidden]
key = "model.hidden"
choices = [4, 8]
[learning_rate]
key = "training.optimiser.hyperparameters.learning_rate"
log_uniform = [1e-2, 4e-2]
"""
Trained = tuple[Path, Path, list[runs.MemberRow]]  # runs folder, dev's file, what is recorded


def _trained(
    root: Path, corpus: Callable[[Path], Path], verb: Callable[[list[str]], int], words: list[str]
) -> Trained:
    """Three members, whose corpus is then taken away but for its dev part."""
    data, folder = corpus(root / "data"), root / "runs"
    verb([*SHORT, *words, "--data", str(data), "--out", str(folder)])
    dev = shutil.move(data / "dev", root / "dev")
    shutil.rmtree(data)
    return folder, Path(dev), runs.load(folder)


@pytest.fixture(scope="module")
def tags(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    root = tmp_path_factory.mktemp("tags")
    words = [*tiny_corpora.TAGS, "model.encoder=window", "training.epochs=2", "--seeds", "3"]
    return _trained(root, tiny_corpora.tags, train, words)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Padded members of several sizes."""
    root = tmp_path_factory.mktemp("pairs")
    (root / "space.toml").write_text(SPACE)
    words = ["--space", str(root / "space.toml"), "--runs", "3", "--most-cohorts", "1"]
    return _trained(root, tiny_corpora.pairs, sweep, [*tiny_corpora.PAIRS, *words])


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    words = [*tiny_corpora.TEXT, "training.evaluation_batch_size=1", "--seeds", "3"]
    return _trained(tmp_path_factory.mktemp("text"), tiny_corpora.text, train, words)


def _predicted(trained: Trained, *words: str, file: Path | None = None) -> list[list[str]]:
    """The columns of the lines that are written."""
    folder, dev, _ = trained
    target = folder.parent / "predicted"
    paths = ["--input", str(file or dev), "--output", str(target)]
    assert predict([str(folder), *paths, *words]) == 0
    return [line.split("\t") for line in target.read_text().splitlines()]


def _members(trained: Trained) -> list[runs.MemberRow]:
    """Best of dev first, as columns stand."""
    sign = -1 if trained[2][0].higher_is_better else 1
    return sorted(trained[2], key=lambda row: (sign * (row.dev or 0), row.seed))


def _entities(tags: list[str]) -> set[tuple[int, int, str]]:
    """Spans of valid BIO tags."""
    begins = [k for k, tag in enumerate(tags) if tag.startswith("B")]
    inside = [[*(t.startswith("I") for t in tags[k + 1 :]), False] for k in begins]
    return {(k, k + i.index(False), tags[k][2:]) for k, i in zip(begins, inside, strict=True)}


def test_tags_are_those_that_were_scored(tags: Trained) -> None:
    """Dies if a word or a character gets another number than in training, sentences are mixed up,
    or tags are in another scheme than the files: F1 of dev is then another."""
    lines = [line[0].split(" ") for line in _predicted(tags, "--all")]
    assert [" ".join(line[:2]) for line in lines] == tags[1].read_text().splitlines()
    rows = [["", "O", "O", "O", "O"] if line == [""] else line for line in lines]
    gold, *columns = [[*column] for column in [*zip(*rows, strict=True)][1:]]
    for column, member in zip(columns, _members(tags), strict=True):
        assert set(column) <= {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"}
        true, predicted = _entities(gold), _entities(column)
        f1 = 2 * len(true & predicted) / (len(true) + len(predicted))
        assert f1 == pytest.approx(member.dev, abs=1e-9)
    assert len({member.dev for member in _members(tags)}) > 1


def test_words_alone_and_their_vote(tags: Trained, tmp_path: Path) -> None:
    """Dies if a file without tags, or with unknown words, is refused, or the vote is not that of
    most models, the best one deciding where all differ."""
    file = tmp_path / "words"
    file.write_text("-DOCSTART-\n\nQuux\nsaw\n☃\n\n\nin\nOslo\n" + "Supercalifragilistic\n" * 30)
    each = _predicted(tags, "--all", file=file)
    votes = _predicted(tags, "--vote", file=file)
    best = _predicted(tags, file=file)
    assert [line[0] for line in votes] == file.read_text().splitlines()
    assert [len(line) for line in votes][:9] == [1, 1, 2, 2, 2, 1, 1, 2, 2]
    for line, (word, *tag), (_, *first) in zip(each, votes, best, strict=True):
        assert line[0] == word and first == line[1:2]
        assert not tag or line[1:].count(tag[0]) == max(map(line[1:].count, line[1:]))


def test_python_gets_the_lines_of_the_verb(tags: Trained, tmp_path: Path) -> None:
    """Dies if a call predicts with other models than the command, or takes what that refuses."""
    folder, dev, rows = tags
    for which, words in (("best", []), ("all", ["--all"]), ("vote", ["--vote"])):
        lines = jaxeval.predict(folder, dev, which=which)
        assert [line.split("\t") for line in lines] == _predicted(tags, *words)
    of_runs = jaxeval.predict(jaxeval.Runs(tuple(rows), str(folder)), dev, seed=2)
    assert [line.split("\t") for line in of_runs] == _predicted(tags, "--seed", "2")
    for wrong in ({"which": "most"}, {"n_best": 0}, {"beam": 2.5}, {"max_length": -1}):
        with pytest.raises(ConfigError, match=f"{next(iter(wrong))}: expected"):
            jaxeval.predict(folder, dev, **wrong)
    with pytest.raises(RunError, match="no such folder"):
        jaxeval.predict(tmp_path / "none", dev)
    of_two = jaxeval.Runs(tuple(row for row in rows if row.seed < 3), str(folder))
    both = jaxeval.predict(of_two, dev, which="all")  # not the third, which is saved there too
    assert max(len(line.split(" ")) for line in both) == 4  # word, tag, two predictions
    with pytest.raises(RunError, match="seed=9: no saved model"):
        jaxeval.predict(folder, dev, seed=9)
    with pytest.raises(ConfigError, match=r"^n_best: not for tagging models"):
        jaxeval.predict(folder, dev, n_best=2)
    unsaved = jaxeval.Runs((rows[0]._replace(experiment="another"),), str(folder))
    with pytest.raises(RunError, match="no saved model of these runs"):
        jaxeval.predict(unsaved, dev)
    for of, file in ((None, dev), (folder, ["a"])):
        with pytest.raises(ConfigError, match="expected a path"):
            jaxeval.predict(of, file)


def test_a_seed_is_its_own_column(tags: Trained) -> None:
    """Dies if --seed, or the order of columns, takes another member."""
    columns = {m.seed: k for k, m in enumerate(_members(tags), 2)}
    each = [line[0].split(" ") for line in _predicted(tags, "--all")]
    for seed in (1, 2, 3):
        of_seed = [line[0].split(" ") for line in _predicted(tags, "--seed", str(seed))]
        assert [line[2:] for line in of_seed] == [
            line[columns[seed] : columns[seed] + 1] for line in each
        ]


def test_outputs_are_those_that_were_scored(pairs: Trained) -> None:
    """Dies if a symbol gets another number than in training, an unknown one is refused, or padded
    members of several sizes lose their own sizes."""
    lines, members = _predicted(pairs, "--all"), _members(pairs)
    for column, member in enumerate(members, 2):
        right = [line[1] == line[column] for line in lines]
        assert np.mean(right) == pytest.approx(member.dev, abs=1e-9)
    assert members[0].dev > members[-1].dev
    assert {json.loads(member.hparams)["hidden"] for member in members} == {4, 8}


def test_the_best_of_a_sweep(pairs: Trained) -> None:
    """Dies if the model that is used unless another is asked for is not the best of dev."""
    right = [target == output for _, target, output in _predicted(pairs)]
    assert np.mean(right) == pytest.approx(_members(pairs)[0].dev, abs=1e-9)


def test_hypotheses_have_log_probabilities(pairs: Trained, tmp_path: Path) -> None:
    """Dies if hypotheses are not ranked, are fewer than asked for, or cut by another length."""
    file = tmp_path / "sources"
    file.write_text("abc\n\nb\n")
    lines = _predicted(pairs, "--n-best", "3", "--max-length", "4", file=file)
    assert [source for source, *_ in lines] == ["abc"] * 3 + ["b"] * 3
    totals = np.array([float(line[2]) for line in lines]).reshape(2, 3)
    assert (np.diff(totals) <= 0).all() and (totals < 0).all() and (totals > -50).all()
    assert np.exp(totals).sum(1).max() < 1.001
    assert max(len(line[1]) for line in lines) <= 5
    wide = _predicted(pairs, "--beam", "3", "--max-length", "4", file=file)
    assert [line[1] for line in wide] == [lines[0][1], lines[3][1]]
    with pytest.raises(ConfigError, match="--beam 2: less than --n-best 3"):
        _predicted(pairs, "--n-best", "3", "--beam", "2")
    with pytest.raises(ConfigError, match=r"^beam=2: less than n_best=3"):
        jaxeval.predict(pairs[0], file, n_best=3, beam=2)
    with pytest.raises(ConfigError, match="--n-best: for a single model, got 3"):
        _predicted(pairs, "--n-best", "3", "--all")


def test_another_default_generator_changes_nothing(pairs: Trained) -> None:
    """Dies if a key of JAX's default generator, which may be larger, meets our hashes."""
    folder, dev, _ = pairs
    usual = jaxeval.predict(folder, dev)
    jax.config.update("jax_default_prng_impl", "rbg")
    try:
        assert jaxeval.predict(folder, dev) == usual
    finally:
        jax.config.update("jax_default_prng_impl", "threefry2x32")


def test_texts_are_as_likely_as_was_scored(text: Trained) -> None:
    """Dies if a token gets another number, is read twice or not at all, or the average of
    probabilities is of something else."""
    (head, row), lines = _predicted(text, "--whole", "--all"), _predicted(text, "--all")
    assert head == ["line", "tokens", *["nats", "perplexity"] * 3] and row[0] == "all"
    for value, member in zip(row[3::2], _members(text), strict=True):
        assert float(value) == pytest.approx(member.dev, rel=1e-5)
    assert len(lines) == 1 + len(text[1].read_text().splitlines())
    assert [line[1] for line in lines[1:3]] == ["8", "5"] and lines[-1][1] == "1"
    assert sum(float(line[2]) for line in lines[1:]) == pytest.approx(float(row[2]), abs=1e-4)
    of_last = [-float(nats) for nats in lines[-1][2::2]]  # a single token
    vote = _predicted(text, "--vote")[-1]
    assert -float(vote[2]) == pytest.approx(np.log(np.mean(np.exp(of_last))), abs=1e-5)


def test_what_is_not_there_is_said(tags: Trained, tmp_path: Path) -> None:
    """Dies if a wrong name ends in a traceback, or does not say what there is."""
    with pytest.raises(RunError, match="no such folder"):
        predict([str(tmp_path / "none"), "--input", "-"])
    with pytest.raises(RunError, match=r"no saved model; train with training\.save_models=true"):
        predict([str(tmp_path), "--input", "-"])
    with pytest.raises(RunError, match=r"--seed 9: no saved model .*; seeds: 1, 2, 3"):
        _predicted(tags, "--seed", "9")
    with pytest.raises(RunError, match=r"of 1 experiments; 'x' is 0 .*: [0-9a-f]{16} \(default\)"):
        _predicted(tags, "--experiment", "x")
    with pytest.raises(ConfigError, match="--n-best: not for tagging models"):
        _predicted(tags, "--n-best", "2")
    with pytest.raises(DataError, match="no such file"):
        _predicted(tags, file=tmp_path / "none")


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
        ("seed1.json", _changed("vocabulary", "../../vocabulary.json")),
        ("seed1.json", _changed("config", {"task": "tagging", "modle": {}})),
        ("vocabulary.json", _cut),
        ("vocabulary.json", lambda file: file.unlink()),
        ("vocabulary.json", _changed("words", {"saw": 10**6})),
        ("vocabulary.json", _changed("words", {"saw": -1})),
        ("vocabulary.json", _changed("labels", ["O", "B-PER"])),
        ("vocabulary.json", _changed("longest", None)),
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
        _predicted((folder, *tags[1:]), "--seed", "1")
    message = str(error.value)
    assert "\n" not in message and len(message) < 400
    assert name in message or ("labels" in str(damage) or "seed1.npz" in message)


@pytest.mark.parametrize("trained", ["true", "false"])
def test_words_with_a_vector_of_the_file(trained: str, tmp_path: Path) -> None:
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
        f"model.words.trained={trained}",
        tiny_corpora.RATE,
    ]
    words += ["data.zero_digits=true", "model.encoder=window", "model.window.reach=0"]
    words += ["model.characters.encoder=none"]
    words += ["training.batch_size=4", "training.epochs=15", "model.classifier=softmax"]
    data, folder = tmp_path / "data", tmp_path / "runs"
    train([*words, *SHORT, "--seeds", "1", "--data", str(data), "--out", str(folder)])
    (tmp_path / "vectors").unlink()
    tagger = folder, data / "dev.conllu", runs.load(folder)
    lines = _predicted(tagger)
    assert lines[0] == ["# a comment"] and lines[3] == [""]
    right = [line[3] == line[10] for line in lines if len(line) > 1]
    assert np.mean(right) == tagger[2][0].dev == 1.0  # by unknown words' vector it would not be


def _tag(word: str) -> str:
    return "V" if word in tiny_corpora.VERBS else "N"
