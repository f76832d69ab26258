"""Tagged sentences, and entity tag schemes, which are converted by way of spans.

iob1   I-X everywhere, B-X only where a span follows another of the same type (CoNLL-2003).
bio    B-X opens every span, I-X continues it (IOB2).
iobes  B-X .. I-X .. E-X for spans of two or more words, S-X for one word.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.errors import DataError

Scheme = Literal["none", "iob1", "bio", "iobes"]
_PREFIXES = {"iob1": "IB", "bio": "BI", "iobes": "BIES"}
# entity tags of any scheme (L, U: BILOU; M: BMES), and spellings of O
_ENTITY, _BARE = re.compile("[BIESLUM]-.+", re.IGNORECASE), re.compile("[BIESLUM]")
_OUTSIDE = re.compile("[Oo0]")


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


class _Legality(NamedTuple):
    """Labels that may follow each other, start and end a sentence."""

    moves: np.ndarray  # [Y, Y] bool, from, to
    start: np.ndarray  # [Y] bool
    end: np.ndarray  # [Y] bool


class _IllegalTag(ValueError):
    """A tag that the scheme does not allow at a position."""

    def __init__(self, position: int, message: str):
        super().__init__(message)
        self.position = position


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


def _parse(tag: str, scheme: Scheme, position: int = 0) -> tuple[str, str]:
    """Returns prefix and type; ("O", "") outside of entities."""
    if tag == "O":
        return "O", ""
    prefix, _, kind = tag.partition("-")
    if not kind or prefix not in [*_PREFIXES[scheme]]:
        allowed = ", ".join(f"{p}-TYPE" for p in _PREFIXES[scheme])
        message = f"tag {tag!r} is not of scheme {scheme}; expected O, {allowed}"
        raise _IllegalTag(position, message)
    return prefix, kind


def _to_spans(tags: Sequence[str], scheme: Scheme) -> list[Entity]:
    """Returns the spans of tags; raises an error for the first tag that the scheme forbids."""
    spans: list[Entity] = []
    start, kind = 0, ""  # of the open span; "" when none is open
    opening = {"iob1": "IB", "bio": "B", "iobes": "BS"}[scheme]
    for position, tag in enumerate([*tags, "O"]):
        prefix, now = _parse(tag, scheme, position)
        if kind and not (now == kind and prefix in ("IE" if scheme == "iobes" else "I")):
            if scheme == "iobes":
                after = f"tag {tag!r}" if position < len(tags) else "the sentence ends"
                message = f"{after} after an open {kind}; expected I-{kind} or E-{kind}"
                raise _IllegalTag(min(position, len(tags) - 1), message)
            spans.append(Entity(start, position, kind))
            kind = ""
        if prefix == "O":
            continue
        if not kind:
            if prefix not in opening:
                raise _IllegalTag(position, f"tag {tag!r} continues no span of type {now}")
            start, kind = position, now
        if scheme == "iobes" and prefix in "ES":
            spans.append(Entity(start, position + 1, kind))
            kind = ""
    return spans


def lenient_spans(tags: Sequence[str]) -> list[Entity]:
    """Returns the spans of predicted BIO or IOBES tags, valid or not, by the rule `conlleval`."""
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
        try:
            spans = _to_spans(sentence.tags, source)
        except _IllegalTag as error:
            line = sentence.lines[error.position] if sentence.lines else None
            place = "" if line else f"sentence {number}, word {error.position + 1}: "
            hint = "set data.source.scheme: iob1, bio, iobes, or none where tags are no entities"
            raise DataError(f"{place}{error}; {hint}", path, line) from None
        tags = from_spans(spans, len(sentence.tags), target)
        converted.append(sentence._replace(tags=tags))
    return converted


def possible_tags(labels: Sequence[str], scheme: Scheme) -> frozenset[str]:
    """Returns the tags that files in a scheme may hold, given labels in any scheme."""
    if scheme == "none":
        return frozenset(labels)
    kinds = {kind for _, dash, kind in (label.partition("-") for label in labels) if dash}
    return frozenset({"O", *(f"{p}-{kind}" for p in _PREFIXES[scheme] for kind in kinds)})


def allowed_transitions(labels: Sequence[str], scheme: Scheme) -> _Legality:
    """Returns which label may follow which, start and end a sentence."""
    if scheme == "none":
        count = len(labels)
        return _Legality(*(np.ones(shape, bool) for shape in ((count, count), count, count)))
    outside = ("O", "")
    parsed = [_parse(label, scheme) for label in labels]
    moves = np.array([[_may_follow(a, b, scheme) for b in parsed] for a in parsed])
    start = np.array([_may_follow(outside, b, scheme) for b in parsed])
    return _Legality(moves, start, np.array([_may_follow(a, outside, scheme) for a in parsed]))


def _may_follow(left: tuple[str, str], right: tuple[str, str], scheme: Scheme) -> bool:
    if scheme == "iobes":
        unfinished = left[0] in "BI"
        return unfinished == (right[0] in "IE") and (not unfinished or left[1] == right[1])
    return right[0] != ("I" if scheme == "bio" else "B") or left[1] == right[1]
