"""Tagged sentences in columns: CoNLL, CoNLL-U treebanks, and events of TempEval-3.

One word a line, columns side by side, a blank line after each sentence.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from jaxeval.data import schemes, text
from jaxeval.data.schemes import Sentence
from jaxeval.errors import DataError

Tag = Literal["upos", "universal", "xpos", "entity"]
DOCUMENT = "-DOCSTART-"
_UNIVERSAL = {  # tags of UD among the twelve of Petrov et al. (2012); the others are their own
    **{"AUX": "VERB", "PROPN": "NOUN", "CCONJ": "CONJ", "SCONJ": "CONJ", "PUNCT": "."},
    **{"INTJ": "X", "SYM": "X", "PART": "PRT"},
}
_COLUMNS = 10
_FORM, _UPOS, _XPOS, _MISC = 1, 3, 4, 9
_ENTITY_FORMAT = "# global.Entity"
_WORD, _OTHER = re.compile(r"[0-9]+"), re.compile(r"[0-9]+[-.][0-9]+")
_BRACKETS = re.compile(r"\([^()]+\)|\([^()]+|[^()]+\)")
# TimeML 1.2.1, attribute `class` of EVENT; EVENT where a file names no classes
EVENTS = (
    *("ASPECTUAL", "EVENT", "I_ACTION", "I_STATE", "OCCURRENCE", "PERCEPTION"),
    *("REPORTING", "STATE"),
)


class _Line(NamedTuple):
    """A word's line, its number, its columns."""

    number: int
    columns: list[str]


def read_columns(path: str | Path, word_column: int = 0, tag_column: int = -1) -> list[Sentence]:
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
    sentences, count = [], 0
    for lines in _sentences(enumerate(text.iterate_lines(path), 1)):
        words, tags, numbers = [], [], []
        for number, columns in lines:
            count = count or len(columns)
            if len(columns) != count:
                message = f"expected {count} columns as in the lines before, found {len(columns)}"
                raise DataError(message, path, number)
            if word_column % count == tag_column % count:
                message = f"word and tag are both column {word_column % count} of {count}"
                keys = "data.source.word_column, tag_column"
                raise DataError(f"{message}; expected different ones ({keys})", path, number)
            words.append(value(columns, word_column, path, number))
            tags.append(value(columns, tag_column, path, number))
            numbers.append(number)
        sentences.append(Sentence(tuple(words), tuple(tags), tuple(numbers)))
    if not sentences:
        raise DataError("no sentence found; expected lines of words and tags", path)
    return sentences


def _sentences(lines: Iterable[tuple[int, str]]) -> Iterator[list[_Line]]:
    """The lines of words of each sentence, split into columns."""
    current: list[_Line] = []
    for number, line in lines:
        columns = split(line)
        if not line.strip():
            if current:
                yield current
            current = []
        elif columns[0] != DOCUMENT:
            current.append(_Line(number, columns))
    if current:
        yield current


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


def read_tempeval3(path: str | Path, word_column: int = 0, tag_column: int = -1) -> list[Sentence]:
    """The sentences of a column file, events as BIO tags (TempEval-3, UzZaman et al. 2013).

    A class of TimeML makes each word an event of its own, B-CLASS: nearly all events are single
    words, and classes do not say where an event ends. BIO tags (B-EVENT, I-STATE) stay as they
    are. TimeML itself, which is XML, is not read.

    Raises:
      DataError: what `read_columns` raises; a tag that is neither O, a class nor BIO.
    """
    return [
        Sentence(words, tuple(_bio(t, path, n) for t, n in zip(tags, lines, strict=True)), lines)
        for words, tags, lines in read_columns(path, word_column, tag_column)
    ]


def _bio(tag: str, path: str | Path, line: int) -> str:
    if tag == "O" or (tag[:2] in ("B-", "I-") and tag[2:] in EVENTS):
        return tag
    if tag in EVENTS:
        return f"B-{tag}"
    raise DataError(
        f"{tag!r} is no event tag; expected columns of words and O, one of {', '.join(EVENTS)}, "
        "or B- and I- with one of them; see data.source.tag_column",
        path,
        line,
    )


