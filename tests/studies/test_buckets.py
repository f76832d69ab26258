"""Programs of a whole search: who is padded to what, weighed against brute force."""

import dataclasses
import itertools

import pytest

from jaxeval import space
from jaxeval.studies import costs, padding
from tests.studies.test_costs import MACHINE, Square


@dataclasses.dataclass(frozen=True)
class _Sized(Square):
    """With names of its sizes, as of models."""

    def sizes(self) -> dict[str, int]:
        """Its one size."""
        return {"size": self.size}


def _shape(size: int, kind: str = "a") -> costs.Shape:
    return costs.Shape("p", _Sized(size, kind))


def _jobs(*sizes: int) -> list[costs.Job]:
    return [costs.Job(_shape(size), 16, 2) for size in sizes]


LADDER = [(_shape(size), 16) for size in (4, 10, 30)]
ALONE = dataclasses.replace(MACHINE, devices=1)


def test_each_goes_where_it_fits_and_costs_least() -> None:
    """Dies if a trial is padded to more than it needs, or to less."""
    placed = padding.place(LADDER, _jobs(3, 10, 4, 29, 5), ALONE)
    assert [(e.jobs, e.shape) for e in placed] == [
        ((0, 2), _shape(4)),
        ((1, 4), _shape(10)),
        ((3,), _shape(30)),
    ]


@pytest.mark.parametrize("devices", [1, 2, 8])
def test_devices_do_not_idle(devices: int) -> None:
    """Dies if populations that would leave devices idle are not joined, or others are: the
    seconds are the least of all ways to use the buckets."""
    machine = dataclasses.replace(MACHINE, devices=devices)
    jobs = _jobs(4, 9, 28, 3)

    def seconds(which: tuple[int, ...]) -> float:
        used = sorted(set(which))
        groups = [[n for n, k in enumerate(which) if k == of] for of in used]
        shapes = [LADDER[k][0] for k in used]
        estimates = costs.as_grouped(jobs, machine, groups, [16] * len(used), shapes)
        return sum(estimate.seconds for estimate in estimates)

    held = [[k for k, (b, _) in enumerate(LADDER) if b.holds(job.shape)] for job in jobs]
    least = min(seconds(which) for which in itertools.product(*held))
    placed = padding.place(LADDER, jobs, machine)
    assert sum(estimate.seconds for estimate in placed) == pytest.approx(least)
    assert len(placed) == {1: 3, 2: 2, 8: 1}[devices]


def test_the_largest_size_is_that_of_the_space() -> None:
    """Dies if a search has no room for a size of a range that its sample lacks."""
    tree = {"width": {"key": "model.width", "integer": [2, 9999]}, "x": {"uniform": [0, 1]}}
    drawn, largest = padding.sample(space.from_dict(tree), {"model.width"})
    assert {of["width"] for of in largest} == {9999} and 9999 not in [of["width"] for of in drawn]
    assert [of["x"] for of in largest] == [of["x"] for of in drawn]
