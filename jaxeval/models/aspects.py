"""Encoders that read a target: TD-LSTM and TC-LSTM (Tang et al. 2016), ATAE-LSTM (Wang et al.
2016), IAN (Ma et al. 2017).

Notation as in `sentences`.
"""

from typing import Literal

import jax
import jax.numpy as jnp
from flax import linen as nn
from pydantic import Field

from jaxeval.config import fields, reading
from jaxeval.contracts import Array
from jaxeval.models import recurrence
from jaxeval.models import sentences as texts
from jaxeval.models.dropout import KeyedDropout
from jaxeval.models.parameters import Initial, Module
from jaxeval.models.sentences import Sentences

_NEVER = -1e30  # score of padding; not -inf: where all is padding, weights stay numbers


@reading.settings
class TargetSettings:
    """What a model makes of a target and of its place."""

    include: bool = Field(True, description="tdlstm, tclstm: both sides hold the target")
    encoder: Literal["mean", "lstm"] = Field(
        "mean", description="atae: mean of its vectors, or an LSTM's last state"
    )
    position: Literal["none", "weighting", "embedding"] = Field(
        "none",
        description="atae, ian: states of words weigh 1 - distance / length, or words have a "
        "vector of their distance",
    )
    position_size: fields.Size = Field(30, description="embedding: its size")
    max_distance: fields.Length = Field(100, description="embedding: the longest distance")
    inter_aspect: fields.Size | None = Field(
        None,
        description="units of an LSTM over a sentence's targets; needs data.rows = sentences",
    )


@reading.settings
class AttentionSettings:
    """The attention of atae."""

    target: bool = Field(True, description="its hidden layer reads the target too")
    bias: bool = Field(True, description="its hidden layer has a bias")
    projection: Literal["none", "linear", "tanh"] = Field(
        "tanh",
        description="after it: r alone, W r + V h_N, or the tanh of that (Wang et al. 2016)",
    )


class ContextLSTM(Module):
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
            target = texts.mean(words, sentences.valid_target)
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
        gates = texts.input_gates(weights["kernel"], sentences, words, target)
        gates = sentences.by_target(gates)
        valid = self._valid(sentences, reverse)
        if not self.include:
            assert sentences.empty is not None
            rows = jnp.broadcast_to(sentences.empty, (gates.shape[1], size))
            empty = drop.elements("input", rows) @ weights["kernel"][:size]
            if target is not None:
                empty = empty + target @ weights["kernel"][size:]
            # one word in sides that have none
            none = ~jnp.any(valid, axis=0)
            gates = gates.at[0].set(jnp.where(none[:, None], empty, gates[0]))
            valid = valid.at[0].set(valid[0] | none)
        return texts.run(weights, gates, valid, reverse)

    def _valid(self, sentences: Sentences, reverse: bool) -> Array:
        """[T, R] true at the words of a side."""
        start, end = sentences.start, sentences.end
        if not reverse:
            return sentences.positions < (end if self.include else start)[None]
        first = start if self.include else end
        after = sentences.positions >= first[None]
        return after & (sentences.positions < sentences.lengths[None])


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


class TextLSTM(Module):
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
        gates = texts.input_gates(weights["kernel"], sentences, words, target, position)
        states = texts.run(weights, gates, _valid(sentences, gates))
        states = drop.steps("hidden", states)
        if self.choices.position != "weighting":
            return states
        weight = 1.0 - sentences.distance / sentences.lengths[None]
        return sentences.by_target(states) * weight[..., None]


def _valid(sentences: Sentences, like: Array) -> Array:
    """[T, B] true at words, [T, R] where the second axis of `like` is R."""
    valid = sentences.valid
    return valid if like.shape[1] == valid.shape[1] else sentences.by_target(valid)


class TargetLSTM(Module):
    """States [W, R, H] of an LSTM over the words [W, R, D] of targets."""

    hidden: int
    initial: Initial

    @nn.compact
    def __call__(self, sentences: Sentences, words: Array) -> Array:
        """The states of all targets."""
        weights = self.param("lstm", self.initial.lstm, words.shape[-1], self.hidden)
        gates = recurrence.project(words, weights["kernel"], sentences.frozen)
        return texts.run(weights, gates, sentences.valid_target)


class Atae(Module):
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
        words = drop.steps("input", sentences.target_words)
        if self.target.encoder == "mean":  # [R, D], or [R, H] of an LSTM
            target = texts.mean(words, sentences.valid_target)
            beside = drop.elements("input", target)
        else:
            of_target = TargetLSTM(self.hidden, self.initial, name="target")(sentences, words)
            target = beside = drop.elements("hidden", of_target[-1])
        text = TextLSTM(self.hidden, self.initial, self.target, name="text")
        states = text(sentences, drop, beside)
        scores = self._scores(states, target, drop)
        valid = sentences.by_target(sentences.valid)
        read = attend(scores[..., None], states, valid)[:, 0]
        if self.attention.projection == "none":
            return read
        lengths = sentences.lengths
        last = states[lengths - 1, jnp.arange(len(lengths))]  # weighted by position as the others
        sizes = (self.hidden, self.hidden, False)
        of_read = self.param("projection", self.initial.linear, *sizes)
        of_last = self.param("last_projection", self.initial.linear, *sizes)
        features = read @ of_read["kernel"] + last @ of_last["kernel"]
        return jnp.tanh(features) if self.attention.projection == "tanh" else features

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


class InteractiveAttention(Module):
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
        mean_target = texts.mean(target, sentences.valid_target)
        mean_text = sentences.by_target(texts.mean(text, valid)[None])[0]
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
