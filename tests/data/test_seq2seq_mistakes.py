"""Mistakes in files of pairs and in their settings are named; what is suspicious is told."""

import unicodedata
from pathlib import Path

import pytest

from jaxeval.config import reading
from jaxeval.data import seq2seq
from jaxeval.errors import ConfigError, DataError
from tests.data import hand_seq2seq


def test_fewer_train_pairs(tmp_path: Path) -> None:
    """Dies if dev is cut too, the last pairs are kept, or too few pass for what was asked."""
    parts = {**hand_seq2seq.HAND, "dev": hand_seq2seq.HAND["dev"] * 2}
    read = seq2seq.read(hand_seq2seq.settings(tmp_path / "c", parts, train_items=1))
    assert [pair.source for pair in read["train"]] == [("a", "b")] and len(read["dev"]) == 2
    message = hand_seq2seq.refused(
        tmp_path / "c", "train", hand_seq2seq.HAND["train"], train_items=3
    )
    assert message == "train: data.train_items asks for 3 pairs, found 2"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ab\tba", "expected a column 3 (features), found 2, split at tabs"),
        ("ab\t\tV", "column 2 (target) is empty"),
        ("\tab\tV", "column 1 (source) is empty"),
        ("ab\tba\t ", "column 3 (features) is empty"),
        ("ab\tba\tV;", "an empty feature in 'V;'"),
        ("ab\tba\tV; ;PL", "an empty feature in 'V; ;PL'"),
        ("abcd\tba\tV", "a source of 5 symbols; data.max_length allows 4"),
        ("ab\tabcde\tV", "a target of 5 symbols; data.max_length allows 4"),
    ],
)
def test_mistakes_in_lines_are_named(line: str, message: str, tmp_path: Path) -> None:
    """Dies if a bad line is cut, padded or skipped, or its number counts no blank lines."""
    good = "abc\tabcd\tV\n"
    actual = hand_seq2seq.refused(tmp_path / "c", "dev", f"{good}\n{line}\n", max_length=4)
    assert actual == f"dev:3: {message}"


def test_mistakes_in_files_are_named(tmp_path: Path) -> None:
    """Dies if a missing or empty file or folder is a traceback or an empty part."""
    assert (
        hand_seq2seq.refused(tmp_path / "c", "test", "\n")
        == "test: the file is empty; expected text"
    )
    assert "data.dev=NAME" in hand_seq2seq.refused(
        tmp_path / "c", "a.dev", hand_seq2seq.HAND["dev"]
    )
    with pytest.raises(DataError, match="gone: no such folder"):
        seq2seq.read(seq2seq.Seq2SeqData(path=str(tmp_path / "gone")))
    with pytest.raises(ConfigError, match="--data PATH"):
        seq2seq.read(seq2seq.Seq2SeqData())


@pytest.mark.parametrize(
    "key", ["source_column=0", "features_column=-1", "max_length=0", "source_symbols='bytes'"]
)
def test_impossible_settings_are_refused(key: str) -> None:
    """Dies if a column counts from 0 or from the end."""
    with pytest.raises(ConfigError, match=key.partition("=")[0]):
        reading.read(seq2seq.Seq2SeqData, None, [key])


def test_symbols_that_train_lacks_are_counted(tmp_path: Path) -> None:
    """Dies if sides are mixed up (dev: source z, feature X; test: target z), or none are told."""
    actual = hand_seq2seq.inflection(tmp_path / "c").findings
    once = {"types": 1, "tokens": 1}
    assert actual.facts["unseen_symbols"] == {
        "source": {"dev": once},
        "target": {"test": once},
        "features": {"dev": once},
    }
    line = "symbols of source: dev has 1 that train lacks, 1 of its 2 (50.00%): 'z' (1)"
    assert line in actual.remarks and not actual.warnings


def test_another_normalisation_form_is_named(tmp_path: Path) -> None:
    """Dies if NFD beside NFC is silent, or the same form, or plain ASCII, is warned of."""
    parts = {"train": "é\tab\n", "dev": "e\tba\n", "test": "éé\tb\n"}
    columns = {"features_column": None}
    for form, warnings in (("NFC", 0), ("NFD", 1)):
        test = unicodedata.normalize(form, parts["test"])
        settings = hand_seq2seq.settings(tmp_path / form, {**parts, "test": test}, **columns)
        actual = seq2seq.build(settings, 2).findings
        assert len(actual.warnings) == warnings
    assert actual.warnings[0].startswith("source: train is written in NFC, test in NFD")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {**hand_seq2seq.HAND, "test": hand_seq2seq.HAND["train"]},
            r"train and test hold the same pairs \(2\)",
        ),
        (
            {**hand_seq2seq.HAND, "train": "ab\ta\tN\n"},
            "the targets of train have a single symbol",
        ),
    ],
)
def test_nothing_to_learn_or_to_test(parts: dict[str, str], message: str, tmp_path: Path) -> None:
    """Dies if train is scored as test, or one symbol is trained on."""
    with pytest.raises(DataError, match=message):
        hand_seq2seq.inflection(tmp_path / "c", parts)


def test_a_column_serves_one_purpose() -> None:
    """Dies if targets are among what a model reads."""
    for key in ("source_column", "features_column"):
        with pytest.raises(ConfigError, match="must differ"):
            reading.read(seq2seq.Seq2SeqData, None, [f"{key}=2"])