def read_conllu(path: str | Path, tag: Tag = "upos") -> list[Sentence]:
    """The sentences of a CoNLL-U file; ranges (1-2) and empty nodes (1.1) are left out.

    With `universal`, the tags of UD are those twelve that Petrov et al. (2012) have.

    With `entity`, tags are BIO tags of the outermost mentions in the `Entity=` field of the last
    column (GUM: named, nominal and pronominal). A mention that is interrupted (GUM numbers its
    parts, "(5[1/2]") counts as one mention a part; one left open at the end of its sentence ends
    there.

    Raises:
      DataError: not ten columns, an empty tag, no sentence, a mention closed but never opened.
    """
    kind = 1
    sentences: list[Sentence] = []
    current: list[_Line] = []
    for number, line in enumerate(text.iterate_lines(path), 1):
        if line.startswith(_ENTITY_FORMAT):
            kind = _type_position(line, path, number)
        if not line.strip():
            sentences += _finished(current, tag, kind, path)
            current = []
        elif columns := conllu_columns(line, path, number):
            current.append(_Line(number, columns))
    sentences += _finished(current, tag, kind, path)
    if not sentences:
        raise DataError("no sentence found; expected CoNLL-U, ten columns per word", path)
    return sentences


def _type_position(line: str, path: str | Path, number: int) -> int:
    """Position of the type in a mention, from "# global.Entity = GRP-etype-infstat-...."""
    names = line.partition("=")[2].strip().split("-")
    if "etype" not in names:
        raise DataError("global.Entity names no etype; expected GRP-etype-...", path, number)
    return names.index("etype")


def conllu_columns(line: str, path: str | Path, number: int) -> list[str]:
    """The columns of a word's line; [] of a comment, a range or an empty node.

    Raises:
      DataError: not ten columns, or no word.
    """
    if line.startswith("#"):
        return []
    columns = line.split("\t")
    if len(columns) != _COLUMNS:
        message = f"expected {_COLUMNS} columns separated by tabs, found {len(columns)}"
        raise DataError(message, path, number)
    if _OTHER.fullmatch(columns[0]):
        return []
    if not _WORD.fullmatch(columns[0]):
        message = f"expected a word's number, a range or an empty node, found {columns[0]!r}"
        raise DataError(message, path, number)
    if not columns[_FORM].strip():
        raise DataError("the word is empty", path, number)
    return columns


def conllu_word(line: str, path: str | Path, number: int) -> str:
    """The word of a line; "" of a comment, a range or an empty node."""
    columns = conllu_columns(line, path, number)
    return columns[_FORM] if columns else ""


def _finished(lines: list[_Line], tag: Tag, kind: int, path: str | Path) -> Iterator[Sentence]:
    """The sentence of some lines, if there are any."""
    if not lines:
        return
    if tag == "entity":
        spans = _outermost(_mentions(lines, kind, path))
        tags: Sequence[str] = schemes.from_spans(spans, len(lines), "bio")
    else:
        column = _XPOS if tag == "xpos" else _UPOS
        tags = [columns[column] for _, columns in lines]
        for (number, _), of_word in zip(lines, tags, strict=True):
            if of_word in ("", "_"):
                raise DataError(f"the word has no {tag} tag", path, number)
        if tag == "universal":
            tags = [_UNIVERSAL.get(of_word, of_word) for of_word in tags]
    forms = tuple(columns[_FORM] for _, columns in lines)
    yield Sentence(forms, tuple(tags), tuple(number for number, _ in lines))


def _mentions(lines: list[_Line], kind: int, path: str | Path) -> list[schemes.Entity]:
    """All mentions of a sentence, nested ones too."""
    spans, opened = [], list[tuple[str, str, int]]()
    for position, (number, columns) in enumerate(lines):
        fields = dict(field.partition("=")[::2] for field in columns[_MISC].split("|"))
        for bracket in _BRACKETS.findall(fields.get("Entity", "")):
            parts = bracket.strip("()").split("-")
            if bracket.startswith("("):
                if len(parts) <= kind:
                    raise DataError(f"mention {bracket!r} has no type", path, number)
                opened.append((parts[0], parts[kind], position))
            if bracket.endswith(")"):
                group = [k for k, (name, *_) in enumerate(opened) if name == parts[0]]
                if not group:
                    message = f"mention {parts[0]!r} closes but never opened"
                    raise DataError(message, path, number)
                _, name, start = opened.pop(group[-1])
                spans.append(schemes.Entity(start, position + 1, name))
    return spans + [schemes.Entity(start, len(lines), name) for _, name, start in opened]


def _outermost(spans: list[schemes.Entity]) -> list[schemes.Entity]:
    """Those that lie in no other; of crossing ones the first and longest."""
    outermost: list[schemes.Entity] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if not outermost or span.start >= outermost[-1].end:
            outermost.append(span)
    return outermost
