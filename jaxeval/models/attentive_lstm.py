"""A bidirectional LSTM encoder and an LSTM decoder with additive attention.

Wiemerslage et al. (2024), as in their public code (Luong's encoder, Bahdanau's scores):

    score(t) = v . tanh(M [encoded(t) ; h] + b) + c      h: the decoder's previous output
    context  = sum over t of softmax(score)(t) encoded(t)
    h, memory = LSTM([embedded ; context], h, memory)    from a learned initial state
    logits   = W h + b

Arrays inside are time-major. Dead units (`models.ragged`) stay at zero: an LSTM without input
and with zero weights gives zero.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.contracts import Array
from jaxeval.models import (
    Module,
    Weights,
    attend,
    cells,
    ragged,
    recurrence,
    seq2seq,
    times_transposed,
    transposed,
    unroll,
)
from jaxeval.models.dropout import HashedDropout
from jaxeval.models.ragged import RaggedAxis
from jaxeval.models.seq2seq import Live, Seq2SeqShape
from jaxeval.models.unroll import Blocks, Tap

_GATES = 4
_DIRECTIONS = ("forward", "backward")
_BIASES = ("bias_input", "bias_recurrent")  # two, as in torch
SOURCE, LAYER, TARGET, OUTPUT = range(4)  # dropout sites


class _Encoded(NamedTuple):
    """The encoded source, which the decoder attends to."""

    encoded: Array  # [Ts, B, 2 H]
    keys: Array  # [Ts, B, H], the encoder's part of the attention's hidden layer
    attention_bias: Array  # [Ts, B] 0 at symbols, -inf at padding


class AttentiveLstm(Module):
    """The model of this module; methods are described in `seq2seq`."""

    shape: Seq2SeqShape
    live: Live = Live()

    def setup(self) -> None:
        """Makes the parameters."""
        shape, live = self.shape, self.live
        embedding = ragged.axis(shape.embedding, live.embedding)
        hidden, gates, both = (
            ragged.axis(shape.hidden, live.hidden, blocks) for blocks in (1, _GATES, 2)
        )
        self.both = both.number
        self.source = self.param("source", ragged.embeddings, shape.source, embedding)
        self.target = self.param("target", ragged.embeddings, shape.target, embedding)
        self.attention = self.param("attention", _attention, both, hidden)
        self.start = self.param("start", _initial_states, hidden)
        inputs = {"kernel": embedding, "context": both, "recurrent": hidden}
        self.decoder = self.param("decoder", _recurrent, inputs, gates)
        self.output = self.param("output", ragged.linear, hidden, ragged.axis(shape.target))
        # last: the key of a parameter depends on how many were made before
        layers = []
        for number in range(shape.encoder_layers):
            inputs = {"kernel": both if number else embedding, "recurrent": hidden}
            is_live = self._is_live(number)
            layers.append(self.param(f"encoder_{number}", _layer, inputs, gates, is_live))
        self.layers = layers

    def _is_live(self, layer: int) -> Array | bool:
        layers = self.live.encoder_layers
        return True if layers is None or not layer else layer < layers

    def encode(self, source: Array, length: Array, drop: HashedDropout) -> _Encoded:
        """Encodes sources [B, Ts] of the given lengths [B]."""
        valid = jnp.arange(source.shape[1])[:, None] < length[None]
        x = drop.at(SOURCE).apply(self.source[source.T], 1)
        for number, layer in enumerate(self.layers):

            def run(number: int = number, layer: Weights = layer, x: Array = x) -> Array:
                x = drop.at(LAYER, number).apply(x, 1, self.both) if number else x
                states = []
                for name in _DIRECTIONS:
                    weights = layer[name]
                    gates = recurrence.project(x, weights["kernel"], 0)
                    bias = sum(weights[n] for n in _BIASES)
                    recurrent = weights["recurrent"]
                    reverse = name == "backward"
                    states.append(cells.plain_states(gates, bias, recurrent, valid, reverse))
                return jnp.concatenate(states, axis=-1)

            live = self._is_live(number)
            x = run() if live is True else lax.cond(live, run, lambda x=x: x)
        x = jnp.where(valid[..., None], x, 0.0)
        keys = ragged.affine(self.attention["keys"], x)
        return _Encoded(x, keys, jnp.where(valid, 0.0, -jnp.inf))

    def teacher_forced(self, memory: _Encoded, target: Array, drop: HashedDropout) -> Array:
        """Logits [B, Tt, V] of the symbol after each of the gold ones [B, Tt]."""
        inputs = self._inputs(drop.at(TARGET).apply(self.target[target.T], 1))
        kernels, weights = self._weights(memory)
        state = self._start(inputs.shape[1])
        bias = memory.attention_bias
        _, hidden = unroll.unroll(_step, kernels, {}, weights, bias, inputs, state, "context")
        logits = ragged.affine(self.output, drop.at(OUTPUT).apply(hidden, 1))
        return logits.transpose(1, 0, 2)

    def stepwise(self, memory: _Encoded, width: int, steps: int) -> seq2seq.Decoder:
        """Decodes from the learned h and c, which are [H, B K] in a state."""
        rows = memory.keys.shape[1] * width
        kernels, weights = self._weights(memory)
        copies = {name: transposed(kernel) for name, kernel in kernels.items()}
        output = ragged.transposed(self.output)
        # gates of all symbols, if those are fewer than what would be multiplied step by step
        few = 2 * len(self.target) < rows * steps
        table = self._inputs(self.target[None])[0] if few else None

        def tap(name: str, x: Array) -> list[Array]:
            if name == "query":
                return [times_transposed(x.T, copies[name])]
            x = x.T if name == "context" else x
            return jnp.split(copies[name] @ x, _GATES)

        def step(state: tuple, tokens: Array, position: Array) -> tuple[Array, tuple]:
            flat = tokens.reshape(-1)
            inputs = self._inputs(self.target[flat][None])[0] if table is None else table[flat]
            blocks = jnp.split(inputs.T, _GATES)
            state = _step(tap, weights, memory.attention_bias, state, blocks)
            return ragged.affine(output, state[0].T).reshape(*tokens.shape, -1), state

        def reorder(state: tuple, parent: Array) -> tuple:
            rows = (jnp.arange(len(parent))[:, None] * width + parent).reshape(-1)
            return tuple(leaf[:, rows] for leaf in state)

        start = tuple(leaf.T for leaf in self._start(rows))
        return seq2seq.Decoder(step, reorder, start)

    def _start(self, rows: int) -> tuple[Array, Array]:
        """The learned h and c [B, H]."""
        shape = rows, self.shape.hidden
        hidden, cell = (jnp.broadcast_to(self.start[n], shape) for n in ("hidden", "memory"))
        return hidden, cell

    def _weights(self, memory: _Encoded) -> tuple[Weights, Weights]:
        """Kernels of a step, and the other values that it is differentiated by."""
        decoder, attention = self.decoder, self.attention
        kernels = {name: decoder[name] for name in ("context", "recurrent")}
        weights = {"encoded": memory.encoded, "keys": memory.keys, "score": attention["score"]}
        return kernels | {"query": attention["query"]}, weights

    def _inputs(self, x: Array) -> Array:
        """The embedded symbols' part of the gates: [T, B, E] -> [T, B, 4 H]."""
        bias = sum(self.decoder[name] for name in _BIASES)
        return ragged.affine({"kernel": self.decoder["kernel"], "bias": bias}, x)


