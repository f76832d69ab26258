"""A pre-norm transformer encoder-decoder (Vaswani et al. 2017; Xiong et al. 2020).

As in the public code of Wiemerslage et al. (2024), a layer adds attention(norm(x)) and
feed-forward(norm(x)) to x, both stacks end with a norm, embeddings are drawn with variance 1/E and
multiplied by sqrt(E), positions are sinusoids, nothing is tied.

Notation: A computed heads, D = E / A units of each; K positions that are attended to.

The layers of a stack are one loop over stacked weights: eight compile as fast as two. Members of
one program may use fewer layers (idle steps of the loop) and fewer heads: a head is then a group
of computed ones, whose scores are added up before the softmax (`models.ragged`).
"""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.contracts import Array, Tree
from jaxeval.models import Module, Weights, ragged, seq2seq
from jaxeval.models.dropout import HashedDropout
from jaxeval.models.ragged import RaggedAxis
from jaxeval.models.seq2seq import Live, Seq2SeqShape

SOURCE, ENCODER, TARGET, DECODER = range(4)  # dropout sites
# sites of a layer: attention weights, and terms that are added to x
WEIGHTS, ADDED, INNER, CROSS_WEIGHTS, ADDED_CROSS, ADDED_INNER = range(6)
_SELF, _CROSS = (WEIGHTS, ADDED), (CROSS_WEIGHTS, ADDED_CROSS)


class _Encoded(NamedTuple):
    """Keys and values of the source for each layer of the decoder, which attends to them."""

    keys: Array  # [layers, B, A, Ts, D]
    values: Array  # the same
    attention_bias: Array  # [B, Ts] 0 at symbols, -inf at padding


class _Axes(NamedTuple):
    """Axes of the arrays, with their live units."""

    model: RaggedAxis
    heads: RaggedAxis  # as many units as `model`, in A blocks
    qkv: RaggedAxis  # queries, keys and values
    hidden: RaggedAxis


