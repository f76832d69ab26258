"""Columns of tab-separated text; damaged files are in test_malformed."""

from pathlib import Path

import pytest

from jaxeval.data import tsv
from jaxeval.errors import DataError


def test_values_are_exactly_those_of_their_columns(tmp_path: Path) -> None:
    """Dies if columns count from 0, blanks are stripped, quotes are read or lines miscounted."""
    path = tmp_path / "f"
    path.write_text('a "b\t x \tN\n\nc\td\tV\tmore\n')
    assert list(tsv.read(path, {"features": 3, "source": 1, "target": 2})) == [
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
        list(tsv.read(path, {"source": 1, "target": 2}))
