"""Results as plain data, against JSON written by hand."""

import dataclasses
import json
import math
from typing import NamedTuple

import numpy as np
import pytest

from jaxeval.report.document import to_json, to_json_object


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
    assert to_json_object(result) == expected
    assert json.loads(json.dumps(to_json([result, np.float32(0.5)]))) == [expected, 0.5]
    with pytest.raises(TypeError, match="no plain data"):
        to_json({"a": [object()]})
