"""Columns of tab-separated text, and what is odd about a corpus."""

from pathlib import Path

import pytest

from jaxeval.data import checks, pairs, sentiment, seq2seq, text
from jaxeval.data.checks import Findings
from jaxeval.data.pair_files import PairSource
from jaxeval.data.sentiment_files import SentimentSource
from jaxeval.errors import DataError


def test_values_are_exactly_those_of_their_columns(tmp_path: Path) -> None:
    """Dies if columns count from 0, blanks are stripped, quotes are read or lines miscounted."""
    path = tmp_path / "f"
    path.write_text('a "b\t x \tN\n\nc\td\tV\tmore\n')
    assert list(text.columns(path, {"features": 3, "source": 1, "target": 2})) == [
        (1, {"source": 'a "b', "target": " x ", "features": "N"}),
        (3, {"source": "c", "target": "d", "features": "V"}),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a\t", r":2: column 2 \(target\) is empty"),
        ("\xa0 \tb", r":2: column 1 \(source\) is empty"),
        ("\t", r":2: column 1 \(source\) is empty"),
        ("a b", r":2: expected a column 2 \(target\), found 1, split at tabs"),
        (" ", ":2: "),
    ],
)
def test_what_a_line_lacks_is_named(line: str, message: str, tmp_path: Path) -> None:
    """Dies if an empty value or a line of blanks is an item, or is left out without a word."""
    path = tmp_path / "f"
    path.write_text(f"a\tb\n{line}\n")
    with pytest.raises(DataError, match=message):
        list(text.columns(path, {"source": 1, "target": 2}))


@pytest.mark.parametrize(
    ("first", "labels", "warned"),
    [
        ({"train": "t", "dev": "t"}, None, ["train: the first line, 't', is ", "dev: the first"]),
        ({"train": "t\tl", "dev": "u\tl"}, None, []),
        ({"train": "t\tl"}, None, []),
        ({"train": "t\tl"}, {"train": ["l", "a", "b"]}, ["train: the first line, 't\\tl', is "]),
        ({"train": "t\ta"}, {"train": ["a", "a", "b", "c"]}, []),
        ({"train": "t\ta", "dev": "u\tb"}, {"train": ["a", "b", "c"], "dev": ["b", "a"]}, []),
        ({"train": "t\ta"}, {"train": ["a", "b"]}, []),
        (
            {"train": "t\tl", "dev": "u\tm"},
            {"train": ["l", "a", "b"], "dev": ["m", "a"]},
            ["train: the first line, 't\\tl', is ", "dev: the first line, 'u\\tm', is "],
        ),
    ],
)
def test_first_lines_that_look_like_headers(
    first: dict[str, str], labels: dict[str, list[str]] | None, warned: list[str]
) -> None:
    """Dies if a header is not told, a rare class that another part has is taken for one, or two
    lines of two classes are."""
    actual = checks.headers({part: line.split("\t") for part, line in first.items()}, labels)
    assert [line[: len(begin)] for line, begin in zip(actual, warned, strict=True)] == warned


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
        f"{part}: the first line, {shown!r}," for part in ("train", "dev", "test")
    ]


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


def test_a_pair_whose_label_train_lacks_has_a_place(tmp_path: Path) -> None:
    """Dies if the folder is blamed, where the file and its line are known."""
    for part in ("train", "dev", "test"):
        more = "Odd one\tanother\tnone\n" if part == "test" else ""
        lines = [f"{part} {k}\tthat {k}\tclass{k % 2}\n" for k in range(6)]
        (tmp_path / f"{part}.tsv").write_text("".join(lines) + more)
    data = pairs.PairData(source=PairSource(path=str(tmp_path)))
    with pytest.raises(
        DataError, match=r"/test\.tsv:7: test: label 'none' of 'Odd one'; expected those"
    ):
        pairs.build(data, 4)
