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


GOOD = {"text": "the bar", "target": "bar", "label": "x"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a", ', ":2: expected a JSON object such as"),
        ("[1]", ":2: expected a JSON object"),
        ('"text label"', ":2: expected a JSON object"),
        ("3", ":2: expected a JSON object"),
        ("[" * 99999, ":2: expected a JSON object"),
        ({**GOOD, "text": 3}, ":2: expected a JSON object"),
        ({**GOOD, "span": [1]}, ":2: expected a JSON object"),
        ({**GOOD, "span": [-3, 7]}, ":2: expected a JSON object"),
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
