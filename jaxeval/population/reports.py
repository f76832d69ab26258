"""What a running population tells: the scores of an epoch, who ended, what is kept of them."""

import operator
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax

from jaxeval.contracts import Member, Metric, Tree
from jaxeval.population import slots
from jaxeval.population.row_counts import RowCounts


class Report(NamedTuple):
    """What an epoch of the population brought."""

    scores: Sequence[slots.EpochScores]
    ended: Sequence[slots.MemberEnd]
    slots: Sequence[slots.Slot]
    waiting: int  # members without a lane yet
    seconds: float
    best: Mapping[Member, Tree]  # params of those that ended, if they are to be saved
    rows: Mapping[Member, Mapping[str, RowCounts]]  # of those that ended, by part, if asked for


class Compilation(NamedTuple):
    """A program's compilation begins (seconds None), or has taken so many."""

    program: str
    seconds: float | None


def epoch_scores(
    of: Sequence[slots.Slot],
    metric: Metric,
    losses: Sequence[float],
    dev: Sequence[Mapping[str, float]],
    test: Sequence[Mapping[str, float]],
) -> list[slots.EpochScores]:
    """The scores of all members; those on test belong to the epoch that is reported.

    Args:
      of: lanes, as the epoch left them.
      losses, dev, test: of each lane; {} where nothing was scored.
    """
    scores = [
        slots.EpochScores(slot.member, slot.epoch, part, values)
        for slot, loss, on_dev in zip(of, losses, dev, strict=True)
        if slot.member is not None
        for part, values in (("train", {"loss": loss}), ("dev", on_dev))
        if values
    ]
    return scores + [
        slots.EpochScores(
            slot.member, slots.best_epoch(slot, metric) or slot.epoch, "test", values
        )
        for slot, values in zip(of, test, strict=True)
        if slot.member is not None and values
    ]


def best_params(
    of: Sequence[slots.Slot], events: Sequence[slots.Event], best: Tree
) -> dict[Member, Tree]:
    """Best params of the members that end now and have some.

    Args:
      best: of all lanes, leaves [S, ...].
    """
    return {
        slot.member: jax.tree.map(operator.itemgetter(lane), best)
        for lane, (slot, event) in enumerate(zip(of, events, strict=True))
        if slot.member is not None and event.test
    }


def ended(
    of: Sequence[slots.Slot],
    events: Sequence[slots.Event],
    metric: Metric,
    test: Sequence[Mapping[str, float]],
) -> list[slots.MemberEnd]:
    """How the members ended that are done."""
    return [
        slots.end_of(slot, event.status, metric, scores.get(metric.name))
        for slot, event, scores in zip(of, events, test, strict=True)
        if event.status is not None
    ]
