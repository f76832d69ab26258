"""Readers of classified texts: JSON lines, SemEval, lines of a text and its label, three lines."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jaxeval.data import labelled_text
from jaxeval.data.labelled_text import LabelledText, Target
from jaxeval.errors import DataError


def _read(folder: Path, form: str, content: str, encoding: str = "utf-8") -> list[LabelledText]:
    (folder / "f").write_bytes(content.encode(encoding))
    return labelled_text.FORMATS[form](folder / "f")


def _read_json(folder: Path, *lines: Any) -> list[LabelledText]:
    return _read(folder, "json", "\n".join(json.dumps(of) if of else "  " for of in lines))


def test_targets_of_json_lines(tmp_path: Path) -> None:
    """Dies if a mention within a word counts, only the first mention is read, `span` is ignored,
    or lines of one text stay apart."""
    text = "barry: bar or bar?"
    (read,) = _read_json(
        tmp_path,
        {"text": text, "target": "bar", "label": "good", "more": None},
        None,
        {"text": text, "target": "barry", "label": 0, "span": [0, 5]},
        {"text": text, "span": [17, 18], "label": "odd"},
    )
    places = [(0, 5, "0"), (7, 10, "good"), (14, 17, "good"), (17, 18, "odd")]
    assert read == LabelledText(text, tuple(Target(*target) for target in places), (3, 1, 1, 4))


def test_lines_of_newsmtsc(tmp_path: Path) -> None:
    """Dies if a target is lost or its polarity is another; names as of the published files."""
    first = {"from": 0, "to": 3, "mention": "Ann"}
    second = {"from": 10, "to": 13, "mention": "Bob"}
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


def _pairs(read: list[LabelledText]) -> list[tuple[str, str]]:
    assert all(target[:2] == (0, 0) for text in read for target in text.targets)
    return [(text.text, target.label) for text in read for target in text.targets]


def test_lines(tmp_path: Path) -> None:
    """Dies if columns change places, digits stay labels, a coarse label keeps its detail, TREC is
    read as UTF-8 or cut at other characters than \\n."""
    tsv = _read(tmp_path, "tsv", "so, so\tmeh\nZoë\tok\n")
    assert _pairs(tsv) == [("so, so", "meh"), ("Zoë", "ok")]
    sst = _read(tmp_path, "sst", "1 good : 0\n0 bad\n")
    assert _pairs(sst) == [("good : 0", "positive"), ("bad", "negative")]
    content = "LOC:city Wo liegt K\xf6ln\x85 ?\nDESC:def What : is\n"
    trec = _read(tmp_path, "trec", content, "latin-1")
    assert _pairs(trec) == [("Wo liegt K\xf6ln\x85 ?", "LOC"), ("What : is", "DESC")]


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
    reader = labelled_text.FORMATS[name.partition("/")[0]]
    read = reader(Path(os.environ["JAXEVAL_DATA"]) / name)
    assert Counter(label for _, label in _pairs(read)) == COUNTS[name]


BLOCKS = (
    "the $T$ was fine , the bar food was not\nbar food\n1\n"
    "$T$ rocks :\nZoë 's  pub\n0\n\n"
    "the bar food was fine , the $T$ was not\nbar food\n-1\n"
    "i saw $T$ and $T$s\nbo\n0\n"
)


def test_targets_stand_at_their_hole(tmp_path: Path) -> None:
    """Dies if a target is looked up in its text (the first mention), blocks of one sentence stay
    apart, or `$T$` is left in a text."""
    food, zoe, bo = _read(tmp_path, "three_line", BLOCKS)
    assert food.text == "the bar food was fine , the bar food was not"
    assert food.targets == (Target(4, 12, "positive"), Target(28, 36, "negative"))
    assert zoe == LabelledText("Zoë 's pub rocks :", (Target(0, 10, "neutral"),), (6,))
    assert bo == LabelledText("i saw bo and bo s", (Target(6, 8, "neutral"),), (13,))


OLD = """<?xml version="1.0" encoding="utf-8"?>
<sentences>
  <sentence id="7">
    <text>Zoë&apos;s cafe\u0301 &amp; bar 👩\u200d🍳: bar food</text>
    <aspectTerms>
      <aspectTerm term="food" polarity="negative" from="27" to="31"/>
      <aspectTerm term="bar" polarity="neutral" from="23" to="26"/>
      <aspectTerm term="bar" polarity="positive" from="14" to="17"/>
      <aspectTerm term="cafe\u0301" polarity="conflict" from="6" to="11"/>
    </aspectTerms>
    <aspectCategories><aspectCategory category="food" polarity="negative"/></aspectCategories>
  </sentence>
  <sentence id="8"><text>Nothing here.</text></sentence>
  <sentence id="9"><text>Odd.</text><aspectTerms>
    <aspectTerm term="Odd" polarity="conflict" from="0" to="3"/></aspectTerms></sentence>
</sentences>
"""
NEW = """<Reviews><Review rid="1"><sentences>
  <sentence id="1:0"><text>Judging by sushi, fine</text><Opinions>
    <Opinion target="sushi" category="FOOD#QUALITY" polarity="positive" from="11" to="16"/>
    <Opinion target="sushi" category="FOOD#PRICES" polarity="negative" from="11" to="16"/>
    <Opinion target="NULL" category="SERVICE#GENERAL" polarity="neutral" from="0" to="0"/>
  </Opinions></sentence>
  <sentence id="1:1" OutOfScope="TRUE"><text>The end.</text></sentence>
</sentences></Review></Reviews>
"""
BOMB = """<?xml version="1.0"?>
<!DOCTYPE bomb [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<sentences><sentence><text>&b;</text></sentence></sentences>
"""


def test_targets_of_2014(tmp_path: Path) -> None:
    """Dies if offsets count bytes or entities, the first of equal words is always taken, targets
    keep the file's order, or what is dropped is not counted."""
    (text,) = _read(tmp_path, "semeval", OLD)
    assert [text.text[t.start : t.end] for t in text.targets] == ["bar", "bar", "food"]
    assert [t.label for t in text.targets] == ["positive", "neutral", "negative"]


def test_targets_of_2015_and_2016(tmp_path: Path) -> None:
    """Dies if NULL is a target, or one of two opinions about the same words is lost."""
    read = _read(tmp_path, "semeval", NEW)
    targets = (Target(11, 16, "positive"), Target(11, 16, "negative"))
    assert read == [LabelledText("Judging by sushi, fine", targets, (2, 2))]
