"""A pre-norm transformer encoder-decoder (Vaswani et al. 2017; Xiong et al. 2020).

Wiemerslage et al. (2024), as their public code computes it: a layer adds attention(norm(x)) and
feed-forward(norm(x)) to x, both stacks end with a norm, embeddings are drawn with variance 1/E and
multiplied by sqrt(E), positions are sinusoids, nothing is tied.

Notation: A heads that are computed, D = E / A units of each; K positions that are attended to.

The layers of a stack are one loop over stacked weights: eight compile as fast as two. Members of
one program may use fewer layers (a loop's step that does nothing) and fewer heads: a head is then
a group of the computed ones, whose scores are added up before the softmax
(`models.ragged` says the rest).
"""

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.contracts import Tree
from jaxeval.models import module, ragged
from jaxeval.models import transformer_weights as initial
from jaxeval.models.dropout import HashedDropout
from jaxeval.models.ragged import RaggedAxis
from jaxeval.models.seq2seq import Live, Seq2SeqShape, Weights
from jaxeval.models.transformer_weights import (
    CROSS_ATTENTION,
    FEED_FORWARD,
    OUTPUT_PROJECTION,
    QKV,
    SELF_ATTENTION,
)

Array = jax.Array
SOURCE, ENCODER, TARGET, DECODER = range(4)  # dropout sites
# ... and those of a layer: attention weights, and what is added to x
WEIGHTS, ADDED, INNER, CROSS_WEIGHTS, ADDED_CROSS, ADDED_INNER = range(6)


class SourceKeyValues(NamedTuple):
    """What the decoder attends to: for each of its layers, the keys and values of the source."""

    keys: Array  # [layers, B, A, Ts, D]
    values: Array  # the same
    attention_bias: Array  # [B, Ts] 0 at symbols, -inf at padding


class Cache(NamedTuple):
    """Keys and values of the symbols generated so far: [layers, B, A, steps, D]."""

    keys: Array
    values: Array


