"""Greedy and beam search on models that are tables, against all sequences there are."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import seq2seq as decoding
from tests import quick

BEGIN, END, ROWS = 0, 1, 4


def _table(symbols: int, steps: int, seed: int = 0) -> np.ndarray:
    """Scores [B, prefixes, V] of the symbol that follows each prefix.

    Prefixes are numbered by length, 0 is empty; that which is longer by a symbol is `_longer`.
    """
    draw, prefixes = np.random.default_rng(seed), sum(symbols**length for length in range(steps))
    return draw.normal(size=(ROWS, prefixes, symbols)).astype(np.float32) * 2


def _longer(prefix: Any, symbol: Any, symbols: int) -> Any:
    return prefix * symbols + symbol + 1


@functools.partial(quick.jit, static_argnums=(1, 2, 3))
def _compiled(table: Any, steps: int, width: int | None, axis: int) -> Any:
    """A search with a model whose state is the row and the prefix, rows on the given axis.

    The prefix is moved by the symbol that the model is told, so that a state of another beam is
    found out.
    """

    def step(state: Any, token: Any, position: Any) -> tuple[Any, Any]:
        row, prefix = (leaf.reshape(-1) for leaf in state)
        prefix = jnp.where(position == 0, 0, _longer(prefix, token, table.shape[2]))
        # ended ones go on counting, beyond the table: what they are told must not matter
        scores = table[row, jnp.minimum(prefix, table.shape[1] - 1)]
        return scores, tuple(jnp.expand_dims(leaf, 1 - axis) for leaf in (row, prefix))

    rows = jnp.repeat(jnp.arange(ROWS), width or 1)
    state = tuple(jnp.expand_dims(leaf, 1 - axis) for leaf in (rows, 0 * rows))
    if width is None:
        return decoding.greedy(step, state, ROWS, steps, BEGIN, END)
    return decoding.beams(step, state, ROWS, steps, BEGIN, END, width, axis)[0][:, 0]


def _found(table: np.ndarray, steps: int, width: int | None = None, axis: int = 0) -> np.ndarray:
    return np.asarray(_compiled(table, steps, width, axis))


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
    ("symbols", "steps", "width", "axis"),
    [(4, 5, 2, 0), (4, 5, 3, 0), (4, 3, 64, 0), (3, 3, 27, 1)],
)
def test_a_beam_equals_a_search_over_lists(
    symbols: int, steps: int, width: int, axis: int
) -> None:
    """Dies if beams take each other's past, all begin as copies of one, an ended one is lost, or a
    row's output depends on its neighbours: here on those that end later; wide ones hold all."""
    differ = 0
    for seed in range(3):
        table = _table(symbols, steps, seed)
        found = _found(table, steps, width, axis)
        np.testing.assert_array_equal(found, _search(table, steps, width))
        differ += int(np.any(found != _found(table, steps)))
        others = table.copy()
        others[1:, :, END] = -9.0
        np.testing.assert_array_equal(_found(others, steps, width, axis)[0], found[0])
    assert differ


@pytest.mark.parametrize(("longest", "taken"), [(2, 2), (9, 6)])
@pytest.mark.parametrize("width", [1, 2])
def test_stops_when_all_have_ended(width: int, longest: int, taken: int) -> None:
    """Dies if a step is taken after the last END, or none after the first one.

    Row r ends at its (r + 3)rd symbol; with two beams both are there.
    """
    positions: list[int] = []
    ends = jnp.arange(ROWS).repeat(width) + 2

    def step(state: Any, token: Any, position: Any) -> tuple[Any, Any]:
        jax.debug.callback(lambda p: positions.append(int(p)), position)
        ended = (ends <= position)[:, None]
        scores = jnp.where(ended, jnp.array([[-80.0, 5, -80]]), jnp.array([[0.0, -80, -1]]))
        return scores, state

    state = jnp.zeros(ROWS * width)
    if width == 1:
        actual = decoding.greedy(step, state, ROWS, longest, BEGIN, END)
    else:
        actual = decoding.beams(step, state, ROWS, longest, BEGIN, END, width, 0)[0][:, 0]
    jax.effects_barrier()
    assert sorted(positions) == list(range(taken))
    expected = [[BEGIN] * min(r + 2, longest) + [END] * max(longest - r - 2, 0) for r in range(4)]
    assert np.asarray(actual).tolist() == expected
