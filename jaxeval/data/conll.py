"""Tagged sentences in columns: CoNLL, CoNLL-U treebanks, events of TempEval-3; entity tag schemes.

Each line is a word with its columns; a blank line ends a sentence. Schemes are converted by spans:

iob1   I-X everywhere, B-X only where a span follows another of the same type (CoNLL-2003).
bio    B-X opens every span, I-X continues it (IOB2).
iobes  B-X .. I-X .. E-X for spans of two or more words, S-X for one word.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from jaxeval.data import text
from jaxeval.data.text import Line
from jaxeval.errors import DataError, counted

Scheme = Literal["none", "iob1", "bio", "iobes"]
_PREFIXES = {"iob1": "IB", "bio": "BI", "iobes": "BIES"}
# entity tags of any scheme (L, U: BILOU; M: BMES), and spellings of O
_ENTITY, _BARE = re.compile("[BIESLUM]-.+", re.IGNORECASE), re.compile("[BIESLUM]")
_OUTSIDE = re.compile("[Oo0]")
_Parsed = tuple[str, str]  # prefix and type of a tag; ("O", "") outside of entities
Tag = Literal["upos", "universal", "xpos", "entity"]
_DOCUMENT = "-DOCSTART-"
_COMMENT = re.compile(r"# (id |\S+ = )")  # even with as many columns as a word
_UNIVERSAL = {  # UD tags that Petrov et al. (2012) name otherwise
    **{"AUX": "VERB", "PROPN": "NOUN", "CCONJ": "CONJ", "SCONJ": "CONJ", "PUNCT": "."},
    **{"INTJ": "X", "SYM": "X", "PART": "PRT"},
}
_COLUMNS, _FORM, _UPOS, _XPOS, _MISC = 10, 1, 3, 4, 9
_ENTITY_FORMAT = "# global.Entity"
_WORD, _OTHER = re.compile(r"[0-9]+"), re.compile(r"[0-9]+[-.][0-9]+")
_BRACKETS = re.compile(r"\([^()]+\)|\([^()]+|[^()]+\)")
# TimeML 1.2.1, attribute `class` of EVENT; EVENT in files without classes
_EVENTS = "ASPECTUAL EVENT I_ACTION I_STATE OCCURRENCE PERCEPTION REPORTING STATE"
_Words = list[tuple[Line, list[str]]]  # line and columns of each


class Sentence(NamedTuple):
    """Words with a tag each, and their lines in the file (from 1), empty if unknown."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    lines: tuple[int, ...] = ()


class Entity(NamedTuple):
    """An entity of words start .. end - 1."""

    start: int
    end: int
    kind: str


def detect(tags: Mapping[str, int]) -> Scheme:
    """Returns the scheme of tags: `iobes` if E- or S- occurs, else `bio`, or `none`.

    Tags are of entities if most of them other than O have a prefix and a type; `convert` refuses
    the others. `tags`: frequency of each.
    """
    prefixes, entities, others = set[str](), 0, 0
    for tag, count in tags.items():
        if _ENTITY.fullmatch(tag) or ("O" in tags and _BARE.fullmatch(tag)):
            prefixes.add(tag[0])
            entities += count
        elif not _OUTSIDE.fullmatch(tag):
            others += count
    if not entities or others > entities:
        return "none"
    return "iobes" if prefixes & {"E", "S"} else "bio"


def _may_follow(left: _Parsed, right: _Parsed, scheme: Scheme) -> bool:
    """Returns whether a tag may follow another; outside of a sentence is O."""
    if scheme == "iobes":
        unfinished = left[0] in "BI"
        return unfinished == (right[0] in "IE") and (not unfinished or left[1] == right[1])
    return right[0] != ("I" if scheme == "bio" else "B") or left[1] == right[1]


def _fault(tags: Sequence[str], scheme: Scheme) -> tuple[int, str] | None:
    """Returns the position of the first tag that the scheme forbids, and what is wrong with it."""
    before: _Parsed = ("O", "")
    for position, tag in enumerate([*tags, "O"]):
        prefix, _, kind = tag.partition("-")
        if tag != "O" and not (kind and prefix in [*_PREFIXES[scheme]]):
            allowed = ", ".join(f"{p}-TYPE" for p in _PREFIXES[scheme])
            return position, f"tag {tag!r} is not of scheme {scheme}; expected O, {allowed}"
        if not _may_follow(before, (prefix, kind), scheme):
            if position == len(tags):
                return position - 1, f"tag {tags[-1]!r} leaves an entity open"
            last = repr(tags[position - 1]) if position else "nothing"
            return position, f"tag {tag!r} cannot follow {last} in scheme {scheme}"
        before = prefix, kind
    return None


def lenient_spans(tags: Sequence[str]) -> list[Entity]:
    """Returns the spans of tags by the rule of `conlleval`, which reads invalid tags, too."""
    spans: list[Entity] = []
    before, kind_before = "O", ""
    for position, tag in enumerate(tags):
        prefix, kind = tag[:1], tag[2:]
        if prefix != "O" and prefix in "IE" and before in "BI" and kind == kind_before:
            spans[-1] = spans[-1]._replace(end=position + 1)
        elif prefix != "O":
            spans.append(Entity(position, position + 1, kind))
        before, kind_before = prefix, kind
    return spans


