"""Update rules of optimisers: optax's, and by hand where optax has another form.

Every factory is called with hyperparameters by name, traced or plain numbers.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from jaxeval.contracts import Tree

Scalar = jax.Array | float  # a hyperparameter: traced, or a number by itself


class NadamState(NamedTuple):
    """State of `nadam`."""

    steps: jax.Array  # [] int32, steps done
    product: jax.Array  # [] product of the momentum schedule so far
    first: Tree  # like params
    second: Tree  # like params


def nadam(
    learning_rate: Scalar, beta1: Scalar, beta2: Scalar, epsilon: Scalar, momentum_decay: Scalar
) -> optax.GradientTransformation:
    """Adam with Nesterov momentum and its momentum schedule (Dozat 2016; torch.optim.NAdam).

    mu(t) = beta1 (1 - .5 * .96^(t momentum_decay)); optax.nadam leaves the schedule out.
    """

    def init(params: Tree) -> NadamState:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return NadamState(
            jnp.int32(0), jnp.float32(1), zeros, jax.tree.map(jnp.zeros_like, params)
        )

    def momentum(step: jax.Array) -> jax.Array:
        return beta1 * (1.0 - 0.5 * 0.96 ** (step * momentum_decay))

    def update(
        grads: Tree, state: NadamState, params: Tree | None = None
    ) -> tuple[Tree, NadamState]:
        del params  # not needed
        count = state.steps + 1
        now, after = momentum(count), momentum(count + 1)
        product = state.product * now
        first = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, state.first, grads)
        second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, state.second, grads)
        of_grad = -learning_rate * (1 - now) / (1 - product)
        of_first = -learning_rate * after / (1 - product * after)
        scale = 1.0 / (1 - beta2**count)

        def step(g: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
            return (of_grad * g + of_first * m) / (jnp.sqrt(v * scale) + epsilon)

        updates = jax.tree.map(step, grads, first, second)
        return updates, NadamState(count, product, first, second)

    return optax.GradientTransformation(init, update)


def _sgd(learning_rate: Scalar, momentum: Scalar) -> optax.GradientTransformation:
    return optax.sgd(learning_rate, momentum=momentum)


def _adagrad(learning_rate: Scalar, epsilon: Scalar) -> optax.GradientTransformation:
    """Adagrad with epsilon inside the root: rate g / sqrt(sum of g^2 + epsilon).

    This is optax's form and that of Keras 3. Duchi et al. (2011, figure 1), PyTorch, Keras 1 and 2
    add epsilon to the root: there 1e-8 matters to gradients near 1e-8, here to those near 1e-4.
    """
    return optax.adagrad(learning_rate, initial_accumulator_value=0.0, eps=epsilon)


def _adadelta(learning_rate: Scalar, rho: Scalar, epsilon: Scalar) -> optax.GradientTransformation:
    return optax.adadelta(learning_rate, rho=rho, eps=epsilon)


def _rmsprop(learning_rate: Scalar, rho: Scalar, epsilon: Scalar) -> optax.GradientTransformation:
    return optax.rmsprop(learning_rate, decay=rho, eps=epsilon, eps_in_sqrt=False)


def _adam(
    learning_rate: Scalar, beta1: Scalar, beta2: Scalar, epsilon: Scalar
) -> optax.GradientTransformation:
    return optax.adam(learning_rate, b1=beta1, b2=beta2, eps=epsilon)


class TfAdamState(NamedTuple):
    """State of `tf_adam`."""

    steps: jax.Array  # [] int32, steps done
    first: Tree  # like params
    second: Tree  # like params


def tf_adam(
    learning_rate: Scalar, beta1: Scalar, beta2: Scalar, epsilon: Scalar
) -> optax.GradientTransformation:
    """Adam as TensorFlow 1 has it: rate sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + epsilon).

    optax divides sqrt(v) by sqrt(1 - b2^t) before it adds epsilon (Kingma & Ba 2015, algorithm 1);
    this is the form before their section 2.1, in which epsilon weighs more in early steps.
    """

    def init(params: Tree) -> TfAdamState:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return TfAdamState(jnp.int32(0), zeros, jax.tree.map(jnp.zeros_like, params))

    def update(
        grads: Tree, state: TfAdamState, params: Tree | None = None
    ) -> tuple[Tree, TfAdamState]:
        del params  # not needed
        steps = state.steps + 1
        first = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, state.first, grads)
        second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, state.second, grads)
        rate = -learning_rate * jnp.sqrt(1 - beta2**steps) / (1 - beta1**steps)
        updates = jax.tree.map(lambda m, v: rate * m / (jnp.sqrt(v) + epsilon), first, second)
        return updates, TfAdamState(steps, first, second)

    return optax.GradientTransformation(init, update)


FACTORIES: Mapping[str, Callable[..., optax.GradientTransformation]] = {
    "sgd": _sgd,
    "adagrad": _adagrad,
    "adadelta": _adadelta,
    "rmsprop": _rmsprop,
    "adam": _adam,
    "nadam": nadam,
    "tf_adam": tf_adam,
}
