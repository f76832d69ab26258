"""What all readers of pairs of sentences return."""

from typing import NamedTuple


class LabelledPair(NamedTuple):
    """Two sentences in words, and what the first is to the second."""

    premise: tuple[str, ...]
    hypothesis: tuple[str, ...]
    label: str

    @property
    def words(self) -> tuple[str, ...]:
        """Of both."""
        return self.premise + self.hypothesis

    @property
    def longest(self) -> int:
        """Words of the longer one."""
        return max(len(self.premise), len(self.hypothesis))
