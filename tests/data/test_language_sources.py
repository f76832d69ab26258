"""Texts of all kinds (folders, files, prepared tfds sets), as lines and as bytes."""

import gzip
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow_datasets as tfds

from jaxeval.data import language_sources
from jaxeval.errors import DataError
from tests.data import tiny_texts

PATTERNS = {"train": "*train*", "dev": "*valid*", "test": "*test*"}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_texts.prepare(tiny_texts.TinyTexts, tmp_path_factory.mktemp("tfds"))


def _source(path: str | Path, feature: str | None = None) -> language_sources.TextSource:
    return language_sources.TextSource(str(path), PATTERNS, feature)


def _lines(path: str | Path, feature: str | None = None) -> dict[str, list[str]]:
    return {part: list(of) for part, of in language_sources.lines(_source(path, feature)).items()}


def test_lines_of_a_prepared_set(prepared: str) -> None:
    """Dies if validation is not dev, an example's lines run together, or a newline is doubled."""
    assert _lines(prepared) == {
        "train": ["Zoë runs", "", "she  left", "closed", "", "a\u2028b", "c"],
        "dev": ["Bo"],
        "test": ["so", ""],
    }
    assert "tensorflow" not in sys.modules


def test_bytes_of_a_prepared_set(prepared: str) -> None:
    """Dies if the bytes are of another text than the lines, or examples run together."""
    assert language_sources.contents(_source(prepared)) == {
        "train": "Zoë runs\n\nshe  left\nclosed\n\na\u2028b\r\nc\n".encode(),
        "dev": b"Bo\n",
        "test": b"so\n\n",
    }


def test_a_set_reads_as_the_file_of_its_bytes(prepared: str, tmp_path: Path) -> None:
    """Dies if sets and files split lines differently."""
    contents = language_sources.contents(_source(prepared))
    for part, name in (("train", "train"), ("dev", "valid"), ("test", "test")):
        (tmp_path / name).write_bytes(contents[part])
    assert _lines(tmp_path) == _lines(prepared)


def test_the_text_feature_is_chosen(prepared: str) -> None:
    """Dies if the key is ignored."""
    assert _lines(prepared, "article")["test"] == ["About 0"]


def test_features_that_will_not_do_are_named(prepared: str) -> None:
    """Dies if a KeyError reaches the user, or class numbers are read as text."""
    with pytest.raises(
        DataError,
        match=r"no feature for the text among body; it has .*sentence.*; set data\.text_feature",
    ):
        _lines(prepared, "body")
    with pytest.raises(DataError, match=r"label is ClassLabel, not Text; it has .*article"):
        _lines(prepared, "label")


def test_what_a_set_lacks(tmp_path: Path) -> None:
    """Dies if test stands in for train, or absent parts are made empty."""
    with pytest.raises(DataError, match="no split train; it has test"):
        _lines(tiny_texts.prepare(tiny_texts.TinyNoTrain, tmp_path))
    actual = _lines(tiny_texts.prepare(tiny_texts.TinyTrain, tmp_path))
    assert actual == {"train": tiny_texts.NUMBERED}


def test_a_set_that_is_not_utf8(tmp_path: Path) -> None:
    """Dies if a UnicodeDecodeError reaches the user, or bytes must be UTF-8."""
    path = tiny_texts.prepare(tiny_texts.TinyLatin, tmp_path)
    with pytest.raises(DataError, match=r"tiny_latin/1\.0\.0 \(train\):3: not UTF-8"):
        _lines(path)
    assert language_sources.contents(_source(path))["train"] == b"a\nb\nZo\xeb\n"


@pytest.mark.parametrize("read", [language_sources.lines, language_sources.contents])
def test_a_set_that_was_not_prepared(
    read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a download is tried, or an error of tfds reaches the user."""
    monkeypatch.setattr(tfds.core.constants, "DATA_DIR", str(tmp_path))
    with pytest.raises(DataError, match=r"tfds:lm1b: not prepared.*run: python -c"):
        read(_source("tfds:lm1b"))
    with pytest.raises(DataError, match="knows no such set"):
        read(_source("tfds:no_such_text"))


@pytest.mark.parametrize(
    "names",
    [
        ("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"),
        ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"),
        ("wiki.train.raw", "wiki.valid.raw", "wiki.test.raw"),
        ("train.txt", "valid.txt", "test.txt"),
        ("train.txt.raw", "valid.txt.raw", "test.txt.raw"),
        ("enwik8.train", "enwik8.valid", "enwik8.test.gz"),
    ],
)
def test_usual_names_of_files(names: tuple[str, ...], tmp_path: Path) -> None:
    """Dies if the default patterns miss a usual name, or mix up two parts."""
    for name in names:
        (tmp_path / name).write_text(f"this is {name}\n")
    (tmp_path / "README").write_text("not of the text\n")
    actual = _lines(tmp_path)
    assert list(actual.items()) == [
        (part, [f"this is {name}"]) for part, name in zip(PATTERNS, names, strict=True)
    ]


def test_two_files_that_fit_are_named(tmp_path: Path) -> None:
    """Dies if one of them is taken, as in the folder of PTB's words and characters."""
    for name in ("ptb.train.txt", "ptb.char.train.txt"):
        (tmp_path / name).write_text("a\n")
    message = r"2 files fit .*: ptb\.char\.train\.txt, ptb\.train\.txt; set data\.tr"
    for read in (language_sources.lines, language_sources.contents):
        with pytest.raises(DataError, match=message):
            read(_source(tmp_path))


def test_a_folder_of_one_file_names_it(tmp_path: Path) -> None:
    """Dies if the remedy is a pattern that leaves dev and test without a file."""
    (tmp_path / "corpus.txt").write_text("a\n")
    with pytest.raises(DataError, match=r"one file, .*; --data .*/corpus\.txt reads it"):
        language_sources.lines(_source(tmp_path))
    (tmp_path / "corpus.txt").rename(tmp_path / "my.train.txt")
    with pytest.raises(DataError, match=r"no file fits the dev pattern"):
        language_sources.lines(_source(tmp_path))


def test_one_file_is_train(tmp_path: Path) -> None:
    """Dies if a gzip file's bytes are those of the archive."""
    path = tmp_path / "enwik8"
    path.write_bytes(gzip.compress(b"a\xff\nb"))
    assert language_sources.contents(_source(path)) == {"train": b"a\xff\nb"}
    with pytest.raises(DataError, match="enwik8:1: not UTF-8"):
        _lines(path)


def test_files_that_cannot_be_a_text(tmp_path: Path) -> None:
    """Dies if a missing, empty or zip file is a traceback or, as bytes, a text."""
    path = tmp_path / "enwik8.zip"
    for data, message in (
        (None, "no such file or folder"),
        (b"", "enwik8.zip: the file is empty"),
        (b"PK\x03\x04...", "enwik8.zip: a zip archive; unpack it first"),
    ):
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(DataError, match=message):
            _lines(path)
        with pytest.raises(DataError, match=message):
            language_sources.contents(_source(path))
