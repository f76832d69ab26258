"""What the host knows of each lane: its member, how far it is, what an epoch changes; no arrays.

A slot holds one member until it ends (patience, last epoch, divergence); then the next waiting
member takes it, as continuous batching does for requests. `advance` is the step of one slot; the
loop maps it over all of them.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from jaxeval.contracts import Member, Metric
from jaxeval.files import Json
from jaxeval.population import stopping
from jaxeval.population.settings import Training

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


def stopped(slot: Slot, event: Event, metric: Metric) -> Event:
    """What follows from an epoch for a slot whose member is stopped by whoever watches it."""
    status: Status = "early_stopped"
    return event._replace(
        status=status,
        keep=event.keep or never_learned(slot, metric),
        test=has_best(status, best_epoch(slot, metric), slot.reported),
    )


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
    hparams = _hparams(slot)
    if hparams.get("plateau_factor", 1.0) == 1.0:
        return slot
    waited = (
        max(slot.best_epoch or 0, slot.last_decay) + hparams.get("plateau_patience", 1.0)
        < slot.epoch
    )
    overdue = latest is not None and not slot.decays and latest <= slot.epoch
    if not (waited or overdue):
        return slot
    return dataclasses.replace(slot, decays=slot.decays + 1, last_decay=slot.epoch)


def learning_rate(slot: Slot) -> float:
    """The learning rate that decays have left; one that begins below the floor stays."""
    hparams = _hparams(slot)
    initial = hparams["learning_rate"]
    if not slot.decays:
        return initial
    decayed = initial * hparams["plateau_factor"] ** slot.decays
    return max(decayed, min(initial, hparams.get("plateau_floor", 0.0)))


def _hparams(slot: Slot) -> dict[str, float]:
    return dict(slot.member.hparams) if slot.member is not None else {}


def status(
    slot: Slot, loss: float, score: float | None, training: Training, metric: Metric
) -> Status | None:
    """How the member ended with an epoch of this loss and dev score, or None if it goes on.

    Args:
      score: None if dev was not evaluated; then only its loss or the last epoch ends a member.
    """
    if not (math.isfinite(loss) and (score is None or math.isfinite(score))):
        return "diverged"
    last = slot.epoch >= training.epochs
    if score is None:
        return "finished" if last else None
    best_epoch = slot.best_epoch or 0
    if training.patience and slot.epoch - best_epoch >= training.patience:
        return "early_stopped"
    if last:
        return "finished"
    if training.stopping is not None and stopping.should_stop(
        slot.bests,
        best_epoch,
        slot.epoch,
        slot.decays,
        training.epochs,
        training.stopping,
        metric,
    ):
        return "early_stopped"
    return None


def end_of(slot: Slot, status: Status, metric: Metric, test: float | None) -> MemberEnd:
    """How the member of a slot ended, with its test score."""
    assert slot.member is not None
    return MemberEnd(
        slot.member,
        status,
        slot.epoch,
        best_epoch(slot, metric),
        slot.reported,
        test,
        slot.seconds,
        f"never learned: dev {metric.name} stayed 0" if never_learned(slot, metric) else "",
    )


def to_json(slot: Slot) -> dict[str, Json]:
    """Plain data for a checkpoint."""
    return dataclasses.asdict(slot)


def from_json(data: Mapping[str, Any]) -> Slot:
    """The slot that `to_json` described."""
    plain = data["member"]
    if plain is None:
        return Slot()
    hparams = dict(plain["hparams"])
    member = Member(
        plain["seed"],
        plain["split"],
        (*hparams.items(),),
        plain.get("repeat", 0),
        plain.get("vectors", ""),
    )
    # checkpoints of earlier versions report the best epoch
    reported = {"reported": data["best"], "reported_epoch": data["best_epoch"]}
    return Slot(**{**reported, **data, "member": member, "bests": tuple(data["bests"])})
