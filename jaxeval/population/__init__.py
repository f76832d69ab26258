"""Trains many members of one Task in one compiled program; knows nothing of language.

Settings of training: optimiser, epochs, stopping, lanes.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from jaxeval.config import fields, reading
from jaxeval.config.fields import Count, Natural, Rows, Traced, about
from jaxeval.parameters import Number

_NonNegative = Annotated[float, Field(ge=0)]
_WIDEST = 64  # default number of members at once
_Name = Literal["sgd", "adagrad", "adadelta", "rmsprop", "adam", "nadam", "tf_adam"]

# Defaults of the papers, and of Keras where a paper leaves a value open (those are marked).
DEFAULTS: Mapping[str, Mapping[str, float]] = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.0},  # UKPLab's first rate
    "adagrad": {"learning_rate": 0.01, "epsilon": 1e-8},  # Keras 1; epsilon as in `optimisers`
    "adadelta": {"learning_rate": 1.0, "rho": 0.95, "epsilon": 1e-6},  # Zeiler 2012, table 1
    "rmsprop": {"learning_rate": 0.001, "rho": 0.9, "epsilon": 1e-8},  # Hinton's lecture 6e
    "adam": {"learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},  # Kingma & Ba
    # the same with TensorFlow's epsilon, which is not divided by the correction of the moment
    "tf_adam": {"learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
    "nadam": {"learning_rate": 0.002, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
    | {"momentum_decay": 0.004},  # Dozat 2016 in the values of Keras
}
_HYPERPARAMETERS: Mapping[str, Traced] = {
    "learning_rate": Traced(range=fields.Range(1e-4, 0.1, log=True), limits=Number(0, 1000)),
    **dict.fromkeys(("momentum", "rho", "beta1", "beta2"), Traced(limits=fields.FRACTION)),
    "epsilon": Traced(limits=Number(0, 1, above=True)),
    "momentum_decay": Traced(limits=Number(0, 1)),
}


@reading.settings
class Optimiser:
    """Optimiser, learning-rate schedule, clipping and weight decay."""

    name: Annotated[_Name, about("the optimiser")] = "nadam"
    hyperparameters: Annotated[
        dict[str, float],
        fields.TracedTable(
            lambda optimiser: {**DEFAULTS[optimiser.name], **optimiser.hyperparameters},
            _HYPERPARAMETERS,
        ),
        about("e.g. {learning_rate = 0.01}; absent ones: the papers' defaults"),
    ] = Field(default_factory=dict)
    decay: Annotated[_NonNegative, about("rate in epoch e (from 0): rate / (1 + decay e)")] = 0.0
    steps: Annotated[
        tuple[tuple[Count, fields.LearningRate], ...],
        about("(epoch from 1, rate) pairs that replace the rate from then on"),
    ] = ()
    warmup: Annotated[
        _NonNegative,
        Traced(neutral=0.0),
        about("rows until the rate is reached, then it falls as 1 / sqrt; 0: none"),
    ] = 0.0
    clip: Annotated[
        Literal["none", "value", "global_norm"],
        about("clip gradients element-wise, or rescale to a global norm"),
    ] = "global_norm"
    clip_at: Annotated[float, Traced(), Field(gt=0, description="threshold of `clip`")] = 1.0
    l2: Annotated[
        float,
        Traced(neutral=0.0, alone=True, range=fields.Range(1e-7, 1e-3, log=True)),
        Field(ge=0, le=1000, description="l2 * weight is added to gradients"),
    ] = 0.0
    l2_parameters: Annotated[
        tuple[str, ...],
        about("l2 applies to parameters whose names contain one of these; absent: to all"),
    ] = ()

    @model_validator(mode="after")
    def _possible(self) -> "Optimiser":
        allowed = DEFAULTS[self.name]
        for name, value in self.hyperparameters.items():
            if name not in allowed:
                raise ValueError(f"{self.name} has no {name!r}; it has {', '.join(allowed)}")
            if not _HYPERPARAMETERS[name].limits.allows(value):
                limits = _HYPERPARAMETERS[name].limits
                raise ValueError(
                    f"hyperparameters.{name}: expected a number {limits}, got {value:g}"
                )
        return self

    @property
    def unused(self) -> frozenset[str]:
        """Traced values that no member has."""
        return frozenset({"clip_at"} if self.clip == "none" else ())


@reading.settings
class Plateau:
    """A learning rate that falls when a member's dev score does not improve."""

    patience: Annotated[
        Count,
        Traced(1.0, name="plateau_patience"),
        about("epochs without a better dev score or a decay"),
    ] = 26
    factor: Annotated[
        float,
        Traced(1.0, name="plateau_factor"),
        Field(gt=0, lt=1, description="the rate is multiplied by this"),
    ] = 0.1
    floor: Annotated[
        fields.LearningRate, Traced(0.0, name="plateau_floor"), about("lowest rate")
    ] = 0.0
    latest: Annotated[Count | None, about("epoch of the first decay, if none came before")] = None


