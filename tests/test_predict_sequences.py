"""Saved models of pairs and of running text on files of one's own."""

import json
from pathlib import Path

import numpy as np
import pytest

from jaxeval.errors import ConfigError
from tests import predicting, tiny_corpora
from tests.predicting import Trained
from tests.verbs import sweep, train

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
    wide = predicting.predicted(pairs, "--beam", "3", "--max-length", "4", file=file)
    assert [line[1] for line in wide] == [lines[0][1], lines[3][1]]
    with pytest.raises(ConfigError, match="--beam 2: less than --n-best 3"):
        predicting.predicted(pairs, "--n-best", "3", "--beam", "2")
    with pytest.raises(ConfigError, match="--n-best: for a single model, got 3"):
        predicting.predicted(pairs, "--n-best", "3", "--which", "all")


def test_texts_are_as_likely_as_was_scored(text: Trained) -> None:
    """Dies if a token gets another number, is read twice or not at all, or the average of
    probabilities is of something else."""
    (head, row), lines = (
        predicting.predicted(text, "--whole", "--which", "all"),
        predicting.predicted(text, "--which", "all"),
    )
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
