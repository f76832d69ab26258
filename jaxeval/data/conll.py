"""Tagged sentences in columns: CoNLL, CoNLL-U treebanks, and events of TempEval-3.

Each line is a word with its columns; a blank line ends a sentence.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from jaxeval.data import schemes, text
from jaxeval.data.schemes import Sentence
from jaxeval.errors import DataError

Tag = Literal["upos", "universal", "xpos", "entity"]
_DOCUMENT = "-DOCSTART-"
_UNIVERSAL = {  # UD tags that Petrov et al. (2012) name otherwise
    **{"AUX": "VERB", "PROPN": "NOUN", "CCONJ": "CONJ", "SCONJ": "CONJ", "PUNCT": "."},
    **{"INTJ": "X", "SYM": "X", "PART": "PRT"},
}
_COLUMNS = 10
_FORM, _UPOS, _XPOS, _MISC = 1, 3, 4, 9
_ENTITY_FORMAT = "# global.Entity"
_WORD, _OTHER = re.compile(r"[0-9]+"), re.compile(r"[0-9]+[-.][0-9]+")
_BRACKETS = re.compile(r"\([^()]+\)|\([^()]+|[^()]+\)")
# TimeML 1.2.1, attribute `class` of EVENT; EVENT in files without classes
_EVENTS = (
    *("ASPECTUAL", "EVENT", "I_ACTION", "I_STATE", "OCCURRENCE", "PERCEPTION"),
    *("REPORTING", "STATE"),
)
_Words = list[tuple[int, list[str]]]  # line and columns of each


def read_columns(
    path: str | Path, word_column: int = 0, tag_column: int | None = -1, advice: str = ""
) -> list[Sentence]:
    """Reads the sentences of a column file.

    Columns are numbered from 0, negative ones from the last. They are separated by tabs if a line
    holds one, else by blanks. `-DOCSTART-` lines are left out; `#` is a word. Without `tag_column`
    no tags are read, and a single column holds the words. Raises DataError: no sentences; lines
    that differ in columns (with `advice`); a column that is missing or empty.
    """
    sentences, count = [], 0
    for block in _blocks(path):
        words, tags, numbers = [], [], []
        for number, line in block:
            columns = split(line)
            if columns[0] == _DOCUMENT:
                continue
            count = count or len(columns)
            if len(columns) != count:
                message = f"expected {count} columns as in the lines before, found {len(columns)}"
                raise DataError(f"{message}{advice}", path, number)
            if tag_column is not None and word_column % count == tag_column % count:
                message = f"word and tag are both column {word_column % count} of {count}"
                keys = "data.source.word_column, tag_column"
                raise DataError(f"{message}; expected different ones ({keys})", path, number)
            alone = tag_column is None and count == 1
            words.append(_value(columns, 0 if alone else word_column, path, number))
            if tag_column is not None:
                tags.append(_value(columns, tag_column, path, number))
            numbers.append(number)
        if words:
            sentences.append(Sentence(tuple(words), tuple(tags), tuple(numbers)))
    if not sentences:
        raise DataError("no sentence found; expected lines of words", path)
    return sentences


def _blocks(path: str | Path) -> Iterator[list[tuple[int, str]]]:
    """Yields lines with their numbers, from one blank line to the next."""
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
    """Splits at tabs or ASCII blanks only: a no-break space belongs to its word."""
    return line.split("\t") if "\t" in line else [part for part in line.split(" ") if part]


def _value(columns: list[str], column: int, path: str | Path, number: int) -> str:
    if not -len(columns) <= column < len(columns):
        message = f"expected a column {column} (from 0), found only {len(columns)} columns"
        raise DataError(message, path, number)
    content = columns[column].strip(" ")
    if not content:
        raise DataError(f"column {column} is empty; expected a word or tag", path, number)
    return content


def read_tempeval3(path: str | Path, word_column: int = 0, tag_column: int = -1) -> list[Sentence]:
    """Reads the sentences of a column file, events as BIO tags (TempEval-3, UzZaman et al. 2013).

    A class of TimeML makes each word a separate event, B-CLASS: nearly all events are single
    words, and classes do not say where an event ends. BIO tags (B-EVENT, I-STATE) stay as they
    are. TimeML itself (XML) is not read. Raises DataError: as `read_columns`, or a tag that is
    neither O, a class nor BIO.
    """
    return [
        Sentence(words, tuple(_bio(t, path, n) for t, n in zip(tags, lines, strict=True)), lines)
        for words, tags, lines in read_columns(path, word_column, tag_column)
    ]


def _bio(tag: str, path: str | Path, line: int) -> str:
    if tag == "O" or (tag[:2] in ("B-", "I-") and tag[2:] in _EVENTS):
        return tag
    if tag in _EVENTS:
        return f"B-{tag}"
    expected = (
        f"columns of words and O, one of {', '.join(_EVENTS)}, or B- and I- with one of them"
    )
    message = f"{tag!r} is no event tag; expected {expected}; see data.source.tag_column"
    raise DataError(message, path, line)


def read_conllu(path: str | Path, tag: Tag | None = "upos") -> list[Sentence]:
    """Reads the sentences of a CoNLL-U file, without ranges (1-2) and empty nodes (1.1).

    Tags: `universal`: the twelve of Petrov et al. (2012); `entity`: BIO tags of the outermost
    mentions in the `Entity=` field (GUM); each part of an interrupted mention is one mention, and
    a mention left open ends with its sentence. Raises DataError: not ten columns; an empty tag; no
    sentence; a mention closed but never opened.
    """
    kind = 1  # position of the type in a mention, by "# global.Entity = GRP-etype-infstat-..."
    sentences: list[Sentence] = []
    for block in _blocks(path):
        words: _Words = []
        for number, line in block:
            if line.startswith(_ENTITY_FORMAT):
                names = line.partition("=")[2].strip().split("-")
                if "etype" not in names:
                    message = "global.Entity names no etype; expected GRP-etype-..."
                    raise DataError(message, path, number)
                kind = names.index("etype")
            if columns := _conllu_columns(line, path, number):
                words.append((number, columns))
        if words:
            tags = () if tag is None else _tags(words, tag, kind, path)
            numbers, rows = zip(*words, strict=True)
            sentences.append(Sentence(tuple(row[_FORM] for row in rows), tags, numbers))
    if not sentences:
        raise DataError("no sentence found; expected CoNLL-U, ten columns per word", path)
    return sentences


def _conllu_columns(line: str, path: str | Path, number: int) -> list[str]:
    """Returns the columns of a word, or [] for a comment, a range or an empty node."""
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


def _tags(words: _Words, tag: Tag, kind: int, path: str | Path) -> tuple[str, ...]:
    if tag == "entity":
        outermost: list[schemes.Entity] = []  # of crossing mentions the first and longest
        for span in sorted(_mentions(words, kind, path), key=lambda s: (s.start, -s.end)):
            if not outermost or span.start >= outermost[-1].end:
                outermost.append(span)
        return schemes.from_spans(outermost, len(words), "bio")
    tags = []
    for line, columns in words:
        tags.append(columns[_XPOS if tag == "xpos" else _UPOS])
        if tags[-1] in ("", "_"):
            raise DataError(f"the word has no {tag} tag", path, line)
    return tuple(_UNIVERSAL.get(t, t) for t in tags) if tag == "universal" else tuple(tags)


def _mentions(words: _Words, kind: int, path: str | Path) -> list[schemes.Entity]:
    """Returns all mentions of a sentence, nested ones too."""
    spans, opened = [], list[tuple[str, str, int]]()
    for position, (line, columns) in enumerate(words):
        fields = dict(field.partition("=")[::2] for field in columns[_MISC].split("|"))
        for bracket in _BRACKETS.findall(fields.get("Entity", "")):
            parts = bracket.strip("()").split("-")
            if bracket.startswith("("):
                if len(parts) <= kind:
                    raise DataError(f"mention {bracket!r} has no type", path, line)
                opened.append((parts[0], parts[kind], position))
            if bracket.endswith(")"):
                group = [k for k, (name, *_) in enumerate(opened) if name == parts[0]]
                if not group:
                    message = f"mention {parts[0]!r} closes but never opened"
                    raise DataError(message, path, line)
                _, name, start = opened.pop(group[-1])
                spans.append(schemes.Entity(start, position + 1, name))
    return spans + [schemes.Entity(start, len(words), name) for _, name, start in opened]
