"""Readers of classified texts: JSON lines, SemEval, lines of a text and its label, three lines."""

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jaxeval.data import labelled_text
from jaxeval.data.labelled_text import LabelledText, Target
from jaxeval.errors import DataError


def _read_json(folder: Path, *lines: Any, labelled: bool = True) -> list[LabelledText]:
    file = folder / "train.jsonl"
    written = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_text("\n".join(written))
    return labelled_text.read_json(file, labelled)


def test_targets_of_json_lines(tmp_path: Path) -> None:
    """Dies if a mention within a word counts, only the first mention is read, `span` is ignored,
    or lines of one text stay apart."""
    text = "barry: bar or bar?"
    (read,) = _read_json(
        tmp_path,
        {"text": text, "target": "bar", "label": "good", "more": None},
        "  ",
        {"text": text, "target": "barry", "label": 0, "span": [0, 5]},
        {"text": text, "span": [17, 18], "label": "odd"},
    )
    places = [(0, 5, "0"), (7, 10, "good"), (14, 17, "good"), (17, 18, "odd")]
    assert read == LabelledText(text, tuple(Target(*target) for target in places), (3, 1, 1, 4))


def test_lines_of_newsmtsc(tmp_path: Path) -> None:
    """Dies if a target is lost or its polarity is another; names as of the published files."""
    first, second = (
        {"from": 0, "to": 3, "mention": "Ann"},
        {"from": 10, "to": 13, "mention": "Bob"},
    )
    targets = [
        {**first, "Input.gid": "1", "polarity": 6.0, "further_mentions": []},
        {**second, "Input.gid": "2", "polarity": 2},
    ]
    line = {"sentence_normalized": "Ann beats Bob.", "primary_gid": "1", "targets": targets}
    read = _read_json(tmp_path, line)
    assert read[0].targeted and [*read[0].targets] == [
        Target(0, 3, "positive"),
        Target(10, 13, "negative"),
    ]
    flat = ({**first, "polarity": 1}, {**second, "polarity": -1})
    again = _read_json(tmp_path, *({"sentence": "Ann beats Bob.", "id": "1", **of} for of in flat))
    assert again[0][:2] == read[0][:2]
    wrong = {**line, "targets": [{**targets[0], "polarity": 3}]}
    with pytest.raises(DataError, match=r":1: .*targets: expected from, to, mention and polarity"):
        _read_json(tmp_path, wrong)
    with pytest.raises(DataError, match=r":1: .*expected 'Bob' in characters 0 to 3"):
        _read_json(tmp_path, {**line, "targets": [{**targets[0], "mention": "Bob"}]})


GOOD = {"text": "the bar", "target": "bar", "label": "x"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a", ', ":2: expected a JSON object such as"),
        ('"text label"', ":2: expected a JSON object"),
        ("[" * 99999, ":2: expected a JSON object"),
        ({**GOOD, "text": 3}, ":2: .*text: found 3"),
        ({**GOOD, "label": None}, ":2: .*label: found null"),
        ({**GOOD, "text": "\ud800"}, ":2: .*text: found "),
        ({**GOOD, "span": [1]}, r":2: .*span: found \[1\]"),
        ({**GOOD, "span": [4, 70]}, r":2: .*expected 'bar' in characters 4 to 70 of 7"),
        ({**GOOD, "target": "food"}, ":2: .*expected 'food' in its text: 'the bar'"),
        ({**GOOD, "span": [3, 7]}, ":2: .*expected 'bar' in characters 3 to 7 of 7: 'the bar'"),
        ({"text": "a b", "label": "x", "span": [1, 2]}, ":2: .*expected a target in characters 1"),
        ({"text": "a b", "label": "x"}, ":2: expected a target or a span, as in"),
    ],
)
def test_json_that_is_refused(line: Any, message: str, tmp_path: Path) -> None:
    """Dies if a line is skipped or misread in silence, or the error names no line."""
    with pytest.raises(DataError, match=message) as caught:
        _read_json(tmp_path, GOOD, line)
    assert "\n" not in str(caught.value)


Reader = Callable[[Path], list[LabelledText]]


def _pairs(read: list[LabelledText]) -> list[tuple[str, str]]:
    assert all(target[:2] == (0, 0) for text in read for target in text.targets)
    return [(text.text, target.label) for text in read for target in text.targets]


def _written(folder: Path, content: str, encoding: str = "utf-8") -> Path:
    file = folder / "train"
    file.write_bytes(content.encode(encoding))
    return file


