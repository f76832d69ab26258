"""Headers and wrong columns of tab-separated data are told by every task that reads such files."""

from pathlib import Path
from typing import Any

import pytest

from jaxeval.data import pairs, sentiment, seq2seq
from jaxeval.data.checks import Findings
from jaxeval.data.pair_sources import PairSource
from jaxeval.data.sentiment_sources import SentimentSource
from jaxeval.errors import DataError

_LABELS = ("yes", "no")
_SIZES = {"train": 8, "dev": 4, "test": 4}


def _write(folder: Path, columns: int, header: str) -> str:
    """Parts of lines that differ; with three columns two sentences, else a text and a label."""
    for number, (part, size) in enumerate(_SIZES.items()):
        texts = [[f"{part} {column} text {'abcdefgh'[k]}" for column in "xy"] for k in range(size)]
        lines = [[*texts[k][: columns - 1], _LABELS[(k + number) % 2]] for k in range(size)]
        content = "".join("\t".join(line) + "\n" for line in lines)
        (folder / f"{part}.tsv").write_text(header + content)
    return str(folder)


def _findings(task: str, folder: Path, header: str) -> Findings:
    path = _write(folder, 3 if task == "pairs" else 2, header)
    if task == "sentiment":
        settings = sentiment.SentimentData(source=SentimentSource(path=path))
        return sentiment.build(settings, 4).findings
    if task == "seq2seq":
        return seq2seq.build(seq2seq.Seq2SeqData(path=path), 4).findings
    return pairs.build(pairs.PairData(source=PairSource(path=path)), 4).findings


@pytest.mark.parametrize(
    ("task", "header"),
    [
        ("sentiment", "text\tlabel\n"),
        ("seq2seq", "source\ttarget\n"),
        ("pairs", "one\ttwo\tclass\n"),
    ],
)
def test_headers_are_told(task: str, header: str, tmp_path: Path) -> None:
    """Dies if a reader of tab-separated data takes a header for data and says nothing."""
    warned = [line for line in _findings(task, tmp_path, header).warnings if "header" in line]
    shown = header.removesuffix("\n")
    assert [line.partition(" is read")[0] for line in warned] == [
        f"train, dev, test: the first line, {shown!r},"
    ]


@pytest.mark.parametrize("task", ["sentiment", "seq2seq", "pairs"])
def test_data_is_no_header(task: str, tmp_path: Path) -> None:
    """Dies if a first line of data is taken for a header."""
    assert not any("header" in line for line in _findings(task, tmp_path, "").warnings)


def test_a_header_that_names_the_columns_of_pairs_is_read(tmp_path: Path) -> None:
    """Dies if SNLI's header is warned of, which is not read as data."""
    header = "sentence1\tsentence2\tgold_label\n"
    assert not any("header" in line for line in _findings("pairs", tmp_path, header).warnings)


@pytest.mark.parametrize("task", ["sentiment", "pairs"])
def test_a_header_of_one_file(task: str, tmp_path: Path) -> None:
    """Dies if only files beside one another are looked at: parts are drawn from this one."""
    _write(tmp_path, 3 if task == "pairs" else 2, "a\tb\tc\n" if task == "pairs" else "a\tb\n")
    file = str(tmp_path / "train.tsv")
    if task == "sentiment":
        source = SentimentSource(path=file, seed=2)
        found = sentiment.build(sentiment.SentimentData(source=source, labels=("b", *_LABELS)), 4)
        warnings = found.findings.warnings
    else:
        of_one = PairSource(path=file, test_pairs=1, dev_fraction=0.2, seed=2)
        warnings = pairs.build(pairs.PairData(source=of_one), 4).findings.warnings
    (line,) = (line for line in warnings if "header" in line)
    assert line.endswith("no other line has its label; if it is one, delete it")


@pytest.mark.parametrize("task", ["sentiment", "pairs"])
def test_a_label_that_is_a_text_is_refused_shortly(task: str, tmp_path: Path) -> None:
    """Dies if texts are taken for labels, or all of them are printed."""
    for part, size in (("train", 300), ("dev", 100), ("test", 100)):
        lines = [f"{'ab'[k % 2]}\t{part} {k} x\t{part} {k} {'y' * 300}\n" for k in range(size)]
        (tmp_path / f"{part}.tsv").write_text("".join(lines))
    with pytest.raises(DataError, match="300 labels in 300 rows of train; of tab-sep") as error:
        if task == "sentiment":
            source = SentimentSource(path=str(tmp_path))
            sentiment.build(sentiment.SentimentData(source=source), 4)
        else:
            pairs.build(pairs.PairData(source=PairSource(path=str(tmp_path))), 4)
    assert len(str(error.value)) < len(str(tmp_path)) + 200


