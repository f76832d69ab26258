"""The host's side of a running population: who has which lane, and what an epoch changes."""

import dataclasses
import operator
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from jaxeval.contracts import Array, Member, Tree
from jaxeval.errors import ConfigError, JaxevalError
from jaxeval.population import engine, lanes, slots
from jaxeval.population.member import Problem

# compiled programs of a problem by (lanes, steps, names of hparams, devices, mode)
Programs = dict[tuple[int, int, tuple[str, ...], Mesh, lanes.Mode], engine.Engine]
# names of counts, and a member's counts of each row of a part [rows, names] float32, bucket by
# bucket in the order of its split
_RowCounts = tuple[tuple[str, ...], np.ndarray]
_Scores = list[dict[str, float]]  # of each lane; {} if it was not scored


class Snapshot(NamedTuple):
    """A population between two epochs."""

    number: int  # epochs of the population so far
    state: Tree  # numpy leaves [S, ...]
    slots: Sequence[slots.Slot]


class EpochScores(NamedTuple):
    """Scores of a member after an epoch (from 1) on a part of the corpus."""

    member: Member
    epoch: int
    part: str
    scores: Mapping[str, float]


class Report(NamedTuple):
    """An epoch of the population, which has been trained and recorded."""

    scores: Sequence[EpochScores]
    ended: Sequence[slots.Slot]  # of members that ended with it, in no lane any more
    slots: Sequence[slots.Slot]
    waiting: int  # members without a lane yet
    seconds: float
    best: Mapping[Member, Tree]  # params of those that ended, if models are saved
    rows: Mapping[Member, Mapping[str, _RowCounts]]  # of those that ended, by part, if requested


class Feed(NamedTuple):
    """Changes of a population between two epochs: members that join or stop."""

    # member -> epochs of the population after which it joins; others join at once. So members of a
    # resumed population meet when they did before.
    arrivals: Mapping[Member, int]
    # (epochs of the population, slots) -> (how the feed ends each slot's member or None, members
    # that join now). Called after every epoch, repeated ones of a resumed population included,
    # before anything of it is recorded.
    after_epoch: Callable[
        [int, Sequence[slots.Slot]], tuple[Sequence[slots.Status | None], Sequence[Member]]
    ]


CLOSED = Feed({}, lambda epochs, each: ([None] * len(each), []))


