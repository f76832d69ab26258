"""What all readers of classified text return."""

import types
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Target(NamedTuple):
    """What a label is of: from `start` to before `end`, in characters or words as said where it
    stands; 0, 0 where the label is of the whole text."""

    start: int
    end: int
    label: str


class LabelledText(NamedTuple):
    """A text and its targets in the order in which they stand in it, in characters."""

    text: str
    targets: tuple[Target, ...]


class LabelledTexts(NamedTuple):
    """The texts of a file.

    Attributes:
      targeted: whether labels are of targets.
      tokenised: whether words are what stands between blanks.
      dropped: why targets were left out, and how many.
    """

    texts: Sequence[LabelledText]
    targeted: bool
    tokenised: bool
    dropped: Mapping[str, int] = types.MappingProxyType({})


def by_text(targets: Iterable[tuple[str, Target]]) -> list[LabelledText]:
    """Texts with all their targets; equal texts are one, in the place of the first."""
    collected: dict[str, list[Target]] = {}
    for text, target in targets:
        collected.setdefault(text, []).append(target)
    return [LabelledText(text, in_order(of_text)) for text, of_text in collected.items()]


def whole(rows: Iterable[tuple[str, str]], tokenised: bool) -> LabelledTexts:
    """Texts without targets, of texts and their labels."""
    texts = [LabelledText(content, (Target(0, 0, label),)) for content, label in rows]
    return LabelledTexts(texts, targeted=False, tokenised=tokenised)


def in_order(targets: Iterable[Target]) -> tuple[Target, ...]:
    """Targets as they stand in their text; of one place, in the order given."""
    return tuple(sorted(targets, key=lambda target: (target.start, target.end)))
