"""Which runs of a sweep share a compiled program: a cost model weighs compiling against padding.

A cohort's arrays are as large as its largest member needs; what a smaller one does not use is
wasted work (`models.ragged`). One cohort per shape wastes nothing and compiles for every run;
one for all compiles once and computes every run at the largest size. Between them the cheapest is
sought greedily: from one cohort per shape, the two whose union saves most seconds are joined,
again and again, until no union saves any.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np

MICRO_BATCHES = (16, 32, 64, 128, 256)
_FEW_ROWS = 16.0  # a product of so many rows runs at half of the rate
_UPDATE = 8e-10  # seconds that an optimiser takes a parameter: 40 bytes at 50 GB/s
# of a training step: the forward pass is a third, outputs up to 1.5 times as long
_EVALUATION = 0.5
_EVALUATION_ROWS = 128


class Shape(Protocol):
    """What a cohort's arrays must hold."""

    def joined(self, other: Self) -> Self | None:
        """What holds both; None: they cannot share arrays."""

    def operations(self, own: Self) -> float:
        """Floating-point operations of a training step for a row of a member of shape `own`."""

    def sizes(self) -> Mapping[str, int]:
        """Of the model, by key."""

    def parameters(self) -> int:
        """Numbers of a member at this size."""

    def describe(self) -> str:
        """For people."""


class Job(NamedTuple):
    """What the planner knows of a run: its own shape, rows of an update, and how long it is.

    Attributes:
      evaluated: rows that it writes in all evaluations of dev, and on test.
    """

    shape: Shape
    batch_size: int
    epochs: int
    evaluated: int = 0


@dataclasses.dataclass(frozen=True)
class Machine:
    """What time is made of.

    Attributes:
      devices: that share a cohort's members.
      rate: floating-point operations per second of one device, in products of many rows.
      compile_seconds: of a cohort's programs.
      lock_step: a device's members wait for one another (`vmap`): each computes as many steps, and
        rows a step, as any of them needs, in every bucket that one of them is in, through all
        layers of the cohort.
    """

    devices: int
    rate: float
    compile_seconds: float
    lock_step: bool = False


class Estimate(NamedTuple):
    """What jobs that share a program should cost.

    Attributes:
      jobs: their numbers, ascending.
      micro_batch: rows that are computed at once.
      seconds: estimated, of training and evaluation.
      operations: of training, at the shape.
      needed: of them, at each run's own shape and without padding rows.
    """

    jobs: tuple[int, ...]
    shape: Shape
    micro_batch: int
    compile_seconds: float
    seconds: float
    operations: float
    needed: float

    @property
    def wasted(self) -> float:
        """Share of the operations that is wasted on padding."""
        return 1.0 - self.needed / self.operations if self.operations else 0.0


class _Member(NamedTuple):
    """A run as the search needs it."""

    number: int
    shape: Shape
    rows: np.ndarray  # computed in all epochs, padding included, for each micro-batch size
    step: np.ndarray  # of them in an update, for each micro-batch size
    updates: int
    evaluated: int


class _Group(NamedTuple):
    """A cohort in the making."""

    members: tuple[_Member, ...]
    shape: Shape
    shares: np.ndarray  # of the corpus in each bucket


