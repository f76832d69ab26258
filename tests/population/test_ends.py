"""How members end: on a plateau, having learned nothing, or stopped while others join."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.config import fields
from jaxeval.contracts import Member
from jaxeval.population import Plateau
from jaxeval.population.host import CLOSED, Feed, Report
from jaxeval.population.slots import Slot, Status
from tests.population import toy


def test_a_plateau_lowers_the_rate_of_one_member_and_is_resumed(tmp_path: Path) -> None:
    """Dies if a decay is lost with a checkpoint."""
    changed = toy.problem(epochs=8, patience=0, checkpoint_every=1)
    falling = fields.active(Plateau(patience=1, factor=0.01))
    members = [toy.member(1, **falling), toy.member(2, **falling)]

    def losses(name: str, stop: int | None = None) -> dict:
        by_epoch = {}
        reports = toy.reports(changed, members, tmp_path / name, lambda r: None, 2)
        for number, report in enumerate(reports, 1):
            for entry in report.scores:
                if entry.part == "train":
                    by_epoch[entry.member.seed, entry.epoch] = entry.scores["loss"]
            if number == stop:
                reports.close()
                break
        return by_epoch

    assert losses("parts", 4) | losses("parts") == losses("whole")


@pytest.mark.parametrize("diverges", [False, True])
def test_a_member_that_never_learned(tmp_path: Path, diverges: bool) -> None:
    """Dies if test is that of the first epoch where dev never left 0, a best one is named, or the
    parameters are kept with which a member diverged."""
    kept: dict[Any, Slot] = {}
    models: dict[Member, Any] = {}

    def record(report: Report) -> None:
        models.update(report.best)
        kept.update({end.member: end for end in report.ended})
        scores.extend(report.scores)

    scores: list[Any] = []
    members = [toy.member(seed, learning_rate=0.5) for seed in (1, 2)]
    problem = toy.problem(epochs=6, patience=0, save_models=True)
    loss = _breaking if diverges else problem.task.loss
    score: Any = _nothing
    # looked up at each call, so that another score is no other task
    task = dataclasses.replace(problem.task, score=lambda counts: score(counts), loss=loss)
    list(toy.train(problem._replace(task=task), members, tmp_path / "c", record, 2))
    assert {end.status for end in kept.values()} == {"diverged" if diverges else "finished"}
    assert set(models) == (set() if diverges else set(members))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves([*models.values()]))
    for end in kept.values():
        assert (end.reported_epoch, end.reported) == (None, 0.0) and "never learned" in end.message
        assert end.test == (None if diverges else 0.0)
    tests = {
        entry.member: (entry.epoch, entry.scores["right"])
        for entry in scores
        if entry.part == "test"
    }
    if diverges:
        assert not tests
        return
    score = _growing()
    scores.clear()
    list(toy.train(problem._replace(task=task), members, tmp_path / "d", record, 2))
    assert tests == {
        entry.member: (6, entry.scores["right"]) for entry in scores if entry.part == "test"
    }


def _nothing(counts: dict) -> dict[str, float]:
    """A metric that stays 0."""
    return {"accuracy": 0.0, "right": counts["right"] / counts["rows"]}


def _breaking(params: Any, *rest: Any) -> Any:
    """The toy loss; NaN once the parameters have grown, which takes more than an epoch."""
    loss, carry = toy.TASK.loss(params, *rest)
    return jnp.where(jnp.abs(params["table"]).max() > 6.9, jnp.nan, loss), carry


def _growing() -> Any:
    """A metric that rises with every evaluation, so that the last epoch is the best."""
    count = iter(range(1, 10**6))

    def score(counts: dict) -> dict[str, float]:
        return {"accuracy": float(next(count)), "right": counts["right"] / counts["rows"]}

    return score


PROBLEM = toy.problem(patience=0, epochs=5, checkpoint_every=2)
FIRST, SECOND, THIRD = (toy.member(seed) for seed in (1, 2, 3))


class _Watched:
    """Stops the first member after two epochs; then the third one joins."""

    def __init__(self) -> None:
        self.joined: dict[Member, int] = {}
        self.met: list[tuple[int, tuple[int, ...]]] = []

    def after_epoch(
        self, epochs: int, slots: Sequence[Slot]
    ) -> tuple[list[Status | None], list[Member]]:
        active = [slot for slot in slots if slot.member is not None]
        self.met.append((epochs, tuple(sorted(s.member.seed for s in active if s.member))))
        stops = [slot.member == FIRST and slot.epoch == 2 for slot in slots]
        joining = [THIRD] if any(stops) and THIRD not in self.joined else []
        self.joined.update((member, epochs) for member in joining)
        return ["early_stopped" if stop else None for stop in stops], joining


def _train(folder: Path, members: list[Member], feed: Feed = CLOSED) -> dict[int, Slot]:
    ends: dict[int, Slot] = {}

    def record(report: Report) -> None:
        for end in report.ended:
            assert end.member is not None
            ends[end.member.seed] = dataclasses.replace(end, seconds=0.0)

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
    assert ends[1].status == "early_stopped" and ends[1].epoch == 2
    assert ends[1].test is not None and ends[1].reported is not None
    alone = _train(tmp_path / "alone", [SECOND, THIRD])
    assert {seed: ends[seed] for seed in (2, 3)} == alone
