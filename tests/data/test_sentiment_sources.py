"""Where classified texts come from: files by name, drawn parts, what is refused."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from jaxeval.data import generated_sentiment, sentiment_sources
from jaxeval.data.group_splits import Fractions
from jaxeval.data.sentiment_sources import SentimentSource, TextParts
from jaxeval.errors import DataError

FRACTIONS = Fractions(dev=0.25, test=0.2)
LINES = "".join(f"text {k}\t{'good' if k % 3 else 'bad'}\n" for k in range(20))
LINE = '{"text": "a bar", "target": "bar", "label": "x"}\n'
XML = (
    '<sentences><sentence><text>a bar</text><aspectTerms><aspectTerm term="bar" from="2" to="5" '
    'polarity="neutral"/></aspectTerms></sentence></sentences>'
)
FILES = {
    "train.xml": XML,
    "train.raw": "a $T$\nbar\n0\n",
    "Laptops_Train.xml.seg": "a $T$\nbar\n0\n",
    "train.json": LINE,
    "train.jsonl": LINE,
}


def _write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return folder


def _read(path: Path, **settings: Any) -> TextParts:
    return sentiment_sources.read(SentimentSource(path=str(path), **settings), FRACTIONS)


def _texts(read: TextParts, part: str) -> list[str]:
    return [text.text for text in read.parts[part]]


@pytest.mark.parametrize(("name", "content"), FILES.items())
def test_formats_by_name(name: str, content: str, tmp_path: Path) -> None:
    """Dies if a suffix is read as another format, or gzip hides it."""
    (tmp_path / name).write_text(content)
    for part in ("dev", "test"):
        data = content.replace("bar", "pub" if part == "dev" else "inn").encode()
        (tmp_path / f"{part}_{name.partition('.')[2]}".replace("_", ".", 1)).write_bytes(data)
    read = _read(tmp_path)
    assert [_texts(read, part) for part in read.parts] == [["a bar"], ["a pub"], ["a inn"]]
    assert read.targeted and not read.drawn


def test_gzip_and_named_formats(tmp_path: Path) -> None:
    """Dies if the name of a packed file does not tell its format, or a named one is not used."""
    (tmp_path / "train.tsv.gz").write_bytes(gzip.compress(LINES.encode()))
    assert len(_texts(_read(tmp_path / "train.tsv.gz"), "train")) == 12
    folder = _write(tmp_path / "sst", a__train="1 a\n0 b\n", a__dev="1 c\n", a__test="0 d\n")
    read = _read(folder, format="sst")
    assert read.tokenised and not read.targeted and _texts(read, "test") == ["d"]
    with pytest.raises(DataError, match=r"a.train: its name does not tell .*=FORMAT, .* sst,"):
        _read(folder)


def test_lacking_parts_are_drawn_from_train(tmp_path: Path) -> None:
    """Dies if a text is lost or in two parts, dev is a fraction of all, the seed is not used, or
    test is drawn though there is one."""
    read = _read(_write(tmp_path / "one", train__tsv=LINES) / "train.tsv")
    parts = [_texts(read, part) for part in ("train", "dev", "test")]
    assert [*map(len, parts)] == [12, 4, 4] and read.drawn == ["dev", "test"]
    assert sorted(text for of in parts for text in of) == sorted(
        line.split("\t")[0] for line in LINES.splitlines()
    )
    assert all(of == sorted(of, key=lambda text: int(text[5:])) for of in parts)
    assert _read(tmp_path / "one") == read != _read(tmp_path / "one", seed=2)
    _write(tmp_path / "one", test__tsv="other\tgood\n")
    read = _read(tmp_path / "one")
    assert [len(read.parts[part]) for part in read.parts] == [15, 5, 1] and read.drawn == ["dev"]


def test_equal_texts_are_drawn_together(tmp_path: Path) -> None:
    """Dies if a text is in train and in the dev that is drawn from it."""
    read = _read(_write(tmp_path / "d", train__tsv=LINES * 2) / "train.tsv")
    dev, train = {*_texts(read, "dev")}, {*_texts(read, "train")}
    assert len(read.parts["dev"]) == 2 * len(dev) and not dev & train


def test_a_file_beside_is_not_passed_over(tmp_path: Path) -> None:
    """Dies if val.xml is left unread and a dev drawn in its place."""
    folder = _write(tmp_path / "d", train__tsv=LINES, val__tsv="v\tbad\n", test__tsv="t\tbad\n")
    with pytest.raises(
        DataError, match=r"fits the dev pattern .* val\.tsv; set data\.source\.dev"
    ):
        _read(folder)
    assert _texts(_read(folder, dev="val*"), "dev") == ["v"]
    assert len(_read(folder, dev=None).parts["dev"]) == 5


def test_what_is_dropped_is_told(tmp_path: Path) -> None:
    """Dies if the counts of one part are another's."""
    odd = XML.replace("neutral", "conflict").replace("<sentences>", "").replace("</sentences>", "")
    more = XML.replace("bar", "pub").replace("</sentences>", f"{odd}</sentences>")
    folder = _write(tmp_path / "d", train__xml=XML, dev__xml=more, test__xml=XML)
    assert _read(folder).dropped == {"dev": {"conflict": 1}}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no such file or folder"),
        ({"dev__tsv": LINES}, r"no file fits the train pattern .* set data\.source\.train=NAME"),
        ({"train__tsv": LINES, "train__xml": XML}, "2 files fit the train pattern"),
        ({"train__tsv": "a\tx\nb\ty\n"}, "2 texts are too few to draw test from"),
        ({"train__tsv": LINES, "dev__json": LINE, "test__tsv": LINES}, "train and dev differ"),
    ],
)
def test_what_is_refused(files: dict[str, str], message: str, tmp_path: Path) -> None:
    """Dies if a part is made up, or the error does not say what is lacking."""
    if files:
        _write(tmp_path / "d", **files)
    with pytest.raises(DataError, match=message):
        _read(tmp_path / "d")


def test_a_folder_without_files_is_said(tmp_path: Path) -> None:
    """Dies if a key is asked for where there is no file that it could name."""
    with pytest.raises(DataError, match=r"train pattern .*: the folder holds no file$"):
        _read(tmp_path)
    (tmp_path / "laptop").mkdir()
    with pytest.raises(DataError, match=r"no file, but the folders laptop; name one of them$"):
        _read(tmp_path)


def test_without_a_path_texts_are_generated() -> None:
    """Dies if seed or size are dropped."""
    read = sentiment_sources.read(SentimentSource(seed=3, sentences=10), FRACTIONS)
    assert read.parts == generated_sentiment.parts(3, 10)
    assert read.targeted and read.tokenised and not read.drawn
