"""What all readers of labelled text return."""

from typing import NamedTuple


class Sentence(NamedTuple):
    """Words with a tag each; `lines` says where they stood (1-based), empty where unknown."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    lines: tuple[int, ...] = ()