class Transformer(module.Module):
    """See the module; methods as in `seq2seq.Model`."""

    rows_axis: ClassVar[int] = 1  # of the cache

    shape: Seq2SeqShape
    live: Live = Live()

    def setup(self) -> None:
        """Makes the parameters."""
        shape, axes = self.shape, initial.axes_of(self.shape, self.live)
        self.axes = axes
        self.source = self.param("source", initial.embeddings, shape.source, axes.model)
        self.target = self.param("target", initial.embeddings, shape.target, axes.model)
        self.encoder = self.param(
            "encoder",
            initial.stack,
            shape.encoder_layers,
            self.live.encoder_layers,
            (SELF_ATTENTION,),
            axes,
        )
        self.decoder = self.param(
            "decoder",
            initial.stack,
            shape.decoder_layers,
            self.live.decoder_layers,
            (SELF_ATTENTION, CROSS_ATTENTION),
            axes,
        )
        self.output = self.param("output", ragged.linear, axes.model, ragged.axis(shape.target))

    def encode(self, source: Array, length: Array, drop: HashedDropout) -> SourceKeyValues:
        """Encodes sources [B, Ts] of the given lengths [B]."""
        bias = jnp.where(jnp.arange(source.shape[1])[None] < length[:, None], 0.0, -jnp.inf)
        x = self._embedded(self.source, source, jnp.arange(source.shape[1]), drop.at(SOURCE))

        def layer(number: Array, weights: Weights, x: Array) -> Array:
            here = drop.at(ENCODER, number)
            queries, keys, values = self._qkv(weights[SELF_ATTENTION], x)
            attended = self._attend(queries, keys, values, bias[:, None, None], here.at(WEIGHTS))
            x = x + self._output_projection(weights[SELF_ATTENTION], attended, here.at(ADDED))
            return x + self._feed_forward(weights[FEED_FORWARD], x, here)

        x = _through(layer, self.encoder["layers"], x, self.live.encoder_layers)
        x = ragged.layer_norm(x, self.encoder["norm"], self.axes.model)
        return self._source_key_values(x, bias)

    def _source_key_values(self, encoded: Array, attention_bias: Array) -> SourceKeyValues:
        qkv = self.decoder["layers"][CROSS_ATTENTION][QKV]
        width = self.shape.embedding
        kernels, biases = qkv["kernel"][..., width:], qkv["bias"][..., width:]

        def of_layer(weights: tuple) -> tuple:
            both = ragged.affine({"kernel": weights[0], "bias": weights[1]}, encoded)
            return tuple(self._by_head(part) for part in jnp.split(both, 2, axis=-1))

        keys, values = lax.map(of_layer, (kernels, biases))
        return SourceKeyValues(keys, values, attention_bias)

    def teacher_forced(self, memory: SourceKeyValues, target: Array, drop: HashedDropout) -> Array:
        """Logits [B, Tt, V] of the symbol after each of the gold ones [B, Tt]."""
        positions = jnp.arange(target.shape[1])
        x = self._embedded(self.target, target, positions, drop.at(TARGET))
        causal = jnp.where(positions[:, None] >= positions[None], 0.0, -jnp.inf)[None, None]

        def layer(number: Array, inputs: tuple, x: Array) -> Array:
            weights, source_keys, source_values = inputs
            here = drop.at(DECODER, number)
            queries, keys, values = self._qkv(weights[SELF_ATTENTION], x)
            attended = self._attend(queries, keys, values, causal, here.at(WEIGHTS))
            x = x + self._output_projection(weights[SELF_ATTENTION], attended, here.at(ADDED))
            x = x + self._cross_attention(
                weights[CROSS_ATTENTION],
                x,
                source_keys,
                source_values,
                memory.attention_bias,
                here,
            )
            return x + self._feed_forward(weights[FEED_FORWARD], x, here)

        stacked = (self.decoder["layers"], memory.keys, memory.values)
        x = _through(layer, stacked, x, self.live.decoder_layers)
        return self._logits(x)

    def _logits(self, x: Array) -> Array:
        return ragged.affine(
            self.output, ragged.layer_norm(x, self.decoder["norm"], self.axes.model)
        )

    def initial_state(self, memory: SourceKeyValues, steps: int) -> Cache:
        """An empty cache for so many steps."""
        layers, rows, heads, _, size = memory.keys.shape
        zeros = jnp.zeros((layers, rows, heads, steps, size))
        return Cache(zeros, zeros)

    def step(
        self, memory: SourceKeyValues, state: Cache, token: Array, position: Array
    ) -> tuple[Array, Cache]:
        """Logits [B, V] after a symbol [B] at a position []; past keys and values are cached."""
        no_dropout = HashedDropout()
        x = self._embedded(self.target, token[:, None], position[None], no_dropout)
        past = jnp.where(jnp.arange(state.keys.shape[3]) <= position, 0.0, -jnp.inf)

        def layer(number: Array, inputs: tuple, running: tuple) -> tuple:
            x, cache = running
            weights, source_keys, source_values = inputs
            queries, *new = self._qkv(weights[SELF_ATTENTION], x)
            cache = Cache(
                *(
                    lax.dynamic_update_slice(whole, part[None], (number, 0, 0, position, 0))
                    for whole, part in zip(cache, new, strict=True)
                )
            )
            keys, values = (lax.dynamic_index_in_dim(c, number, keepdims=False) for c in cache)
            attended = self._attend(queries, keys, values, past[None, None, None], no_dropout)
            x = x + self._output_projection(weights[SELF_ATTENTION], attended, no_dropout)
            x = x + self._cross_attention(
                weights[CROSS_ATTENTION],
                x,
                source_keys,
                source_values,
                memory.attention_bias,
                no_dropout,
            )
            return x + self._feed_forward(weights[FEED_FORWARD], x, no_dropout), cache

        stacked = (self.decoder["layers"], memory.keys, memory.values)
        x, cache = _through(layer, stacked, (x, state), self.live.decoder_layers)
        return self._logits(x)[:, 0], cache

    def _embedded(
        self, table: Array, tokens: Array, positions: Array, drop: HashedDropout
    ) -> Array:
        """Embeddings [B, T, E] of tokens [B, T] with their positions [T]."""
        model = self.axes.model
        x = table[tokens] * jnp.sqrt(model.units) + _sinusoids(positions, model)[None]
        return drop.apply(x)

    def _by_head(self, x: Array) -> Array:
        """[B, T, E] -> [B, A, T, D]."""
        rows, steps, _ = x.shape
        return x.reshape(rows, steps, self.shape.heads, -1).transpose(0, 2, 1, 3)

    def _qkv(self, weights: Weights, x: Array) -> list[Array]:
        """Queries, keys and values [B, A, T, D] of x [B, T, E]."""
        normed = ragged.layer_norm(x, weights["norm"], self.axes.model)
        qkv = ragged.affine(weights[QKV], normed)
        return [self._by_head(part) for part in jnp.split(qkv, 3, axis=-1)]

    def _cross_attention(
        self,
        weights: Weights,
        x: Array,
        keys: Array,
        values: Array,
        attention_bias: Array,
        drop: HashedDropout,
    ) -> Array:
        """Attention to the source."""
        width, qkv = self.shape.embedding, weights[QKV]
        of_queries = {"kernel": qkv["kernel"][:, :width], "bias": qkv["bias"][:width]}
        normed = ragged.layer_norm(x, weights["norm"], self.axes.model)
        queries = self._by_head(ragged.affine(of_queries, normed))
        bias = attention_bias[:, None, None]
        attended = self._attend(queries, keys, values, bias, drop.at(CROSS_WEIGHTS))
        return self._output_projection(weights, attended, drop.at(ADDED_CROSS))

    def _attend(
        self, queries: Array, keys: Array, values: Array, bias: Array, drop: HashedDropout
    ) -> Array:
        """Values [B, A, T, D] by the softmax of queries and keys over K; bias [.., T, K]."""
        scores = jnp.einsum("batd,bakd->batk", queries, keys)
        heads = self.live.heads
        if heads is not None:
            head = _head_of(self.shape.heads, heads)
            same_head = (head[:, None] == head[None]).astype(scores.dtype)
            scores = jnp.einsum("batk,ac->bctk", scores, same_head)
        count = self.shape.heads if heads is None else heads
        scale = jnp.sqrt(count / self.axes.model.units)
        weights = jax.nn.softmax(scores * scale + bias, axis=-1)
        if drop.words is not None:
            weights = self._dropped_weights(weights, drop)
        return jnp.einsum("batk,bakd->batd", weights, values)

    def _dropped_weights(self, weights: Array, drop: HashedDropout) -> Array:
        """Computed heads that are parts of one head drop the same."""
        heads = jnp.float32(self.shape.heads) if self.live.heads is None else self.live.heads
        words = jax.vmap(lambda n: drop.at(n).words)(_head_of(self.shape.heads, heads))
        by_head = jax.vmap(lambda w, of_head: drop._replace(words=w).apply(of_head), (0, 1), 1)
        return by_head(words, weights)

    def _output_projection(self, weights: Weights, attended: Array, drop: HashedDropout) -> Array:
        """[B, A, T, D] -> [B, T, E]."""
        rows, _, steps, _ = attended.shape
        concatenated = attended.transpose(0, 2, 1, 3).reshape(rows, steps, -1)
        return drop.apply(ragged.affine(weights[OUTPUT_PROJECTION], concatenated))

    def _feed_forward(self, weights: Weights, x: Array, drop: HashedDropout) -> Array:
        normed = ragged.layer_norm(x, weights["norm"], self.axes.model)
        inner = jax.nn.relu(ragged.affine(weights["inner"], normed))
        inner = drop.at(INNER).apply(inner)
        outer = ragged.affine(weights["outer"], inner)
        return drop.at(ADDED_INNER).apply(outer)


