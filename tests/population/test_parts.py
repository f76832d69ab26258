"""Schedules, slots, lanes and stopping on their own."""

import dataclasses
import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.config import fields
from jaxeval.contracts import Member, Metric
from jaxeval.population import Plateau, Stopping, Training, lanes, member, slots
from jaxeval.population.epoch import _epoch_order
from tests.population import toy


def test_every_row_once_an_epoch_and_in_another_order() -> None:
    """Dies if rows are lost, repeated, or not shuffled anew."""
    rows = [jnp.arange(10, 23), jnp.arange(5)]
    orders = [_epoch_order(jax.random.key(e), rows, 4) for e in (0, 1)]
    for order in orders:
        for bucket, original in zip(order, rows, strict=True):
            assert len(bucket) % 4 == 0
            assert sorted(int(r) for r in bucket if r >= 0) == original.tolist()
    assert not np.array_equal(orders[0][0], orders[1][0])
    # other draws would change all scores; 2,000 rows are sorted twice, and no row not at all
    rows, key = [jnp.arange(2000), jnp.arange(0), jnp.arange(9)], jax.random.key(2)
    for bucket, order in enumerate(_epoch_order(key, rows, 1)):
        alone = jax.random.permutation(jax.random.fold_in(key, bucket), rows[bucket])
        np.testing.assert_array_equal(order, alone)
    steps = member.steps([13, 0, 5], 4)
    pairs = list(zip(steps.bucket.tolist(), steps.batch.tolist(), strict=True))
    assert sorted(pairs) == [(0, s) for s in range(4)] + [(1, s) for s in range(2)]
    assert pairs != sorted(pairs)


def test_every_draw_has_a_key_of_its_own() -> None:
    """Dies if epochs, purposes or seeds share their draws, or the generator is JAX's default."""
    each = [(s, p, n) for s in (1, 2) for p in range(4) for n in (0, 1)]
    keys = {
        tuple(jax.random.key_data(member.key_of(np.uint32(s), p, n)).tolist()) for s, p, n in each
    }
    assert len(keys) == len(each)


def _advanced(
    slot: slots.Slot, metric: Metric, *each: tuple[float, float | None], **settings: Any
) -> list[slots.Slot]:
    """The slot, and what it is after epochs of these losses and dev scores."""
    training, after = Training(**{"epochs": 9, "patience": 0, **settings}), [slot]
    for loss, dev in each:
        after.append(slots.advance(after[-1], loss, dev, 1.0, training, metric))
    return after


START, F1, LOSS = slots.Slot(toy.member(1)), Metric("f1"), Metric("loss", False)


def test_slots_count_strict_improvements() -> None:
    """Dies if equal scores count as best, lower is always worse, or a slot is not read again."""
    slot = _advanced(START, F1, (0.1, 0.5), (0.1, 0.5), (0.1, 0.4))[-1]
    assert (slot.best, slot.best_epoch, slot.epoch, slot.seconds) == (0.5, 1, 3, 3.0)
    assert slot.bests == (0.5, 0.5, 0.5)
    assert slots.Slot.from_json(dataclasses.asdict(slot)) == slot
    for loss, expected in ((0.1, 2), (math.nan, 1)):
        assert _advanced(START, LOSS, (0.1, 3.0), (loss, 2.0))[-1].best_epoch == expected


@pytest.mark.parametrize(
    ("each", "settings", "status", "keeps", "is_tested"),
    [
        ([(1.0, 0.5), (1.0, 0.4)], {"epochs": 2}, "finished", False, True),
        ([(1.0, 0.5)], {}, None, True, False),
        ([(1.0, 0.5), (1.0, 0.5), (1.0, 0.4)], {"patience": 3}, None, False, False),
        ([(1.0, 0.5), (1.0, 0.4)], {"patience": 1, "epochs": 2}, "early_stopped", False, True),
        ([(1.0, None), (1.0, None)], {"patience": 1}, None, False, False),
        ([(1.0, 0.0), (1.0, 0.0)], {"epochs": 2}, "finished", True, True),
        ([(math.nan, 0.5)], {}, "diverged", False, False),
        ([(1.0, 0.5), (math.nan, 0.9)], {}, "diverged", False, False),
        ([(1.0, 0.5), (1.0, math.inf)], {}, "diverged", False, False),
    ],
)
def test_what_follows_for_a_lane(
    each: list, settings: dict, status: str | None, keeps: bool, is_tested: bool
) -> None:
    """Dies if the best parameters are not kept, patience is off by one, or test is read of a
    member that goes on, of one that diverged, or never of one that stayed at 0."""
    *_, before, after = _advanced(START, F1, *each, **settings)
    assert after.status == status
    assert (slots.becomes_reported(before, after, F1), slots.is_tested(after)) == (
        keeps,
        is_tested,
    )
    assert {*_advanced(slots.Slot(), F1, *each)} == {slots.Slot()}