def _step(tap: Tap, weights: Weights, bias: Array, state: tuple, inputs: Blocks) -> Any:
    """One step of the decoder of B K rows; `bias` [Ts, B] is added to the attention's scores."""
    hidden, cell = state
    (query,) = tap("query", hidden)
    query = query.reshape(1, bias.shape[1], -1, query.shape[1])  # [1, B, K, H]
    attended = jnp.tanh(weights["keys"][:, :, None] + query)
    scores = jnp.sum(attended * weights["score"][None, None, None], axis=-1) + bias[..., None]
    context = attend(scores, weights["encoded"][:, :, None])
    context = context.reshape(-1, context.shape[-1])
    parts = zip(inputs, tap("context", context), tap("recurrent", hidden), strict=True)
    gates: Any = [sum(part) for part in parts]
    hidden, cell = cells.PLAIN.update(gates, cell, {})
    return hidden, cell


def _recurrent(key: Array, inputs: dict[str, RaggedAxis], gates: RaggedAxis) -> Weights:
    """An LSTM's weights, uniform within 1 / sqrt(H) as in torch; kernels by name."""
    bound = lax.rsqrt(inputs["recurrent"].units)
    axes = {**inputs, **dict.fromkeys(_BIASES)}
    keys = zip(axes.items(), jax.random.split(key, len(axes)), strict=True)
    return {name: ragged.uniform(k, rows, gates, -bound, bound) for (name, rows), k in keys}


def _layer(
    key: Array, inputs: dict[str, RaggedAxis], gates: RaggedAxis, live: Array | bool
) -> Weights:
    """The weights of both directions, 0 if the layer is not live."""
    keys = zip(_DIRECTIONS, jax.random.split(key), strict=True)
    weights = {name: _recurrent(k, inputs, gates) for name, k in keys}
    return weights if live is True else jax.tree.map(lambda w: w * live, weights)


def _attention(key: Array, both: RaggedAxis, hidden: RaggedAxis) -> Weights:
    """M as rows for the encoder and rows for the decoder; v; both biases."""
    matrix_key, score_key = jax.random.split(key)
    matrix = ragged.linear(matrix_key, ragged.joined(both, hidden), hidden)
    score = ragged.linear(score_key, hidden, ragged.axis(1))
    return {
        "keys": {"kernel": matrix["kernel"][: len(both)], "bias": matrix["bias"]},
        "query": matrix["kernel"][len(both) :],
        "score": score["kernel"][:, 0],
        "score_bias": score["bias"],  # changes no softmax; torch has it
    }


def _initial_states(key: Array, hidden: RaggedAxis) -> Weights:
    names = zip(("hidden", "memory"), jax.random.split(key), strict=True)
    return {name: ragged.uniform(k, None, hidden, 0.0, 1.0) for name, k in names}