def from_spans(spans: Sequence[Entity], length: int, scheme: Scheme) -> tuple[str, ...]:
    """Returns the tags of `length` words; spans must not overlap."""
    tags, before = ["O"] * length, Entity(0, 0, "")
    for span in sorted(spans):
        size = span.end - span.start
        if scheme == "iobes":
            prefixes = "S" if size == 1 else "B" + "I" * (size - 2) + "E"
        else:
            touches = (before.end, before.kind) == (span.start, span.kind)
            prefixes = ("B" if scheme == "bio" or touches else "I") + "I" * (size - 1)
        tags[span.start : span.end] = [f"{prefix}-{span.kind}" for prefix in prefixes]
        before = span
    return tuple(tags)


def convert(
    sentences: Sequence[Sentence], source: Scheme, target: Scheme, path: str
) -> list[Sentence]:
    """Converts tags to another scheme; raises DataError for an illegal one, with file and line."""
    converted = []
    for number, sentence in enumerate(sentences, 1):
        if fault := _fault(sentence.tags, source):
            position, message = fault
            line = sentence.lines[position] if sentence.lines else None
            place = "" if line else f"sentence {number}, word {position + 1}: "
            hint = "set data.source.scheme: iob1, bio, iobes, or none if tags are not entities"
            raise DataError(f"{place}{message}; {hint}", path, line)
        tags = from_spans(lenient_spans(sentence.tags), len(sentence.tags), target)
        converted.append(sentence._replace(tags=tags))
    return converted


def read_columns(
    path: str | Path, word_column: int = 0, tag_column: int | None = -1, advice: str = ""
) -> list[Sentence]:
    """Reads the sentences of a column file.

    Columns are numbered from 0, negative ones from the last. They are separated by tabs if a line
    holds one, else by blanks. `-DOCSTART-` lines and comments above a sentence are left out; `#`
    is a word. Without `tag_column` no tags are read, and a single column holds the words. Raises
    DataError: no sentences; lines that differ in columns (with `advice`); a missing or empty one.
    """
    sentences, count = [], 0
    for block in text.paragraphs(path):
        rows = _without_comments(block)
        for line, columns in rows:
            count = count or len(columns)
            if len(columns) != count:
                expected = f"expected {counted(count, 'column')} as in the lines before"
                raise line.error(f"{expected}, found {len(columns)}{advice}")
        if not rows:
            continue
        words = _values(rows, 0 if tag_column is None and count == 1 else word_column)
        tags = _values(rows, tag_column)
        if tag_column is not None and word_column % count == tag_column % count:
            both = f"word and tag are both column {word_column % count} of {count}"
            raise rows[0][0].error(f"{both}; set data.source.word_column or tag_column")
        sentences.append(Sentence(words, tags, tuple(line.number for line, _ in rows)))
    if not sentences:
        raise DataError("no sentence found; expected lines of words", path)
    return sentences


def _without_comments(block: Sequence[Line]) -> _Words:
    rows = [(line, own) for line in block if (own := text.columns(line.text))[0] != _DOCUMENT]
    while rows[1:] and rows[0][0].text.startswith("# "):
        first, last = ((len(own), "\t" in line.text) for line, own in (rows[0], rows[-1]))
        if first == last and not _COMMENT.match(rows[0][0].text):
            break  # the word #
        del rows[0]
    return rows


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
    events = _EVENTS.split()
    known = {"O": "O", **{name: f"B-{name}" for name in events}}
    known |= {f"{prefix}-{name}": f"{prefix}-{name}" for prefix in "BI" for name in events}
    sentences = read_columns(path, word_column, tag_column)
    for _, tags, lines in sentences:
        for tag, line in zip(tags, lines, strict=True):
            if tag not in known:
                expected = f"expected columns of words and O, one of {', '.join(events)}"
                message = f"{tag!r} is not an event tag; {expected}, or B- and I- with one of them"
                raise DataError(f"{message}; see data.source.tag_column", path, line)
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
        outermost: list[Entity] = []  # of crossing mentions the first and longest
        for span in sorted(_mentions(words, kind), key=lambda s: (s.start, -s.end)):
            if not outermost or span.start >= outermost[-1].end:
                outermost.append(span)
        return from_spans(outermost, len(words), "bio")
    tags = []
    for line, columns in words:
        tags.append(columns[_XPOS if tag == "xpos" else _UPOS])
        if tags[-1] in ("", "_"):
            raise line.error(f"the word has no {tag} tag")
    return tuple(_UNIVERSAL.get(t, t) for t in tags) if tag == "universal" else tuple(tags)


def _mentions(words: _Words, kind: int) -> list[Entity]:
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
                spans.append(Entity(start, position + 1, name))
    return spans + [Entity(start, len(words), name) for _, name, start in opened]
