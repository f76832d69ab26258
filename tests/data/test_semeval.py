"""Readers of SemEval's XML."""

from pathlib import Path

import pytest

from jaxeval.data import labelled_text
from jaxeval.data.labelled_text import LabelledText, Target
from jaxeval.errors import DataError

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


def _read_xml(folder: Path, content: str, encoding: str = "utf-8") -> list[LabelledText]:
    file = folder / "train.xml"
    file.write_bytes(content.encode(encoding))
    return labelled_text.read_semeval(file)


def test_targets_of_2014(tmp_path: Path) -> None:
    """Dies if offsets count bytes or entities, the first of equal words is always taken, targets
    keep the file's order, or what is dropped is not counted."""
    read = _read_xml(tmp_path, OLD)
    (text,) = read
    assert [text.text[t.start : t.end] for t in text.targets] == ["bar", "bar", "food"]
    assert [t.label for t in text.targets] == ["positive", "neutral", "negative"]


def test_targets_of_2015_and_2016(tmp_path: Path) -> None:
    """Dies if NULL is a target, or one of two opinions about the same words is lost."""
    read = _read_xml(tmp_path, NEW)
    targets = (Target(11, 16, "positive"), Target(11, 16, "negative"))
    assert read == [LabelledText("Judging by sushi, fine", targets, (2, 2))]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            OLD.replace('"negative" from', '"bad" from'),
            "train.xml:3: sentence '7': polarity 'bad'",
        ),
        (
            OLD.replace('from="27"', 'from="28"'),
            r":3: sentence '7': expected 'food' at characters 28 to 31, found 'ood'",
        ),
        (OLD.replace('to="31"', 'to="3100"'), "'food' at characters 27 to 3100, found 'food"),
        (OLD.replace('from="27"', 'from="-4"'), ":3: sentence '7': from='-4' to='31' of 'food'"),
        (OLD.replace('id="8"', "").replace("Nothing here.", " "), ":13: expected a text that"),
        (OLD.replace("aspectTerm ", "term "), "no target found; expected <aspectTerm>"),
        (BOMB, r"^[^(]*train.xml:2: a document type .* is refused"),
        (
            BOMB.replace("[<!ENTITY", 'SYSTEM "file:///etc/passwd" [<!ENTITY'),
            ":2: a document type",
        ),
        (OLD.replace("utf-8", "klingon"), "not well-formed XML in UTF-8 .unknown encoding"),
        ("plain text", "not well-formed XML.*line 1"),
    ],
)
def test_xml_that_is_refused(content: str, message: str, tmp_path: Path) -> None:
    """Dies if a wrong offset or label is trained on, an entity is expanded, or a place is lost."""
    with pytest.raises(DataError, match=message) as caught:
        _read_xml(tmp_path, content)
    assert "\n" not in str(caught.value)
