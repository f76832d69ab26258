"""Cohorts of runs: padding counted by brute force, the search held to exhaustive ones."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from jaxeval.studies import costs

MACHINE = costs.Machine(devices=2, rate=1e6, compile_seconds=5.0, sizes=[160])


@dataclasses.dataclass(frozen=True)
class Square:
    """Arrays of one size; `kind` cannot be mixed."""

    size: int
    kind: str = "a"

    def joined(self, other: "Square") -> "Square | None":
        """The larger one."""
        return max(self, other, key=lambda s: s.size) if self.kind == other.kind else None

    def operations(self, own: "Square") -> float:
        """Of arrays of this size, whoever uses them."""
        return float(self.size**2)

    def parameters(self) -> int:
        """Hardly any."""
        return 1

    def describe(self) -> str:
        """Its size."""
        return str(self.size)


def _rows_one_by_one(sizes: Sequence[int], batch: int, micro: int) -> int:
    """Walks through an epoch row by row."""
    computed = 0
    for size in sizes:
        rows = list(range(size))
        while rows:
            now, rows = rows[:batch], rows[batch:]
            while now:
                now = now[micro:]
                computed += micro
    return computed


@pytest.mark.parametrize("batch", [1, 5, 16, 23, 200])
@pytest.mark.parametrize("micro", [4, 16])
def test_rows_computed(batch: int, micro: int) -> None:
    """Dies if a last batch, or a last part of one, is counted wrong."""
    sizes = [0, 7, 16, 100]
    assert costs.rows_computed(sizes, batch, micro) == _rows_one_by_one(sizes, batch, micro)


def _partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in _partitions(rest):
        yield [[first], *smaller]
        for k in range(len(smaller)):
            yield [*smaller[:k], [first, *smaller[k]], *smaller[k + 1 :]]


def _seconds(estimates: Sequence[costs.Estimate]) -> float:
    return sum(cohort.seconds + cohort.compile_seconds for cohort in estimates)


@pytest.mark.parametrize("rows", [20, 200, 2000])
def test_the_search_is_near_the_best_of_all_partitions(rows: int) -> None:
    """Dies if unions are weighed wrongly: by their sum, or the dearest first."""
    generator = np.random.default_rng(rows)
    runs = [
        costs.Job(Square(int(generator.integers(1, 30))), int(generator.choice([16, 48])), 1)
        for _ in range(5)
    ]
    machine = dataclasses.replace(MACHINE, sizes=[rows])
    estimates = costs.plan(runs, machine)
    every = [
        _seconds(costs.as_grouped(runs, machine, groups, micro))
        for groups in _partitions(list(range(5)))
        for micro in itertools.product((16, 64), repeat=len(groups))
    ]
    assert _seconds(estimates) <= 1.1 * min(every)
    assert sorted(n for estimate in estimates for n in estimate.jobs) == list(range(5))


def test_what_is_dear_decides() -> None:
    """Dies if compiling is not weighed against padding."""
    runs = [costs.Job(Square(size), 16, 1) for size in (4, 5, 30, 31)]
    dear = dataclasses.replace(MACHINE, compile_seconds=1e6)
    free = dataclasses.replace(MACHINE, compile_seconds=0.0, devices=1)
    middle = dataclasses.replace(MACHINE, compile_seconds=0.05, devices=1)

    def groups(machine: costs.Machine) -> list[tuple[int, ...]]:
        return [estimate.jobs for estimate in costs.plan(runs, machine)]

    assert groups(dear) == [(0, 1, 2, 3)]
    assert groups(free) == [(0,), (1,), (2,), (3,)]
    assert groups(middle) == [(0, 1), (2, 3)]


def test_no_more_than_asked_for_and_never_what_cannot_be() -> None:
    """Dies if `most` is ignored, or kinds are mixed to reach it."""
    machine = dataclasses.replace(MACHINE, compile_seconds=0.0, devices=1)
    sizes = [Square(size) for size in (1, 2, 30, 31)]
    runs = [costs.Job(size, 16, 1) for size in sizes]
    assert [e.jobs for e in costs.plan(runs, machine, most=2)] == [(0, 1), (2, 3)]
    mixed = [costs.Job(Square(5, kind), 16, 1) for kind in "abab"]
    assert [e.jobs for e in costs.plan(mixed, machine, most=1)] == [(0, 2), (1, 3)]


def test_many_groups_are_joined_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a run is lost or doubled between parts, or the number asked for is exceeded."""
    monkeypatch.setattr(costs, "_AT_ONCE", 4)
    runs = [costs.Job(Square(size), 16, 1) for size in range(1, 12)]
    for most in (None, 2):
        found = costs.plan(runs, MACHINE, most=most)
        assert sorted(job for each in found for job in each.jobs) == list(range(11))
        assert most is None or len(found) <= most


