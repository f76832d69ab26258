"""The host's side of training: who has which lane, what is recorded, when to stop."""

import functools
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh

from jaxeval.contracts import Array, Member, Tree
from jaxeval.errors import ConfigError, JaxevalError
from jaxeval.population import background, checkpoints, engine, lanes, reports, row_counts, slots
from jaxeval.population import feed as feeds
from jaxeval.population.feed import Feed
from jaxeval.population.problem import Problem
from jaxeval.population.reports import Compilation, Report
from jaxeval.population.row_counts import RowCounts

# what has been compiled for a problem: (lanes, steps, names of hparams, devices, mode) -> programs
Programs = dict[tuple[int, int, tuple[str, ...], Mesh, lanes.Mode], engine.Engine]


def _ignore(program: str, seconds: float | None) -> None:
    """Nobody watches the compilation."""


class Population:
    """The lanes of a running cohort: arrays on the devices, slots on the host."""

    def __init__(
        self,
        problem: Problem,
        members: Sequence[Member],
        count: int,
        devices: Sequence[jax.Device] | None = None,
        programs: Programs | None = None,
        count_rows: bool = False,
        feed: Feed = feeds.CLOSED,
        steps: int = 0,
    ):
        """Arguments as of `train`."""
        self.problem, self.program = problem, problem.program
        self.count_rows, self._feed = count_rows, feed
        self.waiting = list(members)
        self.epochs = 0
        self._failed: list[slots.MemberEnd] = []
        self._stale = False  # lanes were given something that the devices do not have yet
        mesh, mode = lanes.make_mesh(devices), lanes.resolve(problem.training.lane_mode)
        first_split = problem.split_of(members[0])
        self._most_steps = max(engine.most_steps(members, first_split), steps)
        count = lanes.round_up(count, mesh)
        self._programs: Programs = {} if programs is None else programs
        names = tuple(name for name, _ in members[0].hparams)
        self._key = count, self._most_steps, names, mesh, mode
        self.engine = self._programs.get(self._key) or engine.build(
            self.program, problem.corpus, first_split, mesh, mode
        )
        if self._most_steps:
            problem.refuse_cut_batches("batch_size")
        lane = engine.lane_of(self.program, members[0], first_split, self._most_steps)
        self.slots = [slots.Slot()] * count
        self._host_lanes = [lane] * count  # an idle lane keeps its last member's data
        self.state = self._shard(engine.empty_state(self.engine, self.program, lane, count))
        self.lanes = self._shard(engine.stack(self._host_lanes))

    def _shard(self, tree: Tree) -> Tree:
        return lanes.shard(tree, self.engine.mesh)

    def flags(self, values: Sequence[bool]) -> Array:
        """A flag a lane, on the devices."""
        return self._shard(np.array(values))

    def compile(self, tell: Callable[[str, float | None], None] = _ignore) -> float:
        """Compiles all programs side by side, before any of them is timed; seconds taken.

        Args:
          tell: as `engine.compile_all` has it.
        """
        begin = time.perf_counter()
        if self._key not in self._programs:
            self.engine = engine.compile_all(self.engine, self.state, self.lanes, tell)
            self._programs[self._key] = self.engine
        return time.perf_counter() - begin

    def restore(self, snapshot: checkpoints.Snapshot) -> None:
        """Loads the members of a snapshot that are still waited for, each with its state."""
        waiting = set(self.waiting)
        chosen = [lane for lane, slot in enumerate(snapshot.slots) if slot.member in waiting]
        chosen = chosen[: len(self.slots)]
        for lane, old_lane in enumerate(chosen):
            self._load(lane, snapshot.slots[old_lane])
        self.state = self._shard(engine.select(snapshot.state, chosen, len(self.slots)))
        self.lanes = self._shard(engine.stack(self._host_lanes))
        self.epochs = snapshot.number

    def snapshot(self) -> checkpoints.Snapshot:
        """The population as it stands between two epochs."""
        return checkpoints.Snapshot(self.epochs, jax.device_get(self.state), list(self.slots))

    def _load(self, lane: int, slot: slots.Slot) -> None:
        """Gives a lane to the member of a slot."""
        assert slot.member is not None
        self.waiting.remove(slot.member)
        split = self.problem.split_of(slot.member)
        self._host_lanes[lane] = engine.lane_of(self.program, slot.member, split, self._most_steps)
        self.slots[lane] = slot
        if slot.decays:
            self._decay_rate(lane)

    def _decay_rate(self, lane: int) -> None:
        """Gives a lane the learning rate that its member's decays have left."""
        rate = {"learning_rate": slots.learning_rate(self.slots[lane])}
        self._host_lanes[lane] = engine.with_hparams(self._host_lanes[lane], rate)
        self._stale = True

    def _arrival(self, member: Member) -> int:
        return self._feed.arrivals.get(member, 0)

    def _load_next(self, lane: int) -> bool:
        """Loads the next waiting member whose split can be made; says whether there was one."""
        while True:
            arrived = (m for m in self.waiting if self._arrival(m) <= self.epochs)
            who = next(arrived, None)
            if who is None:
                return False
            try:
                self._load(lane, slots.Slot(who))
                return True
            except JaxevalError as error:
                end = slots.MemberEnd(who, "failed", 0, None, None, None, 0.0, str(error))
                self._failed.append(end)

    def arrange(self) -> bool:
        """Gives idle lanes to waiting members and evens out the devices; False: nobody is left."""
        order = None
        if self.waiting and not any(slot.active for slot in self.slots):
            self.epochs = max(self.epochs, min(map(self._arrival, self.waiting)))
        if self.engine.mode == "map" and not self.waiting:
            active = [slot.active for slot in self.slots]
            order = lanes.balance(active, self.engine.mesh.size)
        if order is not None:
            self.slots = [self.slots[lane] for lane in order]
            self._host_lanes = [self._host_lanes[lane] for lane in order]
            self.state = self._shard(jax.tree.map(lambda leaf: leaf[np.array(order)], self.state))
        fresh = [False] * len(self.slots)
        for lane, slot in enumerate(self.slots):
            fresh[lane] = not slot.active and self._load_next(lane)
        if order is not None or any(fresh) or self._stale:
            self.lanes = self._shard(engine.stack(self._host_lanes))
            self._stale = False
        if any(fresh):
            flags = self.flags(fresh)
            self.state = self.engine.fill(self.engine.shared, self.state, self.lanes, flags)
        return any(slot.active for slot in self.slots) or bool(self._failed)

    def epoch(self) -> Report:
        """Trains every active lane once, scores those that are due, ends members that are done."""
        begin = time.perf_counter()
        training, metric = self.problem.training, self.problem.task.metric
        active = [slot.active for slot in self.slots]
        state, losses = self.engine.epoch(
            self.engine.shared, self.state, self.lanes, self.flags(active)
        )
        dev = self._score("dev", state.params, [slots.due(slot, training) for slot in self.slots])
        losses = [float(loss) for loss in jax.device_get(losses)]
        self.epochs += 1
        seconds = (time.perf_counter() - begin) / max(sum(active), 1)
        outcomes = [
            slots.Outcome(loss, scores.get(metric.name), seconds)
            for loss, scores in zip(losses, dev, strict=True)
        ]
        advance = functools.partial(slots.advance, training=training, metric=metric)
        alone = list(map(advance, self.slots, outcomes))
        advanced, joining = feeds.fed(self._feed, self.epochs, alone, metric)
        self.waiting += joining
        self.slots, events = [slot for slot, _ in advanced], [event for _, event in advanced]
        for lane, event in enumerate(events):
            if event.decayed:
                self._decay_rate(lane)
        keep = self.flags([event.keep for event in events])
        best = self.engine.keep(self.engine.shared, state.best, state.params, keep)
        self.state = state._replace(best=best)
        test = self._score("test", self.state.best, [event.test for event in events])
        scores = reports.epoch_scores(self.slots, metric, losses, dev, test)
        saved = {}
        if training.save_models:
            saved = reports.best_params(self.slots, events, self.state.best)
        rows = self._row_counts([event.test for event in events]) if self.count_rows else {}
        ended = self._failed + reports.ended(self.slots, events, metric, test)
        self._failed = []
        self.slots = [
            slots.Slot() if event.status is not None else slot
            for slot, event in zip(self.slots, events, strict=True)
        ]
        spent = time.perf_counter() - begin
        return Report(scores, ended, [*self.slots], len(self.waiting), spent, saved, rows)

    def _score(self, part: str, params: Tree, chosen: Sequence[bool]) -> list[dict[str, float]]:
        """Scores of the chosen lanes on a part of the corpus; {} for the others."""
        if not any(chosen):
            return [{} for _ in chosen]
        rows, flags = getattr(self.lanes, part), self.flags(chosen)
        counts = jax.device_get(
            self.engine.evaluate(self.engine.shared, params, self.lanes.inputs, rows, flags)
        )
        scores = [
            self.problem.task.score({name: float(sums[lane]) for name, sums in counts.items()})
            if picked
            else {}
            for lane, picked in enumerate(chosen)
        ]
        metric, known = self.problem.task.metric.name, scores[chosen.index(True)]
        if metric not in known:
            raise ConfigError(
                f"the task's metric: expected one of {', '.join(known)}, got {metric!r}"
            )
        return scores

    def _row_counts(self, ended: Sequence[bool]) -> dict[Member, dict[str, RowCounts]]:
        """What the best params of members that end now count, row by row of dev and test."""
        counted: dict[Member, dict[str, RowCounts]] = {}
        if not any(ended):
            return counted
        shared, best, flags = self.engine.shared, self.state.best, self.flags(ended)
        for part in ("dev", "test"):
            rows = getattr(self.lanes, part)
            program = self.engine.row_counts
            counts = jax.device_get(program(shared, best, self.lanes.inputs, rows, flags))
            for lane, slot in enumerate(self.slots):
                if ended[lane] and slot.member is not None:
                    of_lane = getattr(self._host_lanes[lane], part)
                    counted.setdefault(slot.member, {})[part] = row_counts.of_lane(
                        counts, lane, of_lane
                    )
        return counted