@pytest.mark.parametrize("count", [2, 30])
def test_a_label_that_train_lacks_is_refused_shortly(count: int, tmp_path: Path) -> None:
    """Dies if all of many labels are printed, or labels that repeat are taken for texts."""
    for part in ("train", "dev", "test"):
        lines = [f"{part} {k}\tclass{k % count:02}\n" for k in range(60)]
        more = "odd\tnone\n" if part == "dev" else ""
        (tmp_path / f"{part}.tsv").write_text("".join(lines) + more)
    data = sentiment.SentimentData(source=SentimentSource(path=str(tmp_path)))
    shown = "class00, class01" if count == 2 else ".*class11 and 18 more"
    said = rf"/dev\.tsv:61: dev: label 'none' of 'odd'; expected those of train: {shown}$"
    with pytest.raises(DataError, match=said):
        sentiment.build(data, 4)


def test_a_pair_whose_label_train_lacks_has_a_place(tmp_path: Path) -> None:
    """Dies if the folder is blamed, where the file and its line are known."""
    for part in ("train", "dev", "test"):
        more = "Odd one\tanother\tnone\n" if part == "test" else ""
        lines = [f"{part} {k}\tthat {k}\tclass{k % 2}\n" for k in range(6)]
        (tmp_path / f"{part}.tsv").write_text("".join(lines) + more)
    data = pairs.PairData(source=PairSource(path=str(tmp_path)))
    with pytest.raises(DataError, match=r"/test\.tsv:7: test: label 'none'; expected those of"):
        pairs.build(data, 4)


def _named_as_parts(folder: Path, form: Any) -> SentimentSource:
    return SentimentSource(path=str(folder), format=form, train="train", dev="dev", test="test")


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["the cat sat here 2\tneutral", "the cat\tneu"], ":2"),
        (["the cat\tneutral", "the\u00a0cat\tneu \r"], ":2"),
        (["the cat\tneu", "a dog\tneutral", "the cat\tneu"], ""),
        (['{"text": "the cat neu", "label": "odd"}', '{"label": "neu", "text": "the cat"}'], ":2"),
        (["neutral:one the cat neu", "neu:two the cat"], ":2"),
    ],
)
def test_the_line_of_a_label_is_its_own(lines: list[str], line: str, tmp_path: Path) -> None:
    """Dies if a right line is blamed that holds label and words of a wrong one within others, or
    one of two lines that fit."""
    kind = {"{": "json", "n": "trec"}.get(lines[0][0], "tsv")
    texts = {
        "json": '{{"text": "{}", "label": "{}"}}'.format,
        "tsv": "{}\t{}".format,
        "trec": "{1}:any {0}".format,
    }
    known = [texts[kind](f"text {k}", ("neutral", "odd")[k % 2]) for k in range(6)]
    for part in ("train", "dev", "test"):
        content = "\n".join(lines if part == "dev" else known) + "\n"
        (tmp_path / part).write_bytes(content.encode())
    source = _named_as_parts(tmp_path, kind)
    with pytest.raises(DataError, match=rf"/dev{line}: dev: label 'neu' of 'the cat'"):
        sentiment.build(sentiment.SentimentData(source=source), 4)


def test_the_line_of_a_latin_1_file(tmp_path: Path) -> None:
    """Dies if the message is of the encoding, which TREC's format has, not of the label."""
    known = "".join(f"{'AB'[k % 2]}:any caf\xe9 {k}\n" for k in range(6)).encode("latin-1")
    for part in ("train", "dev", "test"):
        (tmp_path / part).write_bytes(known + (b"C:any odd one\n" if part == "dev" else b""))
    source = _named_as_parts(tmp_path, "trec")
    with pytest.raises(DataError, match=r"/dev:7: dev: label 'C' of 'odd one'"):
        sentiment.build(sentiment.SentimentData(source=source), 4)


def test_the_line_of_a_pair_that_is_cut(tmp_path: Path) -> None:
    """Dies if a pair is looked for by the words that are read of it, or its columns within
    others."""
    for part in ("train", "dev", "test"):
        lines = [f"{part} {k} is here\tthat {k} none\tclass{k % 2}\n" for k in range(6)]
        more = "test 1 is\tthat 1\tnone\n" if part == "test" else ""
        (tmp_path / f"{part}.tsv").write_text("".join(lines) + more)
    data = pairs.PairData(source=PairSource(path=str(tmp_path)), longest=2)
    with pytest.raises(DataError, match=r"/test\.tsv:7: test: label 'none'"):
        pairs.build(data, 4)
