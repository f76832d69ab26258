"""Greedy and beam search on models that are tables, against all sequences there are."""

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import decoding
from tests import quick

BEGIN, END = 0, 1
ROWS = 4


def _log_softmax(x: np.ndarray) -> np.ndarray:
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def _beginnings(symbols: int, steps: int) -> int:
    """Number of beginnings of a sequence."""
    return sum(symbols**length for length in range(steps))


def _table(symbols: int, steps: int, seed: int = 0) -> np.ndarray:
    """Scores [B, beginnings, V] of the symbol that follows each beginning."""
    draw = np.random.default_rng(seed)
    return draw.normal(size=(ROWS, _beginnings(symbols, steps), symbols)).astype(np.float32) * 2


def _child(node: Any, symbol: Any, symbols: int) -> Any:
    """The beginning that is longer by a symbol; beginnings are numbered by length, 0 is empty."""
    return node * symbols + symbol + 1


def _step(table: Any, axis: int) -> decoding.Step:
    """A model whose state is the row and the beginning so far, rows on the given axis.

    Its node is moved by the symbol that it is given, so that a state of another beam is found out.
    """

    def step(state: Any, token: Any, position: Any) -> tuple[Any, Any]:
        row, node = (leaf.reshape(-1) for leaf in state)
        node = jnp.where(position == 0, 0, _child(node, token, table.shape[2]))
        # ended ones go on counting, beyond the table: what they are told must not matter
        scores = table[row, jnp.minimum(node, table.shape[1] - 1)]
        after = jnp.expand_dims(row, 1 - axis), jnp.expand_dims(node, 1 - axis)
        return scores, after

    return step


def _state(rows: Any, axis: int) -> Any:
    return jnp.expand_dims(rows, 1 - axis), jnp.expand_dims(0 * rows, 1 - axis)


@functools.partial(quick.jit, static_argnums=(1, 2, 3))
def _compiled(table: Any, steps: int, width: int | None, axis: int) -> Any:
    step, rows = _step(table, axis), jnp.arange(ROWS)
    if width is None:
        return decoding.greedy(step, _state(rows, axis), ROWS, steps, BEGIN, END)
    state = _state(jnp.repeat(rows, width), axis)
    return decoding.beams(step, state, ROWS, steps, BEGIN, END, width, axis)[0][:, 0]


def _greedy(table: np.ndarray, steps: int) -> np.ndarray:
    return np.asarray(_compiled(table, steps, None, 0))


def _beam(table: np.ndarray, steps: int, width: int, axis: int = 0) -> np.ndarray:
    return np.asarray(_compiled(table, steps, width, axis))


def _log_prob(log_probs: np.ndarray, sequence: tuple[int, ...]) -> float:
    """Log probability of a sequence, up to and with its END."""
    node, total = 0, 0.0
    for symbol in sequence:
        total += log_probs[node, symbol]
        if symbol == END:
            break
        node = _child(node, symbol, log_probs.shape[1])
    return total


def _all(symbols: int, steps: int) -> list[tuple[int, ...]]:
    """Every sequence, END repeated to the end."""
    sequences = itertools.product(range(symbols), repeat=steps)
    return [s for s in sequences if END not in s or set(s[s.index(END) :]) == {END}]


def _best(table: np.ndarray, steps: int) -> np.ndarray:
    """The most probable sequence of each row."""
    actual = [
        max(_all(table.shape[2], steps), key=lambda s, c=log_probs: _log_prob(c, s))
        for log_probs in _log_softmax(table.astype(np.float64))
    ]
    return np.array(actual)


def _search(table: np.ndarray, steps: int, width: int) -> np.ndarray:
    """Beam search over lists."""
    actual = []
    for log_probs in _log_softmax(table.astype(np.float64)):
        beams: list[tuple[int, ...]] = [()]
        for _ in range(steps):
            longer = [
                (*s, symbol)
                for s in beams
                for symbol in ([END] if END in s else range(table.shape[2]))
            ]
            beams = sorted(longer, key=lambda s, c=log_probs: -_log_prob(c, s))[:width]
        actual.append(beams[0])
    return np.array(actual)


def _follow(path: list[int], table: np.ndarray, row: int) -> None:
    """Makes a path the best at every step."""
    node = 0
    for symbol in path:
        table[row, node, symbol] = 20.0
        node = _child(node, symbol, table.shape[2])


def test_greedy_follows_the_best_symbols() -> None:
    """Dies if a row does not stop at its END, goes on after T, or takes another row's symbols."""
    table, paths = _table(3, 4), [[2, 0, END], [0, 2, 2, 0], [END], [2, 2, 2, END]]
    for row, path in enumerate(paths):
        _follow(path, table, row)
    # after its END a row is offered something else
    expected = [[2, 0, 1, 1], [0, 2, 2, 0], [1, 1, 1, 1], [2, 2, 2, 1]]
    assert _greedy(table, 4).tolist() == expected


@pytest.mark.parametrize(("longest", "taken"), [(2, 2), (5, 5), (9, 6)])
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
    assert actual.shape == (ROWS, longest)
    expected = [[BEGIN] * min(r + 2, longest) + [END] * max(longest - r - 2, 0) for r in range(4)]
    assert np.asarray(actual).tolist() == expected


def test_a_beam_of_one_is_greedy() -> None:
    """Dies if the beam's scores are ranked in another way."""
    for seed in range(3):
        table = _table(3, 4, seed)
        np.testing.assert_array_equal(_beam(table, 4, 1), _greedy(table, 4))


@pytest.mark.parametrize(("symbols", "axis"), [(3, 0), (4, 0), (3, 1)])
def test_a_beam_of_all_finds_the_best(symbols: int, axis: int) -> None:
    """Dies if an ended sequence is lost, lengths count, or a state is another beam's."""
    steps = 3
    lengths = set()
    for seed in range(4):
        table = _table(symbols, steps, seed)
        expected = _best(table, steps)
        actual = _beam(table, steps, symbols**steps, axis)
        np.testing.assert_array_equal(actual, expected)
        lengths |= {(row == END).sum() for row in expected}
    assert len(lengths) > 2  # ended at several places, or cut


@pytest.mark.parametrize("width", [2, 3])
def test_a_narrow_beam_equals_a_search_over_lists(width: int) -> None:
    """Dies if beams take each other's past, or all begin as copies of one."""
    differ = 0
    for seed in range(3):
        table = _table(4, 5, seed)
        actual = _beam(table, 5, width)
        np.testing.assert_array_equal(actual, _search(table, 5, width))
        differ += int(np.any(actual != _greedy(table, 5)))
    assert differ


@pytest.mark.parametrize("width", [1, 3])
def test_rows_are_written_on_their_own(width: int) -> None:
    """Dies if a row's output depends on its neighbours: here on those that end later."""
    table = _table(3, 4, 7)
    whole = _beam(table, 4, width) if width > 1 else _greedy(table, 4)
    order = np.array([2, 0, 3, 1])
    other = _beam(table[order], 4, width) if width > 1 else _greedy(table[order], 4)
    np.testing.assert_array_equal(other, whole[order])
    for row in range(ROWS):
        others = table.copy()
        others[np.arange(ROWS) != row, :, END] = -9.0
        actual = _beam(others, 4, width) if width > 1 else _greedy(others, 4)
        np.testing.assert_array_equal(actual[row], whole[row])
