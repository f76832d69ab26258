"""Tagged sentences in columns: CoNLL, CoNLL-U treebanks, and events of TempEval-3.

One word a line, columns side by side, a blank line after each sentence.
"""

import re
from collections.abc import Iterator
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


class _Word(NamedTuple):
    """The line of a word."""

    line: int
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
    for block in _blocks(path):
        words, tags, numbers = [], [], []
        for number, line in block:
            columns = split(line)
            if columns[0] == DOCUMENT:
                continue
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
        if words:
            sentences.append(Sentence(tuple(words), tuple(tags), tuple(numbers)))
    if not sentences:
        raise DataError("no sentence found; expected lines of words and tags", path)
    return sentences


def _blocks(path: str | Path) -> Iterator[list[tuple[int, str]]]:
    """Lines with their numbers, from one line of white space to the next."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate(text.iterate_lines(path), 1):
        if line.strip():
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


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
    for block in _blocks(path):
        words = []
        for number, line in block:
            if line.startswith(_ENTITY_FORMAT):
                kind = _type_position(line, path, number)
            if columns := _conllu_columns(line, path, number):
                words.append(_Word(number, columns))
        if words:
            tags = _tags(words, tag, kind, path)
            forms, numbers = (w.columns[_FORM] for w in words), (w.line for w in words)
            sentences.append(Sentence(tuple(forms), tags, tuple(numbers)))
    if not sentences:
        raise DataError("no sentence found; expected CoNLL-U, ten columns per word", path)
    return sentences


def _type_position(line: str, path: str | Path, number: int) -> int:
    """Position of the type in a mention, from "# global.Entity = GRP-etype-infstat-...."""
    names = line.partition("=")[2].strip().split("-")
    if "etype" not in names:
        raise DataError("global.Entity names no etype; expected GRP-etype-...", path, number)
    return names.index("etype")


def _conllu_columns(line: str, path: str | Path, number: int) -> list[str]:
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
    columns = _conllu_columns(line, path, number)
    return columns[_FORM] if columns else ""


def _tags(words: list[_Word], tag: Tag, kind: int, path: str | Path) -> tuple[str, ...]:
    if tag == "entity":
        return schemes.from_spans(_outermost(_mentions(words, kind, path)), len(words), "bio")
    tags = [word.columns[_XPOS if tag == "xpos" else _UPOS] for word in words]
    for word, of_word in zip(words, tags, strict=True):
        if of_word in ("", "_"):
            raise DataError(f"the word has no {tag} tag", path, word.line)
    return tuple(_UNIVERSAL.get(t, t) for t in tags) if tag == "universal" else tuple(tags)


def _mentions(words: list[_Word], kind: int, path: str | Path) -> list[schemes.Entity]:
    """All mentions of a sentence, nested ones too."""
    spans, opened = [], list[tuple[str, str, int]]()
    for position, word in enumerate(words):
        fields = dict(field.partition("=")[::2] for field in word.columns[_MISC].split("|"))
        for bracket in _BRACKETS.findall(fields.get("Entity", "")):
            parts = bracket.strip("()").split("-")
            if bracket.startswith("("):
                if len(parts) <= kind:
                    raise DataError(f"mention {bracket!r} has no type", path, word.line)
                opened.append((parts[0], parts[kind], position))
            if bracket.endswith(")"):
                group = [k for k, (name, *_) in enumerate(opened) if name == parts[0]]
                if not group:
                    message = f"mention {parts[0]!r} closes but never opened"
                    raise DataError(message, path, word.line)
                _, name, start = opened.pop(group[-1])
                spans.append(schemes.Entity(start, position + 1, name))
    return spans + [schemes.Entity(start, len(words), name) for _, name, start in opened]


def _outermost(spans: list[schemes.Entity]) -> list[schemes.Entity]:
    """Those that lie in no other; of crossing ones the first and longest."""
    outermost: list[schemes.Entity] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if not outermost or span.start >= outermost[-1].end:
            outermost.append(span)
    return outermost