def _head_of(computed: int, heads: Array) -> Array:
    """[A] int32: which of the `heads` each computed one belongs to."""
    return ((jnp.arange(computed) + 0.5) * heads / computed).astype(jnp.int32)


def _sinusoids(positions: Array, model: RaggedAxis) -> Array:
    """[T, E]: sin(t / 10000^(2i/E)) at unit 2i, the cosine at 2i + 1 (Vaswani et al., 3.5)."""
    units = model.number.astype(jnp.float32)
    pair = jnp.floor(units / 2)
    angles = positions[:, None] * jnp.exp(-jnp.log(1e4) * 2 * pair / model.units)[None]
    waves = jnp.where((model.number % 2 == 0)[None], jnp.sin(angles), jnp.cos(angles))
    return waves * model.live[None]


def _through(layer: Callable[..., Tree], stacked: Tree, x: Tree, live: Array | None) -> Tree:
    """x through all layers, or as many as are live."""

    def step(x: Tree, numbered: tuple) -> tuple[Tree, None]:
        number, inputs = numbered
        if live is None:
            return layer(number, inputs, x), None
        return lax.cond(number < live, lambda: layer(number, inputs, x), lambda: x), None

    count = len(jax.tree.leaves(stacked)[0])
    return lax.scan(step, x, (jnp.arange(count), stacked))[0]
