"""Schedules, slots, lanes and stopping on their own."""

import dataclasses
import gc
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.config import markers
from jaxeval.contracts import Member, Metric
from jaxeval.population import lanes, schedule, slots
from jaxeval.population.settings import Plateau, Stopping, Training
from tests.population import toy


def test_every_row_once_an_epoch_and_in_another_order() -> None:
    """Dies if rows are lost, repeated, or not shuffled anew."""
    rows = [jnp.arange(10, 23), jnp.arange(5)]
    orders = [schedule.epoch_order(jax.random.key(e), rows, 4) for e in (0, 1)]
    for order in orders:
        for bucket, original in zip(order, rows, strict=True):
            assert len(bucket) % 4 == 0
            assert sorted(int(r) for r in bucket if r >= 0) == original.tolist()
    assert not np.array_equal(orders[0][0], orders[1][0])
    steps = schedule.steps([13, 0, 5], 4)
    pairs = list(zip(steps.bucket.tolist(), steps.batch.tolist(), strict=True))
    assert sorted(pairs) == [(0, s) for s in range(4)] + [(1, s) for s in range(2)]
    assert pairs != sorted(pairs)


def test_slots_count_strict_improvements() -> None:
    """Dies if equal scores reset patience, lower is always worse, or no dev score is no end."""
    slot = slots.Slot(toy.member(1))
    for score in (0.5, 0.5, 0.4):
        slot = slots.scored(slot, slots.Outcome(0.1, score, 1.0), Metric("f1"))
    assert (slot.best, slot.best_epoch, slot.epoch, slot.seconds) == (0.5, 1, 3, 3.0)
    metric = Metric("f1")
    assert slots.status(slot, 1.0, 0.5, Training(epochs=10, patience=2), metric) == "early_stopped"
    assert slots.status(slot, 1.0, 0.5, Training(epochs=10, patience=3), metric) is None
    assert slots.status(slot, 1.0, 0.5, Training(epochs=3, patience=0), metric) == "finished"
    assert slots.status(slot, math.nan, 0.5, Training(epochs=10, patience=0), metric) == "diverged"
    assert slots.status(slot, 1.0, math.inf, Training(patience=0), metric) == "diverged"
    assert slots.status(slot, 1.0, None, Training(epochs=4), metric) is None
    assert slots.status(slot, 1.0, None, Training(epochs=3), metric) == "finished"
    loss = Metric("loss", False)
    low = slots.scored(slots.Slot(toy.member(1)), slots.Outcome(0.1, 3.0, 1.0), loss)
    assert slots.scored(low, slots.Outcome(0.1, 2.0, 1.0), loss).best_epoch == 2
    assert slots.scored(low, slots.Outcome(math.nan, 2.0, 1.0), loss).best_epoch == 1
    assert slots.from_json(dataclasses.asdict(slot)) == slot


def test_what_follows_for_a_lane() -> None:
    """Dies if the best parameters are not kept, or test is read of a member that goes on, of one
    that diverged before it had a best, or never of one whose scores stayed 0."""
    metric, training = Metric("f1"), Training(epochs=2, patience=0)

    def events(*outcomes: tuple[float, float | None]) -> list[slots.Event]:
        slot, actual = slots.Slot(toy.member(1)), []
        for loss, score in outcomes:
            slot, event = slots.advance(slot, slots.Outcome(loss, score, 0.0), training, metric)
            actual.append(event)
        return actual

    assert events((1.0, 0.5), (1.0, 0.4)) == [
        slots.Event(None, keep=True),
        slots.Event("finished", keep=False, test=True),
    ]
    assert events((1.0, 0.0), (1.0, 0.0))[1] == slots.Event("finished", keep=True, test=True)
    assert events((math.nan, 0.5)) == [slots.Event("diverged")]
    assert events((1.0, 0.5), (math.nan, 0.9))[1] == slots.Event("diverged", test=True)
    assert slots.advance(slots.Slot(), slots.Outcome(1.0, None, 1.0), training, metric) == (
        slots.Slot(),
        slots.Event(),
    )


def test_the_last_epoch_can_be_the_one_that_is_scored() -> None:
    """Dies if patience counts from the last epoch then, its weights are not kept, or those of an
    epoch whose loss is not finite are."""
    training, metric = Training(epochs=9, patience=2, scored_epoch="last"), Metric("f1")
    slot, kept = slots.Slot(toy.member(1)), []
    for score in (0.3, 0.5, 0.4, 0.45):
        slot, event = slots.advance(slot, slots.Outcome(1.0, score, 0.0), training, metric)
        kept.append(event.keep)
    assert event.status == "early_stopped" and event.test and kept == [True] * 4
    end = slots.end_of(slot, event.status, metric, 0.7)
    assert (end.best_epoch, end.dev, end.test) == (4, 0.45, 0.7)
    assert slots.from_json(dataclasses.asdict(slot)) == slot
    before = slots.scored(slots.Slot(toy.member(1)), slots.Outcome(1.0, 0.5, 0.0), metric, "last")
    diverged, event = slots.advance(before, slots.Outcome(math.nan, 0.9, 0.0), training, metric)
    assert not event.keep and event.test and diverged.reported == 0.5


def test_balance_shares_active_lanes() -> None:
    """Dies if lanes are lost or one device keeps the work."""
    assert lanes.balance([True, False, True, True], 2) is None
    order = lanes.balance([True, True, True, True, False, False, False, True], 2)
    assert order is not None and sorted(order) == list(range(8))
    active = [True, True, True, True, False, False, False, True]
    moved = [active[lane] for lane in order]
    assert abs(sum(moved[:4]) - sum(moved[4:])) <= 1


