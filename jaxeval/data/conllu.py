"""CoNLL-U treebanks: universal or language-specific tags, or GUM's entity mentions."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from jaxeval.data import schemes, text
from jaxeval.data.sentences import Sentence
from jaxeval.errors import DataError

Tag = Literal["upos", "universal", "xpos", "entity"]
_UNIVERSAL = {  # tags of UD among the twelve of Petrov et al. (2012); the others are their own
    **{"AUX": "VERB", "PROPN": "NOUN", "CCONJ": "CONJ", "SCONJ": "CONJ", "PUNCT": "."},
    **{"INTJ": "X", "SYM": "X", "PART": "PRT"},
}
_COLUMNS = 10
FORM, _UPOS, _XPOS, _MISC = 1, 3, 4, 9
_ENTITY_FORMAT = "# global.Entity"
_WORD, _OTHER = re.compile(r"[0-9]+"), re.compile(r"[0-9]+[-.][0-9]+")
_BRACKETS = re.compile(r"\([^()]+\)|\([^()]+|[^()]+\)")


class Word(NamedTuple):
    """A line of a word."""

    columns: list[str]
    line: int


def read(path: str | Path, tag: Tag = "upos") -> list[Sentence]:
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
    current: list[Word] = []
    for number, line in enumerate(text.iterate_lines(path), 1):
        if line.startswith(_ENTITY_FORMAT):
            kind = _type_position(line, path, number)
        if not line.strip():
            sentences += _finish(current, tag, kind, path)
            current = []
        elif not line.startswith("#"):
            current += word(line, path, number)
    sentences += _finish(current, tag, kind, path)
    if not sentences:
        raise DataError("no sentence found; expected CoNLL-U, ten columns per word", path)
    return sentences


def _type_position(line: str, path: str | Path, number: int) -> int:
    """Position of the type in a mention, from "# global.Entity = GRP-etype-infstat-...."""
    names = line.partition("=")[2].strip().split("-")
    if "etype" not in names:
        raise DataError("global.Entity names no etype; expected GRP-etype-...", path, number)
    return names.index("etype")


def word(line: str, path: str | Path, number: int) -> list[Word]:
    """The word of a line; [] for a range or an empty node.

    Raises:
      DataError: not ten columns, or no word.
    """
    columns = line.split("\t")
    if len(columns) != _COLUMNS:
        message = f"expected {_COLUMNS} columns separated by tabs, found {len(columns)}"
        raise DataError(message, path, number)
    if _OTHER.fullmatch(columns[0]):
        return []
    if not _WORD.fullmatch(columns[0]):
        message = f"expected a word's number, a range or an empty node, found {columns[0]!r}"
        raise DataError(message, path, number)
    if not columns[FORM].strip():
        raise DataError("the word is empty", path, number)
    return [Word(columns, number)]


def _finish(words: list[Word], tag: Tag, kind: int, path: str | Path) -> Iterator[Sentence]:
    if not words:
        return
    forms = tuple(word.columns[FORM] for word in words)
    lines = tuple(word.line for word in words)
    if tag == "entity":
        spans = _outermost(_mentions(words, kind, path))
        tags = schemes.from_spans(spans, len(words), "bio")
    else:
        column = _XPOS if tag == "xpos" else _UPOS
        tags = tuple(word.columns[column] for word in words)
        missing = next((w.line for w, t in zip(words, tags, strict=True) if t in ("", "_")), None)
        if missing is not None:
            raise DataError(f"the word has no {tag} tag", path, missing)
        if tag == "universal":
            tags = tuple(_UNIVERSAL.get(tag_of_word, tag_of_word) for tag_of_word in tags)
    yield Sentence(forms, tags, lines)


def _mentions(words: list[Word], kind: int, path: str | Path) -> list[schemes.Entity]:
    """All mentions of a sentence, nested ones too."""
    spans, opened = [], list[tuple[str, str, int]]()
    for position, word in enumerate(words):
        for bracket in _BRACKETS.findall(_entity_field(word.columns[_MISC])):
            if bracket.startswith("("):
                fields = bracket.strip("()").split("-")
                if len(fields) <= kind:
                    raise DataError(f"mention {bracket!r} has no type", path, word.line)
                opened.append((fields[0], fields[kind], position))
            if bracket.endswith(")"):
                group = bracket.strip("()").split("-")[0]
                index = next((i for i, o in reversed([*enumerate(opened)]) if o[0] == group), None)
                if index is None:
                    raise DataError(f"mention {group!r} closes but never opened", path, word.line)
                _, name, start = opened.pop(index)
                spans.append(schemes.Entity(start, position + 1, name))
    return spans + [schemes.Entity(start, len(words), name) for _, name, start in opened]


def _entity_field(misc: str) -> str:
    fields = (field.partition("=") for field in misc.split("|"))
    return next((value for name, _, value in fields if name == "Entity"), "")


def _outermost(spans: list[schemes.Entity]) -> list[schemes.Entity]:
    """Those that lie in no other; of crossing ones the first and longest."""
    outermost: list[schemes.Entity] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if not outermost or span.start >= outermost[-1].end:
            outermost.append(span)
    return outermost
