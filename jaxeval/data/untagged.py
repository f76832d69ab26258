"""Sentences that are to be tagged: the lines of a file, and which of them are words."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxeval.data import conll, conllu, text
from jaxeval.data.sources import SentenceSource
from jaxeval.errors import DataError

_EXPECTED = (
    "a tagger reads one word a line, alone or in columns as in training, and a blank line after "
    "each sentence: cut running text into words first"
)


class Untagged(NamedTuple):
    """A file's lines, and of each sentence the words and the lines (from 0) they stand in."""

    lines: Sequence[str]
    sentences: Sequence[Sequence[str]]
    line_numbers: Sequence[Sequence[int]]


def read(source: SentenceSource, path: Path, tags: Collection[str]) -> Untagged:
    """The sentences of a file in a format that a tagger was trained on.

    A `*.conllu` file is CoNLL-U, all others are columns: the words stand in `source.word_column`,
    or in the only column; columns of tags need not be there, and are not read.

    Args:
      tags: of the files that the tagger was trained on; lines that all end in one are columns.

    Raises:
      DataError: no words, a line that the format does not allow, or running text: lines of several
        columns, each a sentence.
    """
    lines = list(text.iterate_lines(path))
    by_units = source.format == "conllu" or (source.format == "auto" and ".conllu" in path.name)
    sentences: list[dict[int, str]] = [{}]
    for number, line in enumerate(lines):
        if not line.strip():
            sentences.append({})
            continue
        word = _unit(line, path, number) if by_units else _column(source, line, path, number)
        if word:
            sentences[-1][number] = word
    whole: list[Mapping[int, str]] = [sentence for sentence in sentences if sentence]
    if not whole:
        raise DataError("no sentence found; expected lines of words", path)
    if not by_units:
        _refuse_running_text(lines, whole, tags, path)
    return Untagged(lines, [[*s.values()] for s in whole], [[*s] for s in whole])


def _unit(line: str, path: Path, number: int) -> str:
    """The word of a CoNLL-U line; "" of a comment, a range or an empty node."""
    words = [] if line.startswith("#") else conllu.word(line, path, number + 1)
    return words[0].columns[conllu.FORM] if words else ""


def _column(source: SentenceSource, line: str, path: Path, number: int) -> str:
    columns = conll.split(line)
    if columns[0] == conll.DOCUMENT:
        return ""
    column = source.word_column if len(columns) > 1 else 0
    return conll.value(columns, column, path, number + 1)


def _refuse_running_text(
    lines: Sequence[str],
    sentences: Sequence[Mapping[int, str]],
    tags: Collection[str],
    path: Path,
) -> None:
    """Raises DataError if lines differ in columns, or each sentence is a line of words."""
    columns = {number: len(conll.split(lines[number])) for of in sentences for number in of}
    first = next(iter(columns.values()))
    for number, count in columns.items():
        if count != first:
            found = f"expected {first} columns as in the lines before, found {count}"
            raise DataError(f"{found}; {_EXPECTED}", path, number + 1)
    alone = all(len(of) == 1 and "\t" not in lines[next(iter(of))] for of in sentences)
    tagged = all(conll.split(lines[number])[-1] in tags for number in columns)
    if alone and first > 1 and not tagged:
        found = f"every sentence is a single line of {first} columns"
        message = f"{found}; {_EXPECTED}, or put tabs between the columns"
        raise DataError(message, path, min(columns) + 1)


def with_columns(untagged: Untagged, tags: Sequence[Sequence[Sequence[str]]]) -> list[str]:
    """The lines of the file, tags after the columns of each word.

    Args:
      tags: [models][sentences][words].
    """
    lines = [*untagged.lines]
    for number, of_words in enumerate(untagged.line_numbers):
        for position, line_number in enumerate(of_words):
            line = lines[line_number]
            blank = " " if " " in line.strip(" ") and "\t" not in line else "\t"
            lines[line_number] = blank.join([line, *(each[number][position] for each in tags)])
    return lines