def test_lines(tmp_path: Path) -> None:
    """Dies if columns change places, digits stay labels, a coarse label keeps its detail, TREC is
    read as UTF-8 or cut at other characters than \\n."""
    tsv = labelled_text._read_tsv(_written(tmp_path, "so, so\tmeh\nZoë\tok\n"))
    assert _pairs(tsv) == [("so, so", "meh"), ("Zoë", "ok")]
    sst = labelled_text._read_sst(_written(tmp_path, "1 good : 0\n0 bad\n"))
    assert _pairs(sst) == [("good : 0", "positive"), ("bad", "negative")]
    content = "LOC:city Wo liegt K\xf6ln\x85 ?\nDESC:def What : is\n"
    trec = labelled_text._read_trec(_written(tmp_path, content, "latin-1"))
    assert _pairs(trec) == [("Wo liegt K\xf6ln\x85 ?", "LOC"), ("What : is", "DESC")]


@pytest.mark.parametrize(
    ("reader", "content", "message"),
    [
        (labelled_text._read_tsv, "a\tb\nc\n", r":2: expected a column 2 \(label\)"),
        (labelled_text._read_tsv, "a\tb\n \tc\n", r":2: column 1 \(text\) is empty"),
        (
            labelled_text._read_sst,
            "1 a\n2 b\n",
            ":2: expected 0 or 1, a blank and a text, found '2 b'; data.source.format=auto goes",
        ),
        (
            labelled_text._read_trec,
            "LOC:x a\nno label\n",
            ":2: expected LABEL:detail, .*format=auto",
        ),
    ],
)
def test_lines_that_are_refused(
    reader: Reader, content: str, message: str, tmp_path: Path
) -> None:
    """Dies if a line that is none of the format is taken for text, or is left out."""
    with pytest.raises(DataError, match=message):
        reader(_written(tmp_path, content))


_COARSE = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
COUNTS = {  # Socher et al. 2013; Li & Roth 2002
    "sst/stsa.binary.train": {"negative": 3310, "positive": 3610},
    "sst/stsa.binary.dev": {"negative": 428, "positive": 444},
    "sst/stsa.binary.test": {"negative": 912, "positive": 909},
    "trec/TREC.train": dict(zip(_COARSE, (86, 1162, 1250, 1223, 835, 896), strict=True)),
    "trec/TREC.test": dict(zip(_COARSE, (9, 138, 94, 65, 81, 113), strict=True)),
}


@pytest.mark.skipif("JAXEVAL_DATA" not in os.environ, reason="JAXEVAL_DATA names no data folder")
@pytest.mark.parametrize("name", COUNTS)
def test_published_counts(name: str) -> None:
    """Dies if a line is lost or a label misread."""
    reader = labelled_text._read_sst if name.startswith("sst") else labelled_text._read_trec
    read = reader(Path(os.environ["JAXEVAL_DATA"]) / name)
    assert Counter(label for _, label in _pairs(read)) == COUNTS[name]


BLOCKS = (
    "the $T$ was fine , the bar food was not\nbar food\n1\n"
    "$T$ rocks :\nZoë 's  pub\n0\n\n"
    "the bar food was fine , the $T$ was not\nbar food\n-1\n"
    "i saw $T$ and $T$s\nbo\n0\n"
)


def _read_blocks(folder: Path, content: str) -> list[LabelledText]:
    file = folder / "train.raw"
    file.write_text(content)
    read = labelled_text._read_three_line(file)
    return read


def test_targets_stand_at_their_hole(tmp_path: Path) -> None:
    """Dies if a target is looked up in its text (the first mention), blocks of one sentence stay
    apart, or `$T$` is left in a text."""
    food, zoe, bo = _read_blocks(tmp_path, BLOCKS)
    assert food.text == "the bar food was fine , the bar food was not"
    assert food.targets == (Target(4, 12, "positive"), Target(28, 36, "negative"))
    assert zoe == LabelledText("Zoë 's pub rocks :", (Target(0, 10, "neutral"),), (6,))
    assert bo == LabelledText("i saw bo and bo s", (Target(6, 8, "neutral"),), (13,))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BLOCKS + "more $T$\nx\n", ":14: expected three lines"),
        (
            BLOCKS.replace("saw $T$ and $T$s", "saw bo"),
            r":11: expected three lines: a text with \$T\$",
        ),
        (BLOCKS.replace("\n-1\n", "\n2\n"), ":10: label '2'; expected -1, 0, 1"),
        (BLOCKS.replace("\nbo\n", "\n  \n"), ":11: expected three lines"),
    ],
)
def test_blocks_that_are_refused(content: str, message: str, tmp_path: Path) -> None:
    """Dies if a block that lost a line shifts all others, or an error names another line."""
    with pytest.raises(DataError, match=message):
        _read_blocks(tmp_path, content)