class Transformer(Module):
    """The model of this module; methods are described in `seq2seq`."""

    shape: Seq2SeqShape
    live: Live = Live()

    def setup(self) -> None:
        """Makes the parameters."""
        shape, live = self.shape, self.live
        size = shape.embedding // shape.heads
        used = None if live.embedding is None else live.embedding / shape.heads
        self.axes = axes = _Axes(
            ragged.axis(shape.embedding, live.embedding),
            ragged.axis(size, used, shape.heads),
            ragged.axis(size, used, 3 * shape.heads),
            ragged.axis(shape.hidden, live.hidden),
        )
        spread = lax.rsqrt(axes.model.units)
        self.source = self.param("source", ragged.embeddings, shape.source, axes.model, spread)
        self.target = self.param("target", ragged.embeddings, shape.target, axes.model, spread)
        layers = shape.encoder_layers, live.encoder_layers
        self.encoder = self.param("encoder", _stack, *layers, ("self_attention",), axes)
        layers = shape.decoder_layers, live.decoder_layers
        attentions = "self_attention", "cross_attention"
        self.decoder = self.param("decoder", _stack, *layers, attentions, axes)
        self.output = self.param("output", ragged.linear, axes.model, ragged.axis(shape.target))

    def encode(self, source: Array, length: Array, drop: HashedDropout) -> _Encoded:
        """Encodes sources [B, Ts] of the given lengths [B]."""
        bias = jnp.where(jnp.arange(source.shape[1])[None] < length[:, None], 0.0, -jnp.inf)
        x = self._embedded(self.source, source, jnp.arange(source.shape[1]), drop.at(SOURCE))

        def layer(number: Array, weights: Weights, x: Array) -> Array:
            here = drop.at(ENCODER, number)
            x = x + self._attention(weights["self_attention"], x, bias[:, None, None], here, _SELF)
            return x + self._feed_forward(weights["feed_forward"], x, here)

        x = _run_layers(layer, self.encoder["layers"], x, self.live.encoder_layers)
        encoded = ragged.layer_norm(x, self.encoder["norm"], self.axes.model)
        inputs = self.decoder["layers"]["cross_attention"]["in_projection"]
        source_part = {name: leaf[..., self.shape.embedding :] for name, leaf in inputs.items()}
        keys, values = lax.map(lambda weights: self._by_head(weights, encoded, 2), source_part)
        return _Encoded(keys, values, bias)

    def teacher_forced(self, memory: _Encoded, target: Array, drop: HashedDropout) -> Array:
        """Logits [B, Tt, V] of the symbol after each of the gold ones [B, Tt]."""
        positions = jnp.arange(target.shape[1])
        x = self._embedded(self.target, target, positions, drop.at(TARGET))
        causal = jnp.where(positions[:, None] >= positions[None], 0.0, -jnp.inf)[None, None]

        def layer(number: Array, inputs: tuple, x: Array) -> Array:
            return self._decoder_layer(inputs, x, memory, causal, drop.at(DECODER, number))

        stacked = (self._layers(), memory.keys, memory.values)
        x = _run_layers(layer, stacked, x, self.live.decoder_layers)
        return self._logits(x, self.output)

    def _layers(self) -> Weights:
        """The decoder's layers, whose cross-attention projects the queries alone."""
        layers: Weights = self.decoder["layers"]
        cross = layers["cross_attention"]
        queries = {n: w[..., : self.shape.embedding] for n, w in cross["in_projection"].items()}
        return {**layers, "cross_attention": {**cross, "in_projection": queries}}

    def stepwise(self, memory: _Encoded, width: int, steps: int) -> seq2seq.Decoder:
        """Decodes at most `steps` symbols; a state holds keys and values of all of them.

        Beam k writes those of its symbol t to place t K + k, where they stay: which of the places
        a beam sees, [B, K, steps K], follows its parent.
        """
        count, rows, heads, _, size = memory.keys.shape
        stacked = ragged.transposed(self._layers()), memory.keys, memory.values
        # layer by layer: a loop over stacked weights would copy them at every symbol
        layers = [jax.tree.map(lambda leaf, n=n: leaf[n], stacked) for n in range(count)]
        output, places = ragged.transposed(self.output), jnp.arange(steps * width)

        def step(state: tuple, tokens: Array, position: Array) -> tuple[Array, tuple]:
            (caches, seen), begin, after = state, position * width, []
            seen = seen | (places[None] == begin + jnp.arange(width)[:, None])[None]
            bias = jnp.where(seen, 0.0, -jnp.inf)[:, None]
            x = self._embedded(self.target, tokens, position[None], HashedDropout())
            for number, (inputs, cache) in enumerate(zip(layers, caches, strict=True)):
                layer = functools.partial(self._cached_decoder_layer, inputs, memory, bias, begin)
                x, cache = _if_live(self.live.decoder_layers, number, layer, (x, cache))
                after.append(cache)
            return self._logits(x, output), (after, seen)

        def reorder(state: tuple, parent: Array) -> tuple:
            caches, seen = state
            return caches, seq2seq.of_parents(seen, parent)

        cache = jnp.zeros((rows, heads, steps * width, size))
        seen = jnp.zeros((rows, width, steps * width), bool)
        return seq2seq.Decoder(step, reorder, ([(cache, cache)] * count, seen))

    def _cached_decoder_layer(
        self, inputs: tuple, memory: _Encoded, bias: Array, begin: Array, running: tuple
    ) -> tuple[Array, tuple]:
        """`_decoder_layer` of x; new keys and values go into the cache [B, A, K, D] at `begin`."""
        x, cache = running

        def extend(new: Sequence[Array]) -> Sequence[Array]:
            nonlocal cache
            pairs, place = zip(cache, new, strict=True), (0, 0, begin, 0)
            cache = tuple(lax.dynamic_update_slice(c, n, place) for c, n in pairs)
            return cache

        x = self._decoder_layer(inputs, x, memory, bias, HashedDropout(), extend)
        return x, cache

    def _decoder_layer(
        self,
        inputs: tuple,
        x: Array,
        memory: _Encoded,
        bias: Array,
        drop: HashedDropout,
        attended_to: Callable[[Sequence[Array]], Sequence[Array]] = lambda new: new,
    ) -> Array:
        """Sends x [B, T, E] through a layer; `inputs`: its weights, source keys and values."""
        weights, *source = inputs
        own, cross = weights["self_attention"], weights["cross_attention"]
        x = x + self._attention(own, x, bias, drop, _SELF, attended_to)
        source_bias = memory.attention_bias[:, None, None]
        x = x + self._attention(cross, x, source_bias, drop, _CROSS, lambda _: source)
        return x + self._feed_forward(weights["feed_forward"], x, drop)

    def _embedded(
        self, table: Array, tokens: Array, positions: Array, drop: HashedDropout
    ) -> Array:
        """Embeddings [B, T, E] of tokens [B, T] plus those of their positions [T].

        The latter are sin(t / 10000^(2i/E)) at unit 2i, cos at 2i + 1 (Vaswani et al., 3.5).
        """
        model = self.axes.model
        pair = jnp.floor(model.number.astype(jnp.float32) / 2)
        angles = positions[:, None] * jnp.exp(-jnp.log(1e4) * 2 * pair / model.units)[None]
        waves = jnp.where((model.number % 2 == 0)[None], jnp.sin(angles), jnp.cos(angles))
        x = table[tokens] * jnp.sqrt(model.units) + (waves * model.live[None])[None]
        return drop.apply(x)

    def _logits(self, x: Array, output: Weights) -> Array:
        normed = ragged.layer_norm(x, self.decoder["norm"], self.axes.model)
        return ragged.affine(output, normed)

    def _by_head(self, weights: Weights, x: Array, parts: int) -> list[Array]:
        """Projections [B, A, T, D] of x [B, T, E]."""
        product = ragged.affine(weights, x)
        if jax.default_backend() != "cpu":
            # on GPUs XLA joins the parts' gradients inside of a product, which has no tiles then
            product = lax.optimization_barrier(product)
        each = jnp.split(product, parts, axis=-1)
        shape = (*x.shape[:2], self.shape.heads, -1)
        return [part.reshape(shape).transpose(0, 2, 1, 3) for part in each]

    def _attention(
        self,
        weights: Weights,
        x: Array,
        bias: Array,
        drop: HashedDropout,
        sites: tuple[int, int],
        attended_to: Callable[[Sequence[Array]], Sequence[Array]] = lambda new: new,
    ) -> Array:
        """The attention's term [B, T, E], before it is added to x [B, T, E].

        The bias is [.., T, K]; sites are dropout's, of attention weights and of the term.
        `attended_to` maps new keys and values [B, A, T, D] (none for cross-attention) to all K.
        """
        model, inputs, heads = self.axes.model, weights["in_projection"], self.live.heads
        normed = ragged.layer_norm(x, weights["norm"], model)
        queries, *new = self._by_head(inputs, normed, 1 if sites == _CROSS else 3)
        keys, values = attended_to(new)
        scores = jnp.einsum("batd,bakd->batk", queries, keys)
        if heads is not None:
            head = _head_of(self.shape.heads, heads)
            same_head = (head[:, None] == head[None]).astype(scores.dtype)
            scores = jnp.einsum("batk,ac->bctk", scores, same_head)
        count = self.shape.heads if heads is None else heads
        scale = jnp.sqrt(count / model.units)
        attention = jax.nn.softmax(scores * scale + bias, axis=-1)
        weights_drop = drop.at(sites[0])
        if weights_drop.words is not None:  # parts of one head drop the same
            number = _head_of(self.shape.heads, jnp.float32(count) if heads is None else heads)
            words = jax.vmap(lambda n: weights_drop.at(n).words)(number)
            by_head = jax.vmap(lambda w, x: weights_drop._replace(words=w).apply(x), (0, 1), 1)
            attention = by_head(words, attention)
        attended = jnp.einsum("batk,bakd->batd", attention, values)
        concatenated = attended.transpose(0, 2, 1, 3).reshape(x.shape)
        return drop.at(sites[1]).apply(ragged.affine(weights["out_projection"], concatenated))

    def _feed_forward(self, weights: Weights, x: Array, drop: HashedDropout) -> Array:
        normed = ragged.layer_norm(x, weights["norm"], self.axes.model)
        inner = drop.at(INNER).apply(jax.nn.relu(ragged.affine(weights["inner"], normed)))
        return drop.at(ADDED_INNER).apply(ragged.affine(weights["outer"], inner))


