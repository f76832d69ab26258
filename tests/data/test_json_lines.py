"""Classified text in JSON lines: mentions, spans, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from jaxeval.data import json_lines
from jaxeval.data.labelled_text import LabelledText, LabelledTexts, Target
from jaxeval.errors import DataError


def _read(folder: Path, *lines: Any, labelled: bool = True) -> LabelledTexts:
    file = folder / "train.jsonl"
    written = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_text("\n".join(written))
    return json_lines.read(file, labelled)


def test_targets(tmp_path: Path) -> None:
    """Dies if a mention within a word counts, only the first mention is read, `span` is ignored,
    or lines of one text stay apart."""
    text = "barry: bar or bar?"
    (read,) = _read(
        tmp_path,
        {"text": text, "target": "bar", "label": "good", "more": None},
        "  ",
        {"text": text, "target": "barry", "label": 0, "span": [0, 5]},
        {"text": text, "span": [17, 18], "label": "odd"},
    ).texts
    places = [(0, 5, "0"), (7, 10, "good"), (14, 17, "good"), (17, 18, "odd")]
    assert read == LabelledText(text, tuple(Target(*target) for target in places))


def test_mentions_within_words_where_there_are_no_others(tmp_path: Path) -> None:
    """Dies if text without blanks has no targets, or a pattern's signs are not taken as such."""
    line = {"text": "寿司很好寿司", "target": "寿司", "label": "good"}
    (read,) = _read(tmp_path, line).texts
    assert [target[:2] for target in read.targets] == [(0, 2), (4, 6)]
    assert json_lines.mentions("a.b a+b", "a+b") == [(4, 7)]


def test_texts_without_targets(tmp_path: Path) -> None:
    """Dies if equal texts become one, or labels have places."""
    line = {"text": "so so", "label": "meh"}
    read = _read(tmp_path, line, line)
    assert not read.targeted and not read.tokenised
    assert read.texts == [LabelledText("so so", (Target(0, 0, "meh"),))] * 2


def test_labels_may_lack_where_nothing_is_learned(tmp_path: Path) -> None:
    """Dies if texts to be classified must be labelled, or texts to learn from need not be."""
    line = {"text": "the bar", "target": "bar"}
    assert _read(tmp_path, line, labelled=False).texts[0].targets == (Target(4, 7, ""),)
    with pytest.raises(DataError, match=":1: expected a text and a label that are not empty"):
        _read(tmp_path, line)


def test_labels_are_stripped(tmp_path: Path) -> None:
    """Dies if a blank makes another class."""
    assert _read(tmp_path, {**GOOD, "label": " x\n"}).texts[0].targets[0].label == "x"


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
    read = _read(tmp_path, line)
    assert read.targeted and [*read.texts[0].targets] == [
        Target(0, 3, "positive"),
        Target(10, 13, "negative"),
    ]
    flat = ({**first, "polarity": 1}, {**second, "polarity": -1})
    assert read == _read(
        tmp_path, *({"sentence": "Ann beats Bob.", "id": "1", **of} for of in flat)
    )
    wrong = {**line, "targets": [{**targets[0], "polarity": 3}]}
    with pytest.raises(DataError, match=":1: targets: expected from, to, mention and polarity"):
        _read(tmp_path, wrong)
    with pytest.raises(DataError, match=":1: expected 'Bob' in characters 0 to 3"):
        _read(tmp_path, {**line, "targets": [{**targets[0], "mention": "Bob"}]})


GOOD = {"text": "the bar", "target": "bar", "label": "x"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a", ', ":2: expected a JSON object such as"),
        ("[1]", ":2: expected a JSON object"),
        ('"text label"', ":2: expected a JSON object"),
        ("3", ":2: expected a JSON object"),
        ("[" * 99999, ":2: expected a JSON object"),
        ({**GOOD, "text": 3}, ":2: text: expected a text, found 3; such as"),
        ({**GOOD, "label": None}, ":2: label: expected a text or a whole number, found null"),
        ({**GOOD, "label": 2.0}, ":2: label: expected a text or a whole number, found 2.0"),
        ({"label": "x"}, ":2: text: expected a text, found none"),
        ({**GOOD, "text": "\ud800"}, ":2: text: expected a text, found "),
        ({**GOOD, "span": [1]}, r":2: span: expected two whole numbers, .* found \[1\]"),
        ({**GOOD, "span": [-3, 7]}, r":2: span: expected two whole numbers"),
        ({**GOOD, "span": [4, 70]}, r":2: expected 'bar' in characters 4 to 70 \(it has 7\)"),
        ({**GOOD, "text": " "}, ":2: expected a text and a label"),
        ({**GOOD, "label": ""}, ":2: expected a text and a label"),
        ({**GOOD, "target": "food"}, ":2: expected 'food' in its text: 'the bar'"),
        ({**GOOD, "target": ""}, ":2: expected '' in its text"),
        ({**GOOD, "span": [3, 7]}, ":2: expected 'bar' in characters 3 to 7: 'the bar'"),
        ({"text": "a b", "label": "x", "span": [1, 2]}, ":2: expected a target in characters 1"),
        ({"text": "a b", "label": "x"}, ":2: expected a target or a span, as in"),
    ],
)
def test_what_is_refused(line: Any, message: str, tmp_path: Path) -> None:
    """Dies if a line is skipped or misread in silence, or the error names no line."""
    with pytest.raises(DataError, match=message) as caught:
        _read(tmp_path, GOOD, line)
    assert "\n" not in str(caught.value)
