"""CoNLL column files: one word per line, columns side by side, blank lines between sentences."""

from collections.abc import Iterator
from pathlib import Path

from jaxeval.data import text
from jaxeval.data.sentences import Sentence
from jaxeval.errors import DataError

DOCUMENT = "-DOCSTART-"


def read(path: str | Path, word_column: int = 0, tag_column: int = -1) -> list[Sentence]:
    """The sentences of a column file.

    Columns are separated by tabs if a line holds one, else by blanks. Lines of white space end a
    sentence; `-DOCSTART-` lines are left out. A `#` is a word like any other (tweets).

    Args:
      path: plain or gzip.
      word_column: from 0; negative ones count from the last.
      tag_column: likewise.

    Raises:
      DataError: no sentences, a line with another number of columns than the first, a column that
        is not there, one column for both, an empty word or tag.
    """
    return list(_sentences(path, _rows(path, word_column, tag_column)))


def _rows(path: str | Path, word_column: int, tag_column: int) -> Iterator[tuple[int, str, str]]:
    """Line number, word and tag of each word; word "" at the end of a sentence."""
    expected = None
    for number, line in enumerate(text.iterate_lines(path), 1):
        if not line.strip():
            yield number, "", ""
            continue
        columns = split(line)
        if columns[0] == DOCUMENT:
            continue
        expected = expected or len(columns)
        if len(columns) != expected:
            message = f"expected {expected} columns as in the lines before, found {len(columns)}"
            raise DataError(message, path, number)
        if word_column % len(columns) == tag_column % len(columns):
            message = (
                f"word and tag are both column {word_column % len(columns)} of {len(columns)}; "
                "expected a column of words and one of tags (data.source.word_column, tag_column)"
            )
            raise DataError(message, path, number)
        word, tag = (value(columns, c, path, number) for c in (word_column, tag_column))
        yield number, word, tag


def split(line: str) -> list[str]:
    """Columns, split at tabs or ASCII blanks alone: a no-break space belongs to its word."""
    return line.split("\t") if "\t" in line else [part for part in line.split(" ") if part]


def value(columns: list[str], column: int, path: str | Path, number: int) -> str:
    """A line's value in a column.

    Raises:
      DataError: no such column, or it is empty.
    """
    if not -len(columns) <= column < len(columns):
        message = f"expected a column {column} (from 0), found only {len(columns)} columns"
        raise DataError(message, path, number)
    content = columns[column].strip(" ")
    if not content:
        raise DataError(f"column {column} is empty; expected a word or tag", path, number)
    return content


def _sentences(path: str | Path, rows: Iterator[tuple[int, str, str]]) -> Iterator[Sentence]:
    empty, current = True, []
    for number, word, tag in rows:
        if word:
            current.append((word, tag, number))
        elif current:
            empty = False
            yield Sentence(*zip(*current, strict=True))
            current = []
    if current:
        yield Sentence(*zip(*current, strict=True))
    elif empty:
        raise DataError("no sentence found; expected lines of words and tags", path)