def _head_of(computed: int, heads: Array) -> Array:
    """The head [A] int32 that each computed one belongs to."""
    return ((jnp.arange(computed) + 0.5) * heads / computed).astype(jnp.int32)


def _if_live(
    live: Array | None, number: Array | int, layer: Callable[[Tree], Tree], x: Tree
) -> Tree:
    """Sends x through a layer if it is live."""
    return layer(x) if live is None else lax.cond(number < live, layer, lambda x: x, x)


def _run_layers(layer: Callable[..., Tree], stacked: Tree, x: Tree, live: Array | None) -> Tree:
    """Sends x through all layers, or the live ones."""

    def step(x: Tree, numbered: tuple) -> tuple[Tree, None]:
        number, inputs = numbered
        return _if_live(live, number, lambda x: layer(number, inputs, x), x), None

    count = len(jax.tree.leaves(stacked)[0])
    return lax.scan(step, x, (jnp.arange(count), stacked))[0]


def _stack(
    key: Array, layers: int, live: Array | None, attentions: tuple[str, ...], axes: _Axes
) -> Weights:
    """Draws the weights of all layers [layers, ...], 0 if not live, and the last norm."""
    norm = {"scale": axes.model.live, "bias": jnp.zeros_like(axes.model.live)}

    def attention(key: Array) -> Weights:
        # queries, keys and values are Glorot uniform as one matrix
        qkv_key, output_key = jax.random.split(key)
        bound = jnp.sqrt(6.0 / (4.0 * axes.model.units))
        kernel = ragged.uniform(qkv_key, axes.model, axes.qkv, -bound, bound)
        output = ragged.linear(output_key, axes.heads, axes.model)
        return {
            "in_projection": {"kernel": kernel, "bias": jnp.zeros(len(axes.qkv))},
            "out_projection": {**output, "bias": jnp.zeros_like(output["bias"])},
            "norm": norm,
        }

    def layer(number: Array) -> Weights:
        key_of, *keys = jax.random.split(jax.random.fold_in(key, number), len(attentions) + 1)
        weights = {name: attention(k) for name, k in zip(attentions, keys, strict=True)}
        inner, outer = jax.random.split(key_of)
        weights["feed_forward"] = {
            "inner": ragged.linear(inner, axes.model, axes.hidden),
            "outer": ragged.linear(outer, axes.hidden, axes.model),
            "norm": norm,
        }
        return weights if live is None else jax.tree.map(lambda w: w * (number < live), weights)

    return {"layers": jax.vmap(layer)(jnp.arange(layers)), "norm": norm}
