"""Attention over a sentence for a target: ATAE-LSTM (Wang et al. 2016), IAN (Ma et al. 2017).

Notation as in `sentence_lstm`; A units of an attention's hidden layer.
"""

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxeval.models import module, recurrence, sentence_lstm
from jaxeval.models.dropout import KeyedDropout
from jaxeval.models.initialisers import Initial
from jaxeval.models.sentence_lstm import Sentences
from jaxeval.models.sentiment_settings import AttentionSettings, TargetSettings

Array = jax.Array
_NEVER = -1e30  # score of padding; not -inf: where all is padding, weights stay numbers


def attend(scores: Array, states: Array, valid: Array) -> Array:
    """Means of states, weighted by the softmax of scores over what is valid.

    Args:
      scores: [T, B, K].
      states: [T, B, H], the same for all K.
      valid: [T, B].

    Returns:
      [B, K, H].
    """
    weights = jax.nn.softmax(jnp.where(valid[..., None], scores, _NEVER), axis=0)
    return jnp.sum(weights[..., None] * states[:, :, None], axis=0)


class TextLSTM(module.Module):
    """States of an LSTM over the words, with what is known of the target's place.

    Position weighting multiplies state i of n by 1 - d / n, d its distance from the target (Chen
    et al. 2017, equation 7); a position embedding stands beside each word.
    """

    hidden: int
    initial: Initial
    choices: TargetSettings

    @nn.compact
    def __call__(
        self, sentences: Sentences, drop: KeyedDropout, target: Array | None = None
    ) -> Array:
        """States [T, R, H]; [T, B, H] where they do not depend on the target.

        Args:
          target: [R, Dt], beside every word.
        """
        words, position = drop.steps("input", sentences.words), None
        inputs = words.shape[-1] + (0 if target is None else target.shape[-1])
        if self.choices.position == "embedding":
            rows, size = self.choices.max_distance + 1, self.choices.position_size
            position = self.param("position", self.initial.table, rows, size)
            inputs += size
        weights = self.param("lstm", self.initial.lstm, inputs, self.hidden)
        gates = sentence_lstm.input_gates(weights["kernel"], sentences, words, target, position)
        states = sentence_lstm.run(weights, gates, _valid(sentences, gates))
        states = drop.steps("hidden", states)
        if self.choices.position != "weighting":
            return states
        weight = 1.0 - sentences.distance / sentences.lengths[None]
        return sentences.by_target(states) * weight[..., None]


def _valid(sentences: Sentences, like: Array) -> Array:
    """[T, B] true at words, [T, R] where the second axis of `like` is R."""
    valid = sentences.valid
    return valid if like.shape[1] == valid.shape[1] else sentences.by_target(valid)


class TargetLSTM(module.Module):
    """States [W, R, H] of an LSTM over the words [W, R, D] of targets."""

    hidden: int
    initial: Initial

    @nn.compact
    def __call__(self, sentences: Sentences, words: Array) -> Array:
        """The states of all targets."""
        weights = self.param("lstm", self.initial.lstm, words.shape[-1], self.hidden)
        gates = recurrence.project(words, weights["kernel"], sentences.frozen)
        return sentence_lstm.run(weights, gates, sentences.valid_target)


