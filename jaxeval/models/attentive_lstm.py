"""A bidirectional LSTM encoder and an LSTM decoder with additive attention.

Wiemerslage et al. (2024), as their public code computes it (Luong's encoder, Bahdanau's scores):

    score(t) = v . tanh(M [encoded(t) ; h] + b) + c      h: the decoder's output before
    context  = sum over t of softmax(score)(t) encoded(t)
    h, memory = LSTM([embedded ; context], h, memory)    from a learned start
    scores   = W h + b

Arrays inside are time-major. Dead units (`models.ragged`) stay at zero: an LSTM without input
and with zero weights gives zero.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import lax

from jaxeval.models import lstm, ragged, recurrence, unroll
from jaxeval.models.ragged import Axis
from jaxeval.models.seq2seq import Dropping, Live, Shape, Weights

Array = jax.Array
_GATES = 4
_CELL = lstm.Cell(lstm.Variant())
_WAYS = ("forward", "backward")
_BIASES = ("bias_input", "bias_recurrent")  # two, as in torch
SOURCE, LAYER, TARGET, OUTPUT = range(4)  # dropout sites


class Memory(NamedTuple):
    """What the decoder looks at."""

    encoded: Array  # [Ts, B, 2 H]
    keys: Array  # [Ts, B, H], the encoder's share of the attention's hidden layer
    hidden_by: Array  # [Ts, B] 0 at symbols, -inf at padding


class _Axes(NamedTuple):
    embedding: Axis
    hidden: Axis
    gates: Axis
    both: Axis  # directions


def _axes(shape: Shape, live: Live) -> _Axes:
    def hidden(blocks: int) -> Axis:
        return ragged.axis(shape.hidden, live.hidden, blocks)

    embedding = ragged.axis(shape.embedding, live.embedding)
    return _Axes(embedding, hidden(1), hidden(_GATES), hidden(2))


def _embeddings(key: Array, symbols: int, columns: Axis) -> Array:
    """Normal, the row of padding zero."""
    return ragged.normal(key, ragged.axis(symbols), columns).at[0].set(0.0)


def _recurrent(key: Array, inputs: dict[str, Axis], axes: _Axes) -> Weights:
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


def _layer(key: Array, inputs: Axis, axes: _Axes, live: Array | bool) -> Weights:
    """Both directions, 0 where the layer is not live."""
    ways = zip(_WAYS, jax.random.split(key), strict=True)
    made = {way: _recurrent(k, {"kernel": inputs}, axes) for way, k in ways}
    return made if live is True else jax.tree.map(lambda weight: weight * live, made)


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


def _start(key: Array, axes: _Axes) -> Weights:
    names = zip(("hidden", "memory"), jax.random.split(key), strict=True)
    return {name: ragged.uniform(k, None, axes.hidden, 0.0, 1.0) for name, k in names}


class AttentiveLstm(nn.Module):
    """See the module; methods as in `seq2seq.Model`."""

    rows_axis: ClassVar[int] = 0  # of the decoder's state

    shape: Shape
    live: Live = Live()

    def setup(self) -> None:
        """Makes the parameters."""
        shape, axes = self.shape, _axes(self.shape, self.live)
        self.both = axes.both.number
        self.source = self.param("source", _embeddings, shape.source, axes.embedding)
        self.target = self.param("target", _embeddings, shape.target, axes.embedding)
        self.attention = self.param("attention", _attention, axes)
        self.start = self.param("start", _start, axes)
        inputs = {"kernel": axes.embedding, "context": axes.both}
        self.decoder = self.param("decoder", _recurrent, inputs, axes)
        self.output = self.param("output", ragged.linear, axes.hidden, ragged.axis(shape.target))
        # last: the key of a parameter hangs on how many were made before
        widths = [axes.embedding] + [axes.both] * (shape.encoder_layers - 1)
        self.layers = [
            self.param(f"encoder_{n}", _layer, w, axes, self._is_live(n))
            for n, w in enumerate(widths)
        ]

    def _is_live(self, layer: int) -> Array | bool:
        layers = self.live.encoder_layers
        return True if layers is None or not layer else layer < layers

    def encode(self, source: Array, length: Array, drop: Dropping) -> Memory:
        """Reads sources [B, Ts] of the given lengths [B]."""
        valid = jnp.arange(source.shape[1])[:, None] < length[None]
        x = drop.at(SOURCE).on(self.source[source.T], 1)
        for number, layer in enumerate(self.layers):
            x = self._encoded(number, layer, x, valid, drop)
        x = jnp.where(valid[..., None], x, 0.0)
        keys = ragged.affine(self.attention["keys"], x)
        return Memory(x, keys, jnp.where(valid, 0.0, -jnp.inf))

    def _encoded(
        self, number: int, layer: Weights, x: Array, valid: Array, drop: Dropping
    ) -> Array:
        def run() -> Array:
            given = drop.at(LAYER, number).on(x, 1, self.both) if number else x
            return jnp.concatenate([_run(layer[way], given, valid, way) for way in _WAYS], axis=-1)

        live = self._is_live(number)
        return run() if live is True else lax.cond(live, run, lambda: x)

    def taught(self, memory: Memory, target: Array, drop: Dropping) -> Array:
        """Scores [B, Tt, V] of what follows each of the given symbols [B, Tt]."""
        x = drop.at(TARGET).on(self.target[target.T], 1)
        _, hidden = unroll.unroll(
            _step,
            self._kernels(),
            self._looked_at(memory),
            memory.hidden_by,
            self._inputs(x),
            self.begin(memory, len(x)),
        )
        scores = ragged.affine(self.output, drop.at(OUTPUT).on(hidden, 1))
        return scores.transpose(1, 0, 2)

    def begin(self, memory: Memory, steps: int) -> tuple[Array, Array]:
        """The learned start: h and c [B, H]."""
        del steps
        shape = memory.keys.shape[1:]
        hidden, cell = (jnp.broadcast_to(self.start[n], shape) for n in ("hidden", "memory"))
        return hidden, cell

    def step(
        self, memory: Memory, state: tuple, token: Array, place: Array
    ) -> tuple[Array, tuple[Array, Array]]:
        """Scores [B, V] after a symbol [B]."""
        del place
        kernels = self._kernels()

        def tap(name: str, x: Array) -> list[Array]:
            product = x @ kernels[name]
            return jnp.split(product, product.shape[-1] // self.shape.hidden, axis=-1)

        given = jnp.split(self._inputs(self.target[token][None])[0], _GATES, axis=-1)
        state, hidden = _step(tap, self._looked_at(memory), memory.hidden_by, state, given)
        return ragged.affine(self.output, hidden), state

    def _kernels(self) -> Weights:
        kernels = {name: self.decoder[name] for name in ("context", "recurrent")}
        return {**kernels, "query": self.attention["query"]}

    def _looked_at(self, memory: Memory) -> Weights:
        """What a step reads beside its kernels, differentiated."""
        score = self.attention["score"]
        return {"encoded": memory.encoded, "keys": memory.keys, "score": score}

    def _inputs(self, x: Array) -> Array:
        """The embedded symbols' share of the gates: [T, B, E] -> [T, B, 4 H]."""
        bias = sum(self.decoder[name] for name in _BIASES)
        return ragged.affine({"kernel": self.decoder["kernel"], "bias": bias}, x)


