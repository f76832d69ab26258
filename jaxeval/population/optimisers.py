"""Optimisers by name, with traced hyperparameters of each member.

They are made inside the traced step, so that hyperparameters never cause a compilation; only the
name and the kind of clipping are static. Rules are optax's, or written here if it differs.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import optax

from jaxeval.contracts import Hparams, Tree
from jaxeval.errors import ConfigError
from jaxeval.population import DEFAULTS, Optimiser

_Scalar = jax.Array | float  # a hyperparameter: traced, or a number by itself


def make(
    settings: Optimiser, hparams: Hparams, epoch: jax.Array, batch_size: jax.Array | int
) -> optax.GradientTransformation:
    """Returns the member's optimiser in an epoch (from 0).

    The structure of its state depends on the name, and on whether `hparams` hold a warm-up.
    """
    rate, *others = (hparams[name] for name in DEFAULTS[settings.name])
    parts = []
    if settings.l2:
        names = settings.l2_parameters
        mask = functools.partial(_chosen, names) if names else None
        parts.append(optax.add_decayed_weights(hparams["l2"], mask))
    if settings.clip == "value":
        parts.append(optax.clip(hparams["clip_at"]))
    elif settings.clip == "global_norm":
        parts.append(optax.clip_by_global_norm(hparams["clip_at"]))
    for start, value in sorted(settings.steps):
        rate = jnp.where(epoch + 1 >= start, value, rate)
    rate = rate / (1.0 + settings.decay * epoch)
    parts.append(_RULES[settings.name](rate, *others))
    if "warmup" in hparams:  # after the optimiser: all of them are linear in the rate
        warmup = hparams["warmup"]
        # at least one update; none if 0
        updates = jnp.where(warmup > 0, jnp.maximum(warmup / batch_size, 1.0), 0.0)

        def factor(done: jax.Array) -> jax.Array:
            """min(s / w, sqrt(w / s)) for update s from 1; public code counts from 0."""
            update = done + 1
            smaller = jnp.minimum(update / updates, jnp.sqrt(updates / update))
            return jnp.where(updates > 0, smaller, 1.0)

        parts.append(optax.scale_by_schedule(factor))
    return optax.chain(*parts)


def _chosen(names: Sequence[str], tree: Tree) -> Tree:
    """Tells of each parameter whether its path holds one of the names.

    Raises ConfigError if a name is in no path.
    """
    leaves, structure = jax.tree_util.tree_flatten_with_path(tree)
    paths = [jax.tree_util.keystr(path, simple=True, separator="/") for path, _ in leaves]
    for name in names:
        if not any(name in path for path in paths):
            raise ConfigError(
                f"training.optimiser.l2_parameters: no parameter's name holds {name!r}; there "
                f"are {', '.join(paths)}"
            )
    chosen = [any(name in path for name in names) for path in paths]
    return jax.tree.unflatten(structure, chosen)


class _Moments(NamedTuple):
    """State of `_nadam` and `_tf_adam`."""

    steps: jax.Array  # [] int32, steps done
    first: Tree  # like params
    second: Tree  # like params
    product: jax.Array | None = None  # [] of nadam's momentum schedule so far


def _moments(params: Tree, product: jax.Array | None = None) -> _Moments:
    first, second = (jax.tree.map(jnp.zeros_like, params) for _ in range(2))
    return _Moments(jnp.int32(0), first, second, product)


def _averaged(state: _Moments, grads: Tree, beta1: _Scalar, beta2: _Scalar) -> tuple[Tree, Tree]:
    """Both moments after the gradients of a step."""
    first = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, state.first, grads)
    second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, state.second, grads)
    return first, second


def _nadam(
    rate: _Scalar, beta1: _Scalar, beta2: _Scalar, epsilon: _Scalar, momentum_decay: _Scalar
) -> optax.GradientTransformation:
    """Adam with Nesterov momentum and its momentum schedule (Dozat 2016; torch.optim.NAdam).

    mu(t) = beta1 (1 - .5 * .96^(t momentum_decay)); optax.nadam leaves the schedule out.
    """

    def momentum(step: jax.Array) -> jax.Array:
        return beta1 * (1.0 - 0.5 * 0.96 ** (step * momentum_decay))

    def update(grads: Tree, state: _Moments, params: Tree = None) -> tuple[Tree, _Moments]:
        count = state.steps + 1
        now = momentum(count)
        after = momentum(count + 1)
        product = cast(jax.Array, state.product) * now
        first, second = _averaged(state, grads, beta1, beta2)
        by_grad = -rate * (1 - now) / (1 - product)
        by_first = -rate * after / (1 - product * after)
        scale = 1.0 / (1 - beta2**count)

        def step(g: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
            return (by_grad * g + by_first * m) / (jnp.sqrt(v * scale) + epsilon)

        updates = jax.tree.map(step, grads, first, second)
        return updates, _Moments(count, first, second, product)

    return optax.GradientTransformation(lambda params: _moments(params, jnp.float32(1)), update)


def _tf_adam(
    learning_rate: _Scalar, beta1: _Scalar, beta2: _Scalar, epsilon: _Scalar
) -> optax.GradientTransformation:
    """Adam as in TensorFlow 1: rate sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + epsilon).

    optax divides sqrt(v) by sqrt(1 - b2^t) before it adds epsilon (Kingma & Ba 2015, algorithm 1);
    here epsilon weighs more in early steps (their section 2.1).
    """

    def update(grads: Tree, state: _Moments, params: Tree = None) -> tuple[Tree, _Moments]:
        steps = state.steps + 1
        first, second = _averaged(state, grads, beta1, beta2)
        rate = -learning_rate * jnp.sqrt(1 - beta2**steps) / (1 - beta1**steps)
        updates = jax.tree.map(lambda m, v: rate * m / (jnp.sqrt(v) + epsilon), first, second)
        return updates, _Moments(steps, first, second)

    return optax.GradientTransformation(_moments, update)


# called with hyperparameters in the order of DEFAULTS
_RULES: Mapping[str, Callable[..., optax.GradientTransformation]] = {
    "sgd": optax.sgd,
    # epsilon is inside the root, as in optax and Keras 3; Duchi et al. (2011, figure 1), PyTorch,
    # Keras 1 and 2 add it to the root: there 1e-8 matters to gradients near 1e-8, here near 1e-4
    "adagrad": lambda rate, epsilon: optax.adagrad(rate, 0.0, epsilon),
    "adadelta": optax.adadelta,
    "rmsprop": functools.partial(optax.rmsprop, eps_in_sqrt=False),
    "adam": optax.adam,
    "nadam": _nadam,
    "tf_adam": _tf_adam,
}
