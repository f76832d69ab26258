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


@pytest.mark.parametrize(
    ("first", "labels", "warned"),
    [
        ({"train": "t\tl", "dev": "t\tl"}, None, ["train, dev: the first line, 't\\tl', is "]),
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
    actual = tsv.headers({part: line.split("\t") for part, line in first.items()}, labels)
    assert [line[: len(begin)] for line, begin in zip(actual, warned, strict=True)] == warned
