"""Saved models scored again: on a part of their data, or on a file of one's own."""

import json
import shutil
from pathlib import Path

import pytest

from jaxeval import runs, studies, tasks
from jaxeval.contracts import Member
from jaxeval.errors import ConfigError, DataError, RunError
from jaxeval.studies import saved
from tests import tiny_corpora
from tests.studies import toy_kind
from tests.verbs import evaluate, train

KEPT = ["training.save_models=true", "training.patience=0"]


def test_texts_are_evaluated(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if saved models score a part, or a file of one's own, otherwise than in training; tags
    and running text: tests/test_predict.py."""
    data, folder = tiny_corpora.opinions(tmp_path / "data"), tmp_path / "runs"
    dev = data / "dev.tsv"
    words = [*tiny_corpora.OPINIONS, *KEPT, "--seeds", "2", "--data", str(data)]
    words += ["--out", str(folder)]
    train(words)
    recorded = {row.seed: row.dev for row in runs.load(folder)}
    assert recorded != pytest.approx({row.seed: row.test for row in runs.load(folder)}, rel=1e-3)
    (experiment,) = {row.experiment for row in runs.load(folder)}
    mine = shutil.copy(dev, tmp_path / "mine.tsv")
    capsys.readouterr()
    for flags in (["--part", "dev"], ["--input", str(mine)]):
        assert evaluate([*words, *flags, "--json", "-"]) == 0
        rows = json.loads(capsys.readouterr().out)
        assert {row["seed"]: row["score"] for row in rows} == pytest.approx(recorded, rel=1e-6)
        assert {row["part"] for row in rows} == {flags[1]}
    named = ["--out", str(folder), "--experiment", experiment[:4], *flags, "--json", "-"]
    assert evaluate(named) == 0  # all seeds that are saved, with no word of the config
    assert json.loads(capsys.readouterr().out) == rows
    with pytest.raises(DataError, match="no such file"):
        evaluate([*words, "--input", str(tmp_path / "none.tsv")])
    text = (data / "train.tsv").read_text()
    (data / "train.tsv").write_text(f"{text}new\t{text.split()[-1]}\n")
    with pytest.raises(RunError, match="has its config: have data or word vectors changed since"):
        evaluate(words)
    (data / "train.tsv").write_text(text)
    learned = text.partition("\n")[0]
    (tmp_path / "learned.tsv").write_text(f"{learned}\n")
    evaluate([*words, "--input", str(tmp_path / "learned.tsv")])
    assert "warning: 100 % of the texts of test also occur in train" in capsys.readouterr().err


def test_an_experiment_that_cannot_be_evaluated_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a config beside an experiment is passed over, or another experiment is taken."""
    with pytest.raises(ConfigError, match=r"--experiment: cannot be combined with a\.toml"):
        evaluate(["a.toml", "--experiment", "abcd", "--out", str(tmp_path)])
    monkeypatch.setattr(tasks, "KINDS", toy_kind.KINDS)
    words = ["task=toy", *KEPT, "--out", str(tmp_path), "training.epochs=1"]
    train([*words, "--seeds", "1", "--splits", "1", "name=split"])
    with pytest.raises(RunError, match="no saved model of 'nosuch'; train it with "):
        evaluate(["--experiment", "nosuch", "--out", str(tmp_path)])
    with pytest.raises(RunError, match=r"other --seeds .* or an --experiment"):
        evaluate(words)
    with pytest.raises(ConfigError, match="--experiment split: expected models that differ in"):
        evaluate(["--experiment", "split", "--out", str(tmp_path)])


def test_a_file_needs_models_that_know_only_train(tmp_path: Path) -> None:
    """Dies if models of all words or of a random split score a file with other words."""
    data = tiny_corpora.tags(tmp_path / "data")
    words = [*tiny_corpora.TAGS, "data.vocabulary=all"]
    prepared = studies.prepare(studies.read(None, words, str(data)))
    (tmp_path / "mine").write_text("Quo\tO\n\nVadis\tO\n")
    for split, message in ((0, "vocabulary of train"), (1, "on the given split")):
        models = saved.Models(prepared, [Member(1, split)], ())
        with pytest.raises(ConfigError, match=message):
            saved.with_test_file(models, str(tmp_path / "mine"))


@pytest.mark.parametrize(
    ("words", "task", "said"),
    [
        ("--samples 3", "sentiment", "--samples: for language models only"),
        ("--dynamic 0", "sentiment", "--dynamic: for language models only"),
        ("--samples 3 --dynamic 1", "language", "--samples: needs --mean"),
    ],
)
def test_options_of_another_evaluation_are_refused(words: str, task: str, said: str) -> None:
    """Dies if an option is passed over in silence, also one whose value is 0."""
    with pytest.raises(ConfigError, match=said):
        evaluate([f"task={task}", *words.split()])
