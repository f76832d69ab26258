"""Members that join a population while it is trained, and members that are stopped."""

from collections.abc import Sequence
from pathlib import Path

import jax

from jaxeval.contracts import Member
from jaxeval.population.host import CLOSED, Feed, Report
from jaxeval.population.slots import MemberEnd, Slot, Status
from tests.population import toy

PROBLEM = toy.problem(patience=0, epochs=5, checkpoint_every=2)
FIRST, SECOND, THIRD = (toy.member(seed) for seed in (1, 2, 3))


class _Watched:
    """Stops the first member after two epochs; then the third one joins."""

    def __init__(self) -> None:
        self.joined: dict[Member, int] = {}
        self.met: list[tuple[int, tuple[int, ...]]] = []

    def after_epoch(
        self, epochs: int, slots: Sequence[Slot], statuses: Sequence[Status | None]
    ) -> tuple[list[Status | None], list[Member]]:
        active = [slot for slot in slots if slot.member is not None]
        self.met.append((epochs, tuple(sorted(s.member.seed for s in active if s.member))))
        stops = [slot.member == FIRST and slot.epoch == 2 for slot in slots]
        joining = [THIRD] if any(stops) and THIRD not in self.joined else []
        self.joined.update((member, epochs) for member in joining)
        return ["early_stopped" if stop else None for stop in stops], joining


def _train(folder: Path, members: list[Member], feed: Feed = CLOSED) -> dict[int, MemberEnd]:
    ends: dict[int, MemberEnd] = {}

    def record(report: Report) -> None:
        ends.update({e.member.seed: e._replace(seconds=0.0) for e in report.ended})

    [*toy.reports(PROBLEM, members, folder, record, 2, jax.devices()[:1], feed=feed)]
    return ends


def test_who_joins_a_lane_that_became_free_scores_as_alone(tmp_path: Path) -> None:
    """Dies if a member that was stopped keeps its lane or loses its test score, or who joins
    waits for the others or depends on them."""
    watched = _Watched()
    ends = _train(tmp_path / "fed", [FIRST, SECOND], Feed({}, watched.after_epoch))
    assert watched.met == [
        (1, (1, 2)), (2, (1, 2)), *((epoch, (2, 3)) for epoch in (3, 4, 5)), (6, (3,)), (7, (3,)),
    ]  # fmt: skip
    assert ends[1].status == "early_stopped" and ends[1].epochs == 2
    assert ends[1].test is not None and ends[1].dev is not None
    alone = _train(tmp_path / "alone", [SECOND, THIRD])
    assert {seed: ends[seed] for seed in (2, 3)} == alone