@reading.settings
class Stopping:
    """Stops members that have not improved of late, or too slowly to reach a target."""

    patience: Annotated[Count, about("epochs over which improvement is measured")] = 30
    rampup_epochs: Annotated[Natural, about("first epochs, over which patience grows from 1")] = 60
    targets: Annotated[
        tuple[_NonNegative, ...],
        about("dev score to be in reach, after 0, 1 ... decays of the rate"),
    ] = ()
    log: Annotated[bool, about("improvement is a ratio, as for perplexity")] = False

    @model_validator(mode="after")
    def _possible(self) -> "Stopping":
        if self.log and 0 in self.targets:
            raise ValueError("targets: expected numbers above 0 with log = true, got 0")
        return self


@reading.settings
class Training:
    """The training of members; with the task, all that a compiled program depends on."""

    batch_size: Annotated[Rows, fields.RAGGED, about("rows per update")] = 32
    micro_batch: Annotated[
        Rows | None, fields.RAGGED, about("rows computed at once; absent: the whole batch")
    ] = None
    evaluation_batch_size: Annotated[Rows, about("rows per batch of an evaluation")] = 64
    epochs: Annotated[Count, about("maximum number of epochs")] = 30
    evaluate_every: Annotated[
        Count, about("epochs between evaluations on dev; the last epoch always has one")
    ] = 1
    patience: Annotated[
        Natural, about("epochs without a better dev score before stopping; 0: never stop")
    ] = 5
    scored_epoch: Annotated[
        Literal["best", "last"],
        about(
            "weights to score on test and keep: those of the best dev score, or the last "
            "ones evaluated; patience counts from the best in both cases"
        ),
    ] = "best"
    optimiser: Annotated[Optimiser, about("optimiser")] = Optimiser()
    plateau: Annotated[Plateau | None, about("decays of the learning rate; absent: none")] = None
    stopping: Annotated[Stopping | None, about("stops by rate of improvement; absent: none")] = (
        None
    )
    lanes: Annotated[
        int | None,
        fields.IMMATERIAL,
        Field(ge=1, le=2**16, description="members at once; absent: all, at most 64"),
    ] = None
    lane_mode: Annotated[
        Literal["auto", "map", "vmap"], about("auto: map on the CPU, vmap on accelerators")
    ] = "auto"
    save_models: Annotated[
        bool, fields.IMMATERIAL, about("save each member's best parameters to RUNS/models")
    ] = False
    checkpoint_every: Annotated[
        Count, fields.IMMATERIAL, about("epochs between checkpoints, at least")
    ] = 5

    @property
    def at_once(self) -> int:
        """Rows whose gradient is computed at once."""
        return self.micro_batch or self.batch_size

    def width(self, members: int) -> int:
        """Returns how many of so many members are trained at once."""
        return min(self.lanes or _WIDEST, members)
