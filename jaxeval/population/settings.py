"""What a config says of training: optimiser, epochs, stopping, lanes."""

from collections.abc import Mapping
from typing import Annotated, Literal

import pydantic

from jaxeval.config import fields, markers, reading

_WIDEST = 64  # members at once unless the config says otherwise
_Name = Literal["sgd", "adagrad", "adadelta", "rmsprop", "adam", "nadam", "tf_adam"]

# Defaults of the papers, and of Keras where a paper leaves a value open (those are marked).
DEFAULTS: Mapping[str, Mapping[str, float]] = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.0},  # UKPLab's first rate
    "adagrad": {"learning_rate": 0.01, "epsilon": 1e-8},  # Keras 1; epsilon as `optimisers.RULES`
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

    name: Annotated[_Name, pydantic.Field(description="the optimiser")] = "nadam"
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


@reading.settings
class Plateau:
    """Learning rate that falls when dev does not improve, a member for itself."""

    patience: Annotated[
        fields.Count,
        markers.Traced(1.0, name="plateau_patience"),
        pydantic.Field(description="epochs without a better dev score or a decay"),
    ] = 26
    factor: Annotated[
        float,
        markers.Traced(1.0, name="plateau_factor"),
        pydantic.Field(gt=0, lt=1, description="the rate is multiplied by this"),
    ] = 0.1
    floor: Annotated[
        fields.LearningRate,
        markers.Traced(0.0, name="plateau_floor"),
        pydantic.Field(description="the rate falls no lower than this"),
    ] = 0.0
    latest: Annotated[
        fields.Count | None,
        pydantic.Field(description="epoch of the first decay, if none came before"),
    ] = None


@reading.settings
class Stopping:
    """Stops members that have not improved of late, or too slowly to reach a target."""

    patience: Annotated[
        fields.Count, pydantic.Field(description="epochs over which improvement is measured")
    ] = 30
    rampup_epochs: Annotated[
        fields.Natural, pydantic.Field(description="patience grows from 1 in so many first epochs")
    ] = 60
    targets: Annotated[
        tuple[Annotated[float, pydantic.Field(ge=0)], ...],
        pydantic.Field(description="dev score to be in reach, after 0, 1 ... decays of the rate"),
    ] = ()
    log: Annotated[
        bool, pydantic.Field(description="improvement is a ratio, as for perplexity")
    ] = False

    @pydantic.model_validator(mode="after")
    def _possible(self) -> "Stopping":
        if self.log and 0 in self.targets:
            raise ValueError("targets: expected numbers above 0 with log = true, got 0")
        return self


@reading.settings
class Training:
    """How members are trained; together with the task, all that a compiled program depends on."""

    batch_size: Annotated[
        fields.Rows, markers.RAGGED, pydantic.Field(description="rows per update")
    ] = 32
    micro_batch: Annotated[
        fields.Rows | None,
        markers.RAGGED,
        pydantic.Field(description="rows computed at once; absent: the whole batch"),
    ] = None
    evaluation_batch_size: Annotated[
        fields.Rows, pydantic.Field(description="rows a batch of an evaluation")
    ] = 64
    epochs: Annotated[fields.Count, pydantic.Field(description="at most so many epochs")] = 30
    evaluate_every: Annotated[
        fields.Count,
        pydantic.Field(description="epochs between evaluations on dev; the last one has its own"),
    ] = 1
    patience: Annotated[
        fields.Natural,
        pydantic.Field(
            description="stop after so many epochs without a better dev score; 0: never"
        ),
    ] = 5
    scored_epoch: Annotated[
        Literal["best", "last"],
        pydantic.Field(
            description="whose weights are scored on test and kept: of the best dev score, or the "
            "last one evaluated, though patience counts from the best"
        ),
    ] = "best"
    optimiser: Annotated[Optimiser, pydantic.Field(description="optimiser")] = Optimiser()
    plateau: Annotated[
        Plateau | None, pydantic.Field(description="decays of the learning rate; absent: none")
    ] = None
    stopping: Annotated[
        Stopping | None, pydantic.Field(description="by rate of improvement; absent: none")
    ] = None
    lanes: Annotated[
        int | None,
        markers.IMMATERIAL,
        pydantic.Field(ge=1, le=2**16, description="members at once; absent: all, at most 64"),
    ] = None
    lane_mode: Annotated[
        Literal["auto", "map", "vmap"],
        pydantic.Field(description="auto: map on the CPU, vmap on accelerators"),
    ] = "auto"
    save_models: Annotated[
        bool,
        markers.IMMATERIAL,
        pydantic.Field(description="write each member's best parameters into RUNS/models"),
    ] = False
    checkpoint_every: Annotated[
        fields.Count, markers.IMMATERIAL, pydantic.Field(description="epochs between checkpoints")
    ] = 5

    def width(self, members: int) -> int:
        """How many of so many members are trained at once."""
        return min(self.lanes or _WIDEST, members)