def train(
    problem: Problem,
    members: Sequence[Member],
    folder: Path,
    record: Callable[[Report], None],
    count: int,
    devices: Sequence[jax.Device] | None = None,
    resumed: Callable[[Sequence[slots.Slot]], None] = lambda restored: None,
    programs: Programs | None = None,
    count_rows: bool = False,
    feed: Feed = feeds.CLOSED,
    steps: int = 0,
) -> Generator[Compilation | Report, None, None]:
    """Trains all members; yields what is compiled, then after every epoch of the population.

    Args:
      problem: what is learned.
      members: all different.
      folder: of the checkpoints; resumed from if there are any, removed when all is done.
      record: makes a report's records safe. It is called before the state they belong to is
        checkpointed, so a killed process at worst repeats epochs and rewrites equal records.
      count: lanes, rounded up to a multiple of the devices. Under `vmap` the width can change last
        bits, so a resumed population must have the width it began with, whoever has ended since.
      devices: default all.
      resumed: is told, before anything is trained, who goes on from a checkpoint; may raise.
      programs: of populations of the same problem: those that fit are used, new ones are added.
      count_rows: reports hold what members that end count in each row of dev and test.
      feed: lets others join, and stops members.
      steps: of an epoch that programs have room for, where members have batch sizes of their own:
        so that later populations whose batches are smaller find them.

    Closing the generator early saves the state; an exception in `record` does not, so that the
    epoch is repeated.
    """
    if not members:
        return
    population = Population(problem, members, count, devices, programs, count_rows, feed, steps)
    saved = checkpoints.Checkpoints(folder)
    try:
        snapshot = saved.restore(population.snapshot().state)
        if snapshot is not None:
            population.restore(snapshot)
            resumed(population.slots)
        yield from background.told(population.compile)
        while population.arrange():
            report = population.epoch()
            record(report)
            try:
                yield report
            except GeneratorExit:
                if report.waiting or any(slot.active for slot in report.slots):
                    saved.save(population.snapshot())
                else:
                    saved.remove()
                raise
            if population.epochs % problem.training.checkpoint_every == 0:
                saved.save(population.snapshot())
        saved.remove()
    finally:
        saved.close()
