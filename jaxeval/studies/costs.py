"""Which runs of a sweep share a compiled program: a cost model weighs compiling against padding.

A cohort's arrays are as large as its largest member needs; what a smaller one does not use is
wasted work (`models.ragged`). One cohort per shape wastes nothing and compiles for every run; one
for all compiles once and computes every run at the largest size. A greedy search starts from one
cohort per shape and joins the two whose union saves most seconds, until no union saves any.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

_MICRO_BATCHES = (16, 32, 64, 128, 256)
_AT_ONCE = 250  # groups of which all pairs are weighed; the time grows with the square
_FEW_ROWS = 16.0  # number of rows at which a product runs at half of the rate
_UPDATE = 8e-10  # seconds of an optimiser per parameter: 40 bytes at 50 GB/s
# of a training step: the forward pass is a third, outputs up to 1.5 times as long
_EVALUATION = 0.5
_EVALUATION_ROWS = 128


@dataclasses.dataclass(frozen=True)
class Shape:
    """What a program is compiled for, and members of several sizes can be padded to."""

    program: str  # canonical JSON of what is compiled in
    # sizes of members that may differ in them, as of `Kind.member_sizes`; None: `program` says all
    member_sizes: Any

    def joined(self, other: "Shape") -> "Shape | None":
        """Returns what holds both, or None if they cannot share a program."""
        if self.program != other.program or self.member_sizes is None:
            return self if self.program == other.program else None
        both = self.member_sizes.joined(other.member_sizes)
        return both and dataclasses.replace(self, member_sizes=both)

    def holds(self, other: "Shape") -> bool:
        """True if a member of the other shape can be padded into the program as it is."""
        both = self.joined(other)
        return both is not None and both.sizes() == self.sizes()

    def sizes(self) -> Mapping[str, int]:
        """Sizes of the model, by key."""
        return {} if self.member_sizes is None else self.member_sizes.sizes()

    def operations(self, own: "Shape") -> float:
        """Operations of a training step, per row of a member of shape `own`."""
        return 0.0 if self.member_sizes is None else self.member_sizes.operations(own.member_sizes)

    def parameters(self) -> int:
        """Number of a member's parameters."""
        return 1 if self.member_sizes is None else self.member_sizes.parameters()

    def describe(self) -> str:
        """Formats the sizes for people."""
        return "as configured" if self.member_sizes is None else self.member_sizes.describe()


class Job(NamedTuple):
    """A run as the planner sees it."""

    shape: Shape  # its own
    batch_size: int  # rows per update
    epochs: int
    evaluated: int = 0  # rows of all evaluations of dev, and of test


@dataclasses.dataclass(frozen=True)
class Machine:
    """The machine, whose devices share a cohort's members, and the corpus on it."""

    devices: int
    rate: float  # floating-point operations per second of one device, in products of many rows
    compile_seconds: float  # of a cohort's programs
    sizes: Sequence[int]  # train rows of each bucket of the corpus


class Estimate(NamedTuple):
    """The expected cost of jobs that share a program."""

    jobs: tuple[int, ...]  # their numbers, ascending
    shape: Shape
    micro_batch: int  # rows that are computed at once
    compile_seconds: float
    seconds: float  # of training and evaluation
    operations: float  # of training, at the shape
    needed: float  # of them, at each run's own shape and without padding rows

    @property
    def wasted(self) -> float:
        """Share of the operations that is wasted on padding."""
        return 1.0 - self.needed / self.operations if self.operations else 0.0


_Group = tuple[tuple[int, ...], Shape]  # a cohort in the making: its jobs, and what holds them


