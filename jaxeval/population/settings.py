"""What a config says of training."""

from typing import Annotated, Literal

import pydantic

from jaxeval.config import fields, markers, reading
from jaxeval.population import optimisers
from jaxeval.population.stopping import Stopping


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
    optimiser: Annotated[optimisers.Optimiser, pydantic.Field(description="optimiser")] = (
        optimisers.Optimiser()
    )
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
