"""Tagged sentences, and tag schemes of entities: IOB1, BIO and IOBES, converted by way of spans.

iob1   I-X everywhere, B-X only where a span follows another of the same type (CoNLL-2003).
bio    B-X opens every span, I-X continues it (IOB2).
iobes  B-X .. I-X .. E-X for spans of two words and more, S-X for one word.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.errors import DataError

Scheme = Literal["none", "iob1", "bio", "iobes"]
_PREFIXES = {"iob1": "IB", "bio": "BI", "iobes": "BIES"}
# what some file calls an entity's tag (L, U: BILOU; M: BMES), and what is meant for O
_ENTITY, _BARE = re.compile("[BIESLUM]-.+", re.IGNORECASE), re.compile("[BIESLUM]")
_OUTSIDE = re.compile("[Oo0]")


class Sentence(NamedTuple):
    """Words with a tag each; `lines` says where they stand (from 1), empty where unknown."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    lines: tuple[int, ...] = ()


class Entity(NamedTuple):
    """An entity: words start .. end - 1."""

    start: int
    end: int
    kind: str


class Legality(NamedTuple):
    """Which labels may follow each other, start and end a sentence."""

    moves: np.ndarray  # [Y, Y] bool, from, to
    start: np.ndarray  # [Y] bool
    end: np.ndarray  # [Y] bool


class IllegalTag(ValueError):
    """A tag that the scheme does not allow where it stands."""

    def __init__(self, position: int, message: str):
        super().__init__(message)
        self.position = position


def detect(tags: Mapping[str, int]) -> Scheme:
    """The scheme of tags that may be entities: `iobes` if E- or S- occurs, else `bio`, or `none`.

    Tags are entities' if most of them other than O look like it (a prefix, a type): the odd ones
    are for `convert_sentences` to refuse. `tags`: how often each occurs.
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


def _parse(tag: str, scheme: Scheme, position: int) -> tuple[str, str]:
    """Prefix and type; ("O", "") outside."""
    if tag == "O":
        return "O", ""
    prefix, _, kind = tag.partition("-")
    if not kind or prefix not in [*_PREFIXES[scheme]]:
        allowed = ", ".join(f"{p}-TYPE" for p in _PREFIXES[scheme])
        message = f"tag {tag!r} is not of scheme {scheme}; expected O, {allowed}"
        raise IllegalTag(position, message)
    return prefix, kind


def to_spans(tags: Sequence[str], scheme: Scheme) -> list[Entity]:
    """The spans of a tag sequence.

    Raises IllegalTag: naming the position of the first tag that the scheme does not allow there.
    """
    spans: list[Entity] = []
    start, kind = 0, ""  # of the open span; "" when none is open
    opening = {"iob1": "IB", "bio": "B", "iobes": "BS"}[scheme]
    for position, tag in enumerate([*tags, "O"]):
        prefix, now = _parse(tag, scheme, position)
        if kind and not (now == kind and prefix in ("IE" if scheme == "iobes" else "I")):
            if scheme == "iobes":
                after = f"tag {tag!r}" if position < len(tags) else "the sentence ends"
                message = f"{after} after an open {kind}; expected I-{kind} or E-{kind}"
                raise IllegalTag(min(position, len(tags) - 1), message)
            spans.append(Entity(start, position, kind))
            kind = ""
        if prefix == "O":
            continue
        if not kind:
            if prefix not in opening:
                raise IllegalTag(position, f"tag {tag!r} continues no span of type {now}")
            start, kind = position, now
        if scheme == "iobes" and prefix in "ES":
            spans.append(Entity(start, position + 1, kind))
            kind = ""
    return spans


def lenient_spans(tags: Sequence[str]) -> list[Entity]:
    """The spans of predicted tags, which may be invalid: as the rule `conlleval` reads them.

    Args:
      tags: BIO or IOBES.
    """
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
    """The tags of `length` words; spans must not overlap."""
    tags = ["O"] * length
    before: Entity | None = None
    for span in sorted(spans):
        touches = before is not None and before.end == span.start and before.kind == span.kind
        prefixes = _prefixes(span.end - span.start, scheme, touches)
        tags[span.start : span.end] = [f"{prefix}-{span.kind}" for prefix in prefixes]
        before = span
    return tuple(tags)


def _prefixes(length: int, scheme: Scheme, touches: bool) -> str:
    if scheme == "iobes":
        return "S" if length == 1 else "B" + "I" * (length - 2) + "E"
    first = "B" if scheme == "bio" or touches else "I"
    return first + "I" * (length - 1)


def convert_sentences(
    sentences: Sequence[Sentence], source: Scheme, target: Scheme, path: str
) -> list[Sentence]:
    """The same spans in another scheme; raises DataError: an illegal tag, with file and line."""
    converted = []
    for number, sentence in enumerate(sentences, 1):
        try:
            spans = to_spans(sentence.tags, source)
        except IllegalTag as error:
            line = sentence.lines[error.position] if sentence.lines else None
            place = "" if line else f"sentence {number}, word {error.position + 1}: "
            hint = "set data.source.scheme: iob1, bio, iobes, or none where tags are no entities"
            raise DataError(f"{place}{error}; {hint}", path, line) from None
        tags = from_spans(spans, len(sentence.tags), target)
        converted.append(sentence._replace(tags=tags))
    return converted


def possible_tags(labels: Sequence[str], scheme: Scheme) -> frozenset[str]:
    """The tags that files in this scheme may hold, where labels are in any; `none`: the labels."""
    if scheme == "none":
        return frozenset(labels)
    kinds = {kind for _, dash, kind in (label.partition("-") for label in labels) if dash}
    return frozenset({"O", *(f"{p}-{kind}" for p in _PREFIXES[scheme] for kind in kinds)})


def allowed_transitions(labels: Sequence[str], scheme: Scheme) -> Legality:
    """Which label may follow which, start and end a sentence."""
    count = len(labels)
    if scheme == "none":
        return Legality(*(np.ones(shape, bool) for shape in ((count, count), count, count)))
    parsed = [_parse(label, scheme, 0) for label in labels]
    moves = np.array([[_may_follow(a, b, scheme) for b in parsed] for a in parsed])
    start = np.array([_may_follow(("O", ""), b, scheme) for b in parsed])
    end = np.array([_may_follow(a, ("O", ""), scheme) for a in parsed])
    return Legality(moves, start, end)


def _may_follow(left: tuple[str, str], right: tuple[str, str], scheme: Scheme) -> bool:
    if scheme == "iobes":
        unfinished = left[0] in "BI"
        continues = right[0] in "IE"
        return unfinished == continues and (not unfinished or left[1] == right[1])
    if scheme == "bio":
        return right[0] != "I" or left[1] == right[1]
    return right[0] != "B" or left[1] == right[1]
