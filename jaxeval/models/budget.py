"""Sizes of a language model under a budget of parameters (Melis et al. 2018, section 4).

Notation: V vocabulary, H hidden units of every layer, E embedding size.
"""

from collections.abc import Callable
from typing import NamedTuple

from jaxeval.errors import ConfigError
from jaxeval.models import cells
from jaxeval.models.cells import Cell


class LanguageShape(NamedTuple):
    """The sizes of a language model.

    Attributes:
      vocabulary, hidden, embedding: V, H, E; the output embedding has size E too.
      layers: of the cell, all of H units.
      tied: whether input and output share the embedding.
    """

    vocabulary: int
    hidden: int
    embedding: int
    layers: int = 1
    tied: bool = True

    @property
    def projected(self) -> bool:
        """Whether outputs are projected down to the embedding size."""
        return self.embedding != self.hidden


def parameter_count(shape: LanguageShape, cell: Cell) -> int:
    """Parameters of the model, the softmax bias included."""
    embeddings = shape.vocabulary * shape.embedding * (1 if shape.tied else 2)
    projection = shape.hidden * shape.embedding if shape.projected else 0
    sizes = [shape.embedding, *[shape.hidden] * (shape.layers - 1)]
    inner = sum(cells.parameter_count(cell, size, shape.hidden) for size in sizes)
    return embeddings + shape.vocabulary + projection + inner


def solve(
    vocabulary: int,
    budget: int,
    cell: Cell,
    *,
    layers: int = 1,
    tied: bool = True,
    ratio: float = 1.0,
) -> LanguageShape:
    """The largest model within the budget.

    Args:
      vocabulary: V.
      budget: most parameters.
      cell: of every layer (a highway's depth is the cell's, with one layer).
      ratio: E / H, rounded; 1 and more is 1, without a projection.

    Raises:
      ConfigError: not even one hidden unit fits.
    """
    if not ratio > 0:
        raise ConfigError(f"model.ratio: expected a number above 0, got {ratio}")

    def shape(hidden: int) -> LanguageShape:
        embedding = max(1, round(min(ratio, 1.0) * hidden))
        return LanguageShape(vocabulary, hidden, embedding, layers, tied)

    def fits(hidden: int) -> bool:
        return parameter_count(shape(hidden), cell) <= budget

    if not fits(1):
        least = parameter_count(shape(1), cell)
        raise ConfigError(
            f"model.budget: expected at least {least} for this vocabulary, got {budget}"
        )
    return shape(_largest(fits))


def _largest(fits: Callable[[int], bool]) -> int:
    """The largest whole number that fits, as 1 and all below it do; by bisection."""
    high = 2
    while fits(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
