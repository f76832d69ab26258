"""The host's record of each lane: its member, how far it is, how it ended; no arrays.

A slot holds one member until it ends (patience, last epoch, divergence); then the next waiting
member takes it, like requests in continuous batching. `advance` is the step of one slot.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal

from jaxeval.config import reading
from jaxeval.contracts import Member, Metric
from jaxeval.population import Plateau, Stopping, Training

# a member that has paused is scored as if it had ended, and goes on from the checkpoint
Status = Literal["finished", "early_stopped", "diverged", "failed", "paused"]


@dataclasses.dataclass(frozen=True)
class Slot:
    """A lane's member and its progress; idle if `member` is None."""

    member: Member | None = None
    epoch: int = 0
    best: float | None = None  # dev score
    best_epoch: int | None = None
    seconds: float = 0.0  # the member's share of the time of its epochs
    decays: int = 0  # of the learning rate, on plateaus
    last_decay: int = 0  # epoch of the last decay
    bests: tuple[float, ...] = ()  # after each epoch from the first finite one
    # reported, and of the weights that are saved (`Training.scored_epoch`)
    reported: float | None = None  # dev score
    reported_epoch: int | None = None  # of a member that ended None if dev never left 0
    status: Status | None = None  # how the member ended; None: it goes on
    test: float | None = None  # of a member that ended, with the reported weights
    message: str = ""  # of a member that ended

    @property
    def active(self) -> bool:
        """True if the lane is in use."""
        return self.member is not None

    @property
    def hparams(self) -> dict[str, float]:
        """The member's hyperparameters."""
        return {} if self.member is None else dict(self.member.hparams)

    @property
    def learning_rate(self) -> float:
        """The learning rate after decays; one that begins below the floor stays."""
        initial = self.hparams["learning_rate"]
        if not self.decays:
            return initial
        decayed = initial * self.hparams["plateau_factor"] ** self.decays
        return max(decayed, min(initial, self.hparams.get("plateau_floor", 0.0)))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Slot":
        """Reads the slot that `dataclasses.asdict` described."""
        slot: Slot = reading.adapter(cls).validate_python(data)
        return slot


def due(slot: Slot, training: Training) -> bool:
    """True if the member is evaluated after its next epoch."""
    epoch = slot.epoch + 1
    return slot.active and (epoch % training.evaluate_every == 0 or epoch >= training.epochs)


def advance(
    slot: Slot, loss: float, dev: float | None, seconds: float, training: Training, metric: Metric
) -> Slot:
    """Returns the slot after one more epoch; an idle slot stays.

    `dev` is the metric's value, None if not evaluated. Strictly better scores count as best. The
    score of an epoch with a loss that is not finite is ignored: labels are predicted from NaN too.
    """
    if not slot.active:
        return slot
    epoch = slot.epoch + 1
    changes: dict[str, Any] = {}
    if dev is not None and math.isfinite(dev) and math.isfinite(loss):
        improved = slot.best is None or metric.improves(dev, slot.best)
        if improved:
            changes |= {"best": dev, "best_epoch": epoch}
        if improved or training.scored_epoch == "last":
            changes |= {"reported": dev, "reported_epoch": epoch}
    slot = dataclasses.replace(slot, epoch=epoch, seconds=slot.seconds + seconds, **changes)
    if slot.best is not None:
        slot = dataclasses.replace(slot, bests=(*slot.bests, slot.best))
    if dev is not None and _is_on_plateau(slot, training.plateau):
        slot = dataclasses.replace(slot, decays=slot.decays + 1, last_decay=epoch)
    return dataclasses.replace(slot, status=_status(slot, loss, dev, training, metric))


def becomes_reported(before: Slot, after: Slot, metric: Metric) -> bool:
    """True if the parameters after an epoch become the member's reported ones."""
    # a member that never learned is scored with its last ones, unless it diverged with them
    last = after.status not in (None, "diverged") and _never_learned(after, metric)
    return last or after.reported_epoch != before.reported_epoch


def is_tested(slot: Slot) -> bool:
    """True if the slot's member has ended with parameters to score on test and to save."""
    return slot.status is not None and has_best(slot.status, slot.reported)


def has_best(status: str, dev: float | None) -> bool:
    """True if a member that ended so has parameters to score on test and to save."""
    return dev is not None and status != "diverged"


def with_test_score(slot: Slot, metric: Metric, test: float | None) -> Slot:
    """Returns the slot of an ended member with its test score."""
    if not _never_learned(slot, metric):
        return dataclasses.replace(slot, test=test)
    message = f"never learned: dev {metric.name} stayed 0"
    return dataclasses.replace(slot, test=test, reported_epoch=None, message=message)


def _never_learned(slot: Slot, metric: Metric) -> bool:
    """True if all dev scores were 0 of a metric where higher is better: no epoch was best."""
    return metric.higher_is_better and slot.best == 0


def _is_on_plateau(slot: Slot, plateau: Plateau | None) -> bool:
    """True if the learning rate falls, as in the public code of Melis et al. (2018).

    It falls after an epoch t with max(best epoch, last decay) + patience < t, and at t = `latest`
    if it never fell before.
    """
    hparams = slot.hparams
    latest = plateau.latest if plateau else None
    if hparams.get("plateau_factor", 1.0) == 1.0:
        return False
    last = max(slot.best_epoch or 0, slot.last_decay)
    overdue = latest is not None and not slot.decays and latest <= slot.epoch
    return overdue or last + hparams.get("plateau_patience", 1.0) < slot.epoch


def _status(
    slot: Slot, loss: float, dev: float | None, training: Training, metric: Metric
) -> Status | None:
    if not (math.isfinite(loss) and (dev is None or math.isfinite(dev))):
        return "diverged"
    waited = slot.epoch - (slot.best_epoch or 0)
    stopping = training.stopping
    if dev is not None and training.patience and waited >= training.patience:
        return "early_stopped"
    if slot.epoch >= training.epochs:
        return "finished"
    if dev is None or not (stopping and _should_stop(slot, training.epochs, stopping, metric)):
        return None
    return "early_stopped"


def _should_stop(slot: Slot, epochs: int, stopping: Stopping, metric: Metric) -> bool:
    """True if a member has not improved of late, or too slowly to reach a target in `epochs`.

    As in the public code of Melis et al. (2018). Improvement tends to slow down, so hardly a
    member ends better than its last epochs promise.
    """
    back, rampup = stopping.patience, stopping.rampup_epochs
    if rampup:
        back = 1 + int((back - 1) / rampup * min(rampup, slot.epoch))
    if (slot.best_epoch or 0) + back < slot.epoch:
        return True
    if not stopping.targets or len(slot.bests) <= back:
        return False
    then = slot.bests[-back - 1]
    now = slot.bests[-1]
    factor = (epochs - slot.epoch) / back
    if not stopping.log:
        end = now + (now - then) * factor
    elif min(now, then) <= 0:
        end = now
    else:
        end = math.exp(min(math.log(now) + math.log(now / then) * factor, 700.0))
    target = stopping.targets[min(slot.decays, len(stopping.targets) - 1)]
    return math.isfinite(end) and metric.improves(target, end)
