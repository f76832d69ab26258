"""Results as plain data, and their notes folded."""

import csv
import dataclasses
import io
import json
import math
from typing import NamedTuple

import numpy as np
import pytest

from jaxeval.report import text, to_csv, to_json


class Point(NamedTuple):
    x: float
    y: float


@dataclasses.dataclass(frozen=True)
class Result:
    point: Point
    values: np.ndarray
    by_name: dict[object, float | None]
    left_out: object = dataclasses.field(default=object(), repr=False)


def test_all_parts_become_plain() -> None:
    """Dies if a part stays an array or an object, infinity reaches JSON, which has none, or an
    object is handed on, for `json.dumps` to find where nobody knows it."""
    result = Result(Point(1.5, math.inf), np.array([1, 2]), {("a", 3): math.nan, ("a", 4): None})
    expected = {"point": {"x": 1.5, "y": None}, "values": [1, 2]}
    expected |= {"by_name": {"a": {"3": None, "4": None}}}
    assert to_json(result) == expected
    assert json.loads(json.dumps(to_json([result, np.float32(0.5)]))) == [expected, 0.5]
    with pytest.raises(TypeError, match="no plain data"):
        to_json({"a": [object()]})


def test_notes_are_folded_by_kind_and_none_is_lost() -> None:
    """Dies if a kind is lost, two kinds are one, or the count is not that of the subjects."""
    notes = ["a: 3 runs left out", "b: not read: name", "c: 4 runs left out"]
    notes += ["both were drawn with seed 1", "c: not read: name", "task d: not read: rate"]
    assert text.fold(notes, "sweep") == [
        "2 sweeps (a, c): 3 runs left out (numbers differ)",
        "2 sweeps (b, c): not read: name",
        "both were drawn with seed 1",
        "d: not read: rate",
    ]
    assert text.fold(notes, "sweep", details=True) == notes
    pairs = [f"m1, {other}: looked at 2 times: p = .{k}" for k, other in enumerate(("m2", "m3"))]
    assert text.fold(pairs) == pairs  # numbers in names
    many = text.fold([f"{'x' * k}" for k in range(1, 12)])
    assert len(many) == 9 and many[-1] == "3 more notes: --details"


def test_p_values_never_round_to_the_level() -> None:
    """Dies if a p-value above .05 looks like one at the level, or 0 like certainty."""
    values = {
        0.0502: "= .0502",
        0.0496: "= .0496",
        0.05001: "= .05001",
        0.0514: "= .051",
        1e-9: "< .001",
        1.0: "= 1.000",
    }
    assert {value: text.p_value(value) for value in values} == values
    assert text.p_value(math.nan) == "not known" and text.p_cell(0.2) == ".200"


@pytest.mark.parametrize(
    "text", ["=1", "+A1", "-A1", "@f", "\t=1", "\r1", "\n=1", " =1", "\uff1d1", "-1+cmd|"]
)
def test_no_cell_of_a_csv_is_a_formula(text: str) -> None:
    """Dies if a spreadsheet would compute a text, or a number or a dash is no longer one."""
    numbers = ["-1", "+.5", "-1e-07", "-", "1"]
    stream = io.StringIO(to_csv([[text, *numbers, -1.5, None, f"a{text}"]]), newline="")
    assert [*csv.reader(stream)] == [[f"'{text}", *numbers, "-1.5", "", f"a{text}"]]
    assert to_csv([["a; =b", "a;b"]]) == "a;' =b,a;b\r\n"
