"""Shards of a study come together in one database, whatever was merged when, and how often."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxeval import runs
from jaxeval.runs import store as stores

EPOCHS = 3
EXPERIMENTS = [
    runs.Experiment(k, f"name {k}", "toy", "f1", True, "fraction", 0.01, "{}", k, "data", "hash")
    for k in ("a", "b")
]
# of a training: experiment, seed, and its epochs so far; one more than EPOCHS: it has ended
_TRAININGS = st.tuples(st.sampled_from("ab"), st.integers(1, 3), st.integers(1, EPOCHS + 1))
_SHARDS = st.lists(st.lists(_TRAININGS, max_size=4), max_size=4)


def _shard(trainings: Sequence[tuple[str, int, int]]) -> stores.Store:
    """What a process leaves of trainings, of which some have not ended."""
    store = stores.open_store(None)
    for experiment in EXPERIMENTS:
        store.register(experiment)
    for experiment, seed, epochs in trainings:
        key = (experiment, seed, 0, 0, "{}")
        scores = [
            runs.EpochScore(*key, epoch, "dev", "f1", seed + epoch / 8)
            for epoch in range(1, min(epochs, EPOCHS) + 1)
        ]
        ended = []
        if epochs > EPOCHS:
            ended = [runs.MemberResult(*key, "finished", EPOCHS, 1, 0.5, seed / 8, 1.0, *[""] * 5)]
            counts = np.full((2, 1), seed, np.float32)
            store.record_outcomes([runs.Outcomes(*key, "test", ("n",), counts)])
        store.record(ended, scores)
    return store


def _contents(store: stores.Store) -> tuple:
    outcomes = [store.outcomes(experiment.id, "test") for experiment in EXPERIMENTS]
    counts = [(each.experiment, each.seed, each.counts.tolist()) for of in outcomes for each in of]
    return store.members(), store.curves(), counts


@settings(max_examples=15, deadline=None)
@given(_SHARDS, st.data())
def test_any_order_any_subset_twice(shards: list, data: st.DataObject) -> None:
    """Dies if a merge loses or doubles a row, or a training that has not ended takes away from
    one that has."""
    order = data.draw(st.permutations(range(len(shards))))
    first = data.draw(st.sets(st.sampled_from(order))) if order else set()
    every = [_shard(shard) for shard in shards]
    with stores.open_store(None) as merged:
        for k in [*first, *order, *first]:
            merged.merge(every[k])
        furthest: dict[tuple[str, int], int] = {}
        for experiment, seed, epochs in (training for shard in shards for training in shard):
            at = experiment, seed
            furthest[at] = max(epochs, furthest.get(at, 0))
        with _shard([(*at, epochs) for at, epochs in furthest.items()]) as truth:
            assert _contents(merged) == _contents(truth)
    for shard in every:
        shard.close()


def test_a_training_that_goes_on_adds_nothing_to_one_that_has_ended() -> None:
    """Dies if a member that ended at once, trained again, keeps epochs of the longer training."""
    ended, longer = _shard([("a", 1, EPOCHS + 1)]), _shard([])
    for epoch in (1, EPOCHS + 1):
        longer.record([], [runs.EpochScore("a", 1, 0, 0, "{}", epoch, "dev", "f1", 0.0)])
    for order in ((ended, longer), (longer, ended)):
        with stores.open_store(None) as merged:
            for shard in order:
                merged.merge(shard)
            assert _contents(merged) == _contents(ended)
    ended.close()
    longer.close()


def test_a_pause_takes_nothing_from_an_end() -> None:
    """Dies if a shard that has paused undoes what was decided of it, or an end elsewhere; or if
    what has paused counts as ended, or not from its epoch on."""
    key = ("a", 1, 0, 0, "{}")
    paused, whole = _shard([("a", 1, 2)]), _shard([("a", 1, EPOCHS + 1)])
    result = runs.MemberResult(*key, "paused", 2, 1, 0.5, 0.25, 1.0, *[""] * 5)
    paused.record([result], [])
    assert paused.ended("a") == paused.ended("a", 3) == {} != paused.ended("a", 2)
    with stores.open_store(None) as merged:
        merged.merge(paused)
        merged.stop(result)
        merged.merge(paused)
        assert [(row.status, row.epochs) for row in merged.members()] == [("early_stopped", 2)]
        merged.merge(whole)
        merged.merge(paused)
        assert _contents(merged) == _contents(whole)
    paused.close()
    whole.close()
