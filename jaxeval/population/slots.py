"""What the host knows of each lane: its member, how far it is, what an epoch changes; no arrays.

A slot holds one member until it ends (patience, last epoch, divergence); then the next waiting
member takes it, as continuous batching does for requests. `advance` is the step of one slot.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from jaxeval.contracts import Member, Metric
from jaxeval.population.settings import Stopping, Training

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
    # what is reported, with the weights that are kept (`Training.scored_epoch`)
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

    That is the epoch of the best dev score, or the last one (`Training.scored_epoch`). Without a
    best epoch, as dev never left 0, test is that of the last one.
    """

    member: Member
    status: Status
    epochs: int
    best_epoch: int | None
    dev: float | None
    test: float | None
    seconds: float
    message: str = ""


class Outcome(NamedTuple):
    """What an epoch of training brought to a lane."""

    loss: float
    dev: float | None  # the metric's value; None if dev was not evaluated
    seconds: float


class Event(NamedTuple):
    """What follows for a lane from an epoch.

    Attributes:
      status: how the member ended; None: it goes on.
      keep: its parameters become its best ones.
      test: it ended, and its best parameters are to be scored on test.
      decayed: its learning rate fell.
    """

    status: Status | None = None
    keep: bool = False
    test: bool = False
    decayed: bool = False


def due(slot: Slot, training: Training) -> bool:
    """Whether the member is evaluated after its next epoch: every so many, and after the last."""
    epoch = slot.epoch + 1
    return slot.active and (epoch % training.evaluate_every == 0 or epoch >= training.epochs)


def advance(
    slot: Slot, outcome: Outcome, training: Training, metric: Metric
) -> tuple[Slot, Event]:
    """The slot after one more epoch, and what is to be done about it; an idle one stays."""
    if not slot.active:
        return slot, Event()
    after = scored(slot, outcome, metric, training.scored_epoch)
    if outcome.dev is not None:
        after = decay(after, training.plateau.latest if training.plateau else None)
    ended = status(after, outcome.loss, outcome.dev, training, metric)
    chosen = after.reported_epoch != slot.reported_epoch
    # a member that never learned has no best parameters: its last ones are scored, unless they
    # are those it diverged with
    last_ones = ended not in (None, "diverged") and never_learned(after, metric)
    return after, Event(
        ended,
        chosen or last_ones,
        ended is not None and has_best(ended, best_epoch(after, metric), after.reported),
        after.decays > slot.decays,
    )


def stopped(slot: Slot, event: Event, metric: Metric) -> Event:
    """What follows from an epoch for a slot whose member is stopped by whoever watches it."""
    return event._replace(
        status="early_stopped",
        keep=event.keep or never_learned(slot, metric),
        test=has_best("early_stopped", best_epoch(slot, metric), slot.reported),
    )


def scored(
    slot: Slot, outcome: Outcome, metric: Metric, reported: Literal["best", "last"] = "best"
) -> Slot:
    """The slot with one more epoch and its dev score; strictly better scores count as best.

    The score of an epoch whose loss is not finite counts for nothing: labels are predicted from
    NaN too.
    """
    epoch, score = slot.epoch + 1, outcome.dev
    slot = dataclasses.replace(slot, epoch=epoch, seconds=slot.seconds + outcome.seconds)
    if score is not None and math.isfinite(score) and math.isfinite(outcome.loss):
        improved = slot.best is None or metric.improves(score, slot.best)
        if improved:
            slot = dataclasses.replace(slot, best=score, best_epoch=epoch)
        if improved or reported == "last":
            slot = dataclasses.replace(slot, reported=score, reported_epoch=epoch)
    if slot.best is None:
        return slot
    return dataclasses.replace(slot, bests=(*slot.bests, slot.best))


def never_learned(slot: Slot, metric: Metric) -> bool:
    """Whether all dev scores were 0 of a metric of which higher is better: no epoch was best."""
    return metric.higher_is_better and slot.best == 0


def best_epoch(slot: Slot, metric: Metric) -> int | None:
    """The epoch that is reported; None if no epoch was best."""
    return None if never_learned(slot, metric) else slot.reported_epoch


def has_best(status: str, best_epoch: int | None, dev: float | None) -> bool:
    """Whether a member that ended so has parameters to score on test and to save.

    Its best ones; the last ones if it never learned, unless they are those it diverged with.
    """
    return dev is not None and not (status == "diverged" and best_epoch is None)


def decay(slot: Slot, latest: int | None) -> Slot:
    """The slot with one more decay of its learning rate, if dev has not improved for long enough.

    A decay follows an epoch t with max(best epoch, last decay) + after < t, and t = latest if
    there was none before, as in the public code of Melis et al. (2018); `after` is the member's.
    """
    hparams = slot.hparams
    if hparams.get("plateau_factor", 1.0) == 1.0:
        return slot
    last = max(slot.best_epoch or 0, slot.last_decay)
    waited = last + hparams.get("plateau_patience", 1.0) < slot.epoch
    overdue = latest is not None and not slot.decays and latest <= slot.epoch
    if not (waited or overdue):
        return slot
    return dataclasses.replace(slot, decays=slot.decays + 1, last_decay=slot.epoch)


def learning_rate(slot: Slot) -> float:
    """The learning rate that decays have left; one that begins below the floor stays."""
    initial = slot.hparams["learning_rate"]
    if not slot.decays:
        return initial
    decayed = initial * slot.hparams["plateau_factor"] ** slot.decays
    return max(decayed, min(initial, slot.hparams.get("plateau_floor", 0.0)))


def status(
    slot: Slot, loss: float, score: float | None, training: Training, metric: Metric
) -> Status | None:
    """How the member ended with an epoch of this loss and dev score, or None if it goes on.

    Args:
      score: None if dev was not evaluated; then only its loss or the last epoch ends a member.
    """
    if not (math.isfinite(loss) and (score is None or math.isfinite(score))):
        return "diverged"
    waited = slot.epoch - (slot.best_epoch or 0)
    if score is not None and training.patience and waited >= training.patience:
        return "early_stopped"
    if slot.epoch >= training.epochs:
        return "finished"
    if score is None or training.stopping is None:
        return None
    hopeless = should_stop(slot, training.epochs, training.stopping, metric)
    return "early_stopped" if hopeless else None


def should_stop(slot: Slot, epochs: int, stopping: Stopping, metric: Metric) -> bool:
    """Whether a member's progress leads nowhere, as in the public code of Melis et al. (2018).

    It has not improved of late, or too slowly to reach a target.

    Args:
      epochs: of the whole training.
    """
    back = lookback(stopping, slot.epoch)
    if (slot.best_epoch or 0) + back < slot.epoch:
        return True
    if not stopping.targets or len(slot.bests) <= back:
        return False
    target = stopping.targets[min(slot.decays, len(stopping.targets) - 1)]
    end = reachable(slot.bests, back, epochs - slot.epoch, log=stopping.log)
    return math.isfinite(end) and metric.improves(target, end)


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


def end_of(slot: Slot, status: Status, metric: Metric, test: float | None) -> MemberEnd:
    """How the member of a slot ended, with its test score."""
    assert slot.member is not None
    message = f"never learned: dev {metric.name} stayed 0" if never_learned(slot, metric) else ""
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
