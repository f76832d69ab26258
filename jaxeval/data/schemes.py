"""Tagged sentences, and entity tag schemes, which are converted by way of spans.

iob1   I-X everywhere, B-X only where a span follows another of the same type (CoNLL-2003).
bio    B-X opens every span, I-X continues it (IOB2).
iobes  B-X .. I-X .. E-X for spans of two or more words, S-X for one word.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from jaxeval.errors import DataError

Scheme = Literal["none", "iob1", "bio", "iobes"]
_PREFIXES = {"iob1": "IB", "bio": "BI", "iobes": "BIES"}
# entity tags of any scheme (L, U: BILOU; M: BMES), and spellings of O
_ENTITY, _BARE = re.compile("[BIESLUM]-.+", re.IGNORECASE), re.compile("[BIESLUM]")
_OUTSIDE = re.compile("[Oo0]")
_Parsed = tuple[str, str]  # prefix and type of a tag; ("O", "") outside of entities


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
            hint = "set data.source.scheme: iob1, bio, iobes, or none where tags are no entities"
            raise DataError(f"{place}{message}; {hint}", path, line)
        tags = from_spans(lenient_spans(sentence.tags), len(sentence.tags), target)
        converted.append(sentence._replace(tags=tags))
    return converted
