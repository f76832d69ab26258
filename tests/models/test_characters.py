"""Character encoders against explicit convolutions and each other."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import characters, dropout, lstm
from tests import quick

NONE = dropout.KeyedDropout({}, None)
WORDS, LONGEST, ALPHABET, SIZE, FILTERS = 7, 6, 9, 4, 5


def _words(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    ids = np.zeros((WORDS, LONGEST), np.int32)
    for row, length in enumerate([1, 2, 3, 6, 6, 4, 1]):
        ids[row, :length] = generator.integers(1, ALPHABET, length)
    return ids, generator.normal(size=(ALPHABET, SIZE)).astype(np.float32)


def _initial(encoder: Any, table: np.ndarray, ids: np.ndarray) -> Any:
    init = quick.jit(lambda key: encoder.init(key, table, ids, NONE))
    return jax.device_get(init(jax.random.key(0)))


def _expected(
    ids: np.ndarray, table: np.ndarray, params: dict, full: bool, masked: bool
) -> np.ndarray:
    """Windows cut by hand, one word and filter at a time."""
    kernel, bias = np.asarray(params["kernel"]), np.asarray(params["bias"])
    margin = 2 if full else 1
    output = np.zeros((len(ids), FILTERS))
    for row, word in enumerate(ids):
        embedded = np.concatenate(
            [np.zeros((margin, SIZE)), table[word], np.zeros((margin, SIZE))]
        )
        length = int(np.sum(word > 0)) if masked else LONGEST
        positions = length + (2 if full else 0)
        responses = [embedded[p : p + 3].reshape(-1) @ kernel for p in range(positions)]
        output[row] = np.max(responses, axis=0) + bias
    return output


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("full", [True, False])
def test_convolution_equals_windows_cut_by_hand(full: bool, masked: bool) -> None:
    """Dies if margins, padding or the maximum reach too far or too short."""
    ids, table = _words()
    encoder = characters.ConvolutionEncoder(FILTERS, 3, "linear", full, masked)
    params = _initial(encoder, table, ids)["params"]
    params["bias"] = np.arange(FILTERS, dtype=np.float32) * np.float32(0.1)
    output = quick.jit(lambda *of: encoder.apply(*of, NONE))({"params": params}, table, ids)
    np.testing.assert_allclose(output, _expected(ids, table, params, full, masked), atol=1e-5)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("full", [True, False])
def test_table_and_window_forms_agree_with_their_gradients(full: bool, masked: bool) -> None:
    """Dies if the table form's own gradient misses a character of the winning window."""
    ids, table = _words(1)
    encoder = characters.ConvolutionEncoder(FILTERS, 3, "tanh", full, masked)
    params = _initial(encoder, table, ids)["params"]
    zero = dropout.KeyedDropout({"characters": jnp.float32(0)}, jax.random.key(0))

    def loss(params: dict, table: jax.Array, drop: dropout.KeyedDropout) -> jax.Array:
        weights = jnp.arange(WORDS * FILTERS, dtype=jnp.float32).reshape(WORDS, FILTERS)
        return jnp.sum(encoder.apply({"params": params}, table, ids, drop) * weights)

    by_table, by_window = (
        quick.jit(jax.value_and_grad(functools.partial(loss, drop=drop), (0, 1)))(params, table)
        for drop in (NONE, zero)
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), by_table, by_window)


def test_recurrent_encoder_reads_each_word_to_its_own_end() -> None:
    """Dies if padding moves the last state (words alone, without padding, are the truth)."""
    ids, table = _words(2)
    encoder = characters.RecurrentEncoder(3, lstm.LSTMVariant())
    params = _initial(encoder, table, ids)
    apply = quick.jit(lambda table, ids: encoder.apply(params, table, ids, NONE))
    output = apply(table, ids)
    lengths = np.count_nonzero(ids, axis=1)
    for length in (1, 3):
        alone = apply(table, ids[lengths == length, :length])
        np.testing.assert_allclose(output[lengths == length], alone, atol=1e-6)
    assert np.sum(lengths > 3) > 0 and len(np.unique(output, axis=0)) == WORDS
