"""What the tests of both sequence-to-sequence models share: tiny inputs and uses of a model."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxeval.models.seq2seq import Dropping, Shape
from jaxeval.models.seq2seq_extent import Architecture, Extent

Array = jax.Array
SOURCES, TARGETS = 9, 7  # symbols


class Inputs(NamedTuple):
    """Sources [B, Ts], whose symbols after the lengths are junk, and targets [B, Tt]."""

    source: Any
    length: Any
    target: Any


def inputs(rows: int = 3, source: int = 5, target: int = 4) -> Inputs:
    """Random ones; the first source has one symbol, the second is as long as can be."""
    draw = np.random.default_rng(7)
    lengths = draw.integers(2, source, rows)
    lengths[:2] = 1, source
    return Inputs(
        jnp.asarray(draw.integers(0, SOURCES, (rows, source))),
        jnp.asarray(lengths),
        jnp.asarray(draw.integers(0, TARGETS, (rows, target))),
    )


def taught(model: Any, given: Inputs, drop: Dropping) -> Array:
    """Scores [B, Tt, V] of targets that are told."""
    return model.taught(model.encode(given.source, given.length, drop), given.target, drop)


def stepped(model: Any, given: Inputs) -> Array:
    """The same, symbol by symbol, with two steps to spare."""
    memory = model.encode(given.source, given.length, Dropping())
    steps = given.target.shape[1]

    def one(state: Any, now: tuple) -> tuple[Any, Array]:
        scores, state = model.step(memory, state, *now)
        return state, scores

    state = model.begin(memory, steps + 2)
    scores = lax.scan(one, state, (given.target.T, jnp.arange(steps)))[1]
    return scores.transpose(1, 0, 2)


def shapes(model: Any) -> Any:
    """Of the model's parameters; nothing is computed."""
    init = lambda key: model.init(key, inputs(), Dropping(), method=taught)  # noqa: E731
    with jax.enable_x64(False):  # a model starts in float32
        return jax.eval_shape(init, jax.random.key(0))["params"]


def parameters(model: Any, seed: int) -> Any:
    """Random ones, none of them where a model starts."""
    draw = np.random.default_rng(seed)
    return jax.tree.map(
        lambda leaf: jnp.asarray(draw.normal(size=leaf.shape) * 0.7), shapes(model)
    )


_dropout = jax.jit(lambda drop, ones, axis: drop.on(ones, axis), static_argnums=2)


def mask(drop: Dropping, shape: tuple[int, ...], rows_axis: int = 0) -> np.ndarray:
    """What a site multiplies by."""
    return np.asarray(_dropout(drop, np.ones(shape), rows_axis))


def count(model: Any) -> int:
    """Numbers that are trained."""
    return sum(leaf.size for leaf in jax.tree.leaves(shapes(model)))


def said(architecture: Architecture, shape: Shape) -> int:
    """The same as the cost model has it."""
    return Extent(architecture, shape, (1.0, 1.0), 1).parameters()


def softmax(x: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    grown = np.exp(x - x.max(-1, keepdims=True))
    return grown / grown.sum(-1, keepdims=True)


def host(tree: Any) -> Any:
    """Arrays of numpy."""
    return jax.tree.map(np.asarray, tree)


def bounded(values: Any, bound: float) -> None:
    """Asserts: uniform within the bound on both sides: its largest and its mean square."""
    flat = np.asarray(values, np.float64).reshape(-1)
    assert 0.9 * bound < np.abs(flat).max() < bound
    spread = (4 / 5 / flat.size) ** 0.5  # of the mean square of (-1, 1), times 3
    assert np.mean((flat / bound) ** 2) * 3 == pytest.approx(1, abs=4 * spread)
    assert np.mean(flat / bound) == pytest.approx(0, abs=4 / (3 * flat.size) ** 0.5)
