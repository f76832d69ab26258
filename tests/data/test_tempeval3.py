"""TempEval-3 events in columns; what all readers share stands in test_malformed.py."""

from pathlib import Path

import pytest

from jaxeval.data import sources, tempeval3
from jaxeval.errors import DataError

EVENTS = "The\tDT\tO\nwar\tNN\tB-EVENT\nended\tVBD\tB-EVENT\n\nNow\tRB\tO\n"
CLASSES = "He\tPRP\tO\nsaid\tVBD\tREPORTING\nfighting\tNN\tOCCURRENCE\nended\tVBD\tOCCURRENCE\n"


def _read(folder: Path, content: str, *columns: int) -> list:
    path = folder / "train.txt"
    path.write_text(content)
    return tempeval3.read(path, *columns)


def test_words_and_events(tmp_path: Path) -> None:
    """Dies if the default tag column is not the events'."""
    first, second = _read(tmp_path, EVENTS)
    assert first.words == ("The", "war", "ended")
    assert first.tags == ("O", "B-EVENT", "B-EVENT")
    assert second.lines == (5,)


def test_classes_become_events_of_one_word(tmp_path: Path) -> None:
    """Dies if classes stay plain classes (scored by accuracy), or neighbours become one event."""
    (sentence,) = _read(tmp_path, CLASSES)
    assert sentence.tags == ("O", "B-REPORTING", "B-OCCURRENCE", "B-OCCURRENCE")
    for part in ("dev", "test"):
        (tmp_path / f"{part}.txt").write_text(CLASSES)
    source = sources.SentenceSource(path=str(tmp_path), format="tempeval3")
    parts, entities = sources.read(source, "iobes")
    assert entities and parts["dev"][0].tags[1:] == ("S-REPORTING", "S-OCCURRENCE", "S-OCCURRENCE")


def test_other_columns(tmp_path: Path) -> None:
    """Dies if the arguments are dropped on the way to the column reader, or swapped."""
    swapped = "".join("\t".join(line.split("\t")[::-1]) + "\n" for line in CLASSES.splitlines())
    (sentence,) = _read(tmp_path, swapped, 2, 0)
    assert sentence.words[1] == "said" and sentence.tags[1] == "B-REPORTING"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (EVENTS.replace("NN\tB-EVENT", "NN\tB-WAR"), ":2: 'B-WAR' is no"),
        (
            EVENTS.replace("DT\tO", "DT\tNone"),
            ":1: 'None' is no event tag; expected O, one",
        ),
        ('<?xml version="1.0" ?>\n<TimeML>\n', ":1: TimeML .XML. is not read"),
        ("\n<TimeML>\n", "TimeML .XML. is not read"),
    ],
)
def test_what_cannot_be_read(content: str, message: str, tmp_path: Path) -> None:
    """Dies if another column is taken for events, or XML for words."""
    with pytest.raises(DataError, match=message):
        _read(tmp_path, content)
