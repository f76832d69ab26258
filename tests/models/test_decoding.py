"""Greedy and beam search on models that are tables, against all sequences there are."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import seq2seq as decoding

BEGIN, END, ROWS = 0, 1, 4


def _table(symbols: int, steps: int, seed: int = 0) -> np.ndarray:
    """Scores [B, prefixes, V] of the symbol that follows each prefix.

    Prefixes are numbered by length, 0 is empty; that which is longer by a symbol is `_longer`.
    """
    draw, prefixes = np.random.default_rng(seed), sum(symbols**length for length in range(steps))
    return draw.normal(size=(ROWS, prefixes, symbols)).astype(np.float32) * 2


def _longer(prefix: Any, symbol: Any, symbols: int) -> Any:
    return prefix * symbols + symbol + 1


@functools.partial(jax.jit, static_argnums=(1, 2))
def _compiled(table: Any, steps: int, width: int | None) -> Any:
    """A search with a model whose state is the row and the prefix [B, K].

    The prefix is moved by the symbol that the model is told, so that a state of another beam is
    found out.
    """

    def step(state: Any, tokens: Any, position: Any) -> tuple[Any, Any]:
        row, prefix = state
        prefix = jnp.where(position == 0, 0, _longer(prefix, tokens, table.shape[2]))
        # ended ones go on counting, beyond the table: what they are told must not matter
        return table[row, jnp.minimum(prefix, table.shape[1] - 1)], (row, prefix)

    def reorder(state: Any, parent: Any) -> Any:
        return jax.tree.map(lambda leaf: jnp.take_along_axis(leaf, parent, 1), state)

    rows = jnp.repeat(jnp.arange(ROWS)[:, None], width or 1, axis=1)
    decoder = decoding.Decoder(step, reorder, (rows, 0 * rows))
    if width is None:
        return decoding.greedy(decoder, ROWS, steps, BEGIN, END)
    return decoding.beams(decoder, ROWS, steps, BEGIN, END, width)[0][:, 0]


def _found(table: np.ndarray, steps: int, width: int | None = None) -> np.ndarray:
    return np.asarray(_compiled(table, steps, width))


def _log_prob(log_probs: np.ndarray, sequence: tuple[int, ...]) -> float:
    """Log probability of a sequence, up to and with its END."""
    prefix, total = 0, 0.0
    for symbol in sequence:
        total += log_probs[prefix, symbol]
        if symbol == END:
            break
        prefix = _longer(prefix, symbol, log_probs.shape[1])
    return total


def _log_probs(table: np.ndarray) -> np.ndarray:
    x = table.astype(np.float64)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def _search(table: np.ndarray, steps: int, width: int) -> np.ndarray:
    """Beam search over lists."""
    actual = []
    for of_row in _log_probs(table):
        beams: list[tuple[int, ...]] = [()]
        for _ in range(steps):
            symbols = range(table.shape[2])
            longer = [(*s, k) for s in beams for k in ([END] if END in s else symbols)]
            beams = sorted(longer, key=lambda s, of_row=of_row: -_log_prob(of_row, s))[:width]
        actual.append(beams[0])
    return np.array(actual)


def test_greedy_follows_the_best_symbols() -> None:
    """Dies if a row does not stop at its END, goes on after T, or takes another row's symbols."""
    table, paths = _table(3, 4), [[2, 0, END], [0, 2, 2, 0], [END], [2, 2, 2, END]]
    for row, path in enumerate(paths):
        prefix = 0
        for symbol in path:  # the best at every step
            table[row, prefix, symbol] = 20.0
            prefix = _longer(prefix, symbol, 3)
    # after its END a row is offered something else
    expected = [[2, 0, 1, 1], [0, 2, 2, 0], [1, 1, 1, 1], [2, 2, 2, 1]]
    assert _found(table, 4).tolist() == expected
    for seed in range(3):
        table = _table(3, 4, seed)
        np.testing.assert_array_equal(_found(table, 4, 1), _found(table, 4))


@pytest.mark.parametrize(
    ("symbols", "steps", "width"), [(4, 5, 2), (4, 5, 3), (4, 3, 64), (3, 3, 27)]
)
def test_a_beam_equals_a_search_over_lists(symbols: int, steps: int, width: int) -> None:
    """Dies if beams take each other's past, all begin as copies of one, an ended one is lost, or a
    row's output depends on its neighbours: here on those that end later; wide ones hold all."""
    differ = 0
    for seed in range(3):
        table = _table(symbols, steps, seed)
        found = _found(table, steps, width)
        np.testing.assert_array_equal(found, _search(table, steps, width))
        differ += int(np.any(found != _found(table, steps)))
        others = table.copy()
        others[1:, :, END] = -9.0
        np.testing.assert_array_equal(_found(others, steps, width)[0], found[0])
    assert differ


@pytest.mark.parametrize(("longest", "taken"), [(2, 2), (9, 6)])
@pytest.mark.parametrize("width", [1, 2])
def test_stops_when_all_have_ended(width: int, longest: int, taken: int) -> None:
    """Dies if a step is taken after the last END, or none after the first one.

    Row r ends at its (r + 3)rd symbol; with two beams both are there.
    """
    positions: list[int] = []
    ends = jnp.arange(ROWS)[:, None, None] + 2

    def step(state: Any, tokens: Any, position: Any) -> tuple[Any, Any]:
        jax.debug.callback(lambda p: positions.append(int(p)), position)
        going, ending = jnp.array([[[0.0, -80, -1]]]), jnp.array([[[-80.0, 5, -80]]])
        scores = jnp.where(ends <= position, ending, going)
        return jnp.broadcast_to(scores, (*tokens.shape, 3)), state

    decoder = decoding.Decoder(step, lambda state, parent: state, ())
    if width == 1:
        actual = decoding.greedy(decoder, ROWS, longest, BEGIN, END)
    else:
        actual = decoding.beams(decoder, ROWS, longest, BEGIN, END, width)[0][:, 0]
    jax.effects_barrier()
    assert sorted(positions) == list(range(taken))
    expected = [[BEGIN] * min(r + 2, longest) + [END] * max(longest - r - 2, 0) for r in range(4)]
    assert np.asarray(actual).tolist() == expected
