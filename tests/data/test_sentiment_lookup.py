"""Texts that a trained sentiment model is asked to classify: formats, labels out of place."""

import json
from pathlib import Path
from typing import Any

import pytest

from jaxeval.config import reading
from jaxeval.data import sentiment, sentiment_lookup, sentiment_sources, words
from jaxeval.data.labelled_text import LabelledText, Target
from jaxeval.errors import DataError
from tests.data import hand_sentiment

VECTORS = "pub 1 2\ngood 3 4\n<unk> 5 6\n"

TEXTS = [
    LabelledText("The GOOD pub , so good", (Target(4, 8, ""), Target(9, 12, ""))),
    LabelledText("bar", (Target(0, 3, ""),)),
]


@pytest.mark.parametrize("rows", ["targets", "sentences"])
def test_lookup_of_other_texts(rows: Any, tmp_path: Path) -> None:
    """Dies if a word has another row than in training, or a place or sentence is another's."""
    (tmp_path / "v").write_text(VECTORS)
    settings = hand_sentiment.settings(tmp_path / "c", vectors=str(tmp_path / "v"), rows=rows)
    classified = sentiment.build(settings, 2)
    saved = json.loads(json.dumps(classified.vocabulary(0)))
    vocabulary = reading.from_dict(sentiment_lookup.SavedVocabulary, saved)
    encoded = sentiment_lookup.encode(settings, vocabulary, TEXTS, 2)
    assert len(encoded.rows) == (3 if rows == "targets" else 2)
    known = {**vocabulary.words, **vocabulary.vectors}
    for numbers, columns in zip(encoded.numbers, encoded.columns, strict=True):
        assert "labels" not in columns
        for at, number in enumerate(numbers):
            sentence, targets = encoded.rows[number]
            expected = [known.get(word.lower(), words.UNKNOWN) for word in sentence.words]
            row = encoded.shared["row"][columns["forms"][at, : columns["length"][at]]]
            assert row.tolist() == expected
            places = [(t.start, t.end) for t in targets]
            real = columns["targets"][at]
            starts, ends = columns["start"][at, :real], columns["end"][at, :real]
            assert [*zip(starts.tolist(), ends.tolist(), strict=True)] == places
    assert encoded.shared["row"][0] == words.PADDING
    assert vocabulary.rows <= len(classified.table.vectors)


def test_files_to_be_classified(tmp_path: Path) -> None:
    """Dies if labels must be there, or a classifier of targets is given texts without."""
    classified = hand_sentiment.build(tmp_path / "c")
    vocabulary = reading.from_dict(sentiment_lookup.SavedVocabulary, classified.vocabulary(0))
    settings, file = sentiment.SentimentData(), tmp_path / "new.jsonl"
    file.write_text('{"text": "a bar", "target": "bar"}\n')
    assert sentiment_lookup.read(settings, vocabulary, file)[0].targets == (Target(2, 5, ""),)
    plain = tmp_path / "new.txt"
    plain.write_text("so good\n\nZoë's\n")
    with pytest.raises(DataError, match=r"new.txt: expected a file of JSON lines"):
        sentiment_lookup.read(settings, vocabulary, plain)
    file.write_text('{"text": "a bar"}\n')
    with pytest.raises(DataError, match="expected a target in every line"):
        sentiment_lookup.read(settings, vocabulary, file)
    whole = reading.from_dict(
        sentiment_lookup.SavedVocabulary, {**classified.vocabulary(0), "targeted": False}
    )
    assert [text.text for text in sentiment_lookup.read(settings, whole, plain)] == [
        "so good",
        "Zoë's",
    ]
    assert sentiment_lookup.read(settings, whole, file)[0].targets == (Target(0, 0, ""),)


def test_lookup_of_texts_with_labels(tmp_path: Path) -> None:
    """Dies if the label of a line is read as a part of its text: by the file's name, by the format
    of training, or where neither tells."""
    classified = hand_sentiment.build(tmp_path / "c")
    settings = sentiment.SentimentData()
    saved = {**classified.vocabulary(0), "targeted": False, "labels": ["bad", "good"]}
    whole = reading.from_dict(sentiment_lookup.SavedVocabulary, saved)
    content = "so good\tgood\n\nZoë's\tbad\tmore\nno label\n"
    named, other = tmp_path / "new.tsv", tmp_path / "new"
    for file in (named, other):
        file.write_text(content)
    of_tsv = sentiment.SentimentData(source=sentiment_sources.SentimentSource(format="tsv"))
    for data, file in ((settings, named), (of_tsv, other)):
        read = sentiment_lookup.read(data, whole, file)
        assert [text.text for text in read] == ["so good", "Zoë's", "no label"]
    assert sentiment_lookup.read(settings, whole, other)[0].text == "so good\tgood"
    other.write_text("text\tlabel\nso good\tgood\nso\tbad\n")
    with pytest.raises(DataError, match=r"new: the last column holds labels.* \*\.tsv"):
        sentiment_lookup.read(settings, whole, other)


def _of_texts(folder: Path, name: str, content: str) -> list[str]:
    saved = hand_sentiment.build(folder / "c").vocabulary(0)
    saved = {**saved, "targeted": False, "labels": ["bad", "good"]}
    vocabulary = reading.from_dict(sentiment_lookup.SavedVocabulary, saved)
    (folder / name).write_text(content)
    settings = sentiment.SentimentData()
    return [each.text for each in sentiment_lookup.read(settings, vocabulary, folder / name)]


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("new.txt", "so good\tgood\nodd\nso\tbad\nyes\tgood\n", "the last column"),
        ("new.txt", "1\tso good\tgood\n2\tso\tbad\n", "the last column"),
        ("new.tsv", "1\tso good\tgood\n2\tso\tbad\n3\tmy\n", "the last column"),
        ("new.TSV", "id\ttext\tlabel\n1\tso\tbad\n2\tmy\tbad\n", "the last column"),
        ("new.tsv", "good\tso good\nbad\tso\n", "column 1"),
    ],
)
def test_labels_out_of_place_are_refused(
    name: str, content: str, found: str, tmp_path: Path
) -> None:
    """Dies if a line without a label, or a column of numbers, lets labels be read as texts."""
    with pytest.raises(DataError) as error:
        _of_texts(tmp_path, name, content)
    assert f"{name}: {found} holds labels in most lines; expected the text" in str(error.value)


def test_a_header_of_texts_is_told(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a header is classified without a word, or data are told as one."""
    lines = "so good\tgood\nso\tbad\n"
    assert _of_texts(tmp_path, "new.TSV", "text\tlabel\n" + lines)[0] == "text"
    told = capsys.readouterr().err
    assert "warning: " in told and "the first line, text\\tlabel, is read" in told
    for more in ("", "odd\tnone\n"):
        assert _of_texts(tmp_path, "new.tsv", lines + more)[:2] == ["so good", "so"]
        assert _of_texts(tmp_path, "new.tsv", "my\nso\n") == ["my", "so"]
    assert not capsys.readouterr().err
