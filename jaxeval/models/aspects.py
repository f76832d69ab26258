"""Encoders of sentences, and of targets in them: TD-LSTM and TC-LSTM (Tang et al. 2016),
ATAE-LSTM (Wang et al. 2016), IAN (Ma et al. 2017).

Notation as in `sentences`.
"""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxeval.contracts import Array
from jaxeval.models import Module, Weights, attend, recurrence, sentences
from jaxeval.models.dropout import KeyedDropout
from jaxeval.models.sentences import Initial, Sentences, WordLSTM

if TYPE_CHECKING:
    from jaxeval.models.sentiment import SentimentModel

_NEVER = -1e30  # score of padding; not -inf: if all is padding, weights stay numbers


class Encoder(Module):
    """Features [R, F] of targets, or [B, F] of sentences from models that read no target."""

    choices: "SentimentModel"
    initial: Initial

    @nn.compact
    def __call__(self, texts: Sentences, drop: KeyedDropout) -> Array:
        """Encodes a batch with the architecture of the choices."""
        methods = {"bag": self._bag, "cnn": self._convolutions, "lstm": self._last_state}
        methods |= {"atae": self._atae, "ian": self._ian}
        return methods.get(self.choices.architecture, self._contexts)(texts, drop)

    def _lstm(self, name: str, inputs: int) -> Weights:
        weights: Weights = self.param(name, self.initial.lstm, inputs, self.choices.hidden)
        return weights

    def _last_state(self, texts: Sentences, drop: KeyedDropout) -> Array:
        words = drop.steps("input", texts.words)
        weights = self._lstm("lstm", words.shape[-1])
        return sentences.run(weights, texts.gates(weights["kernel"], words), texts.valid)[-1]

    def _bag(self, texts: Sentences, drop: KeyedDropout) -> Array:
        """The mean word vector through ReLU layers (Iyyer et al. 2015)."""
        features = sentences.mean(drop.steps("input", texts.words), texts.valid)
        for number, width in enumerate(self.choices.bag):
            size = features.shape[-1]
            layer = self.param(f"layer{number}", self.initial.linear, size, width)
            features = jax.nn.relu(features @ layer["kernel"] + layer["bias"][None])
        return features

    def _convolutions(self, texts: Sentences, drop: KeyedDropout) -> Array:
        """The maximum over all windows of filters of several widths: [B, N widths] (Kim 2014).

        c(i) = relu(w . x(i : i + width) + b), equation 2; a text shorter than a filter has one
        window. One product makes the parts of all filters; shifted copies of it are added up.
        """
        words = drop.steps("input", texts.words)
        words = jnp.where(texts.valid[..., None], words, 0.0)
        steps = len(words)
        size = words.shape[-1]
        filters = self.choices.cnn.filters
        layers = {
            width: self.param(f"filters{width}", self.initial.linear, width * size, filters)
            for width in self.choices.cnn.widths
        }
        kernels = [
            layer["kernel"].reshape(width, -1, filters).transpose(1, 0, 2).reshape(size, -1)
            for width, layer in layers.items()
        ]
        products = recurrence.project(words, jnp.concatenate(kernels, axis=1), texts.frozen)
        pooled, begin = [], 0
        for width, layer in layers.items():
            part = products[..., begin * filters : (begin + width) * filters]
            begin += width
            parts = jnp.split(jnp.pad(part, ((0, width - 1), (0, 0), (0, 0))), width, axis=-1)
            shifted = (part[n : n + steps] for n, part in enumerate(parts))
            windows = jax.nn.relu(sum(shifted, layer["bias"][None, None]))
            valid = texts.positions <= jnp.maximum(texts.length - width, 0)[None]
            pooled.append(jnp.max(jnp.where(valid[..., None], windows, 0.0), axis=0))
        return jnp.concatenate(pooled, axis=-1)

    def _contexts(self, texts: Sentences, drop: KeyedDropout) -> Array:
        """Last states of an LSTM from the left and of one from the right: [R, 2 H].

        Tang et al. (2016, sections 3.2, 3.3): they read up to the target and, as published, its
        words. Without these, a learned vector replaces a side without words. In TC-LSTM the
        target's mean vector is concatenated to every word.
        """
        target = None
        if self.choices.architecture == "tclstm":
            words = drop.steps("input", texts.target_words)
            target = sentences.mean(words, texts.valid_target)
        left = self._side(texts, target, drop, reverse=False)[-1]
        right = self._side(texts, target, drop, reverse=True)[0]
        return jnp.concatenate([left, right], axis=-1)

    def _side(
        self, texts: Sentences, target: Array | None, drop: KeyedDropout, reverse: bool
    ) -> Array:
        """Hidden states [T, R, H] of one side."""
        size = texts.words.shape[-1]
        include = self.choices.target.include
        name = "right" if reverse else "left"
        weights = self._lstm(name, size if target is None else 2 * size)
        words = drop.steps("input", texts.words)
        gates = texts.by_target(texts.gates(weights["kernel"], words, target))
        if reverse:
            after = texts.positions >= (texts.start if include else texts.end)[None]
            valid = after & (texts.positions < texts.lengths[None])
        else:
            valid = texts.positions < (texts.end if include else texts.start)[None]
        if not include:
            assert texts.empty is not None
            rows = jnp.broadcast_to(texts.empty, (gates.shape[1], size))
            empty = drop.elements("input", rows) @ weights["kernel"][:size]
            if target is not None:
                empty = empty + target @ weights["kernel"][size:]
            none = ~jnp.any(valid, axis=0)  # these sides get one word
            gates = gates.at[0].set(jnp.where(none[:, None], empty, gates[0]))
            valid = valid.at[0].set(valid[0] | none)
        return sentences.run(weights, gates, valid, reverse)

    def _text(self, texts: Sentences, drop: KeyedDropout, target: Array | None = None) -> Array:
        """States of an LSTM over the words: [T, R, H], or [T, B, H] if no target is read.

        Position weighting multiplies state i of n by 1 - d / n, d its distance from the target
        (Chen et al. 2017, equation 7); a position embedding is concatenated to each word.
        """
        choices = self.choices.target
        words = drop.steps("input", texts.words)
        table = choices.max_distance + 1, choices.position_size
        positions = table if choices.position == "embedding" else None
        lstm = WordLSTM(self.choices.hidden, self.initial, name="text")
        states = drop.steps("hidden", lstm(texts, words, texts.valid, target, positions))
        if choices.position != "weighting":
            return states
        weight = 1.0 - texts.distance / texts.lengths[None]
        return texts.by_target(states) * weight[..., None]

    def _target(self, texts: Sentences, words: Array) -> Array:
        """States [W, R, H] of an LSTM over the words [W, R, D] of targets."""
        lstm = WordLSTM(self.choices.hidden, self.initial, name="target")
        states: Array = lstm(texts, words, texts.valid_target)
        return states

    def _atae(self, texts: Sentences, drop: KeyedDropout) -> Array:
        """Attention over states of [word; target]: [R, H].

        Wang et al. (2016, equations 4 to 7): a = softmax(w . M), r = the mean of the states h_i
        weighted by a, h* = tanh(W_p r + W_x h_N). As published, M_i = tanh([W_h h_i; W_v t]), but
        its second half is the same at all words and cancels in the softmax: without
        `attention.target` it is left out. With it M_i = tanh(W [h_i; t] + b), as in public code.
        """
        choices, hidden = self.choices, self.choices.hidden
        words = drop.steps("input", texts.target_words)
        if choices.target.encoder == "mean":  # [R, D]; of an LSTM [R, H]
            target = sentences.mean(words, texts.valid_target)
            beside = drop.elements("input", target)
        else:
            target = beside = drop.elements("hidden", self._target(texts, words)[-1])
        states = self._text(texts, drop, beside)
        valid = texts.by_target(texts.valid)
        read = attend(jnp.where(valid, self._scores(states, target, drop), _NEVER), states)
        if choices.attention.projection == "none":
            return read
        lengths = texts.lengths
        last = states[lengths - 1, jnp.arange(len(lengths))]  # weighted by position as the others
        layers = [
            self.param(name, self.initial.linear, hidden, hidden, False)
            for name in ("projection", "last_projection")
        ]
        features = read @ layers[0]["kernel"] + last @ layers[1]["kernel"]
        return jnp.tanh(features) if choices.attention.projection == "tanh" else features

    def _scores(self, states: Array, target: Array, drop: KeyedDropout) -> Array:
        """w . M_i: [T, R]."""
        choices, hidden = self.choices.attention, self.choices.hidden
        size = hidden + (target.shape[-1] if choices.target else 0)
        layer = self.param("attention", self.initial.linear, size, size, choices.bias)
        vector = self.param("attention_vector", self.initial.vector, size)
        states = drop.steps("attention_input", states)
        keys = recurrence.project(states, layer["kernel"][:hidden], 0)
        if choices.target:
            target = drop.elements("attention_input", target)
            keys = keys + (target @ layer["kernel"][hidden:])[None]
        if choices.bias:
            keys = keys + layer["bias"][None, None]
        keys = drop.steps("attention", jnp.tanh(keys))
        return jnp.sum(keys * vector[None, None], axis=-1)

    def _ian(self, texts: Sentences, drop: KeyedDropout) -> Array:
        """The text read for the target, and the target read for the text: [R, 2 H].

        Ma et al. (2017, equations 2 to 7): the weight of state h_i is softmax(tanh(m W h_i + b)),
        m the mean state of the other side.
        """
        text = self._text(texts, drop)
        target = self._target(texts, drop.steps("input", texts.target_words))
        target = drop.steps("hidden", target)
        valid = texts.like(text, texts.valid)
        mean_target = sentences.mean(target, texts.valid_target)
        mean_text = texts.by_target(sentences.mean(text, valid)[None])[0]
        sides = [
            self._read("text_attention", text, valid, mean_target),
            self._read("target_attention", target, texts.valid_target, mean_text),
        ]
        return jnp.concatenate(sides, axis=-1)

    def _read(self, name: str, states: Array, valid: Array, query: Array) -> Array:
        """Reads valid states [T, B or R, H] with queries [R, H]: [R, H]."""
        hidden = self.choices.hidden

        def initial(key: Array) -> Weights:
            return {"kernel": self.initial.table(key, hidden, hidden), "bias": jnp.zeros(())}

        layer = self.param(name, initial)
        query = (query @ layer["kernel"]).reshape(1, states.shape[1], -1, hidden)
        scores = jnp.tanh(jnp.sum(states[:, :, None] * query, axis=-1) + layer["bias"])
        scores = jnp.where(valid[..., None], scores, _NEVER)
        return attend(scores, states[:, :, None]).reshape(-1, hidden)
