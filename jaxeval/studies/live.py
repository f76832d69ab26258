"""A cohort that trials join while it is trained, and whose trials can be stopped."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from jaxeval.contracts import Member
from jaxeval.population import host as feeds
from jaxeval.population import slots
from jaxeval.studies import recording
from jaxeval.studies.cohorts import Cohort, Entry


class Progress(NamedTuple):
    """A trial after an epoch of it.

    Attributes:
      epoch: of it, from 1.
      best: its best dev score so far, or its last one (`Training.scored_epoch`); None before.
      status: how it ended; None: it goes on.
    """

    entry: Entry
    epoch: int
    best: float | None
    status: slots.Status | None


class Feed(NamedTuple):
    """`population.feed.Feed` of trials.

    Attributes:
      arrivals: seed of a trial -> epochs of the population after which it joins.
      after_epoch: (epochs of the population, what they brought) -> (seeds of trials that are
        stopped, trials that join now). All trials have seeds of their own.
      member: what is trained for a trial that joins.
    """

    arrivals: Mapping[int, int]
    after_epoch: Callable[[int, Sequence[Progress]], tuple[Collection[int], Sequence[Entry]]]
    member: Callable[[Entry], Member]


def of_population(feed: Feed, cohort: Cohort, recorder: recording.Recorder) -> feeds.Feed:
    """The feed as the population of a cohort takes it; who joins is known to the recorder."""
    entries = dict(zip(cohort.members, cohort.entries, strict=True))
    arrivals = {
        member: feed.arrivals[member.seed]
        for member in cohort.members
        if member.seed in feed.arrivals
    }

    def after_epoch(
        epochs: int, of: Sequence[slots.Slot], statuses: Sequence[slots.Status | None]
    ) -> tuple[list[bool], list[Member]]:
        brought = [
            Progress(entries[slot.member], slot.epoch, slot.reported, status)
            for slot, status in zip(of, statuses, strict=True)
            if slot.member is not None
        ]
        stopped, joining = feed.after_epoch(epochs, brought)
        members = {feed.member(entry): entry for entry in joining}
        entries.update(members)
        for member, entry in members.items():
            recorder.add(member, entry)
        stops = [slot.member is not None and slot.member.seed in stopped for slot in of]
        return stops, [*members]

    return feeds.Feed(arrivals, after_epoch)
