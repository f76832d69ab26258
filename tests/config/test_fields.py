"""What a key is, read from its marker: settings small enough to say the answers by hand."""

from collections.abc import Mapping
from typing import Annotated, Any

import pydantic
import pytest

from jaxeval import tasks
from jaxeval.config import fields, reading

_EACH = {"speed": fields.Traced(limits=fields.FRACTION)}


@reading.settings
class Slowdown:
    """Optional settings: one traced key and a static one that may be absent."""

    factor: Annotated[float, fields.Traced(1.0, name="slowdown_factor")] = 0.5
    latest: int | None = None


@reading.settings
class Rates:
    """Nothing but traced keys; one of them may be absent."""

    first: Annotated[float | None, fields.dropout("first")] = None
    second: Annotated[float, fields.dropout("second", alone=False)] = 0.0


@reading.settings
class Whole:
    """All kinds of keys."""

    name: Annotated[str, fields.IMMATERIAL] = "whole"
    kind: str = "plain"
    size: Annotated[int, fields.RAGGED] = 8
    threshold: Annotated[float, fields.Traced()] = 1.0
    table: Annotated[
        dict[str, float],
        fields.TracedTable(lambda whole: {"speed": 0.1, "drag": 0.2, **whole.table}, _EACH),
    ] = pydantic.Field(default_factory=dict)
    slowdown: Slowdown | None = None
    rates: Rates = Rates()

    @property
    def unused(self) -> frozenset[str]:
        """The threshold is of one kind, and so is a rate in other settings."""
        return frozenset() if self.kind == "plain" else frozenset({"threshold", "second"})


def test_names_keys_and_values_of_traced_numbers() -> None:
    """Dies if a table's default, a nested key, a given name or a marker is lost."""
    whole = Whole(table={"speed": 0.3}, slowdown=Slowdown(), rates=Rates(first=0.25))
    traced = fields.traced(whole)
    assert {name: (h.key, h.value) for name, h in traced.items()} == {
        "threshold": ("threshold", 1.0),
        "speed": ("table.speed", 0.3),
        "drag": ("table.drag", 0.2),
        "slowdown_factor": ("slowdown.factor", 0.5),
        "first": ("rates.first", 0.25),
        "second": ("rates.second", 0.0),
    }
    assert traced["speed"].marker is _EACH["speed"]
    assert traced["drag"].marker == fields.Traced()
    assert traced["first"].marker.alone and not traced["second"].marker.alone


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"threshold", "speed", "drag"}),
        ({"rates": Rates(first=0.0)}, {"threshold", "speed", "drag"}),  # 0 is as absent
        ({"rates": Rates(second=0.5)}, {"threshold", "speed", "drag", "second"}),
        ({"kind": "other", "rates": Rates(second=0.5)}, {"speed", "drag"}),
        ({"table": {"speed": 0.0}, "threshold": 0.0}, {"threshold", "speed", "drag"}),
        ({"slowdown": Slowdown()}, {"threshold", "speed", "drag", "slowdown_factor"}),
        ({"slowdown": Slowdown(factor=1.0)}, {"threshold", "speed", "drag"}),
    ],
    ids=lambda value: " ".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_only_what_changes_anything_is_active(
    changes: Mapping[str, Any], expected: set[str]
) -> None:
    """Dies if a neutral or an unused value is an argument of a program, or 0 of a number without a
    neutral value is none."""
    assert set(fields.active(Whole(**changes))) == expected


def test_static_keys_are_those_that_are_not_traced() -> None:
    """Dies if members that differ in a traced value do not share a program, or those that differ
    in another key do."""
    plain = fields.static(Whole())
    assert plain == {"name": "whole", "kind": "plain", "size": 8, "slowdown": None, "rates": None}
    same = Whole(threshold=2.0, table={"drag": 0.5}, rates=Rates(first=0.5))
    assert fields.static(same) == plain
    assert fields.static(Whole(kind="other")) != plain
    assert fields.static(Whole(size=9)) != plain
    assert fields.static(Whole(size=9), ragged=True) == fields.static(Whole(), ragged=True)


@pytest.mark.parametrize("task", tasks.KINDS)
def test_defaults_and_ranges_are_possible(task: str) -> None:
    """Dies if a task has no traced keys, or a default or an end of a range is impossible."""
    config = tasks.KINDS[task].Config()
    assert len(fields.traced(config)) > 3
    for hyperparameter in fields.traced(config).values():
        span, limits = hyperparameter.marker.range, hyperparameter.marker.limits
        assert limits.allows(hyperparameter.value)
        assert span is None or (limits.allows(span.low) and limits.allows(span.high))


def test_ranges_and_their_unit_interval() -> None:
    """Dies if a logarithmic range is linear, or an end is not met."""
    linear, log = fields.Range(2.0, 4.0), fields.Range(1e-4, 1e-2, log=True)
    assert [linear.at(quantile) for quantile in (0, 0.5, 1)] == [2.0, 3.0, 4.0]
    assert [*map(linear.takes, (1.9, 2.0, 4.0, 4.1))] == [False, True, True, False]
    assert [log.at(quantile) for quantile in (0, 0.5, 1)] == pytest.approx([1e-4, 1e-3, 1e-2])
    for span, value in ((linear, 2.5), (log, 3e-3)):
        assert span.at(span.to_unit(value)) == pytest.approx(value, rel=1e-6)
