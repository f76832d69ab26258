"""What the tests of both sequence-to-sequence models share: tiny inputs and uses of a model."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxeval.models.dropout import HashedDropout
from jaxeval.models.seq2seq import Architecture, Seq2SeqShape, Seq2SeqSizes
from tests import quick

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


def teacher_forced(model: Any, batch: Inputs, drop: HashedDropout) -> Array:
    """Logits [B, Tt, V] of targets that are told."""
    return model.teacher_forced(model.encode(batch.source, batch.length, drop), batch.target, drop)


def stepped(model: Any, batch: Inputs) -> Array:
    """The same, symbol by symbol, with two steps to spare."""
    memory = model.encode(batch.source, batch.length, HashedDropout())
    steps = batch.target.shape[1]

    def step(state: Any, symbol: tuple) -> tuple[Any, Array]:
        logits, state = model.step(memory, state, *symbol)
        return state, logits

    state = model.initial_state(memory, steps + 2)
    logits = lax.scan(step, state, (batch.target.T, jnp.arange(steps)))[1]
    return logits.transpose(1, 0, 2)


def _init(model: Any, key: Array) -> Any:
    # both models declare all of their parameters before they are called
    return model.init(key, method=lambda declared: declared.output)["params"]


def initial(model: Any, seed: int) -> Any:
    """The model's parameters as they start, on the host."""
    return host(quick.jit(functools.partial(_init, model))(jax.random.key(seed)))


@functools.cache
def shapes(model: Any) -> Any:
    """Of the model's parameters; nothing is computed."""
    with jax.enable_x64(False):  # a model starts in float32
        return jax.eval_shape(functools.partial(_init, model), jax.random.key(0))


def parameters(model: Any, seed: int) -> Any:
    """Random ones, none of them where a model starts."""
    draw = np.random.default_rng(seed)
    return jax.tree.map(
        lambda leaf: jnp.asarray(draw.normal(size=leaf.shape) * 0.7), shapes(model)
    )


def mask(drop: HashedDropout, shape: tuple[int, ...], rows_axis: int = 0) -> Array:
    """What a site multiplies by."""
    return drop.apply(jnp.ones(shape), rows_axis)


def count(model: Any) -> int:
    """Parameters of the model."""
    return sum(leaf.size for leaf in jax.tree.leaves(shapes(model)))


def counted(architecture: Architecture, shape: Seq2SeqShape) -> int:
    """The same as the cost model has it."""
    return Seq2SeqSizes(architecture, shape, (1.0, 1.0), 1).parameters()


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
