"""The host's side of training: who sits in which lane, what is recorded, when to stop."""

import operator
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxeval.contracts import Member, Tree
from jaxeval.errors import ConfigError, JaxevalError
from jaxeval.population import checkpoints, engine, lanes, seats
from jaxeval.population.problem import Problem


class Report(NamedTuple):
    """What an epoch of the population brought."""

    scores: Sequence[seats.EpochScores]
    ended: Sequence[seats.Ended]
    seats: Sequence[seats.Seat]
    waiting: int  # members without a lane yet
    seconds: float
    best: Mapping[Member, Tree]  # params of those that ended, if they are to be kept


def _ignore(program: str, seconds: float | None) -> None:
    """Nobody watches the compilation."""


class Population:
    """The lanes of a running cohort: arrays on the devices, seats on the host."""

    def __init__(
        self,
        problem: Problem,
        members: Sequence[Member],
        count: int,
        devices: Sequence[jax.Device] | None = None,
    ):
        self.problem, self.program = problem, problem.program
        self.waiting = list(members)
        self.epochs = 0
        self._failed: list[seats.Ended] = []
        self._stale = False  # lanes were given something that the devices do not have yet
        mesh = lanes.make_mesh(devices)
        first = problem.split(members[0].split)
        self.engine = engine.build(
            self.program,
            problem.corpus,
            first,
            mesh,
            lanes.resolve(problem.training.lane_mode),
        )
        self._longest = engine.most_steps(members, first)
        if self._longest:
            problem.refuse_cut_batches("batch_size")
        lane = engine.lane_of(self.program, members[0], first, self._longest)
        count = lanes.round_up(count, mesh)
        self.seats = [seats.Seat()] * count
        self._given = [lane] * count  # an idle lane keeps its last member's data
        self.state = self._shard(engine.empty_state(self.engine, self.program, lane, count))
        self.lanes = self._shard(engine.stack(self._given))

    def _shard(self, tree: Tree) -> Tree:
        return lanes.shard(tree, self.engine.mesh)

    def compile(self, tell: Callable[[str, float | None], None] = _ignore) -> float:
        """Compiles all programs side by side, before any of them is timed; seconds taken.

        Args:
          tell: as `engine.compile_all` has it.
        """
        begin = time.perf_counter()
        self.engine = engine.compile_all(self.engine, self.state, self.lanes, tell)
        return time.perf_counter() - begin

    def restore(self, snapshot: checkpoints.Snapshot) -> None:
        """Seats the members of a snapshot that are still wanted, each with its state."""
        wanted = set(self.waiting)
        taken = [lane for lane, seat in enumerate(snapshot.seats) if seat.member in wanted]
        taken = taken[: len(self.seats)]
        for lane, old in enumerate(taken):
            self._sit(lane, snapshot.seats[old])
        self.state = self._shard(engine.select(snapshot.state, taken, len(self.seats)))
        self.lanes = self._shard(engine.stack(self._given))
        self.epochs = snapshot.number

    def snapshot(self) -> checkpoints.Snapshot:
        """The population as it stands between two epochs."""
        return checkpoints.Snapshot(self.epochs, jax.device_get(self.state), list(self.seats))

    def _sit(self, lane: int, seat: seats.Seat) -> None:
        assert seat.member is not None
        self.waiting.remove(seat.member)
        split = self.problem.split(seat.member.split)
        self._given[lane] = engine.lane_of(self.program, seat.member, split, self._longest)
        self.seats[lane] = seat
        self._lower_rate(lane)

    def _lower_rate(self, lane: int) -> None:
        """Gives a lane the learning rate that its member's drops have left."""
        seat = self.seats[lane]
        if not seat.drops:
            return
        changes = {"learning_rate": seats.rate(seat)}
        self._given[lane] = engine.with_hparams(self._given[lane], changes)
        self._stale = True

    def _seat_next(self, lane: int) -> bool:
        """Seats the next waiting member whose split can be made; says whether there was one."""
        while self.waiting:
            who = self.waiting[0]
            try:
                self._sit(lane, seats.Seat(who))
                return True
            except JaxevalError as error:
                end = seats.Ended(who, "failed", 0, None, None, None, 0.0, str(error))
                self._failed.append(end)
        return False

    def arrange(self) -> bool:
        """Gives idle lanes to waiting members and evens out the devices; False: nobody is left."""
        active = [seat.active for seat in self.seats]
        order = None
        if self.engine.mode == "map" and not self.waiting:
            order = lanes.balance(active, self.engine.mesh.size)
        if order is not None:
            self.seats = [self.seats[lane] for lane in order]
            self._given = [self._given[lane] for lane in order]
            self.state = self._shard(jax.tree.map(lambda leaf: leaf[np.array(order)], self.state))
        fresh = [not s.active and self._seat_next(lane) for lane, s in enumerate(self.seats)]
        if order is not None or any(fresh) or self._stale:
            self.lanes = self._shard(engine.stack(self._given))
            self._stale = False
        if any(fresh):
            flags = self.flags(fresh)
            self.state = self.engine.fill(self.engine.shared, self.state, self.lanes, flags)
        return any(seat.active for seat in self.seats) or bool(self._failed)

    def flags(self, values: Sequence[bool]) -> Any:
        """A flag a lane, on the devices."""
        return self._shard(np.array(values))

    def _score(self, part: str, params: Tree, chosen: Sequence[bool]) -> list[dict[str, float]]:
        """Scores of the chosen lanes on a part of the corpus; {} for the others."""
        if not any(chosen):
            return [{} for _ in chosen]
        rows = getattr(self.lanes, part)
        flags = self.flags(chosen)
        counts = self.engine.evaluate(self.engine.shared, params, self.lanes.load, rows, flags)
        host = jax.device_get(counts)
        scores = [
            self.problem.task.score({name: float(values[lane]) for name, values in host.items()})
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

    def epoch(self) -> Report:
        """Trains every active lane once, scores those that are due, ends members that are done."""
        begin = time.perf_counter()
        active = [seat.active for seat in self.seats]
        due = [seats.due(seat, self.problem.training) for seat in self.seats]
        state, losses = self.engine.epoch(
            self.engine.shared, self.state, self.lanes, self.flags(active)
        )
        dev = self._score("dev", state.params, due)
        losses = jax.device_get(losses)
        self.epochs += 1
        seconds = time.perf_counter() - begin
        before, metric = self.seats, self.problem.task.metric
        self.seats = [
            seats.advance(
                seat, dev[lane].get(metric.name), losses[lane], metric, seconds / sum(active)
            )
            if seat.active
            else seat
            for lane, seat in enumerate(before)
        ]
        self._drop_rates(due)
        better = [
            new.best_epoch != old.best_epoch for new, old in zip(self.seats, before, strict=True)
        ]
        self.state = self.engine.keep(self.engine.shared, state, self.flags(better))
        scores = [
            seats.EpochScores(seat.member, seat.epoch, part, found)
            for lane, seat in enumerate(self.seats)
            if seat.member is not None
            for part, found in (("train", {"loss": float(losses[lane])}), ("dev", dev[lane]))
            if found
        ]
        before = list(self.seats)
        more, ended = self._end(losses, dev)
        best = self._best(before, ended) if self.problem.training.keep_models else {}
        spent = time.perf_counter() - begin
        return Report(scores + more, ended, self.seats, len(self.waiting), spent, best)

    def _best(
        self, before: Sequence[seats.Seat], ended: Sequence[seats.Ended]
    ) -> dict[Member, Tree]:
        """Best params of the members that have just left their seats."""
        lane_of = {seat.member: lane for lane, seat in enumerate(before)}
        return {
            end.member: jax.tree.map(operator.itemgetter(lane_of[end.member]), self.state.best)
            for end in ended
            if seats.has_best(end.status, end.best_epoch, end.dev)
        }

    def _drop_rates(self, due: Sequence[bool]) -> None:
        """Lowers the learning rate of evaluated members that have waited long enough."""
        plateau = self.problem.training.plateau
        latest = None if plateau is None else plateau.latest
        for lane in map(int, np.flatnonzero(due)):
            seat = self.seats[lane]
            self.seats[lane] = seats.dropped(seat, latest)
            if self.seats[lane].drops > seat.drops:
                self._lower_rate(lane)

    def _end(
        self, losses: Any, dev: Sequence[Mapping[str, float]]
    ) -> tuple[list[seats.EpochScores], list[seats.Ended]]:
        """Frees the lanes of members that are done, after scoring their best params on test.

        A member that never learned has none: its last ones are scored, unless it diverged.
        """
        training, metric = self.problem.training, self.problem.task.metric
        ends = [
            seats.status(seat, float(losses[lane]), dev[lane].get(metric.name), training, metric)
            if seat.active
            else None
            for lane, seat in enumerate(self.seats)
        ]
        pairs = list(zip(ends, self.seats, strict=True))
        never = [
            end not in (None, "diverged") and seats.never_learned(seat, metric)
            for end, seat in pairs
        ]
        scored = [
            end is not None and seats.has_best(end, seats.best_epoch(seat, metric), seat.best)
            for end, seat in pairs
        ]
        if any(never):
            self.state = self.engine.keep(self.engine.shared, self.state, self.flags(never))
        test = self._score("test", self.state.best, scored)
        scores, ended = [], list(self._failed)
        self._failed = []
        for lane, (end, seat) in enumerate(pairs):
            if end is None or seat.member is None:
                continue
            end_of_member = seats.end_of(seat, end, metric, test[lane].get(metric.name))
            if test[lane]:
                epoch = end_of_member.best_epoch or seat.epoch
                scores.append(seats.EpochScores(seat.member, epoch, "test", test[lane]))
            ended.append(end_of_member)
            self.seats[lane] = seats.Seat()
        return scores, ended


def train(
    problem: Problem,
    members: Sequence[Member],
    folder: Path,
    record: Callable[[Report], None],
    count: int,
    devices: Sequence[jax.Device] | None = None,
    resumed: Callable[[Sequence[seats.Seat]], None] = lambda taken: None,
    compiled: Callable[[str, float | None], None] = _ignore,
) -> Generator[Report, None, None]:
    """Trains all members; yields after every epoch of the population.

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
      compiled: is told when a program's compilation begins (None) and how long it took.

    Closing the generator early saves the state; an exception in `record` does not, so that the
    epoch is repeated.
    """
    if not members:
        return
    population = Population(problem, members, count, devices)
    saved = checkpoints.Checkpoints(folder)
    try:
        snapshot = saved.restore(population.snapshot().state)
        if snapshot is not None:
            population.restore(snapshot)
            resumed(population.seats)
        population.compile(compiled)
        while population.arrange():
            report = population.epoch()
            record(report)
            try:
                yield report
            except GeneratorExit:
                if report.waiting or any(seat.active for seat in report.seats):
                    saved.save(population.snapshot())
                else:
                    saved.remove()
                raise
            if population.epochs % problem.training.checkpoint_every == 0:
                saved.save(population.snapshot())
        saved.remove()
    finally:
        saved.close()