def rows_computed(sizes: Sequence[int], batch_size: int, micro_batch: int) -> int:
    """Rows of an epoch with those of weight 0, for train rows of each bucket."""
    whole = math.ceil(batch_size / micro_batch) * micro_batch
    full = sum(size // batch_size * whole for size in sizes)
    rest = sum(math.ceil(size % batch_size / micro_batch) * micro_batch for size in sizes)
    return full + rest


def plan(
    runs: Sequence[Job],
    sizes: Sequence[int],
    machine: Machine,
    most: int | None = None,
) -> list[Estimate]:
    """The cohorts, those of the first runs first.

    Args:
      sizes: train rows of each bucket of the corpus.
      most: cohorts; beyond that, the unions that cost least are made too.
    """
    groups = _by_shape([_alone(number, run, sizes) for number, run in enumerate(runs)])
    cohorts = [_cohort(group, runs, sizes, machine) for group in _joined(groups, machine, most)]
    return sorted(cohorts, key=lambda cohort: cohort.jobs)


def as_grouped(
    runs: Sequence[Job],
    sizes: Sequence[int],
    machine: Machine,
    groups: Sequence[Sequence[int]],
    micro_batches: Sequence[int],
    shapes: Sequence[Shape] | None = None,
) -> list[Estimate]:
    """Cohorts that were made before, of the numbers of their runs.

    Args:
      shapes: of each, which hold more than its runs need; None: what they need.

    Raises:
      ValueError: runs that cannot share a program.
    """
    cohorts = []
    for k, (numbers, micro_batch) in enumerate(zip(groups, micro_batches, strict=True)):
        alone = [_alone(number, runs[number], sizes) for number in numbers]
        if not alone:
            raise ValueError("a cohort without runs")
        whole = functools.reduce(_fitting, alone)
        if shapes is not None:
            whole = whole._replace(shape=shapes[k])
        cohorts.append(_cohort(whole, runs, sizes, machine, MICRO_BATCHES.index(micro_batch)))
    return cohorts


def _fitting(group: _Group, other: _Group) -> _Group:
    """Their union, which there must be."""
    union = _union(group, other)
    if union is None:
        raise ValueError(f"run {other.members[0].number + 1} does not fit into its cohort")
    return union


def _alone(number: int, run: Job, sizes: Sequence[int]) -> _Group:
    rows = np.array([rows_computed(sizes, run.batch_size, m) for m in MICRO_BATCHES], float)
    step = np.array([math.ceil(run.batch_size / m) * m for m in MICRO_BATCHES], float)
    updates = run.epochs * sum(math.ceil(size / run.batch_size) for size in sizes)
    member = _Member(number, run.shape, run.epochs * rows, step, updates, run.evaluated)
    return _Group((member,), run.shape, np.array(sizes) / max(1, sum(sizes)))


def _union(group: _Group, other: _Group) -> _Group | None:
    shape = group.shape.joined(other.shape)
    if shape is None:
        return None
    return _Group((*group.members, *other.members), shape, group.shares)


def _by_shape(groups: Sequence[_Group]) -> list[_Group]:
    """Groups of equal shapes joined, which wastes nothing."""
    by_shape: dict[Shape, _Group] = {}
    for group in groups:
        same = by_shape.get(group.shape)
        by_shape[group.shape] = (same and _union(same, group)) or group
    return list(by_shape.values())


def _operations(group: _Group, machine: Machine) -> tuple[np.ndarray, np.ndarray]:
    """Of each member: [n, M] of training for each micro-batch size, and [n] of evaluation."""
    shape, members = group.shape, group.members
    if not machine.lock_step or len(members) == 1:
        a_row = np.array([shape.operations(m.shape) for m in members])
        rows, evaluated = np.stack([m.rows for m in members]), [m.evaluated for m in members]
    else:
        neighbours = math.ceil(len(members) / machine.devices)
        # expected number of buckets that some lane of a device is in
        buckets = np.sum(1.0 - (1.0 - group.shares) ** neighbours)
        most: np.ndarray = np.max([m.step for m in members], axis=0)
        a_row = np.full(len(members), shape.operations(shape))
        rows = np.tile(max(m.updates for m in members) * most * buckets, (len(members), 1))
        evaluated = [max(m.evaluated for m in members)] * len(members)
    return rows * a_row[:, None], _EVALUATION * np.array(evaluated) * a_row


def _seconds(group: _Group, machine: Machine) -> np.ndarray:
    """[M] for each micro-batch size; devices share members, not work."""
    count = len(group.members)
    updates = np.array([m.updates for m in group.members])
    if machine.lock_step:
        updates = np.full(count, updates.max())
    training, evaluation = _operations(group, machine)
    beside = evaluation / _rate(machine, np.array(_EVALUATION_ROWS))
    beside += updates * group.shape.parameters() * _UPDATE
    total = training / _rate(machine, np.array(MICRO_BATCHES)) + beside[:, None]
    return (total / count * math.ceil(count / machine.devices)).sum(axis=0)


def _rate(machine: Machine, rows: np.ndarray) -> np.ndarray:
    """Operations a second in products of so many rows."""
    return machine.rate * rows / (rows + _FEW_ROWS)


def _cost(group: _Group, machine: Machine) -> float:
    return machine.compile_seconds + float(_seconds(group, machine).min())


def _joined(groups: Sequence[_Group], machine: Machine, most: int | None) -> list[_Group]:
    """Unions as long as one saves time, or there are more than `most` groups."""
    alive: dict[int, tuple[_Group, float]] = {
        k: (group, _cost(group, machine)) for k, group in enumerate(groups)
    }
    savings: dict[tuple[int, int], tuple[float, _Group]] = {}

    def weigh(first: int, second: int) -> None:
        union = _union(alive[first][0], alive[second][0])
        if union is not None:
            saved = alive[first][1] + alive[second][1] - _cost(union, machine)
            savings[first, second] = (saved, union)

    for first in alive:
        for second in range(first + 1, len(groups)):
            weigh(first, second)
    fresh = len(groups)
    while savings:
        pair = max(savings, key=lambda p: savings[p][0])
        saved, union = savings[pair]
        if saved <= 0 and (most is None or len(alive) <= most):
            break
        for gone in pair:
            del alive[gone]
        savings = {p: saving for p, saving in savings.items() if not set(p) & set(pair)}
        alive[fresh] = (union, _cost(union, machine))
        for second in [k for k in alive if k != fresh]:
            weigh(second, fresh)
        fresh += 1
    return [group for group, _ in alive.values()]


def _cohort(
    group: _Group,
    runs: Sequence[Job],
    sizes: Sequence[int],
    machine: Machine,
    best: int | None = None,
) -> Estimate:
    """The cohort of a group, its micro-batches the best or of a place in MICRO_BATCHES."""
    seconds = _seconds(group, machine)
    if best is None:
        best = int(np.argmin(seconds))
    needed = sum(
        runs[m.number].epochs * sum(sizes) * m.shape.operations(m.shape) for m in group.members
    )
    return Estimate(
        tuple(sorted(member.number for member in group.members)),
        group.shape,
        MICRO_BATCHES[best],
        machine.compile_seconds,
        float(seconds[best]),
        float(_operations(group, machine)[0][:, best].sum()),
        needed,
    )