class Atae(module.Module):
    """ATAE-LSTM: features [R, H] by attention over states of [word; target].

    Wang et al. (2016, equations 4 to 7): a = softmax(w . M), r = the mean of the states h_i
    weighted by a, h* = tanh(W_p r + W_x h_N). As published M_i = tanh([W_h h_i; W_v t]): the
    second half is the same at all words, so that the target cancels in the softmax; without
    `attention.target` that is what is computed. With it M_i = tanh(W [h_i; t] + b), as public
    code has it. `attention.projection` says what of h* is computed.
    """

    hidden: int
    initial: Initial
    target: TargetSettings
    attention: AttentionSettings

    @nn.compact
    def __call__(self, sentences: Sentences, drop: KeyedDropout) -> Array:
        """The features of all targets."""
        target = self._target(sentences, drop)
        beside = target
        if self.target.encoder == "mean":
            beside = drop.elements("input", target)
        text = TextLSTM(self.hidden, self.initial, self.target, name="text")
        states = text(sentences, drop, beside)
        scores = self._scores(states, target, drop)
        valid = sentences.by_target(sentences.valid)
        read = attend(scores[..., None], states, valid)[:, 0]
        return self._projected(read, states, sentences.lengths)

    def _target(self, sentences: Sentences, drop: KeyedDropout) -> Array:
        """[R, D] the mean of its words, or [R, H] the last state of an LSTM over them."""
        words = drop.steps("input", sentences.target_words)
        if self.target.encoder == "mean":
            return sentence_lstm.mean(words, sentences.valid_target)
        states = TargetLSTM(self.hidden, self.initial, name="target")(sentences, words)
        return drop.elements("hidden", states[-1])

    def _scores(self, states: Array, target: Array, drop: KeyedDropout) -> Array:
        """w . M_i: [T, R]."""
        size = self.hidden + (target.shape[-1] if self.attention.target else 0)
        layer = self.param("attention", self.initial.linear, size, size, self.attention.bias)
        vector = self.param("attention_vector", self.initial.vector, size)
        states = drop.steps("attention_input", states)
        keys = recurrence.project(states, layer["kernel"][: self.hidden], 0)
        if self.attention.target:
            target = drop.elements("attention_input", target)
            keys = keys + (target @ layer["kernel"][self.hidden :])[None]
        if self.attention.bias:
            keys = keys + layer["bias"][None, None]
        keys = drop.steps("attention", jnp.tanh(keys))
        return jnp.sum(keys * vector[None, None], axis=-1)

    def _projected(self, read: Array, states: Array, lengths: Array) -> Array:
        if self.attention.projection == "none":
            return read
        last = states[lengths - 1, jnp.arange(len(lengths))]  # weighted by position as the others
        sizes = (self.hidden, self.hidden, False)
        of_read = self.param("projection", self.initial.linear, *sizes)
        of_last = self.param("last_projection", self.initial.linear, *sizes)
        features = read @ of_read["kernel"] + last @ of_last["kernel"]
        return jnp.tanh(features) if self.attention.projection == "tanh" else features


class InteractiveAttention(module.Module):
    """IAN: features [R, 2 H]: text read for the target, beside the target read for the text.

    Ma et al. (2017, equations 2 to 7): the weight of state h_i is softmax(tanh(m W h_i + b)), m
    the mean state of the other side.
    """

    hidden: int
    initial: Initial
    target: TargetSettings

    @nn.compact
    def __call__(self, sentences: Sentences, drop: KeyedDropout) -> Array:
        """The features of all targets."""
        text = TextLSTM(self.hidden, self.initial, self.target, name="text")(sentences, drop)
        words = drop.steps("input", sentences.target_words)
        target = TargetLSTM(self.hidden, self.initial, name="target")(sentences, words)
        target = drop.steps("hidden", target)
        valid = _valid(sentences, text)
        mean_target = sentence_lstm.mean(target, sentences.valid_target)
        mean_text = sentences.by_target(sentence_lstm.mean(text, valid)[None])[0]
        of_text = self._read("text_attention", text, valid, mean_target)
        of_target = self._read("target_attention", target, sentences.valid_target, mean_text)
        return jnp.concatenate([of_text, of_target], axis=-1)

    def _read(self, name: str, states: Array, valid: Array, query: Array) -> Array:
        """What queries [R, H] read of states [T, B or R, H]: [R, H]."""
        layer = self.param(name, self.initial.bilinear, self.hidden, self.hidden)
        rows = states.shape[1]
        query = (query @ layer["kernel"]).reshape(1, rows, -1, self.hidden)
        scores = jnp.tanh(jnp.sum(states[:, :, None] * query, axis=-1) + layer["bias"])
        return attend(scores, states, valid).reshape(-1, self.hidden)
