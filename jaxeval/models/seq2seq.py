"""What the two sequence-to-sequence models have in common: their sizes and how they are used.

Notation, here and in `attentive_lstm` and `transformer`: B rows, Ts and Tt positions of sources
and targets, E embedding size, H hidden units (of a direction; of a transformer's feed-forward
layer), V target symbols. After Wiemerslage et al. (2024), as their public code computes it.
"""

from typing import Any, ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from jaxeval.contracts import Hparams, Tree
from jaxeval.models import ragged

Array = jax.Array


class Shape(NamedTuple):
    """Sizes of arrays."""

    source: int  # symbols
    target: int  # symbols
    embedding: int
    hidden: int
    encoder_layers: int
    decoder_layers: int
    heads: int


class Live(NamedTuple):
    """How much of a shape a member uses, traced; None: all of it (`models.ragged`)."""

    embedding: Array | None = None
    hidden: Array | None = None
    encoder_layers: Array | None = None
    decoder_layers: Array | None = None
    heads: Array | None = None


def live_of(hparams: Hparams) -> Live:
    """What a member's hyperparameters say of its sizes."""
    return Live(*(hparams.get(name) for name in Live._fields))


class Dropping(NamedTuple):
    """Dropout of one pass: every site has words of its own; without any nothing is dropped."""

    words: Array | None = None  # [2] uint32 (`ragged.words`)
    rate: Array | float = 0.0
    rows: Array | None = None  # [B] places of the rows in their batch; None: in order

    def at(self, *numbers: int | Array) -> "Dropping":
        """The dropout of a site."""
        words = self.words
        if words is not None:
            for number in numbers:
                words = ragged.folded(words, number)
        return self._replace(words=words)

    def on(self, x: Array, rows_axis: int = 0, numbers: Array | None = None) -> Array:
        """x [B, T, n], or [T, B, n] with 1: units dropped by row, position and number [n]."""
        if self.words is None:
            return x
        steps = x.shape[1 - rows_axis]
        rows = jnp.arange(x.shape[rows_axis]) if self.rows is None else self.rows
        places = rows[:, None] * steps + jnp.arange(steps)[None]
        return ragged.dropout(self.words, self.rate, x, places.T if rows_axis else places, numbers)


class Model(Protocol):
    """A Flax module that reads sources once and writes targets, all at once or step by step."""

    rows_axis: ClassVar[int]  # axis of the rows in the leaves of a state

    def encode(self, source: Array, length: Array, drop: Dropping) -> Tree:
        """Sources [B, Ts] and their lengths [B] -> what the decoder looks at."""

    def taught(self, memory: Tree, target: Array, drop: Dropping) -> Array:
        """Scores [B, Tt, V] of the next symbols after the given ones [B, Tt]."""

    def begin(self, memory: Tree, steps: int) -> Tree:
        """The decoder's state before at most so many steps."""

    def step(self, memory: Tree, state: Tree, token: Array, place: Array) -> tuple[Array, Tree]:
        """Scores [B, V] after one more symbol [B] at a place [], and the state."""


Weights = dict[str, Any]
