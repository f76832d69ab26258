"""Dynamic evaluation: a language model that goes on learning while it is tested.

Krause et al. (2018), in the form of the public code of Melis et al. (2018): after each window of
the test text the parameters take a step down its gradient g, scaled by the root mean square r of
the gradients on train, and are drawn back towards the trained ones:

    p <- p - learning_rate g / (r + epsilon mean(r)) + min(1, decay r / mean(r)) (p_trained - p)

Every token is predicted before anything is learned from it. Their epsilon is a number by itself,
1e-5 unless tuned, which they did. What is rare has an r of next to nothing, though, and with that
epsilon a word's or byte's first appearance throws its embedding out of the model: measured on the
mean of r, whatever the scale of the loss, one default serves bytes and words.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.contracts import Array, Tree
from jaxeval.models import language as models
from jaxeval.tasks.language import Language, runner


class Dynamic(NamedTuple):
    """How fast a model learns in a test; traced. `epsilon` is measured on the mean of r."""

    learning_rate: Array | float = 0.001
    decay: Array | float = 0.02
    epsilon: Array | float = 1.0


class WindowSequence(NamedTuple):
    """Windows in the order in which they are read; N of them, B streams."""

    start: Array  # [N, B] positions of the first inputs
    length: Array  # [N, B] tokens predicted


def train_windows(language: Language, rows: int, most: int = 500) -> WindowSequence:
    """The first windows of `rows` streams that are spread evenly over train."""
    stretch = language.train_tokens // rows
    count = max(1, min(most, stretch // language.window))
    start = jnp.arange(rows)[None] * stretch + language.window * jnp.arange(count)[:, None]
    return WindowSequence(start, jnp.full(start.shape, min(language.window, stretch)))


def gradient_scale(
    language: Language, params: Tree, tokens: Array, windows: WindowSequence
) -> Tree:
    """Root mean square over the windows of each parameter's gradient.

    The loss is the mean over rows of the sum over time, without dropout.

    Args:
      tokens: [n] all parts of the text, train first.
      windows: of train.
    """
    loss = _window_loss(language, tokens)

    def step(running: tuple, window: WindowSequence) -> tuple[tuple, None]:
        squares, state = running
        (_, (state, _)), grads = jax.value_and_grad(loss, has_aux=True)(params, state, window)
        return (jax.tree.map(lambda s, g: s + g * g, squares, grads), state), None

    state = models.start(language.shape, language.cell, windows.start.shape[1])
    zero = jax.tree.map(jnp.zeros_like, params)
    (squares, _), _ = lax.scan(step, (zero, state), windows)
    return jax.tree.map(lambda s: jnp.sqrt(s / len(windows.start)), squares)


def evaluate(
    language: Language,
    params: Tree,
    scale: Tree,
    tokens: Array,
    windows: WindowSequence,
    how: Dynamic,
) -> dict[str, Array]:
    """Counts of a part that is learned from as it is read.

    Args:
      scale: as `gradient_scale` gives it.
      windows: of the part; with several rows, all learn into one set of parameters.
    """
    loss = _window_loss(language, tokens)
    leaves = jax.tree.leaves(scale)
    mean = sum(jnp.sum(leaf) for leaf in leaves) / sum(leaf.size for leaf in leaves)

    def updated(param: Array, gradient: Array, root: Array, trained: Array) -> Array:
        decay = jnp.minimum(1.0, how.decay * root / mean)
        step = how.learning_rate * gradient / (root + how.epsilon * mean)
        return param - step + decay * (trained - param)

    def step(running: tuple, window: WindowSequence) -> tuple[tuple, Array]:
        current, state = running
        (_, (state, nats)), grads = jax.value_and_grad(loss, has_aux=True)(current, state, window)
        return (jax.tree.map(updated, current, grads, scale, params), state), nats

    state = models.start(language.shape, language.cell, windows.start.shape[1])
    _, nats = lax.scan(step, (params, state), windows)
    return {"nats": jnp.sum(nats), "tokens": jnp.sum(windows.length).astype(jnp.float32)}


def _window_loss(language: Language, tokens: Array) -> Callable[..., tuple]:
    """(params, state, window) -> (mean over rows of the sum over time, (state, all nats))."""
    run = runner(language)

    def loss(
        params: Tree, state: Tree, window: WindowSequence
    ) -> tuple[Array, tuple[Tree, Array]]:
        steps = jnp.arange(language.window + 1)[:, None]
        read = tokens[window.start[None] + steps]
        state, hidden = run(params, state, read[:-1], {}, None)
        weights = (steps[:-1] < window.length[None]).astype(jnp.float32)
        nats = models.weighted_loss(*models.softmax_table(params), hidden, read[1:], weights)
        return nats / len(window.start), (state, nats)

    return loss
