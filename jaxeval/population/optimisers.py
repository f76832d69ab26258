"""Optimisers by name with traced hyperparameters, one learning rate (beta, clip ...) a member.

They are made inside the traced step of traced values, so that a member's hyperparameters never
cause a compilation; only the name and the kinds of clipping are static.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import optax
import pydantic

from jaxeval.config import fields, markers, reading
from jaxeval.contracts import Hparams
from jaxeval.population import update_rules, weight_decay

Name = Literal["sgd", "adagrad", "adadelta", "rmsprop", "adam", "nadam", "tf_adam"]

# Defaults of the papers, and of Keras where a paper leaves a value open (those are marked).
DEFAULTS: Mapping[str, Mapping[str, float]] = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.0},  # UKPLab's first rate
    "adagrad": {"learning_rate": 0.01, "epsilon": 1e-8},  # Keras 1; epsilon as `update_rules`
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
    parts.append(update_rules.FACTORIES[settings.name](**values))
    if "warmup" in hparams:  # after the optimiser: all of them are linear in the rate
        parts.append(_warmed_up(hparams["warmup"], batch_size))
    return optax.chain(*parts)
