"""Classified texts: files by name, drawn parts, texts to be classified."""

from pathlib import Path
from typing import Any

import pytest

from jaxeval.config import reading
from jaxeval.data import sentiment
from jaxeval.data.labelled_text import LabelledText, Target
from jaxeval.data.sentiment import SentimentData, SentimentSource
from jaxeval.errors import DataError
from tests.data import hand_sentiment

LINES = "".join(f"text {k}\t{'good' if k % 3 else 'bad'}\n" for k in range(20))
LINE = '{"text": "a bar", "target": "bar", "label": "x"}\n'


def _write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return folder


def _read(path: Path, **settings: Any) -> sentiment._Texts:
    source = SentimentSource(path=str(path), **settings)
    return sentiment._read(SentimentData(source=source, dev_fraction=0.25, test_fraction=0.2))


def _drawn(read: sentiment._Texts) -> list[str]:
    return [line.partition(":")[0] for line in read.remarks if "drawn by" in line]


def _texts(read: sentiment._Texts, part: str) -> list[str]:
    return [text.text for text in read.parts[part]]


def test_lacking_parts_are_drawn_from_train(tmp_path: Path) -> None:
    """Dies if a text is lost or in two parts, dev is a fraction of all, the seed is not used, or
    test is drawn though there is one."""
    read = _read(_write(tmp_path / "one", train__tsv=LINES) / "train.tsv")
    parts = [_texts(read, part) for part in ("train", "dev", "test")]
    assert [*map(len, parts)] == [12, 4, 4] and _drawn(read) == ["dev", "test"]
    assert sorted(text for of in parts for text in of) == sorted(
        line.split("\t")[0] for line in LINES.splitlines()
    )
    assert all(of == sorted(of, key=lambda text: int(text[5:])) for of in parts)
    assert _read(tmp_path / "one") == read != _read(tmp_path / "one", seed=2)
    _write(tmp_path / "one", test__tsv="other\tgood\n")
    read = _read(tmp_path / "one")
    assert [len(read.parts[part]) for part in read.parts] == [15, 5, 1] and _drawn(read) == ["dev"]


def test_a_file_beside_is_not_passed_over(tmp_path: Path) -> None:
    """Dies if val.xml is left unread and a dev drawn in its place."""
    folder = _write(tmp_path / "d", train__tsv=LINES, val__tsv="v\tbad\n", test__tsv="t\tbad\n")
    with pytest.raises(
        DataError, match=r"fits the dev pattern .* val\.tsv; set data\.source\.dev"
    ):
        _read(folder)
    assert _texts(_read(folder, dev="val*"), "dev") == ["v"]
    assert len(_read(folder, dev=None).parts["dev"]) == 5


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no such file or folder"),
        ({"dev__tsv": LINES}, r"no file fits the train pattern .* set data\.source\.train=NAME"),
        ({"train__tsv": LINES, "train__xml": "<x/>"}, "2 files fit the train pattern"),
        ({"train__tsv": "a\tx\n"}, "1 text: too few to draw 20 % for test; add texts, or change "),
        ({"train__tsv": LINES, "dev__json": LINE, "test__tsv": LINES}, "train and dev differ"),
    ],
)
def test_what_is_refused(files: dict[str, str], message: str, tmp_path: Path) -> None:
    """Dies if a part is made up, or the error does not say what is lacking."""
    if files:
        _write(tmp_path / "d", **files)
    with pytest.raises(DataError, match=message):
        _read(tmp_path / "d")


VECTORS = "pub 1 2\ngood 3 4\n<unk> 5 6\n"


def _unlabelled(data: Any, vocabulary: Any, file: Path) -> list[LabelledText]:
    return sentiment.read_unlabelled(data.source, file, vocabulary.targeted, vocabulary.labels)


def test_files_to_be_classified(tmp_path: Path) -> None:
    """Dies if labels must be there, or a classifier of targets is given texts without."""
    classified = hand_sentiment.build(tmp_path / "c")
    vocabulary = reading.read(sentiment.SavedVocabulary, classified.vocabulary(0))
    settings, file = sentiment.SentimentData(), tmp_path / "new.jsonl"
    file.write_text('{"text": "a bar", "target": "bar"}\n')
    assert _unlabelled(settings, vocabulary, file)[0].targets == (Target(2, 5, ""),)
    plain = tmp_path / "new.txt"
    plain.write_text("so good\n\nZoë's\n")
    with pytest.raises(DataError, match=r"new.txt:1: expected a JSON object in each .*target"):
        _unlabelled(settings, vocabulary, plain)
    file.write_text('{"text": "a bar"}\n')
    with pytest.raises(DataError, match="expected a target in every line"):
        _unlabelled(settings, vocabulary, file)
    whole = reading.read(
        sentiment.SavedVocabulary, {**classified.vocabulary(0), "targeted": False}
    )
    assert [text.text for text in _unlabelled(settings, whole, plain)] == ["so good", "Zoë's"]
    assert _unlabelled(settings, whole, file)[0].targets == (Target(0, 0, ""),)


def test_columns_are_no_texts(tmp_path: Path) -> None:
    """Dies if labels are read as texts, or a file of columns is not read as in training."""
    (tmp_path / "new.txt").write_text("odd\nso good\tgood\n")
    with pytest.raises(DataError, match=r"new.txt:2: expected a text, found columns; .*\*.tsv"):
        sentiment.read_unlabelled(SentimentSource(), tmp_path / "new.txt", False, ())
    (tmp_path / "new.txt").rename(tmp_path / "new.tsv")
    read = sentiment.read_unlabelled(SentimentSource(), tmp_path / "new.tsv", False, ())
    assert [each.text for each in read] == ["odd", "so good"]
    (tmp_path / "new.tsv").write_text("good\tso good\nbad\tso bad\n")
    with pytest.raises(DataError, match="most texts are labels; expected the text in column 1"):
        sentiment.read_unlabelled(
            SentimentSource(), tmp_path / "new.tsv", False, ("bad", "good", "odd")
        )


def test_labelled_files_are_classified(tmp_path: Path) -> None:
    """Dies if the labels of SST or TREC are read as words, or XML that was trained on is not."""
    labels, file = ("negative", "positive"), tmp_path / "new.txt"
    sst = SentimentSource(format="sst")
    for lines, texts in (("1 so good\n", ["so good"]), ("1 so good\nodd\n", ["1 so good", "odd"])):
        file.write_text(lines)
        read = sentiment.read_unlabelled(sst, file, False, labels)
        assert [each.text for each in read] == texts
    file.write_text("DESC:manner How so ?\n")
    trec = SentimentSource(format="trec")
    (each,) = sentiment.read_unlabelled(trec, file, False, ("DESC", "NUM"))
    assert each.text == "How so ?"
    (each,) = sentiment.read_unlabelled(trec, file, False, ("NUM",))
    assert each.text == "DESC:manner How so ?"
    (tmp_path / "new.raw").write_text("a $T$\nbar\n1\n")
    (each,) = sentiment.read_unlabelled(sst, tmp_path / "new.raw", True, labels)
    assert each.targets == (Target(2, 5, "positive"),)
