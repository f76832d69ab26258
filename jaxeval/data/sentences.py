"""What all readers of labelled sentences return."""

from typing import NamedTuple, Protocol


class Worded(Protocol):
    """A sentence, whatever is said of its words."""

    @property
    def words(self) -> tuple[str, ...]:
        """In their order."""


class Sentence(NamedTuple):
    """Words with a tag each; `lines` says where they stood (1-based), empty where unknown."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    lines: tuple[int, ...] = ()