def test_the_last_epoch_can_be_the_one_that_is_scored() -> None:
    """Dies if patience counts from the last epoch then, its weights are not kept, or those of an
    epoch whose loss is not finite are."""
    settings: dict = {"patience": 2, "scored_epoch": "last"}
    each = [(1.0, score) for score in (0.3, 0.5, 0.4, 0.45)]
    after = _advanced(START, F1, *each, **settings)
    assert after[-1].status == "early_stopped" and slots.is_tested(after[-1])
    assert all(slots.becomes_reported(*pair, F1) for pair in itertools.pairwise(after))
    end = slots.with_test_score(after[-1], F1, 0.7)
    assert (end.reported_epoch, end.reported, end.test) == (4, 0.45, 0.7)
    *_, before, slot = _advanced(START, F1, (1.0, 0.5), (math.nan, 0.9), **settings)
    assert not slots.becomes_reported(before, slot, F1) and not slots.is_tested(slot)
    assert slot.reported == 0.5


def test_balance_shares_active_lanes() -> None:
    """Dies if lanes are lost or one device keeps the work."""
    assert lanes.balance([True, False, True, True], 2) is None
    order = lanes.balance([True, True, True, True, False, False, False, True], 2)
    assert order is not None and sorted(order) == list(range(8))
    active = [True, True, True, True, False, False, False, True]
    moved = [active[lane] for lane in order]
    assert abs(sum(moved[:4]) - sum(moved[4:])) <= 1


def test_the_rate_falls_on_a_plateau() -> None:
    """Dies if a decay comes an epoch early or late, or follows itself (golden: 37, then 64)."""
    plateau = Plateau(patience=26)
    falling = (("learning_rate", 1.0), *sorted(fields.active(plateau).items()))

    def fell(epoch: int, until: int, hparams: tuple = falling, **settings: Any) -> list[int]:
        slot = slots.Slot(Member(1, 0, hparams), epoch, best=1.0, best_epoch=min(epoch, 28))
        each = [(1.0, 1.0)] * (until - epoch)
        pairs = itertools.pairwise(_advanced(slot, F1, *each, epochs=200, **settings))
        return [new.epoch for old, new in pairs if new.decays > old.decays]

    assert fell(10, 79) == [37, 64]
    assert fell(28, 40, plateau=Plateau(latest=30)) == [30]
    for steady in ((), (("plateau_factor", 1.0),)):
        assert not fell(10, 99, steady, plateau=Plateau(latest=30))


def test_the_rate_falls_to_the_floor() -> None:
    """Dies if the rate falls through the floor, or is lifted to it."""

    def rates(first: float) -> list[float]:
        plateau = fields.active(Plateau(factor=0.5, floor=0.2))
        who = Member(1, 0, tuple(sorted({"learning_rate": first, **plateau}.items())))
        return [slots.Slot(who, decays=decays).learning_rate for decays in range(4)]

    assert rates(1.0) == [1.0, 0.5, 0.25, 0.2]
    assert rates(0.1) == [0.1] * 4


def _ends(bests: list[float], metric: Metric, decays: int = 0, **settings: Any) -> bool:
    stopping = Stopping(**{"patience": 2, "rampup_epochs": 0, **settings})
    best = bests.index(max(bests) if metric.higher_is_better else min(bests)) + 1
    slot = slots.Slot(None, len(bests), None, best, decays=decays, bests=tuple(bests))
    return slots._should_stop(slot, 10, stopping, metric)


def test_a_member_without_a_chance_ends() -> None:
    """Dies if a member that could reach its target ends, or one that cannot goes on."""
    assert not _ends([3.0, 2.0, 2.0, 2.0], LOSS)  # best + 2 < epoch is not yet true
    assert _ends([3.0, 2.0, 2.0, 2.0, 2.0], LOSS)
    assert not _ends([9.0, 3.0, 2.5, 2.0], LOSS, targets=(0.6,))  # 2 - 6 / 2 = -1
    assert not _ends([2.2, 2.1, 2.0], LOSS, targets=(1.4,))  # 2 - .2 * 7 / 2 = 1.3
    assert _ends([2.2, 2.1, 2.0], LOSS, targets=(1.2,))
    assert not _ends([2.2, 2.1, 2.0], LOSS, decays=3, targets=(1.2, 1.4))
    assert _ends([0.5, 0.6, 0.7], F1, targets=(1.5,)) and not _ends([0.5, 0.6, 0.7], F1)
    assert not _ends([0.5, 0.6, 0.7], F1, targets=(1.3,))
    by_ratio = 2.0 * (2.0 / 2.2) ** (7 / 2)
    assert _ends([2.2, 2.1, 2.0], LOSS, targets=(by_ratio * 0.99,), log=True)
    assert not _ends([2.2, 2.1, 2.0], LOSS, targets=(by_ratio * 1.01,), log=True)
