"""What the host knows of each lane: who sits there and how far it is; plain data, no arrays.

A lane holds one member until it ends (patience, last epoch, divergence); then the next waiting
member takes the seat, as continuous batching does for requests.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from jaxeval.contracts import Member, Metric
from jaxeval.population import stopping
from jaxeval.population.settings import Training

Status = Literal["finished", "early_stopped", "diverged", "failed"]


@dataclasses.dataclass(frozen=True)
class Seat:
    """A lane's member and its progress; `member` None: idle."""

    member: Member | None = None
    epoch: int = 0
    best: float | None = None  # dev score
    best_epoch: int | None = None
    seconds: float = 0.0  # the member's share of the time of its epochs
    drops: int = 0  # of the learning rate
    last_drop: int = 0  # the epoch after which it fell last
    bests: tuple[float, ...] = ()  # after each epoch from the first sound one

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


class Ended(NamedTuple):
    """A member's end; dev and test are the metric's values at the epoch of the best dev score.

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


def due(seat: Seat, training: Training) -> bool:
    """Whether the member is evaluated after its next epoch: every so many, and after the last."""
    epoch = seat.epoch + 1
    return seat.active and (epoch % training.evaluate_every == 0 or epoch >= training.epochs)


def advance(seat: Seat, score: float | None, loss: float, metric: Metric, seconds: float) -> Seat:
    """The seat after one more epoch with the given dev score; strictly better scores count.

    The score of an epoch whose loss is not finite counts for nothing: labels are predicted from
    NaN too.

    Args:
      score: None if dev was not evaluated.
    """
    epoch = seat.epoch + 1
    seat = dataclasses.replace(seat, epoch=epoch, seconds=seat.seconds + seconds)
    sound = score is not None and math.isfinite(score) and math.isfinite(loss)
    if score is not None and sound and (seat.best is None or metric.improves(score, seat.best)):
        seat = dataclasses.replace(seat, best=score, best_epoch=epoch)
    if seat.best is None:
        return seat
    return dataclasses.replace(seat, bests=(*seat.bests, seat.best))


def never_learned(seat: Seat, metric: Metric) -> bool:
    """Whether all dev scores were 0 of a metric of which higher is better: no epoch was best."""
    return metric.higher_is_better and seat.best == 0


def best_epoch(seat: Seat, metric: Metric) -> int | None:
    """The epoch of the best dev score; None if no epoch was best."""
    return None if never_learned(seat, metric) else seat.best_epoch


def has_best(status: str, best_epoch: int | None, dev: float | None) -> bool:
    """Whether a member that ended so has parameters to score on test and to keep.

    Its best ones; the last ones if it never learned, unless they are those it diverged with.
    """
    return dev is not None and not (status == "diverged" and best_epoch is None)


def dropped(seat: Seat, latest: int | None) -> Seat:
    """The seat with one more drop of its learning rate, if it has waited long enough.

    A drop follows an epoch t with max(best epoch, last drop) + after < t, and t = latest if there
    was none before, as in the public code of Melis et al. (2018); `after` is the member's.
    """
    hparams = _hparams(seat)
    if hparams.get("plateau_factor", 1.0) == 1.0:
        return seat
    waited = max(seat.best_epoch or 0, seat.last_drop) + hparams["plateau_after"] < seat.epoch
    due = latest is not None and not seat.drops and latest <= seat.epoch
    if not (waited or due):
        return seat
    return dataclasses.replace(seat, drops=seat.drops + 1, last_drop=seat.epoch)


def rate(seat: Seat) -> float:
    """The learning rate that drops have left; one that begins below the floor stays."""
    hparams = _hparams(seat)
    first = hparams["learning_rate"]
    if not seat.drops:
        return first
    fallen = first * hparams["plateau_factor"] ** seat.drops
    return max(fallen, min(first, hparams["plateau_floor"]))


def _hparams(seat: Seat) -> dict[str, float]:
    return dict(seat.member.hparams) if seat.member is not None else {}


def status(
    seat: Seat, loss: float, score: float | None, training: Training, metric: Metric
) -> Status | None:
    """How the member ended with an epoch of this loss and dev score, or None if it goes on.

    Args:
      score: None if dev was not evaluated; then only its loss or the last epoch ends a member.
    """
    if not (math.isfinite(loss) and (score is None or math.isfinite(score))):
        return "diverged"
    last = seat.epoch >= training.epochs
    if score is None:
        return "finished" if last else None
    best_epoch = seat.best_epoch or 0
    if training.patience and seat.epoch - best_epoch >= training.patience:
        return "early_stopped"
    if last:
        return "finished"
    if training.stopping is not None and stopping.hopeless(
        seat.bests,
        best_epoch,
        seat.epoch,
        seat.drops,
        training.epochs,
        training.stopping,
        metric,
    ):
        return "early_stopped"
    return None


def end_of(seat: Seat, status: Status, metric: Metric, test: float | None) -> Ended:
    """How the member in a seat ended, with its test score."""
    assert seat.member is not None
    lost = never_learned(seat, metric)
    return Ended(
        seat.member,
        status,
        seat.epoch,
        best_epoch(seat, metric),
        seat.best,
        test,
        seat.seconds,
        f"never learned: dev {metric.name} stayed 0" if lost else "",
    )


def to_json(seat: Seat) -> dict[str, Any]:
    """Plain data for a checkpoint."""
    return dataclasses.asdict(seat)


def from_json(data: Mapping[str, Any]) -> Seat:
    """The seat that `to_json` described."""
    plain = data["member"]
    if plain is None:
        return Seat()
    hparams = tuple((name, value) for name, value in plain["hparams"])
    member = Member(plain["seed"], plain["split"], hparams)
    return Seat(**{**data, "member": member, "bests": tuple(data["bests"])})
