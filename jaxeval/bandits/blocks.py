"""Blocks of items that all models answer in one order, drawn at random."""

import dataclasses

import numpy as np

from jaxeval.errors import ConfigError


@dataclasses.dataclass(frozen=True)
class Blocks:
    """Items, numbered from 0, in blocks of one size; those that are left over are not asked for.

    Attributes:
      items: how many there are.
      size: of a block.
      seed: of their order.
    """

    items: int
    size: int
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < 3 * self.size <= self.items:
            raise ConfigError(
                f"items in blocks: expected three blocks or more of one item or more, found "
                f"{self.items} items in blocks of {self.size}"
            )

    @property
    def count(self) -> int:
        """Of blocks."""
        return self.items // self.size

    def order(self) -> np.ndarray:
        """[blocks, size] numbers of items."""
        drawn = np.random.default_rng(self.seed).permutation(self.items)
        return drawn[: self.count * self.size].reshape(self.count, self.size)
