"""What the host knows of each lane: its member, how far it is, what an epoch changes; no arrays.

A slot holds one member until it ends (patience, last epoch, divergence); then the next waiting
member takes it, as continuous batching does for requests. `advance` is the step of one slot.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from jaxeval.contracts import Member, Metric
from jaxeval.population.settings import Plateau, Stopping, Training

Status = Literal["finished", "early_stopped", "diverged", "failed"]


@dataclasses.dataclass(frozen=True)
class Slot:
    """A lane's member and its progress; `member` None: idle."""

    member: Member | None = None
    epoch: int = 0
    best: float | None = None  # dev score
    best_epoch: int | None = None
    seconds: float = 0.0  # the member's part of the time of its epochs
    decays: int = 0  # of the learning rate, on plateaus
    last_decay: int = 0  # the epoch after which it fell last
    bests: tuple[float, ...] = ()  # after each epoch from the first finite one
    # what is reported, with the weights that are saved (`Training.scored_epoch`)
    reported: float | None = None  # dev score
    reported_epoch: int | None = None

    @property
    def active(self) -> bool:
        """Whether the lane is in use."""
        return self.member is not None

    @property
    def hparams(self) -> dict[str, float]:
        """Of its member."""
        return {} if self.member is None else dict(self.member.hparams)


class EpochScores(NamedTuple):
    """Scores of a member after an epoch (from 1) on a part of the corpus."""

    member: Member
    epoch: int
    part: str
    scores: Mapping[str, float]


class MemberEnd(NamedTuple):
    """A member's end; dev and test are the metric's values at `best_epoch`.

    Without a best epoch, as dev never left 0, test is that of the last one.
    """

    member: Member
    status: Status
    epochs: int
    best_epoch: int | None
    dev: float | None
    test: float | None
    seconds: float
    message: str = ""


class Event(NamedTuple):
    """What follows for a lane from an epoch."""

    status: Status | None = None  # how the member ended; None: it goes on
    keep: bool = False  # its parameters become its best ones
    test: bool = False  # it ended, and its best parameters are to be scored on test
    decayed: bool = False  # its learning rate fell


def due(slot: Slot, training: Training) -> bool:
    """Whether the member is evaluated after its next epoch: every so many, and after the last."""
    epoch = slot.epoch + 1
    return slot.active and (epoch % training.evaluate_every == 0 or epoch >= training.epochs)


def advance(
    slot: Slot,
    loss: float,
    dev: float | None,
    seconds: float,
    training: Training,
    metric: Metric,
) -> tuple[Slot, Event]:
    """The slot after one more epoch, and what is to be done about it; an idle one stays.

    Strictly better scores count as best. The score of an epoch whose loss is not finite counts for
    nothing: labels are predicted from NaN too.

    Args:
      dev: the metric's value; None: not evaluated.
    """
    if not slot.active:
        return slot, Event()
    epoch = slot.epoch + 1
    after = dataclasses.replace(slot, epoch=epoch, seconds=slot.seconds + seconds)
    if dev is not None and math.isfinite(dev) and math.isfinite(loss):
        improved = slot.best is None or metric.improves(dev, slot.best)
        if improved:
            after = dataclasses.replace(after, best=dev, best_epoch=epoch)
        if improved or training.scored_epoch == "last":
            after = dataclasses.replace(after, reported=dev, reported_epoch=epoch)
    if after.best is not None:
        after = dataclasses.replace(after, bests=(*after.bests, after.best))
    decayed = dev is not None and _is_on_plateau(after, training.plateau)
    if decayed:
        after = dataclasses.replace(after, decays=after.decays + 1, last_decay=epoch)
    ended = _status(after, loss, dev, training, metric)
    event = Event(ended, after.reported_epoch != slot.reported_epoch, False, decayed)
    return after, event if ended is None else ending(after, event, ended, metric)


def ending(slot: Slot, event: Event, status: Status, metric: Metric) -> Event:
    """What follows from an epoch with which the member of a slot ends."""
    # a member that never learned has no best parameters: its last ones are scored, unless they
    # are those it diverged with
    last_ones = status != "diverged" and _never_learned(slot, metric)
    test = has_best(status, best_epoch(slot, metric), slot.reported)
    return event._replace(status=status, keep=event.keep or last_ones, test=test)


