"""Files that are to be tagged: columns as in training or words alone, and no running text."""

from pathlib import Path

import pytest

from jaxeval.data import untagged
from jaxeval.data.sources import SentenceSource
from jaxeval.errors import DataError

TAGS = {"UH", "DT", "O"}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("Zoë sees Ann in Rome .\n", ":1: every sentence is a single line of 6 columns"),
        ("Yes UH\n\nNo never\n", ":1: every sentence is a single line of 2 columns"),
        ("\nZoë sees Ann\n\nAnn met Bo\n", ":2: every sentence is a single line of 3 columns"),
        ("Zoë sees Ann .\nShe left\n", ":2: expected 4 columns as in the lines before, found 2"),
        ("Go\nZoë sees Ann .\n", ":2: expected 1 columns as in the lines before, found 4"),
    ],
)
def test_running_text_is_refused(content: str, place: str, tmp_path: Path) -> None:
    """Dies if a sentence a line is taken for a word in columns, or the format is not named."""
    file = tmp_path / "plain"
    file.write_text(content)
    with pytest.raises(DataError) as error:
        untagged.read(SentenceSource(), file, TAGS)
    assert f"plain{place}" in str(error.value) and "one word a line" in str(error.value)
    assert ("or put tabs between the columns" in str(error.value)) == ("single line" in place)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("Zoë\nsees\n\nAnn\n", [["Zoë", "sees"], ["Ann"]]),
        ("Zoë NN O\nsees VB O\n\nAnn NN O\n", [["Zoë", "sees"], ["Ann"]]),
        ("Zoë\tO\n\nAnn\tO\n", [["Zoë"], ["Ann"]]),
        ("-DOCSTART- -X- O O\n\nZoë NN\nsees VB\n", [["Zoë", "sees"]]),
        ("Zoë\n", [["Zoë"]]),
        ("Yes UH\n\nNo UH\n", [["Yes"], ["No"]]),
        ("-DOCSTART- O\n\nthe DT\n\n", [["the"]]),
    ],
)
def test_columns_are_read(content: str, words: list[list[str]], tmp_path: Path) -> None:
    """Dies if short sentences, tags or marks of documents are taken for running text."""
    file = tmp_path / "columns"
    file.write_text(content)
    assert untagged.read(SentenceSource(), file, TAGS).sentences == words
