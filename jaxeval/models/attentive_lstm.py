"""A bidirectional LSTM encoder and an LSTM decoder with additive attention.

Wiemerslage et al. (2024), as their public code computes it (Luong's encoder, Bahdanau's scores):

    score(t) = v . tanh(M [encoded(t) ; h] + b) + c      h: the decoder's output before
    context  = sum over t of softmax(score)(t) encoded(t)
    h, memory = LSTM([embedded ; context], h, memory)    from a learned initial state
    logits   = W h + b

Arrays inside are time-major. Dead units (`models.ragged`) stay at zero: an LSTM without input
and with zero weights gives zero.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.contracts import Array
from jaxeval.models import lstm, ragged, recurrence
from jaxeval.models.dropout import HashedDropout
from jaxeval.models.parameters import Module, Weights
from jaxeval.models.ragged import RaggedAxis
from jaxeval.models.recurrence import Blocks, Tap
from jaxeval.models.seq2seq import Live, Seq2SeqShape

_GATES = 4
_CELL = lstm.LSTMCell(lstm.LSTMVariant())
_DIRECTIONS = ("forward", "backward")
_BIASES = ("bias_input", "bias_recurrent")  # two, as in torch
SOURCE, LAYER, TARGET, OUTPUT = range(4)  # dropout sites


class EncodedSource(NamedTuple):
    """What the decoder attends to."""

    encoded: Array  # [Ts, B, 2 H]
    keys: Array  # [Ts, B, H], the encoder's part of the attention's hidden layer
    attention_bias: Array  # [Ts, B] 0 at symbols, -inf at padding


class _Axes(NamedTuple):
    embedding: RaggedAxis
    hidden: RaggedAxis
    gates: RaggedAxis
    both: RaggedAxis  # directions


class AttentiveLstm(Module):
    """See the module; methods as in `seq2seq.Model`."""

    rows_axis: ClassVar[int] = 0  # of the decoder's state

    shape: Seq2SeqShape
    live: Live = Live()

    def setup(self) -> None:
        """Makes the parameters."""
        shape, units = self.shape, (self.shape.hidden, self.live.hidden)
        embedding = ragged.axis(shape.embedding, self.live.embedding)
        axes = _Axes(embedding, *(ragged.axis(*units, blocks) for blocks in (1, _GATES, 2)))
        self.both = axes.both.number
        self.source = self.param("source", _embeddings, shape.source, axes.embedding)
        self.target = self.param("target", _embeddings, shape.target, axes.embedding)
        self.attention = self.param("attention", _attention, axes)
        self.start = self.param("start", _initial_state, axes)
        inputs = {"kernel": axes.embedding, "context": axes.both}
        self.decoder = self.param("decoder", _recurrent, inputs, axes)
        self.output = self.param("output", ragged.linear, axes.hidden, ragged.axis(shape.target))
        # last: the key of a parameter depends on how many were made before
        widths = [axes.embedding] + [axes.both] * (shape.encoder_layers - 1)
        self.layers = [
            self.param(f"encoder_{n}", _layer, w, axes, self._is_live(n))
            for n, w in enumerate(widths)
        ]

    def _is_live(self, layer: int) -> Array | bool:
        layers = self.live.encoder_layers
        return True if layers is None or not layer else layer < layers

    def encode(self, source: Array, length: Array, drop: HashedDropout) -> EncodedSource:
        """Encodes sources [B, Ts] of the given lengths [B]."""
        valid = jnp.arange(source.shape[1])[:, None] < length[None]
        x = drop.at(SOURCE).apply(self.source[source.T], 1)
        for number, layer in enumerate(self.layers):

            def run(number: int = number, layer: Weights = layer, x: Array = x) -> Array:
                inputs = drop.at(LAYER, number).apply(x, 1, self.both) if number else x
                hidden = [_run(layer[name], inputs, valid, name) for name in _DIRECTIONS]
                return jnp.concatenate(hidden, axis=-1)

            live = self._is_live(number)
            x = run() if live is True else lax.cond(live, run, lambda x=x: x)
        x = jnp.where(valid[..., None], x, 0.0)
        keys = ragged.affine(self.attention["keys"], x)
        return EncodedSource(x, keys, jnp.where(valid, 0.0, -jnp.inf))

    def teacher_forced(self, memory: EncodedSource, target: Array, drop: HashedDropout) -> Array:
        """Logits [B, Tt, V] of the symbol after each of the gold ones [B, Tt]."""
        x = drop.at(TARGET).apply(self.target[target.T], 1)
        weights, inputs = self._step_weights(memory), self._inputs(x)
        state, bias = self.initial_state(memory, len(x)), memory.attention_bias
        _, hidden = recurrence.unroll(_step, self._kernels(), weights, bias, inputs, state)
        logits = ragged.affine(self.output, drop.at(OUTPUT).apply(hidden, 1))
        return logits.transpose(1, 0, 2)

    def initial_state(self, memory: EncodedSource, steps: int) -> tuple[Array, Array]:
        """The learned one: h and c [B, H]."""
        del steps
        shape = memory.keys.shape[1:]
        hidden, cell = (jnp.broadcast_to(self.start[n], shape) for n in ("hidden", "memory"))
        return hidden, cell

    def step(
        self, memory: EncodedSource, state: tuple, token: Array, position: Array
    ) -> tuple[Array, tuple[Array, Array]]:
        """Logits [B, V] after a symbol [B]."""
        del position
        kernels = self._kernels()

        def tap(name: str, x: Array) -> list[Array]:
            product = x @ kernels[name]
            return jnp.split(product, product.shape[-1] // self.shape.hidden, axis=-1)

        inputs = jnp.split(self._inputs(self.target[token][None])[0], _GATES, axis=-1)
        weights = self._step_weights(memory)
        state, hidden = _step(tap, weights, memory.attention_bias, state, inputs)
        return ragged.affine(self.output, hidden), state

    def _kernels(self) -> Weights:
        kernels = {name: self.decoder[name] for name in ("context", "recurrent")}
        return {**kernels, "query": self.attention["query"]}

    def _step_weights(self, memory: EncodedSource) -> Weights:
        """What a step reads beside its kernels, differentiated."""
        score = self.attention["score"]
        return {"encoded": memory.encoded, "keys": memory.keys, "score": score}

    def _inputs(self, x: Array) -> Array:
        """The embedded symbols' part of the gates: [T, B, E] -> [T, B, 4 H]."""
        bias = sum(self.decoder[name] for name in _BIASES)
        return ragged.affine({"kernel": self.decoder["kernel"], "bias": bias}, x)