def _never_learned(slot: Slot, metric: Metric) -> bool:
    """Whether all dev scores were 0 of a metric of which higher is better: no epoch was best."""
    return metric.higher_is_better and slot.best == 0


def best_epoch(slot: Slot, metric: Metric) -> int | None:
    """The epoch that is reported; None if no epoch was best."""
    return None if _never_learned(slot, metric) else slot.reported_epoch


def has_best(status: str, best_epoch: int | None, dev: float | None) -> bool:
    """Whether a member that ended so has parameters to score on test and to save."""
    return dev is not None and not (status == "diverged" and best_epoch is None)


def _is_on_plateau(slot: Slot, plateau: Plateau | None) -> bool:
    """Whether the learning rate falls, as dev has not improved for long enough.

    A decay follows an epoch t with max(best epoch, last decay) + patience < t, and t = latest if
    there was none before, as in the public code of Melis et al. (2018).
    """
    hparams, latest = slot.hparams, plateau.latest if plateau else None
    if hparams.get("plateau_factor", 1.0) == 1.0:
        return False
    last = max(slot.best_epoch or 0, slot.last_decay)
    overdue = latest is not None and not slot.decays and latest <= slot.epoch
    return overdue or last + hparams.get("plateau_patience", 1.0) < slot.epoch


def learning_rate(slot: Slot) -> float:
    """The learning rate that decays have left; one that begins below the floor stays."""
    initial = slot.hparams["learning_rate"]
    if not slot.decays:
        return initial
    decayed = initial * slot.hparams["plateau_factor"] ** slot.decays
    return max(decayed, min(initial, slot.hparams.get("plateau_floor", 0.0)))


def _status(
    slot: Slot, loss: float, dev: float | None, training: Training, metric: Metric
) -> Status | None:
    """How the member ended with an epoch, or None if it goes on."""
    if not (math.isfinite(loss) and (dev is None or math.isfinite(dev))):
        return "diverged"
    waited, stopping = slot.epoch - (slot.best_epoch or 0), training.stopping
    if dev is not None and training.patience and waited >= training.patience:
        return "early_stopped"
    if slot.epoch >= training.epochs:
        return "finished"
    if dev is None or not (stopping and should_stop(slot, training.epochs, stopping, metric)):
        return None
    return "early_stopped"


def should_stop(slot: Slot, epochs: int, stopping: Stopping, metric: Metric) -> bool:
    """Whether a member has not improved of late, or too slowly to reach a target in `epochs`.

    As in the public code of Melis et al. (2018). Improvement slows down as a rule, so that hardly
    a member ends better than if it goes on as in its last epochs.
    """
    back, rampup = stopping.patience, stopping.rampup_epochs
    if rampup:
        back = 1 + int((back - 1) / rampup * min(rampup, slot.epoch))
    if (slot.best_epoch or 0) + back < slot.epoch:
        return True
    if not stopping.targets or len(slot.bests) <= back:
        return False
    then, now = slot.bests[-back - 1], slot.bests[-1]
    factor = (epochs - slot.epoch) / back
    if not stopping.log:
        end = now + (now - then) * factor
    elif min(now, then) <= 0:
        end = now
    else:
        end = math.exp(min(math.log(now) + math.log(now / then) * factor, 700.0))
    target = stopping.targets[min(slot.decays, len(stopping.targets) - 1)]
    return math.isfinite(end) and metric.improves(target, end)


def end_of(slot: Slot, status: Status, metric: Metric, test: float | None) -> MemberEnd:
    """How the member of a slot ended, with its test score."""
    assert slot.member is not None
    message = f"never learned: dev {metric.name} stayed 0" if _never_learned(slot, metric) else ""
    best = best_epoch(slot, metric)
    return MemberEnd(
        slot.member, status, slot.epoch, best, slot.reported, test, slot.seconds, message
    )


def from_json(data: Mapping[str, Any]) -> Slot:
    """The slot that `dataclasses.asdict` described, read again from JSON."""
    member = data["member"]
    if member is None:
        return Slot()
    hparams = tuple((name, value) for name, value in member["hparams"])
    member = Member(**{**member, "hparams": hparams})
    return Slot(**{**data, "member": member, "bests": tuple(data["bests"])})
