"""Which files and configs `jaxeval vectors judge` takes."""

from pathlib import Path
from typing import Any

import pytest

from jaxeval import studies
from jaxeval.config import toml
from jaxeval.errors import ConfigError
from jaxeval.judge import judging
from jaxeval.vectors import judge_options


def test_the_same_file_twice_is_one(tmp_path: Path) -> None:
    """Dies if a file is judged against itself under another spelling of its path."""
    a, again = str(tmp_path / "a.txt"), f"{tmp_path}/data/../a.txt"
    assert judging.named([a, again, str(tmp_path / "b.txt")]) == {
        "a": a,
        "b": str(tmp_path / "b.txt"),
    }


def test_corpora_of_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a task has another corpus than the one named, two folders that agree on what is
    judged are refused, or of two corpora one is taken silently."""
    for held in ("a/nli", "a/pos", "b/nli", "b/ner"):
        (tmp_path / held).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    of = judge_options.data_of
    assert of(["a", "b"], ["pos", "ner"]) == {"pos": "a/pos", "ner": "b/ner"}
    assert [*of(["a", "./a", "nli=b/nli", "nli=./b/../b/nli"], None)] == ["pos", "nli"]
    for words in (["a", "nli=x"], ["nli=x", "a"], ["nli=x", "a", "b"]):
        assert of(words, ["nli"]) == {"nli": "x"}
    for words, said in ((["a", "b"], "a/nli and b/nli"), (["nli=x", "a", "nli=y"], "x and y")):
        with pytest.raises(ConfigError, match=f"nli has two corpora, {said}; expected one"):
            of(words, None)


def test_names_of_files() -> None:
    """Dies if two files have one name, or a suffix tells more than the name."""
    assert judging.named(["x/glove.txt.gz", "svd.bin"]) == {
        "glove": "x/glove.txt.gz",
        "svd": "svd.bin",
    }
    assert [*judging.named(["x/v.txt", "y/v.txt"])] == ["x/v.txt", "y/v.txt"]
    assert [*judging.named(["glove.6B.100d.txt", "glove.6B.50d.txt"])] == [
        "glove.6B.100d",
        "glove.6B.50d",
    ]


def test_the_six_tasks_have_two_configs_each() -> None:
    """Dies if a mode trains the vectors that it should keep, or a setting of the code is lost."""
    names = {name for name in toml.shipped_names() if name.startswith("nayak2016/")}
    assert names == {
        f"nayak2016/{task}_{mode}" for task in judge_options.TASKS for mode in judge_options.MODES
    }
    rates = {"window": (0.01, 0.3), "sequence": (0.03, 0.001)}  # fixed, fine-tuned
    for name in names:
        config: Any = studies.read(name)
        tuned = name.endswith("tuned")
        assert config.model.words.trained == tuned
        assert config.data.without_vector == "mean" and config.training.optimiser.clip == "none"
        kind = "window" if config.task == "tagging" else "sequence"
        rate = config.training.optimiser.hyperparameters["learning_rate"]
        assert rate == rates[kind][tuned] and config.model.dropout.output == 0.5
        assert config.training.patience == (10 if "pos" in name else 15)