def test_waste_is_what_padding_costs() -> None:
    """Dies if padded rows or units are not counted: 2 x 2 of 4 x 4, 10 rows of 16."""
    runs = [costs.Job(Square(2), 10, 3), costs.Job(Square(4), 16, 3)]
    (cohort,) = costs.as_grouped(runs, dataclasses.replace(MACHINE, sizes=[80]), [[0, 1]], [16])
    computed = 3 * (8 * 16 * 16 + 5 * 16 * 16)
    needed = 3 * 80 * (4 + 16)
    assert cohort.operations == computed
    assert cohort.wasted == pytest.approx(1 - needed / computed)


class Masked(Square):
    """A member of a smaller size computes less."""

    def operations(self, own: Square) -> float:
        """Of its own units against all."""
        return float(self.size * own.size)


def test_each_member_costs_what_its_own_size_needs() -> None:
    """Dies if all members of a program cost as much as its largest."""
    runs = [costs.Job(Masked(2), 16, 1), costs.Job(Masked(4), 16, 3)]
    (cohort,) = costs.as_grouped(runs, dataclasses.replace(MACHINE, sizes=[16]), [[0, 1]], [16])
    assert cohort.operations == 16 * (4 * 2 + 3 * 4 * 4)


class Large(Square):
    """An update of its parameters takes longer than all arithmetic."""

    def parameters(self) -> int:
        """Very many."""
        return 10**15


def test_updates_are_counted_bucket_by_bucket() -> None:
    """Dies if a bucket's last batch, or a bucket, costs no update."""
    jobs = [costs.Job(Large(1), 10, 3)]
    seconds = []
    for sizes in ([50], [25, 25], [25, 20]):
        machine = dataclasses.replace(MACHINE, devices=1, sizes=sizes)
        seconds.append(costs.as_grouped(jobs, machine, [[0]], [16])[0].seconds)
    assert np.array(seconds) / seconds[0] == pytest.approx([1, 6 / 5, 5 / 5], rel=1e-6)


def test_devices_share_members() -> None:
    """Dies if a device that is left over, beside the last of three members, speeds it up."""
    jobs = [costs.Job(Square(2), 10, 3)] * 4
    machine = dataclasses.replace(MACHINE, sizes=[50])
    groups = ([[*range(count)]] for count in (2, 3, 4))
    two, three, four = (costs.as_grouped(jobs, machine, g, [16])[0].seconds for g in groups)
    assert (three, four) == pytest.approx((2 * two, 2 * two))


def test_a_plan_that_cannot_be_is_refused() -> None:
    """Dies if a damaged plan is trained."""
    runs = [costs.Job(Square(5, kind), 16, 1) for kind in "ab"]
    for groups, rows in (([[0, 1]], [16]), ([[]], [16]), ([[0], [1]], [16, 17])):
        with pytest.raises(ValueError, match=r"run|cohort|MICRO|tuple|in list"):
            costs.as_grouped(runs, MACHINE, groups, rows)