class Population:
    """The lanes of a running cohort: arrays on the devices, slots on the host.

    Args:
      members: all different.
      count: lanes, rounded up to a multiple of the devices; fixed when resumed, as under `vmap`
        the width can change last bits.
      programs: of populations of the same problem: reused if they fit; new ones are added.
      count_rows: reports hold the counts of each row of dev and test of members that end.
      steps: least room for steps of an epoch, if members have batch sizes of their own.
      pause: epoch after which members pause that do not end with it; 0: never. Such a member keeps
        its lane, and ends the training of the population.
    """

    def __init__(
        self,
        problem: Problem,
        members: Sequence[Member],
        count: int,
        devices: Sequence[jax.Device] | None = None,
        programs: Programs | None = None,
        count_rows: bool = False,
        feed: Feed = CLOSED,
        steps: int = 0,
        pause: int = 0,
    ):
        self.problem, self._feed, self._count_rows, self._pause = problem, feed, count_rows, pause
        self.waiting, self.epochs = list(members), 0
        self._failed: list[slots.Slot] = []
        mesh, first_split = lanes.make_mesh(devices), problem.split_of(members[0])
        self._most_steps = max(engine.most_steps(members, first_split), steps)
        if self._most_steps:
            problem.refuse_cut_batches("batch_size")
        count = lanes.round_up(count, mesh)
        self._programs: Programs = {} if programs is None else programs
        names = tuple(name for name, _ in members[0].hparams)
        self._key = count, self._most_steps, names, mesh, problem.mode
        known = self._programs.get(self._key)
        self.engine = known or engine.build(problem, first_split, mesh)
        lane = engine.lane_of(problem, members[0], self._most_steps)
        self.slots = [slots.Slot()] * count
        self._host_lanes = [lane] * count  # an idle lane keeps its last member's data
        if known is None:
            self.state = self._shard(engine.empty_state(problem, self.engine.shared, lane, count))
        else:  # nothing is traced again
            self.state = self._shard(engine.zeros(known.fill.out_info))  # type: ignore[attr-defined]
        self._put_lanes()

    def _shard(self, tree: Tree) -> Tree:
        return lanes.shard(tree, self.engine.mesh)

    def _put_lanes(self) -> None:
        self.lanes = self._shard(engine.stack(self._host_lanes))
        self._stale = False  # whether the devices lack changes of lanes

    def flags(self, values: Sequence[bool]) -> Array:
        """Places one flag per lane on the devices."""
        return self._shard(np.array(values))

    def compile(self) -> Iterator[engine.Compiling]:
        """Compiles all programs, unless they are known; yields as each begins and has ended."""
        if self._key not in self._programs:
            self.engine = yield from engine.compile_all(self.engine, self.state, self.lanes)
            self._programs[self._key] = self.engine

    def snapshot(self) -> Snapshot:
        """Copies the population between two epochs."""
        return Snapshot(self.epochs, lanes.fetch(self.state), list(self.slots))

    def restore(self, snapshot: Snapshot) -> None:
        """Loads those members of a snapshot that are still waiting, each with its state."""
        waiting, width = set(self.waiting), len(self.slots)
        chosen = [k for k, slot in enumerate(snapshot.slots) if slot.member in waiting][:width]
        for lane, old_lane in enumerate(chosen):
            self._load(lane, snapshot.slots[old_lane])

        def in_front(leaf: np.ndarray) -> np.ndarray:
            idle = np.zeros((width - len(chosen), *leaf.shape[1:]), leaf.dtype)
            return np.concatenate([leaf[chosen], idle])

        self.state = self._shard(jax.tree.map(in_front, snapshot.state))
        self._put_lanes()
        self.epochs = snapshot.number

    def _load(self, lane: int, slot: slots.Slot) -> None:
        assert slot.member is not None
        self.waiting.remove(slot.member)
        self._host_lanes[lane] = engine.lane_of(self.problem, slot.member, self._most_steps)
        self.slots[lane] = slot
        if slot.decays:
            self._decay_rate(lane)

    def _decay_rate(self, lane: int) -> None:
        """Gives a lane the learning rate after its member's decays."""
        rate = {"learning_rate": self.slots[lane].learning_rate}
        self._host_lanes[lane] = engine.with_hparams(self._host_lanes[lane], rate)
        self._stale = True

    def _load_next(self, lane: int) -> bool:
        """Loads the next waiting member whose split can be made; False if there is none."""
        for who in [m for m in self.waiting if self._feed.arrivals.get(m, 0) <= self.epochs]:
            try:
                self._load(lane, slots.Slot(who))
                return True
            except JaxevalError as error:
                self._failed.append(slots.Slot(who, status="failed", message=str(error)))
        return False

    def arrange(self) -> bool:
        """Gives idle lanes to waiting members, evens out devices; False if nobody is left."""
        active = [slot.active for slot in self.slots]
        if self.waiting and not any(active):
            arrivals = (self._feed.arrivals.get(member, 0) for member in self.waiting)
            self.epochs = max(self.epochs, min(arrivals))
        if self.engine.mode == "map" and not self.waiting:
            order = lanes.balance(active, self.engine.mesh.size)
            if order is not None:
                self.slots = [self.slots[lane] for lane in order]
                self._host_lanes = [self._host_lanes[lane] for lane in order]
                moved = jax.tree.map(lambda leaf: leaf[np.array(order)], self.state)
                self.state, self._stale = self._shard(moved), True
        fresh = [not slot.active and self._load_next(lane) for lane, slot in enumerate(self.slots)]
        if any(fresh) or self._stale:
            self._put_lanes()
        if any(fresh):
            flags = self.flags(fresh)
            self.state = self.engine.fill(self.engine.shared, self.state, self.lanes, flags)
        return any(slot.active for slot in self.slots) or bool(self._failed)

    def epoch(self) -> Report:
        """Trains every active lane once, scores those that are due, ends members that are done."""
        begin = time.perf_counter()
        shared, training, before = self.engine.shared, self.problem.training, self.slots
        metric = self.problem.task.metric
        active = [slot.active for slot in before]
        state, losses = self.engine.epoch(shared, self.state, self.lanes, self.flags(active))
        dev = self._score("dev", state.params, [slots.due(slot, training) for slot in before])
        losses = [float(loss) for loss in lanes.fetch(losses)]
        self.epochs += 1
        self._advance(losses, dev, (time.perf_counter() - begin) / max(sum(active), 1))
        pairs = zip(before, self.slots, strict=True)
        keep = self.flags([slots.becomes_reported(old, new, metric) for old, new in pairs])
        self.state = state._replace(best=self.engine.keep(shared, state.best, state.params, keep))
        chosen = [slots.is_tested(slot) for slot in self.slots]
        test = self._score("test", self.state.best, chosen)
        tested = {k: slot.member for k, slot in enumerate(self.slots) if slot.member and test[k]}
        best = {
            who: jax.tree.map(operator.itemgetter(lane), self.state.best)
            for lane, who in tested.items()
            if training.save_models
        }
        rows = self._row_counts(tested) if self._count_rows and tested else {}
        scores, ended = self._results(losses, dev, test)
        for lane, slot in enumerate(self.slots):
            goes_on = dataclasses.replace(slot, status=None)
            self.slots[lane] = goes_on if slot.status in (None, "paused") else slots.Slot()
        seconds, left = time.perf_counter() - begin, len(self.waiting)
        return Report(scores, ended, [*self.slots], left, seconds, best, rows)

    def _advance(self, losses: Sequence[float], dev: _Scores, seconds: float) -> None:
        """Advances all slots; the feed may stop members and let others join."""
        training, metric, before = self.problem.training, self.problem.task.metric, self.slots
        self.slots = [
            slots.advance(slot, loss, scores.get(metric.name), seconds, training, metric)
            for slot, loss, scores in zip(before, losses, dev, strict=True)
        ]
        stops, joining = self._feed.after_epoch(self.epochs, self.slots)
        self.waiting += joining
        for lane, (slot, stop) in enumerate(zip(self.slots, stops, strict=True)):
            pauses = slot.active and slot.status is None and slot.epoch == self._pause
            how = stop or ("paused" if pauses else slot.status)
            self.slots[lane] = dataclasses.replace(slot, status=how)
            if slot.decays > before[lane].decays:
                self._decay_rate(lane)

    def _results(
        self, losses: Sequence[float], dev: _Scores, test: _Scores
    ) -> tuple[list[EpochScores], list[slots.Slot]]:
        """Scores of the epoch, then test scores of the reported epochs; and who ended."""
        metric = self.problem.task.metric
        scores, tests, ended = list[EpochScores](), list[EpochScores](), self._failed
        self._failed = []
        for lane, slot in enumerate(self.slots):
            if (who := slot.member) is None:
                continue
            for part, values in {"train": {"loss": losses[lane]}, "dev": dev[lane]}.items():
                scores += [EpochScores(who, slot.epoch, part, values)] if values else []
            if slot.status is not None:
                ended.append(slots.with_test_score(slot, metric, test[lane].get(metric.name)))
            if test[lane]:
                reported = ended[-1].reported_epoch or slot.epoch
                tests.append(EpochScores(who, reported, "test", test[lane]))
        return scores + tests, ended

    def _score(self, part: str, params: Tree, chosen: Sequence[bool]) -> _Scores:
        """Scores the chosen lanes on a part of the corpus."""
        scores: list[dict[str, float]] = [{} for _ in chosen]
        if not any(chosen):
            return scores
        counts = self._evaluated(self.engine.evaluate, part, params, chosen)
        places = np.flatnonzero(chosen)
        each = engine.member_scores(self.problem, counts, places)
        for lane, own in zip(places, each, strict=True):
            scores[lane] = own
        metric, known = self.problem.task.metric.name, scores[chosen.index(True)]
        if metric not in known:
            raise ConfigError(f"metric: expected one of {', '.join(known)}, got {metric!r}")
        return scores

    def _evaluated(
        self, program: Callable[..., Tree], part: str, params: Tree, chosen: Sequence[bool]
    ) -> Mapping[str, np.ndarray]:
        """Runs a program that counts, in the chosen lanes."""
        arguments = params, self.lanes, getattr(self.lanes, part), self.flags(chosen)
        counts: Mapping[str, np.ndarray] = lanes.fetch(program(self.engine.shared, *arguments))
        return counts

    def _row_counts(self, chosen: Mapping[int, Member]) -> dict[Member, dict[str, _RowCounts]]:
        """Counts of each row of dev and test by the best params of members in lanes."""
        counted: dict[Member, dict[str, _RowCounts]] = {who: {} for who in chosen.values()}
        flags = [lane in chosen for lane in range(len(self.slots))]
        for part in ("dev", "test"):
            counts = self._evaluated(self.engine.row_counts, part, self.state.best, flags)
            names = tuple(sorted(counts))
            for lane, who in chosen.items():
                real = np.concatenate(getattr(self._host_lanes[lane], part)) >= 0
                columns = [np.asarray(counts[name][lane], np.float32)[real] for name in names]
                counted[who][part] = names, np.stack(columns, axis=1)
        return counted
