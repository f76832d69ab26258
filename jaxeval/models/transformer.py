"""A pre-norm transformer encoder-decoder (Vaswani et al. 2017; Xiong et al. 2020).

Wiemerslage et al. (2024), as their public code computes it: a layer adds attention(norm(x)) and
feed-forward(norm(x)) to x, both stacks end with a norm, embeddings are drawn with variance 1/E and
multiplied by sqrt(E), positions are sinusoids, nothing is tied.

Notation: S heads that are computed, D = E / S units of each; K positions that are looked at.

The layers of a stack are one loop over stacked weights: eight compile as fast as two. Members of
one program may use fewer layers (a loop's step that does nothing) and fewer heads: a head is then
a group of the computed ones, whose scores are added up before the softmax
(`models.ragged` says the rest).
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import lax

from jaxeval.models import ragged
from jaxeval.models import transformer_weights as start
from jaxeval.models.ragged import Axis
from jaxeval.models.seq2seq import Dropping, Live, Shape, Weights

Array = jax.Array
SOURCE, ENCODER, TARGET, DECODER = range(4)  # dropout sites
WEIGHTS, ADDED, INNER, ACROSS, ADDED_ACROSS, ADDED_INNER = range(6)  # ... and those of a layer


class Memory(NamedTuple):
    """What the decoder looks at: of each of its layers, the keys and values of the source."""

    keys: Array  # [layers, B, S, Ts, D]
    values: Array  # the same
    hidden_by: Array  # [B, Ts] 0 at symbols, -inf at padding


class Cache(NamedTuple):
    """Keys and values of the symbols written so far: [layers, B, S, steps, D]."""

    keys: Array
    values: Array


class Transformer(nn.Module):
    """See the module; methods as in `seq2seq.Model`."""

    rows_axis: ClassVar[int] = 1  # of the cache

    shape: Shape
    live: Live = Live()

    def setup(self) -> None:
        """Makes the parameters."""
        shape, axes = self.shape, start.axes_of(self.shape, self.live)
        self.axes = axes
        self.source = self.param("source", start.embeddings, shape.source, axes.model)
        self.target = self.param("target", start.embeddings, shape.target, axes.model)
        self.encoder = self.param(
            "encoder",
            start.stack,
            shape.encoder_layers,
            self.live.encoder_layers,
            ("own",),
            axes,
        )
        self.decoder = self.param(
            "decoder",
            start.stack,
            shape.decoder_layers,
            self.live.decoder_layers,
            ("own", "across"),
            axes,
        )
        self.output = self.param("output", ragged.linear, axes.model, ragged.axis(shape.target))

    def encode(self, source: Array, length: Array, drop: Dropping) -> Memory:
        """Reads sources [B, Ts] of the given lengths [B]."""
        hidden_by = jnp.where(jnp.arange(source.shape[1])[None] < length[:, None], 0.0, -jnp.inf)
        x = self._embedded(self.source, source, jnp.arange(source.shape[1]), drop.at(SOURCE))

        def layer(number: Array, weights: Weights, x: Array) -> Array:
            here = drop.at(ENCODER, number)
            queries, keys, values = self._projected(weights["own"], x)
            masks = hidden_by[:, None, None]
            seen = self._attended(queries, keys, values, masks, here.at(WEIGHTS))
            x = x + self._back(weights["own"], seen, here.at(ADDED))
            return x + self._fed(weights["feed_forward"], x, here)

        x = _through(layer, self.encoder["layers"], x, self.live.encoder_layers)
        x = ragged.layer_norm(x, self.encoder["norm"], self.axes.model)
        return self._memory(x, hidden_by)

    def _memory(self, encoded: Array, hidden_by: Array) -> Memory:
        across = self.decoder["layers"]["across"]["inner"]
        width = self.shape.embedding
        kernels, biases = across["kernel"][..., width:], across["bias"][..., width:]

        def one(given: tuple) -> tuple:
            both = ragged.affine({"kernel": given[0], "bias": given[1]}, encoded)
            return tuple(self._by_head(part) for part in jnp.split(both, 2, axis=-1))

        keys, values = lax.map(one, (kernels, biases))
        return Memory(keys, values, hidden_by)

    def taught(self, memory: Memory, target: Array, drop: Dropping) -> Array:
        """Scores [B, Tt, V] of what follows each of the given symbols [B, Tt]."""
        places = jnp.arange(target.shape[1])
        x = self._embedded(self.target, target, places, drop.at(TARGET))
        future = jnp.where(places[:, None] >= places[None], 0.0, -jnp.inf)[None, None]

        def layer(number: Array, given: tuple, x: Array) -> Array:
            weights, keys_across, values_across = given
            here = drop.at(DECODER, number)
            queries, keys, values = self._projected(weights["own"], x)
            seen = self._attended(queries, keys, values, future, here.at(WEIGHTS))
            x = x + self._back(weights["own"], seen, here.at(ADDED))
            x = x + self._across(
                weights["across"], x, keys_across, values_across, memory.hidden_by, here
            )
            return x + self._fed(weights["feed_forward"], x, here)

        stacked = (self.decoder["layers"], memory.keys, memory.values)
        x = _through(layer, stacked, x, self.live.decoder_layers)
        return self._scores(x)

    def _scores(self, x: Array) -> Array:
        return ragged.affine(
            self.output, ragged.layer_norm(x, self.decoder["norm"], self.axes.model)
        )

    def begin(self, memory: Memory, steps: int) -> Cache:
        """An empty cache for so many steps."""
        layers, rows, heads, _, size = memory.keys.shape
        zeros = jnp.zeros((layers, rows, heads, steps, size))
        return Cache(zeros, zeros)

    def step(
        self, memory: Memory, state: Cache, token: Array, place: Array
    ) -> tuple[Array, Cache]:
        """Scores [B, V] after a symbol [B] at a place []; keys and values come from the cache."""
        quiet = Dropping()
        x = self._embedded(self.target, token[:, None], place[None], quiet)
        written = jnp.where(jnp.arange(state.keys.shape[3]) <= place, 0.0, -jnp.inf)

        def layer(number: Array, given: tuple, running: tuple) -> tuple:
            x, cache = running
            weights, keys_across, values_across = given
            queries, *new = self._projected(weights["own"], x)
            cache = Cache(
                *(
                    lax.dynamic_update_slice(whole, part[None], (number, 0, 0, place, 0))
                    for whole, part in zip(cache, new, strict=True)
                )
            )
            keys, values = (lax.dynamic_index_in_dim(c, number, keepdims=False) for c in cache)
            seen = self._attended(queries, keys, values, written[None, None, None], quiet)
            x = x + self._back(weights["own"], seen, quiet)
            x = x + self._across(
                weights["across"], x, keys_across, values_across, memory.hidden_by, quiet
            )
            return x + self._fed(weights["feed_forward"], x, quiet), cache

        stacked = (self.decoder["layers"], memory.keys, memory.values)
        x, cache = _through(layer, stacked, (x, state), self.live.decoder_layers)
        return self._scores(x)[:, 0], cache

    def _embedded(self, table: Array, tokens: Array, places: Array, drop: Dropping) -> Array:
        """Embeddings [B, T, E] of tokens [B, T] with their positions [T]."""
        model = self.axes.model
        x = table[tokens] * jnp.sqrt(model.units) + _sinusoids(places, model)[None]
        return drop.on(x)

    def _by_head(self, x: Array) -> Array:
        """[B, T, E] -> [B, S, T, D]."""
        rows, steps, _ = x.shape
        return x.reshape(rows, steps, self.shape.heads, -1).transpose(0, 2, 1, 3)

    def _projected(self, weights: Weights, x: Array) -> list[Array]:
        """Queries, keys and values [B, S, T, D] of x [B, T, E]."""
        normed = ragged.layer_norm(x, weights["norm"], self.axes.model)
        thrice = ragged.affine(weights["inner"], normed)
        return [self._by_head(part) for part in jnp.split(thrice, 3, axis=-1)]

    def _across(
        self,
        weights: Weights,
        x: Array,
        keys: Array,
        values: Array,
        hidden_by: Array,
        drop: Dropping,
    ) -> Array:
        """Attention to the source."""
        width = self.shape.embedding
        inner = weights["inner"]
        first = {"kernel": inner["kernel"][:, :width], "bias": inner["bias"][:width]}
        normed = ragged.layer_norm(x, weights["norm"], self.axes.model)
        queries = self._by_head(ragged.affine(first, normed))
        masks = hidden_by[:, None, None]
        seen = self._attended(queries, keys, values, masks, drop.at(ACROSS))
        return self._back(weights, seen, drop.at(ADDED_ACROSS))

    def _attended(
        self, queries: Array, keys: Array, values: Array, masks: Array, drop: Dropping
    ) -> Array:
        """Values [B, S, T, D] by the softmax of queries and keys over K; masks [.., T, K]."""
        scores = jnp.einsum("bstd,bskd->bstk", queries, keys)
        heads = self.live.heads
        if heads is not None:
            own = _head_of(self.shape.heads, heads)
            same = (own[:, None] == own[None]).astype(scores.dtype)
            scores = jnp.einsum("bstk,sr->brtk", scores, same)
        count = self.shape.heads if heads is None else heads
        scale = jnp.sqrt(count / self.axes.model.units)
        share = jax.nn.softmax(scores * scale + masks, axis=-1)
        if drop.words is not None:
            share = self._dropped_shares(share, drop)
        return jnp.einsum("bstk,bskd->bstd", share, values)

    def _dropped_shares(self, share: Array, drop: Dropping) -> Array:
        """Computed heads that are parts of one head drop the same."""
        heads = jnp.float32(self.shape.heads) if self.live.heads is None else self.live.heads
        words = jax.vmap(lambda n: drop.at(n).words)(_head_of(self.shape.heads, heads))
        by_head = jax.vmap(lambda w, one: drop._replace(words=w).on(one), (0, 1), 1)
        return by_head(words, share)

    def _back(self, weights: Weights, seen: Array, drop: Dropping) -> Array:
        """[B, S, T, D] -> [B, T, E]."""
        rows, _, steps, _ = seen.shape
        flat = seen.transpose(0, 2, 1, 3).reshape(rows, steps, -1)
        return drop.on(ragged.affine(weights["outer"], flat))

    def _fed(self, weights: Weights, x: Array, drop: Dropping) -> Array:
        normed = ragged.layer_norm(x, weights["norm"], self.axes.model)
        inner = jax.nn.relu(ragged.affine(weights["inner"], normed))
        inner = drop.at(INNER).on(inner)
        outer = ragged.affine(weights["outer"], inner)
        return drop.at(ADDED_INNER).on(outer)


def _head_of(computed: int, heads: Array) -> Array:
    """[S] int32: which of the `heads` each computed one belongs to."""
    return ((jnp.arange(computed) + 0.5) * heads / computed).astype(jnp.int32)


def _sinusoids(places: Array, model: Axis) -> Array:
    """[T, E]: sin(t / 10000^(2i/E)) at unit 2i, the cosine at 2i + 1 (Vaswani et al., 3.5)."""
    units = model.number.astype(jnp.float32)
    pair = jnp.floor(units / 2)
    angles = places[:, None] * jnp.exp(-jnp.log(1e4) * 2 * pair / model.units)[None]
    waves = jnp.where((model.number % 2 == 0)[None], jnp.sin(angles), jnp.cos(angles))
    return waves * model.live[None]


def _through(layer: Any, stacked: Any, x: Any, live: Array | None) -> Any:
    """x through all layers, or as many as are live."""

    def one(x: Any, now: tuple) -> tuple[Any, None]:
        number, weights = now
        if live is None:
            return layer(number, weights, x), None
        return lax.cond(number < live, lambda: layer(number, weights, x), lambda: x), None

    count = len(jax.tree.leaves(stacked)[0])
    return lax.scan(one, x, (jnp.arange(count), stacked))[0]
