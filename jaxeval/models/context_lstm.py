"""LSTMs over both sides of a target, which meet at it: TD-LSTM and TC-LSTM (Tang et al. 2016).

Notation as in `sentence_lstm`.
"""

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxeval.models import module, sentence_lstm
from jaxeval.models.dropout import KeyedDropout
from jaxeval.models.initialisers import Initial
from jaxeval.models.sentence_lstm import Sentences

Array = jax.Array


class ContextLSTM(module.Module):
    """The last states of an LSTM from the left and of one from the right: [R, 2 H].

    Tang et al. (2016, sections 3.2, 3.3): the left one reads the words up to the target, the right
    one those from the end of the sentence back to it, as published both with the target's words.
    Without these a side may have no word, for which then one learned vector stands.

    The words stay where they are, and a state is held where a side has none: nothing is copied.

    Attributes:
      connected: TC-LSTM: the target's mean vector stands beside every word.
      include: both sides hold the target's words.
    """

    hidden: int
    initial: Initial
    connected: bool
    include: bool

    @nn.compact
    def __call__(self, sentences: Sentences, drop: KeyedDropout) -> Array:
        """The features of all targets."""
        target = None
        if self.connected:
            words = drop.steps("input", sentences.target_words)
            target = sentence_lstm.mean(words, sentences.valid_target)
        left = self._side(sentences, target, drop, reverse=False)[-1]
        right = self._side(sentences, target, drop, reverse=True)[0]
        return jnp.concatenate([left, right], axis=-1)

    def _side(
        self, sentences: Sentences, target: Array | None, drop: KeyedDropout, reverse: bool
    ) -> Array:
        """Hidden states [T, R, H] of one side."""
        size = sentences.words.shape[-1]
        inputs = size if target is None else 2 * size
        name = "right" if reverse else "left"
        weights = self.param(name, self.initial.lstm, inputs, self.hidden)
        words = drop.steps("input", sentences.words)
        gates = sentence_lstm.input_gates(weights["kernel"], sentences, words, target)
        gates = sentences.by_target(gates)
        valid = self._valid(sentences, reverse)
        if not self.include:
            assert sentences.empty is not None
            rows = jnp.broadcast_to(sentences.empty, (gates.shape[1], size))
            empty = drop.elements("input", rows) @ weights["kernel"][:size]
            if target is not None:
                empty = empty + target @ weights["kernel"][size:]
            gates, valid = _filled(gates, valid, empty)
        return sentence_lstm.run(weights, gates, valid, reverse)

    def _valid(self, sentences: Sentences, reverse: bool) -> Array:
        start, end = sentences.start, sentences.end
        if reverse:
            return sentences.right(start if self.include else end)
        return sentences.left(end if self.include else start)


def _filled(gates: Array, valid: Array, empty: Array) -> tuple[Array, Array]:
    """Gates and validity with one word, of gates `empty` [R, 4 H], in sides that have none."""
    none = ~jnp.any(valid, axis=0)
    first = jnp.where(none[:, None], empty, gates[0])
    return gates.at[0].set(first), valid.at[0].set(valid[0] | none)
