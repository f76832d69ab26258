"""Convolutions over characters and words against windows cut by hand."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.config import reading
from jaxeval.contracts import Batch
from jaxeval.data import words
from jaxeval.models import convolutions, dropout, tagging

NONE = dropout.KeyedDropout({}, None)
WORDS, LONGEST, ALPHABET, SIZE, FILTERS = 7, 6, 9, 4, 5


def _words(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw, ids = np.random.default_rng(seed), np.zeros((WORDS, LONGEST), np.int32)
    for row, length in enumerate([1, 2, 3, 6, 6, 4, 1]):
        ids[row, :length] = draw.integers(1, ALPHABET, length)
    return ids, draw.normal(size=(ALPHABET, SIZE)).astype(np.float32)


def _expected(ids: np.ndarray, table: np.ndarray, p: dict, full: bool, masked: bool) -> np.ndarray:
    """One word and filter at a time."""
    margin, output = np.zeros((2 if full else 1, SIZE)), np.zeros((len(ids), FILTERS))
    for row, word in enumerate(ids):
        embedded = np.concatenate([margin, table[word], margin])
        positions = (int(np.sum(word > 0)) if masked else LONGEST) + (2 if full else 0)
        responses = [embedded[k : k + 3].reshape(-1) @ p["kernel"] for k in range(positions)]
        output[row] = np.tanh(np.max(responses, axis=0) + p["bias"])
    return output


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("full", [True, False])
def test_characters_and_their_gradients(full: bool, masked: bool) -> None:
    """Dies if margins, padding or the maximum reach too far or too short, or the gradient of the
    form by a table misses a character of the winning window: that by windows has it from JAX."""
    ids, table = _words()
    choices = convolutions.CharacterSettings(
        filters=FILTERS, width=3, full_padding=full, masked=masked
    )
    encoder, draw = convolutions.CharacterConvolution(choices), np.random.default_rng(1)
    shapes = jax.eval_shape(lambda k: encoder.init(k, table, ids, NONE), jax.random.key(0))
    params = jax.tree.map(
        lambda s: draw.normal(size=s.shape).astype(np.float32) * np.float32(0.3), shapes["params"]
    )
    zero = dropout.KeyedDropout({"characters": jnp.float32(0)}, jax.random.key(0))
    weights = jnp.arange(WORDS * FILTERS, dtype=jnp.float32).reshape(WORDS, FILTERS)

    def loss(params: dict, table: jax.Array, drop: dropout.KeyedDropout) -> tuple:
        output = encoder.apply({"params": params}, table, ids, drop)
        return jnp.sum(output * weights), output

    by_table, by_window = (
        jax.jit(jax.value_and_grad(functools.partial(loss, drop=drop), (0, 1), has_aux=True))(
            params, table
        )
        for drop in (NONE, zero)
    )
    expected = _expected(ids, table, params, full, masked)
    np.testing.assert_allclose(by_table[0][1], expected, atol=1e-5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), by_table, by_window)


WINDOW: dict[str, Any] = {
    **{"encoder": "window", "characters": {"encoder": "none"}, "casing": "capitals"},
    **{"classifier": "softmax", "dropout": {"kind": "none"}},
}


@pytest.mark.parametrize(("reach", "trained"), [(0, False), (2, True), (9, False)])
def test_windows_of_words(reach: int, trained: bool) -> None:
    """Dies if a window is shifted, a word's neighbours are those of another sentence, or beyond
    an end stands anything but padding: its vector (which is trained), and no capitals."""
    draw = np.random.default_rng(0)
    forms, length = draw.integers(1, 6, (3, 7)), np.array([7, 1, 4])
    forms = np.where(np.arange(7)[None] < length[:, None], forms, 0)
    vectors = draw.normal(size=(6, 3)).astype(np.float32)
    capitals = np.array([words._NO_CAPITALS, 0, 1, 2, 3, 4])
    shared = {"row": np.arange(6), "vectors": vectors, "pretrained": np.ones(6, bool)}
    shared["capitals"] = capitals
    split = {"known": np.ones(6, bool), "once": np.zeros(6, bool)}
    rows = {"forms": forms, "length": length}
    batch = jax.tree.map(jnp.asarray, Batch(rows, np.ones(3), shared, split))
    tree = {**WINDOW, "window": {"reach": reach, "hidden": 4}, "words": {"trained": trained}}
    choices = reading.read(tagging.TaggerSettings, tree)
    model = tagging.Tagger(choices, tagging.Sizes(2, 0, 0, 6))
    shapes = jax.eval_shape(model.init, jax.random.key(0), batch, {}, None)["params"]
    params = jax.tree.map(lambda s: draw.normal(size=s.shape).astype(np.float32), shapes)
    run = jax.jit(lambda p: model.apply({"params": p}, batch, {}, None).emissions)
    emissions = np.asarray(run(params))
    table = params["features"]["words"] if trained else vectors
    features = np.concatenate([table, np.vstack([np.zeros(5), np.eye(5)])], axis=1)
    hidden, last = params["window"]["hidden"], params["emissions"]
    for sentence in range(3):
        padded = [0] * reach + [*forms[sentence, : length[sentence]]] + [0] * reach
        for t in range(length[sentence]):
            window = features[padded[t : t + 2 * reach + 1]].reshape(-1)
            state = np.tanh(window @ hidden["kernel"] + hidden["bias"])
            expected = state @ last["kernel"] + last["bias"]
            np.testing.assert_allclose(emissions[t, sentence], expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(("span", "width"), [(1, 3), (5, 4)])
def test_gradients_of_windows_of_words(span: int, width: int) -> None:
    """Dies if a word's part goes to another window, or a gradient is another's."""
    draw, (steps, batch, size) = np.random.default_rng(1), (6, 2, 3)
    x = draw.normal(size=(steps + span - 1, batch, size)).astype(np.float32)
    kernel = draw.normal(size=(span * size, width)).astype(np.float32)
    bias, above = draw.normal(size=width), draw.normal(size=(steps, batch, width))

    @jax.jit
    def both(above: jax.Array, *of: jax.Array) -> tuple:
        out, pull = jax.vjp(convolutions._convolve, *of)
        return out, *pull(above)

    out, d_x, d_kernel = np.tile(bias, (steps, batch, 1)), np.zeros_like(x), np.zeros_like(kernel)
    for t in range(steps):
        for b in range(batch):
            in_window = x[t : t + span, b].reshape(-1)
            out[t, b] += in_window @ kernel
            d_kernel += np.outer(in_window, above[t, b])
            d_x[t : t + span, b] += (kernel @ above[t, b]).reshape(span, size)
    expected = out, d_x, d_kernel, above.sum(axis=(0, 1))
    actual = both(above.astype(np.float32), x, kernel, bias.astype(np.float32))
    for array, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(array, other, rtol=1e-4, atol=1e-5)


def test_capitals_are_vecevals_five_patterns() -> None:
    """Dies if a pattern is another's: [a-z]+, [A-Z][a-z]+, [A-Z]+, one capital inside, others."""
    kinds = {"apple": 0, "Apple": 1, "NASA": 2, "A": 2, "iPhone": 3, "3D": 3, "McDonald": 4}
    kinds |= {"1999": 4, "zoë": 4, "U.S.": 4, ",": 4, "x-ray": 4}
    assert {word: words._capitals(word) for word in kinds} == kinds
    assert words.shapes(["", "Bo"])["capitals"].tolist() == [words._NO_CAPITALS, 1]
