"""The transformer against a plain numpy loop."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import transformer
from jaxeval.models.dropout import HashedDropout
from jaxeval.models.seq2seq import Live, Seq2SeqShape
from jaxeval.models.transformer import Transformer
from tests.models import pairs
from tests.models.pairs import GIVEN, Inputs

E, H, ENCODER, DECODER = 8, 6, 2, 3
SHAPE = Seq2SeqShape(pairs.SOURCES, pairs.TARGETS, E, H, ENCODER, DECODER, 2)
Masks = dict[tuple, Any]  # (stack, layer, site) or (stack,) -> a mask of dropout, multiplied


def _norm(w: dict, x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred**2).mean(-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * w["scale"] + w["bias"]


def _affine(w: dict, x: np.ndarray) -> np.ndarray:
    return x @ w["kernel"] + w["bias"]


def _attention(w: dict, x: np.ndarray, y: np.ndarray, causal: bool, masks: Any) -> np.ndarray:
    """Of x [T, E] to y [K, E], head by head; heads are contiguous blocks of the units."""
    heads, width = len(masks), x.shape[1] // len(masks)
    q, k, v = (
        _affine(
            {name: np.split(leaf, 3, axis=-1)[part] for name, leaf in w["in_projection"].items()},
            z,
        )
        for part, z in enumerate((x, y, y))
    )
    attended = []
    for head in range(heads):
        own = slice(head * width, (head + 1) * width)
        scores = q[:, own] @ k[:, own].T / np.sqrt(width)
        if causal:
            scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
        attended.append((pairs.softmax(scores) * masks[head][: len(x), : len(y)]) @ v[:, own])
    return _affine(w["out_projection"], np.concatenate(attended, axis=1))


def _embedded(table: np.ndarray, symbols: np.ndarray) -> np.ndarray:
    x = table[symbols] * np.sqrt(E)
    for position in range(len(symbols)):
        for pair in range(E // 2):
            angle = position / 10_000 ** (2 * pair / E)
            x[position, 2 * pair] += np.sin(angle)
            x[position, 2 * pair + 1] += np.cos(angle)
    return x


def _stack(stack: dict, x: np.ndarray, memory: Any, mask: Any) -> np.ndarray:
    """All layers and the last norm; `mask(layer, site)` gives [heads, T, K] or [T, units]."""
    for layer in range(len(stack["layers"]["self_attention"]["norm"]["scale"])):
        w = jax.tree.map(lambda leaf, layer=layer: leaf[layer], stack["layers"])
        steps = len(x)
        normed = _norm(w["self_attention"]["norm"], x)
        own = _attention(
            w["self_attention"],
            normed,
            normed,
            memory is not None,
            mask(layer, transformer.WEIGHTS),
        )
        x = x + own * mask(layer, transformer.ADDED)[:steps]
        if memory is not None:
            normed = _norm(w["cross_attention"]["norm"], x)
            drops = mask(layer, transformer.CROSS_WEIGHTS)
            across = _attention(w["cross_attention"], normed, memory, False, drops)
            x = x + across * mask(layer, transformer.ADDED_CROSS)[:steps]
        feed_forward = w["feed_forward"]
        inner = np.maximum(_affine(feed_forward["inner"], _norm(feed_forward["norm"], x)), 0)
        inner = inner * mask(layer, transformer.INNER)[:steps]
        x = (
            x
            + _affine(feed_forward["outer"], inner) * mask(layer, transformer.ADDED_INNER)[:steps]
        )
    return _norm(stack["norm"], x)


def _loop(p: dict, inputs: Inputs, masks: Masks) -> np.ndarray:
    """The model written again from the papers' equations, row by row, without padding."""
    scores = []
    for row, (source, length, target) in enumerate(zip(*inputs, strict=True)):

        def mask(stack: int, layer: int, site: int, row: int = row) -> np.ndarray:
            return masks[stack, layer, site][row]

        x = _embedded(p["source"], source[:length]) * masks[(transformer.SOURCE,)][row][:length]
        memory = _stack(p["encoder"], x, None, functools.partial(mask, transformer.ENCODER))
        y = _embedded(p["target"], target) * masks[(transformer.TARGET,)][row]
        y = _stack(p["decoder"], y, memory, functools.partial(mask, transformer.DECODER))
        scores.append(_affine(p["output"], y))
    return np.stack(scores)


@jax.jit
def _masks(drop: HashedDropout) -> Masks:
    """Of every site: [B, T, units], and [B, heads, T, K] where shares are dropped."""
    (rows, source), (_, target) = GIVEN.source.shape, GIVEN.target.shape
    t = transformer

    def ones(site: HashedDropout, *shape: int) -> jax.Array:
        return site.apply(jnp.ones((rows, *shape)))

    actual: Masks = {
        (t.SOURCE,): ones(drop.at(t.SOURCE), source, E),
        (t.TARGET,): ones(drop.at(t.TARGET), target, E),
    }
    for stack, layers, steps in ((t.ENCODER, ENCODER, source), (t.DECODER, DECODER, target)):
        for layer in range(layers):
            at = functools.partial(drop.at, stack, layer)
            for site, looks in ((t.WEIGHTS, steps), (t.CROSS_WEIGHTS, source)):
                by_head = [ones(at(site, head), steps, looks) for head in range(2)]
                actual[stack, layer, site] = jnp.stack(by_head, axis=1)
            for site, units in (
                (t.ADDED, E),
                (t.INNER, H),
                (t.ADDED_CROSS, E),
                (t.ADDED_INNER, E),
            ):
                actual[stack, layer, site] = ones(at(site), steps, units)
    return actual


CASES = {"own": (2, False, True), "grouped": (8, True, False)}


@pytest.mark.parametrize("case", CASES)
def test_scores_equal_a_numpy_loop(case: str) -> None:
    """Dies if a norm, a head, a mask, the order of layers, positions or a site of dropout is
    wrong; or, grouped, if eight computed heads are not the two that they are parts of."""
    computed, grouped, dropped = CASES[case]
    p = jax.tree.map(np.float32, pairs.parameters(Transformer(SHAPE), 1))
    drop = HashedDropout(jnp.asarray(pairs.WORDS), pairs.RATE) if dropped else HashedDropout()
    live = Live(heads=jnp.float32(2)) if grouped else Live()
    model = Transformer(SHAPE._replace(heads=computed), live)
    apply = jax.jit(lambda p: model.apply({"params": p}, GIVEN, drop, method=pairs.teacher_forced))
    actual = apply(p)
    masks = pairs.host(_masks(drop))
    assert dropped == all(np.any(mask == 0) for mask in masks.values())
    expected = _loop(jax.tree.map(np.float64, p), pairs.host(GIVEN), masks)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)
