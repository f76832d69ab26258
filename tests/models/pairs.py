"""What the tests of both sequence-to-sequence models share: tiny inputs and uses of a model."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxeval.models.dropout import HashedDropout

Array = jax.Array
SOURCES, TARGETS = 9, 7  # symbols
WORDS, RATE = np.uint32([123, 456]), 0.3  # of dropout


class Inputs(NamedTuple):
    """Sources [B, Ts], whose symbols after the lengths are junk, and targets [B, Tt]."""

    source: Any
    length: Any
    target: Any


_DRAW = np.random.default_rng(7)
_LENGTH = np.array([1, 5, *_DRAW.integers(2, 5, 1)])
GIVEN = Inputs(
    jnp.asarray(_DRAW.integers(0, SOURCES, (3, 5))),
    jnp.asarray(_LENGTH),
    jnp.asarray(_DRAW.integers(0, TARGETS, (3, 4))),
)


def teacher_forced(model: Any, batch: Inputs, drop: HashedDropout) -> Array:
    """Logits [B, Tt, V] of targets that are told."""
    return model.teacher_forced(model.encode(batch.source, batch.length, drop), batch.target, drop)


def stepped(model: Any, batch: Inputs, drop: HashedDropout, spare: int = 2) -> Array:
    """The same, symbol by symbol, with some steps to spare."""
    steps = batch.target.shape[1]
    decoder = model.stepwise(model.encode(batch.source, batch.length, drop), 1, steps + spare)

    def step(state: Any, symbol: tuple) -> tuple[Any, Array]:
        logits, state = decoder.step(state, *symbol)
        return state, logits[:, 0]

    symbols = batch.target.T[..., None], jnp.arange(steps)
    return lax.scan(step, decoder.state, symbols)[1].transpose(1, 0, 2)


@functools.cache
def use(model: Any, method: Any = teacher_forced) -> Any:
    """(parameters, inputs, dropout) -> what a method of the model gives; compiled."""
    return jax.jit(lambda p, *inputs: model.apply({"params": p}, *inputs, method=method))


def initial(model: Any, key: Array) -> Any:
    """The model's parameters as they start."""
    # both models declare all of their parameters before they are called
    return model.init(key, method=lambda declared: declared.output)["params"]


@functools.cache
def shapes(model: Any) -> Any:
    """Of the model's parameters; nothing is computed."""
    with jax.enable_x64(False):  # a model starts in float32
        return jax.eval_shape(functools.partial(initial, model), jax.random.key(0))


def parameters(model: Any, seed: int) -> Any:
    """Random ones, none of them where a model starts."""
    draw = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: draw.normal(size=leaf.shape) * 0.7, shapes(model))


def softmax(x: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    grown = np.exp(x - x.max(-1, keepdims=True))
    return grown / grown.sum(-1, keepdims=True)


def host(tree: Any) -> Any:
    """Arrays of numpy."""
    return jax.tree.map(np.asarray, tree)
