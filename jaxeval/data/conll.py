"""Tagged sentences in columns: CoNLL, CoNLL-U treebanks, and events of TempEval-3.

Each line is a word with its columns; a blank line ends a sentence.
"""

import re
from pathlib import Path
from typing import Literal

from jaxeval.data import schemes, text
from jaxeval.data.schemes import Sentence
from jaxeval.data.text import Line
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
_Words = list[tuple[Line, list[str]]]  # line and columns of each


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
    for block in text.paragraphs(path):
        rows = [(line, split(line.text)) for line in block]
        rows = [(line, columns) for line, columns in rows if columns[0] != _DOCUMENT]
        for line, columns in rows:
            count = count or len(columns)
            if len(columns) != count:
                found = f"found {len(columns)}{advice}"
                raise line.error(f"expected {count} columns as in the lines before, {found}")
        if not rows:
            continue
        if tag_column is not None and word_column % count == tag_column % count:
            message = f"word and tag are both column {word_column % count} of {count}"
            keys = "data.source.word_column, tag_column"
            raise rows[0][0].error(f"{message}; expected different ones ({keys})")
        words = _values(rows, 0 if tag_column is None and count == 1 else word_column)
        numbers = tuple(line.number for line, _ in rows)
        sentences.append(Sentence(words, _values(rows, tag_column), numbers))
    if not sentences:
        raise DataError("no sentence found; expected lines of words", path)
    return sentences


def split(line: str) -> list[str]:
    """Splits at tabs or ASCII blanks only: a no-break space belongs to its word."""
    return line.split("\t") if "\t" in line else [part for part in line.split(" ") if part]


def _values(rows: _Words, column: int | None) -> tuple[str, ...]:
    """Returns the values of a column; None: no values."""
    if column is None:
        return ()
    first, count = rows[0][0], len(rows[0][1])
    if not -count <= column < count:
        raise first.error(f"expected a column {column} (from 0), found only {count} columns")
    found = tuple([columns[column].strip(" ") for _, columns in rows])
    if "" in found:
        empty = rows[found.index("")][0]
        raise empty.error(f"column {column} is empty; expected a word or tag")
    return found


def read_tempeval3(path: str | Path, word_column: int = 0, tag_column: int = -1) -> list[Sentence]:
    """Reads the sentences of a column file, events as BIO tags (TempEval-3, UzZaman et al. 2013).

    A class of TimeML makes each word a separate event, B-CLASS: nearly all events are single
    words, and classes do not say where an event ends. BIO tags (B-EVENT, I-STATE) stay as they
    are. TimeML itself (XML) is not read. Raises DataError: as `read_columns`, or a tag that is
    neither O, a class nor BIO.
    """
    known = {"O": "O", **{name: f"B-{name}" for name in _EVENTS}}
    known |= {f"{prefix}-{name}": f"{prefix}-{name}" for prefix in "BI" for name in _EVENTS}
    sentences = read_columns(path, word_column, tag_column)
    for _, tags, lines in sentences:
        for tag, line in zip(tags, lines, strict=True):
            if tag not in known:
                names = f"columns of words and O, one of {', '.join(_EVENTS)}"
                expected = f"expected {names}, or B- and I- with one of them"
                message = f"{tag!r} is no event tag; {expected}; see data.source.tag_column"
                raise DataError(message, path, line)
    return [each._replace(tags=tuple(known[tag] for tag in each.tags)) for each in sentences]


def read_conllu(path: str | Path, tag: Tag | None = "upos") -> list[Sentence]:
    """Reads the sentences of a CoNLL-U file, without ranges (1-2) and empty nodes (1.1).

    Tags: `universal`: the twelve of Petrov et al. (2012); `entity`: BIO tags of the outermost
    mentions in the `Entity=` field (GUM); each part of an interrupted mention is one mention, and
    a mention left open ends with its sentence. Raises DataError: not ten columns; an empty tag; no
    sentence; a mention closed but never opened.
    """
    kind = 1  # position of the type in a mention, by "# global.Entity = GRP-etype-infstat-..."
    sentences: list[Sentence] = []
    for block in text.paragraphs(path):
        words: _Words = []
        for line in block:
            if line.text.startswith(_ENTITY_FORMAT):
                names = line.text.partition("=")[2].strip().split("-")
                if "etype" not in names:
                    raise line.error("global.Entity names no etype; expected GRP-etype-...")
                kind = names.index("etype")
            if columns := _conllu_columns(line):
                words.append((line, columns))
        if words:
            tags = () if tag is None else _tags(words, tag, kind)
            forms, numbers = zip(*((row[_FORM], line.number) for line, row in words), strict=True)
            sentences.append(Sentence(forms, tags, numbers))
    if not sentences:
        raise DataError("no sentence found; expected CoNLL-U, ten columns per word", path)
    return sentences


def _conllu_columns(line: Line) -> list[str]:
    """Returns the columns of a word, or [] for a comment, a range or an empty node."""
    if line.text.startswith("#"):
        return []
    columns = line.text.split("\t")
    if len(columns) != _COLUMNS:
        raise line.error(f"expected {_COLUMNS} columns separated by tabs, found {len(columns)}")
    if _OTHER.fullmatch(columns[0]):
        return []
    if not _WORD.fullmatch(columns[0]):
        expected = "expected a word's number, a range or an empty node"
        raise line.error(f"{expected}, found {columns[0]!r}")
    if not columns[_FORM].strip():
        raise line.error("the word is empty")
    return columns


def _tags(words: _Words, tag: Tag, kind: int) -> tuple[str, ...]:
    if tag == "entity":
        outermost: list[schemes.Entity] = []  # of crossing mentions the first and longest
        for span in sorted(_mentions(words, kind), key=lambda s: (s.start, -s.end)):
            if not outermost or span.start >= outermost[-1].end:
                outermost.append(span)
        return schemes.from_spans(outermost, len(words), "bio")
    tags = []
    for line, columns in words:
        tags.append(columns[_XPOS if tag == "xpos" else _UPOS])
        if tags[-1] in ("", "_"):
            raise line.error(f"the word has no {tag} tag")
    return tuple(_UNIVERSAL.get(t, t) for t in tags) if tag == "universal" else tuple(tags)


def _mentions(words: _Words, kind: int) -> list[schemes.Entity]:
    """Returns all mentions of a sentence, nested ones too."""
    spans, opened = [], list[tuple[str, str, int]]()
    for position, (line, columns) in enumerate(words):
        fields = dict(field.partition("=")[::2] for field in columns[_MISC].split("|"))
        for bracket in _BRACKETS.findall(fields.get("Entity", "")):
            parts = bracket.strip("()").split("-")
            if bracket.startswith("("):
                if len(parts) <= kind:
                    raise line.error(f"mention {bracket!r} has no type")
                opened.append((parts[0], parts[kind], position))
            if bracket.endswith(")"):
                group = [k for k, (name, *_) in enumerate(opened) if name == parts[0]]
                if not group:
                    raise line.error(f"mention {parts[0]!r} closes but never opened")
                _, name, start = opened.pop(group[-1])
                spans.append(schemes.Entity(start, position + 1, name))
    return spans + [schemes.Entity(start, len(words), name) for _, name, start in opened]