def _run(weights: Weights, x: Array, valid: Array, way: str) -> Array:
    """One direction of an encoder layer: [T, B, D] -> [T, B, H]."""
    zeros = jnp.zeros((x.shape[1], len(weights["recurrent"])))
    return recurrence.run(
        _CELL,
        way == "backward",
        None,
        recurrence.project(x, weights["kernel"], 0),
        sum(weights[name] for name in _BIASES),
        weights["recurrent"],
        {},
        (zeros, zeros),
        valid,
        None,
    )


def _step(
    tap: unroll.Tap, small: Weights, hidden_by: Array, state: tuple, given: unroll.Blocks
) -> Any:
    """One step of the decoder; gates in the order of `lstm.Cell`."""
    hidden, cell = state
    (query,) = tap("query", hidden)
    attended = jnp.tanh(small["keys"] + query[None])
    scores = jnp.sum(attended * small["score"][None, None], axis=-1) + hidden_by
    share = jax.nn.softmax(scores, axis=0)
    context = jnp.sum(share[..., None] * small["encoded"], axis=0)
    parts = zip(given, tap("context", context), tap("recurrent", hidden), strict=True)
    gates = [sum(part) for part in parts]
    enter, leave, candidate, forget = gates
    cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(candidate)
    hidden = jax.nn.sigmoid(leave) * jnp.tanh(cell)
    return (hidden, cell), hidden