def test_a_corpus_lies_on_the_devices_once() -> None:
    """Dies if every program has a copy of its own, one stays when no program reads it, or another
    corpus, in the same place of memory, is taken for it."""
    corpus, mesh = toy.corpus(), lanes.make_mesh(jax.devices()[:2])
    leaves = jax.tree.leaves(corpus)
    gc.collect()
    before = len(jax.live_arrays())
    first, second = (lanes.replicate(corpus, mesh) for _ in range(2))
    assert len(jax.live_arrays()) == before + len(leaves)
    other = lanes.replicate(corpus, lanes.make_mesh(jax.devices()[:1]))
    assert len(jax.live_arrays()) == before + 2 * len(leaves)
    jax.tree.map(np.testing.assert_array_equal, other, corpus)
    del first, other
    gc.collect()
    assert len(jax.live_arrays()) == before + len(leaves)
    for number in range(20):
        table = np.full(5, number)
        second = lanes.replicate({"table": table}, mesh)
        assert np.asarray(second["table"]).tolist() == [number] * 5
    del second
    gc.collect()
    assert len(jax.live_arrays()) == before


def test_the_rate_falls_on_a_plateau() -> None:
    """Dies if a decay comes an epoch early or late, or follows itself (golden: 37, then 64)."""
    who = Member(
        1, 0, (("learning_rate", 1.0), *sorted(markers.active(Plateau(patience=26)).items()))
    )
    slot, fell = slots.Slot(who, best=1.0, best_epoch=10), []
    for epoch in range(11, 80):
        slot = slots.decay(dataclasses.replace(slot, epoch=epoch), None)
        if slot.last_decay == epoch:
            fell.append(epoch)
    assert fell == [37, 64] and slot.decays == 2
    slot = slots.Slot(who, epoch=29, best=1.0, best_epoch=28)
    assert slots.decay(slot, 30).decays == 0
    slot = slots.decay(dataclasses.replace(slot, epoch=30), 30)
    assert (slot.decays, slot.last_decay) == (1, 30)
    assert slots.decay(dataclasses.replace(slot, epoch=31), 30).decays == 1  # only the first
    for steady in (Member(1), Member(1, 0, (("plateau_factor", 1.0),))):
        assert slots.decay(slots.Slot(steady, epoch=99), 30).decays == 0


def test_the_rate_falls_to_the_floor() -> None:
    """Dies if the rate falls through the floor, or is lifted to it."""

    def rates(first: float) -> list[float]:
        plateau = markers.active(Plateau(factor=0.5, floor=0.2))
        who = Member(1, 0, tuple(sorted({"learning_rate": first, **plateau}.items())))
        return [slots.learning_rate(slots.Slot(who, decays=decays)) for decays in range(4)]

    assert rates(1.0) == [1.0, 0.5, 0.25, 0.2]
    assert rates(0.1) == [0.1] * 4


def test_improvement_is_looked_for_in_a_growing_past() -> None:
    """Dies if the ramp is off (public code: 1 + int(29 / 60 * turn), 30 from turn 60 on)."""
    stopping = Stopping(patience=30, rampup_epochs=60)
    assert [slots.lookback(stopping, t) for t in (0, 2, 3, 59, 60, 900)] == [1, 1, 2, 29, 30, 30]
    assert slots.lookback(Stopping(patience=7, rampup_epochs=0), 1) == 7
    bests = [5.0, 4.0, 3.5, 3.0]
    assert slots.reachable(bests, 2, 4) == 3.0 - (4.0 - 3.0) * 4 / 2
    np.testing.assert_allclose(slots.reachable(bests, 2, 4, log=True), 3.0 * (3 / 4) ** 2)


def test_a_member_without_a_chance_ends() -> None:
    """Dies if a member that could reach its target ends, or one that cannot goes on."""
    bits, f1 = Metric("bits", False), Metric("f1")

    def ends(bests: list[float], metric: Metric, decays: int = 0, **settings: Any) -> bool:
        stopping = Stopping(**{"patience": 2, "rampup_epochs": 0, **settings})
        best = bests.index(min(bests) if metric is bits else max(bests)) + 1
        slot = slots.Slot(None, len(bests), None, best, decays=decays, bests=tuple(bests))
        return slots.should_stop(slot, 10, stopping, metric)

    assert not ends([3.0, 2.0, 2.0], bits)  # best + 2 < epoch is not yet true
    assert not ends([3.0, 2.0, 2.0, 2.0], bits)
    assert ends([3.0, 2.0, 2.0, 2.0, 2.0], bits)
    assert not ends([9.0, 3.0, 2.5, 2.0], bits, targets=(0.6,))  # 2 - 6 / 2 = -1
    assert not ends([2.2, 2.1, 2.0], bits, targets=(1.4,))  # 2 - .2 * 7 / 2 = 1.3
    assert ends([2.2, 2.1, 2.0], bits, targets=(1.2,))
    assert not ends([2.2, 2.1, 2.0], bits, decays=3, targets=(1.2, 1.4))
    assert ends([0.5, 0.6, 0.7], f1, targets=(1.5,)) and not ends([0.5, 0.6, 0.7], f1)
    assert not ends([0.5, 0.6, 0.7], f1, targets=(1.3,))
