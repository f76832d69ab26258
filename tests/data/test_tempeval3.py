"""TempEval-3 events in columns; what all readers share stands in test_malformed.py."""

from pathlib import Path

from jaxeval.data import tempeval3

EVENTS = "The\tDT\tO\nwar\tNN\tB-EVENT\nended\tVBD\tB-EVENT\n\nNow\tRB\tO\n"


def test_words_and_events(tmp_path: Path) -> None:
    """Dies if the default tag column is not the events'."""
    path = tmp_path / "train.txt"
    path.write_text(EVENTS)
    first, second = tempeval3.read(path)
    assert first.words == ("The", "war", "ended")
    assert first.tags == ("O", "B-EVENT", "B-EVENT")
    assert second.lines == (5,)


def test_other_columns(tmp_path: Path) -> None:
    """Dies if the arguments are dropped on the way to the column reader, or swapped."""
    path = tmp_path / "train.txt"
    path.write_text(EVENTS)
    assert tempeval3.read(path, 1, 0)[1][:2] == (("RB",), ("Now",))
