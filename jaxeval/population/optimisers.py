"""Optimisers by name with traced hyperparameters, one learning rate (beta, clip ...) a member.

A factory is called inside the traced step with traced values, so that a member's hyperparameters
never cause a compilation; only the name and the kinds of clipping are static.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
import pydantic

from jaxeval.config import fields, markers, reading
from jaxeval.contracts import Hparams, Tree
from jaxeval.population import weight_decay

Scalar = jax.Array | float  # a hyperparameter: traced, or a number by itself

Name = Literal["sgd", "adagrad", "adadelta", "rmsprop", "adam", "nadam", "tf_adam"]

# Defaults of the papers, and of Keras where a paper leaves a value open (those are marked).
DEFAULTS: Mapping[str, Mapping[str, float]] = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.0},  # UKPLab's first rate
    "adagrad": {"learning_rate": 0.01, "epsilon": 1e-8},  # Keras; Duchi et al. 2011
    "adadelta": {"learning_rate": 1.0, "rho": 0.95, "epsilon": 1e-6},  # Zeiler 2012, table 1
    "rmsprop": {"learning_rate": 0.001, "rho": 0.9, "epsilon": 1e-8},  # Hinton's lecture 6e
    "adam": {"learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},  # Kingma & Ba
    # the same with TensorFlow's epsilon, which is not divided by the correction of the moment
    "tf_adam": {"learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
    "nadam": {  # Dozat 2016 in the values of Keras
        "learning_rate": 0.002,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-8,
        "momentum_decay": 0.004,
    },
}


_HYPERPARAMETERS: Mapping[str, markers.Traced] = {
    "learning_rate": markers.Traced(
        range=markers.Range(1e-4, 0.1, log=True), limits=markers.Limits(0, 1000)
    ),
    **dict.fromkeys(
        ("momentum", "rho", "beta1", "beta2"), markers.Traced(limits=markers.FRACTION)
    ),
    "epsilon": markers.Traced(limits=markers.Limits(0, 1, above=True)),
    "momentum_decay": markers.Traced(limits=markers.Limits(0, 1)),
}


@reading.settings
class Optimiser:
    """Optimiser, learning-rate schedule, clipping and weight decay."""

    name: Annotated[Name, pydantic.Field(description="the optimiser")] = "nadam"
    hyperparameters: Annotated[
        dict[str, float],
        markers.TracedTable(
            lambda optimiser: {**DEFAULTS[optimiser.name], **optimiser.hyperparameters},
            _HYPERPARAMETERS,
        ),
        pydantic.Field(
            description="e.g. {learning_rate = 0.01}; absent ones: the papers' defaults"
        ),
    ] = pydantic.Field(default_factory=dict)
    decay: Annotated[
        float, pydantic.Field(ge=0, description="rate of epoch e (from 0): rate / (1 + decay e)")
    ] = 0.0
    steps: Annotated[
        tuple[tuple[fields.Count, fields.LearningRate], ...],
        pydantic.Field(
            description="(epoch from 1, rate) pairs that replace the rate from then on"
        ),
    ] = ()
    warmup: Annotated[
        float,
        markers.Traced(neutral=0.0),
        pydantic.Field(
            ge=0,
            description="rows until the rate is reached, which then falls with the inverse "
            "square root; 0: none",
        ),
    ] = 0.0
    clip: Annotated[
        Literal["none", "value", "global_norm"],
        pydantic.Field(description="clip gradients element-wise, or rescale to a global norm"),
    ] = "global_norm"
    clip_at: Annotated[
        float, markers.Traced(), pydantic.Field(gt=0, description="threshold of `clip`")
    ] = 1.0
    l2: Annotated[
        float,
        markers.Traced(neutral=0.0, alone=True, range=markers.Range(1e-7, 1e-3, log=True)),
        pydantic.Field(ge=0, le=1000, description="l2 * weight is added to gradients"),
    ] = 0.0
    l2_parameters: Annotated[
        tuple[str, ...],
        markers.LATER,
        pydantic.Field(
            description="l2: only of parameters whose names hold one of these; none: of all"
        ),
    ] = ()

    @pydantic.field_validator("hyperparameters")
    @classmethod
    def _possible(cls, values: dict[str, float]) -> dict[str, float]:
        for name, value in values.items():
            marker = _HYPERPARAMETERS.get(name)
            if marker is not None and not marker.limits.allow(value):
                raise ValueError(f"{name}: expected a number {marker.limits}, got {value:g}")
        return values

    @pydantic.model_validator(mode="after")
    def _known(self) -> "Optimiser":
        allowed = DEFAULTS[self.name]
        unknown = sorted(set(self.hyperparameters) - set(allowed))
        if unknown:
            raise ValueError(f"{self.name} has no {unknown[0]!r}; it has {', '.join(allowed)}")
        return self

    @property
    def unused(self) -> frozenset[str]:
        """Traced hyperparameters that no member has."""
        return frozenset({"clip_at"} if self.clip == "none" else ())


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


def learning_rate(settings: Optimiser, rate: jax.Array, epoch: jax.Array) -> jax.Array:
    """The rate in an epoch (from 0): steps replace the member's rate, then decay divides it."""
    for start, value in settings.steps:
        rate = jnp.where(epoch + 1 >= start, value, rate)
    return rate / (1.0 + settings.decay * epoch)


def warmup_factor(update: jax.Array, warmup_updates: jax.Array) -> jax.Array:
    """What the rate of an update is multiplied by: min(s / w, sqrt(w / s)); 1 if w is 0.

    Updates s are counted from 1, so that each moves the parameters. Public code counts from 0: its
    first update has rate 0, and all have where w, rounded down, is 0.

    Args:
      update: s, [] from 1.
      warmup_updates: w, [] updates until the rate is reached.
    """
    factor = jnp.minimum(update / warmup_updates, jnp.sqrt(warmup_updates / update))
    return jnp.where(warmup_updates > 0, factor, 1.0)


def _warmed_up(warmup: jax.Array, batch_size: jax.Array | int) -> optax.GradientTransformation:
    """Multiplies updates by their factor; `warmup` rows are at least one update, none if 0."""
    updates = jnp.where(warmup > 0, jnp.maximum(warmup / batch_size, 1.0), 0.0)
    return optax.scale_by_schedule(lambda done: warmup_factor(done + 1, updates))


def make(
    settings: Optimiser, hparams: Hparams, epoch: jax.Array, batch_size: jax.Array | int
) -> optax.GradientTransformation:
    """The member's optimiser in an epoch.

    The structure of its state depends on the name, and on whether `hparams` hold a warm-up (or 0).

    Args:
      epoch: [] from 0.
      batch_size: rows per update, static or [].
    """
    values = {name: hparams[name] for name in DEFAULTS[settings.name]}
    values["learning_rate"] = learning_rate(settings, values["learning_rate"], epoch)
    parts = []
    if settings.l2:
        parts.append(weight_decay.of(hparams["l2"], settings.l2_parameters))
    if settings.clip == "value":
        parts.append(optax.clip(hparams["clip_at"]))
    elif settings.clip == "global_norm":
        parts.append(optax.clip_by_global_norm(hparams["clip_at"]))
    parts.append(FACTORIES[settings.name](**values))
    if "warmup" in hparams:  # after the optimiser: all of them are linear in the rate
        parts.append(_warmed_up(hparams["warmup"], batch_size))
    return optax.chain(*parts)