def _run(weights: Weights, x: Array, valid: Array, direction: str) -> Array:
    """One direction of an encoder layer: [T, B, D] -> [T, B, H]."""
    zeros = jnp.zeros((x.shape[1], len(weights["recurrent"])))
    gates, bias = recurrence.project(x, weights["kernel"], 0), sum(weights[n] for n in _BIASES)
    backward, start = direction == "backward", (zeros, zeros)
    recurrent = weights["recurrent"]
    return recurrence.run(_CELL, backward, None, gates, bias, recurrent, {}, start, valid, None)


def _step(
    tap: Tap,
    weights: Weights,
    attention_bias: Array,
    state: tuple,
    inputs: Blocks,
) -> Any:
    """One step of the decoder; gates in the order of `lstm.LSTMCell`."""
    hidden, cell = state
    (query,) = tap("query", hidden)
    attended = jnp.tanh(weights["keys"] + query[None])
    scores = jnp.sum(attended * weights["score"][None, None], axis=-1) + attention_bias
    attention = jax.nn.softmax(scores, axis=0)
    context = jnp.sum(attention[..., None] * weights["encoded"], axis=0)
    parts = zip(inputs, tap("context", context), tap("recurrent", hidden), strict=True)
    gates: Any = [sum(part) for part in parts]
    hidden, cell = _CELL.update(gates, cell, {})
    return (hidden, cell), hidden


def _embeddings(key: Array, symbols: int, columns: RaggedAxis) -> Array:
    """Normal, the row of padding zero."""
    return ragged.normal(key, ragged.axis(symbols), columns).at[0].set(0.0)


def _recurrent(key: Array, inputs: dict[str, RaggedAxis], axes: _Axes) -> Weights:
    """An LSTM's weights, all uniform within 1 / sqrt(H), as in torch.

    Args:
      inputs: name -> what the kernel of that name reads.
    """
    bound = lax.rsqrt(axes.hidden.units)
    keys = jax.random.split(key, len(inputs) + len(_BIASES) + 1)
    kernels = {**inputs, "recurrent": axes.hidden}
    weights = {
        name: ragged.uniform(k, rows, axes.gates, -bound, bound)
        for k, (name, rows) in zip(keys, kernels.items(), strict=False)
    }
    for k, name in zip(keys[len(kernels) :], _BIASES, strict=True):
        weights[name] = ragged.uniform(k, None, axes.gates, -bound, bound)
    return weights


def _layer(key: Array, inputs: RaggedAxis, axes: _Axes, live: Array | bool) -> Weights:
    """Both directions, 0 where the layer is not live."""
    keys = zip(_DIRECTIONS, jax.random.split(key), strict=True)
    weights = {name: _recurrent(k, {"kernel": inputs}, axes) for name, k in keys}
    return weights if live is True else jax.tree.map(lambda w: w * live, weights)


def _attention(key: Array, axes: _Axes) -> Weights:
    """M as its rows for the encoder and those for the decoder; v; both biases."""
    inputs = ragged.joined(axes.both, axes.hidden)
    matrix_key, score_key = jax.random.split(key)
    matrix = ragged.linear(matrix_key, inputs, axes.hidden)
    score = ragged.linear(score_key, axes.hidden, ragged.axis(1))
    return {
        "keys": {"kernel": matrix["kernel"][: len(axes.both)], "bias": matrix["bias"]},
        "query": matrix["kernel"][len(axes.both) :],
        "score": score["kernel"][:, 0],
        "score_bias": score["bias"],  # changes no softmax; torch has it
    }


def _initial_state(key: Array, axes: _Axes) -> Weights:
    names = zip(("hidden", "memory"), jax.random.split(key), strict=True)
    return {name: ragged.uniform(k, None, axes.hidden, 0.0, 1.0) for name, k in names}