def rows_computed(sizes: Sequence[int], batch_size: int, micro_batch: int) -> int:
    """Returns the rows of an epoch, padding included, given train rows of each bucket."""
    whole = math.ceil(batch_size / micro_batch) * micro_batch
    full = sum(size // batch_size * whole for size in sizes)
    rest = sum(math.ceil(size % batch_size / micro_batch) * micro_batch for size in sizes)
    return full + rest


def plan(runs: Sequence[Job], machine: Machine, most: int | None = None) -> list[Estimate]:
    """Returns the cohorts, those of the first runs first.

    `most`: number of cohorts; beyond it, the cheapest unions are made too.
    """
    model = _Model(runs, machine)
    by_shape: dict[Shape, _Group] = {}  # equal shapes waste nothing
    for number, run in enumerate(runs):
        before, shape = by_shape.get(run.shape, ((), run.shape))
        by_shape[run.shape] = ((*before, number), shape)
    groups = _joined([*by_shape.values()], model, most)
    return sorted(map(model.estimate, groups), key=lambda cohort: cohort.jobs)


def as_grouped(
    runs: Sequence[Job],
    machine: Machine,
    groups: Sequence[Sequence[int]],
    micro_batches: Sequence[int],
    shapes: Sequence[Shape] | None = None,
) -> list[Estimate]:
    """Returns estimates of given cohorts, each a group of numbers of runs.

    `shapes` may hold more than the runs need; None: what they need. Raises ValueError if runs of a
    group cannot share a program.
    """
    model = _Model(runs, machine)
    cohorts = []
    for k, (numbers, micro_batch) in enumerate(zip(groups, micro_batches, strict=True)):
        whole: Shape | None = runs[numbers[0]].shape if numbers else None
        for number in numbers[1:]:
            whole = whole and whole.joined(runs[number].shape)
        if whole is None:
            raise ValueError("runs of a cohort that cannot share a program")
        group = tuple(numbers), whole if shapes is None else shapes[k]
        cohorts.append(model.estimate(group, _MICRO_BATCHES.index(micro_batch)))
    return cohorts


class _Model:
    """The costs of groups of runs; arrays [n, M] are of each run for each micro-batch size."""

    def __init__(self, runs: Sequence[Job], machine: Machine):
        self.runs, self.machine, sizes = runs, machine, machine.sizes
        self.rows = [  # computed in all epochs, padding included
            run.epochs
            * np.array([rows_computed(sizes, run.batch_size, m) for m in _MICRO_BATCHES], float)
            for run in runs
        ]
        self.updates = [
            run.epochs * sum(math.ceil(size / run.batch_size) for size in sizes) for run in runs
        ]

    def operations(self, group: _Group) -> tuple[np.ndarray, np.ndarray]:
        """Operations of each run: [n, M] of training, and [n] of evaluation."""
        jobs, shape = group
        per_row = np.array([shape.operations(self.runs[k].shape) for k in jobs])
        evaluated = np.array([self.runs[k].evaluated for k in jobs])
        rows = np.stack([self.rows[k] for k in jobs])
        return rows * per_row[:, None], _EVALUATION * evaluated * per_row

    def seconds(self, group: _Group) -> np.ndarray:
        """Seconds [M] for each micro-batch size; devices share members, not work."""
        jobs, shape = group
        count = len(jobs)
        updates = np.array([self.updates[k] for k in jobs])
        training, evaluation = self.operations(group)
        beside = evaluation / self._rate(np.array(_EVALUATION_ROWS))
        beside += updates * shape.parameters() * _UPDATE
        total = training / self._rate(np.array(_MICRO_BATCHES)) + beside[:, None]
        return (total / count * math.ceil(count / self.machine.devices)).sum(axis=0)

    def _rate(self, rows: np.ndarray) -> np.ndarray:
        """Operations a second with so many rows at once."""
        return self.machine.rate * rows / (rows + _FEW_ROWS)

    def estimate(self, group: _Group, best: int | None = None) -> Estimate:
        """The cost of a group; its micro-batches are the best, or a place in _MICRO_BATCHES."""
        seconds = self.seconds(group)
        best = int(np.argmin(seconds)) if best is None else best
        jobs, shape = group
        runs = [self.runs[k] for k in jobs]
        return Estimate(
            tuple(sorted(jobs)),
            shape,
            _MICRO_BATCHES[best],
            self.machine.compile_seconds,
            float(seconds[best]),
            float(self.operations(group)[0][:, best].sum()),
            sum(r.epochs * sum(self.machine.sizes) * r.shape.operations(r.shape) for r in runs),
        )


def _joined(groups: Sequence[_Group], model: _Model, most: int | None) -> list[_Group]:
    """Joins groups as long as a union saves time, or there are more than `most`.

    Every pair is weighed after every union. Of many groups those of like size are joined first.
    """
    if len(groups) > _AT_ONCE:
        ordered = sorted(groups, key=lambda group: group[1].parameters())
        parts = [ordered[k : k + _AT_ONCE] for k in range(0, len(ordered), _AT_ONCE)]
        found = [one for part in parts for one in _joined(part, model, None)]
        return found if most is None or len(found) <= most else _united(found, model, most)
    return _united(groups, model, most)


def _united(groups: Sequence[_Group], model: _Model, most: int | None) -> list[_Group]:
    """Joins the pair that saves most, again and again."""
    compiling = model.machine.compile_seconds
    alive = {k: (of, compiling + model.seconds(of).min()) for k, of in enumerate(groups)}
    savings: dict[tuple[int, int], tuple[float, _Group]] = {}

    def weigh(first: int, second: int) -> None:
        ((jobs, shape), cost), ((more, other), added) = alive[first], alive[second]
        joined = shape.joined(other)
        if joined is not None:
            union = (*jobs, *more), joined
            together = compiling + model.seconds(union).min()
            savings[first, second] = float(cost + added - together), union

    for first, second in itertools.combinations(alive, 2):
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
        alive[fresh] = (union, compiling + model.seconds(union).min())
        for second in [k for k in alive if k != fresh]:
            weigh(second, fresh)
        fresh += 1
    return [group for group, _ in alive.values()]
