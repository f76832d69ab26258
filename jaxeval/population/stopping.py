"""Ends members whose progress leads nowhere, as the public code of Melis et al. (2018) does."""

import math
from collections.abc import Sequence
from typing import Annotated

import pydantic

from jaxeval.config import fields, reading
from jaxeval.contracts import Metric


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


def lookback(stopping: Stopping, epoch: int) -> int:
    """Over how many epochs improvement is measured after the given one."""
    rampup = stopping.rampup_epochs
    if not rampup:
        return stopping.patience
    return 1 + int((stopping.patience - 1) / rampup * min(rampup, epoch))


def reachable(bests: Sequence[float], back: int, remaining: int, *, log: bool = False) -> float:
    """The score at the end, if it goes on improving as in the last `back` epochs.

    Improvement slows down as a rule, so that hardly a member ends better than this.

    Args:
      bests: the best score so far after each epoch, more than `back` of them.
      remaining: epochs to come.
      log: whether scores change by a factor rather than a difference.
    """
    then, now = bests[-back - 1], bests[-1]
    factor = remaining / back
    if not log:
        return now + (now - then) * factor
    if min(now, then) <= 0:
        return now
    return math.exp(min(math.log(now) + math.log(now / then) * factor, 700.0))


def should_stop(
    bests: Sequence[float],
    best_epoch: int,
    epoch: int,
    decays: int,
    epochs: int,
    stopping: Stopping,
    metric: Metric,
) -> bool:
    """Whether a member should end.

    Args:
      bests: the best dev score after each of the epochs so far.
      best_epoch: when the last of them was reached.
      epoch: epochs done.
      decays: of the learning rate.
      epochs: of the whole training.
    """
    back = lookback(stopping, epoch)
    if best_epoch + back < epoch:
        return True
    if not stopping.targets or len(bests) <= back:
        return False
    target = stopping.targets[min(decays, len(stopping.targets) - 1)]
    end = reachable(bests, back, epochs - epoch, log=stopping.log)
    return math.isfinite(end) and metric.improves(target, end)
