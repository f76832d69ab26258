"""A toy task whose members differ in a size: the width of a table, padded and masked."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp

from jaxeval import tasks
from jaxeval.config import fields, reading
from jaxeval.contracts import Batch, Metric, Task
from jaxeval.population import Training
from jaxeval.tasks.kind import Kind
from tests.population import toy
from tests.studies import toy_kind

_WIDEST = 16
_TRAINING = toy.problem(patience=0, checkpoint_every=3, epochs=5).training


@dataclasses.dataclass(frozen=True)
class Width:
    """`costs.Shape` of one size; odd and even widths share no arrays."""

    width: int

    def joined(self, other: "Width") -> "Width | None":
        """The larger one."""
        return max(self, other, key=lambda w: w.width) if self.grain == other.grain else None

    @property
    def grain(self) -> int:
        """What the widths of a program have in common."""
        return self.width % 2

    def sizes(self) -> dict[str, int]:
        """By the names of the config's keys."""
        return {"width": self.width}

    def operations(self, own: "Width") -> float:
        """As many as there are units."""
        del own
        return float(self.width)

    def parameters(self) -> int:
        """Of the table and of what reads it."""
        return self.width * (toy.VALUES + toy.CLASSES)

    def describe(self) -> str:
        """For people."""
        return f"width {self.width}"


@reading.settings
class Model:
    """The width is a size; a member of a wider program has it among its hyperparameters."""

    width: Annotated[int, fields.RAGGED] = 8


@reading.settings
class Config:
    """One experiment."""

    name: Annotated[str, fields.IMMATERIAL] = "sizes"
    task: Literal["sizes"] = "sizes"
    data: Annotated[str, fields.IMMATERIAL] = "toy"
    model: Model = Model()
    training: Training = _TRAINING


def _task(width: int) -> Task:
    def logits(params: Any, batch: Batch, hparams: Mapping[str, Any]) -> jax.Array:
        used = jnp.arange(width) < hparams.get("width", width)
        embedded = params["table"][batch.rows["x"]].mean(axis=1)
        return jnp.where(used[None], jnp.tanh(embedded), 0.0) @ params["out"]

    def loss(params: Any, carry: Any, batch: Batch, key: jax.Array, hparams: Any) -> tuple:
        del key
        log_p = jax.nn.log_softmax(logits(params, batch, hparams))
        chosen = jnp.take_along_axis(log_p, batch.rows["y"][:, None], axis=1)[:, 0]
        return -jnp.sum(chosen * batch.weight) / jnp.maximum(jnp.sum(batch.weight), 1.0), carry

    def predict(params: Any, carry: Any, batch: Batch, key: jax.Array, hparams: Any) -> tuple:
        del key
        return jnp.argmax(logits(params, batch, hparams), axis=1), carry

    def init(key: jax.Array, batch: Batch, hparams: Any) -> dict[str, jax.Array]:
        del batch, hparams
        first, second = jax.random.split(key)
        return {  # a narrow table is a part of a wide one
            "table": jax.random.normal(first, (toy.VALUES, _WIDEST))[:, :width],
            "out": jax.random.normal(second, (_WIDEST, toy.CLASSES))[:width] * 0.3,
        }

    score = toy.TASK.score
    return Task(init, lambda size: (), loss, predict, toy.TASK.count, score, Metric("accuracy"))


KIND = Kind(
    Config,
    "data",
    lambda config: (config.data,),
    lambda path: toy_kind.source("d", path),
    lambda config, data: (data, _task(config.model.width)),
    member_sizes=lambda config, data: Width(config.model.width),
)
KINDS: Mapping[str, Kind] = {**tasks.KINDS, "sizes": KIND}
