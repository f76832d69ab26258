"""What changes a population between two of its epochs: members that join, members that stop."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from jaxeval.contracts import Member, Metric
from jaxeval.population import slots

Advanced = Sequence[tuple[slots.Slot, slots.Event]]  # each lane after an epoch


class Feed(NamedTuple):
    """A population that is resumed meets everybody when it did before.

    Attributes:
      arrivals: member -> epochs of the population after which it joins; others join at once.
      after_epoch: (epochs of the population, slots, how their members ended: None, they go on) ->
        (whether each slot's member is stopped, members that join now). It is called after every
        epoch, those that a resumed population repeats too, before anything of it is recorded.
    """

    arrivals: Mapping[Member, int]
    after_epoch: Callable[
        [int, Sequence[slots.Slot], Sequence[slots.Status | None]],
        tuple[Sequence[bool], Sequence[Member]],
    ]


# stops nobody, and lets nobody join
CLOSED = Feed({}, lambda epochs, of, ended: ([False] * len(of), []))


def fed(
    feed: Feed, epochs: int, advanced: Advanced, metric: Metric
) -> tuple[Advanced, Sequence[Member]]:
    """The lanes with those stopped that the feed stops, and who joins."""
    of, statuses = [slot for slot, _ in advanced], [event.status for _, event in advanced]
    stops, joining = feed.after_epoch(epochs, of, statuses)
    stopped = [
        (slot, slots.stopped(slot, event, metric) if stop else event)
        for (slot, event), stop in zip(advanced, stops, strict=True)
    ]
    return stopped, joining
