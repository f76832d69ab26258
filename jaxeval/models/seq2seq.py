"""What the two sequence-to-sequence models share: their sizes and how they are called.

Notation, here and in `attentive_lstm` and `transformer`: B rows, Ts and Tt positions of sources
and targets, E embedding size, H hidden units (of a direction; of a transformer's feed-forward
layer), V target symbols. After Wiemerslage et al. (2024), as their public code computes it.
"""

from typing import ClassVar, NamedTuple, Protocol

import jax

from jaxeval.contracts import Hparams, Tree
from jaxeval.models.dropout import HashedDropout

Array = jax.Array


class Seq2SeqShape(NamedTuple):
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


class Model(Protocol):
    """A Flax module that encodes sources once, and decodes teacher-forced or step by step."""

    rows_axis: ClassVar[int]  # axis of the rows in the leaves of a state

    def encode(self, source: Array, length: Array, drop: HashedDropout) -> Tree:
        """Sources [B, Ts] and their lengths [B] -> what the decoder attends to."""

    def teacher_forced(self, memory: Tree, target: Array, drop: HashedDropout) -> Array:
        """Logits [B, Tt, V] of the symbol after each of the gold ones [B, Tt]."""

    def initial_state(self, memory: Tree, steps: int) -> Tree:
        """The decoder's state before at most so many steps."""

    def step(self, memory: Tree, state: Tree, token: Array, position: Array) -> tuple[Array, Tree]:
        """Logits [B, V] after one more symbol [B] at a position [], and the state."""


Weights = dict[str, Tree]
