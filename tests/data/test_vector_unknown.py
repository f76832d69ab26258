"""Vectors for unknown words, and a common vocabulary."""

import numpy as np
import pytest

from jaxeval.data import vector_unknown
from jaxeval.data.vectors import Vectors

TABLE = np.array([[1, 2], [3, 4], [5, 8], [7, 9]], np.float32)
READ = Vectors({"a": 0, "b": 1, "c": 2, "d": 3}, TABLE, None)


def test_the_published_rule() -> None:
    """Dies if the mean is over the common words too, or rows do not follow their words."""
    common = vector_unknown.common(READ, {"d", "b", "x"})
    assert common.index == {"b": 0, "d": 1}
    assert common.table.tolist() == [[3, 4], [7, 9]]
    assert common.unknown is not None and common.unknown.tolist() == [3, 5]  # of a and c


def test_the_published_rule_without_other_words() -> None:
    """Dies if the mean of no vector is nan."""
    common = vector_unknown.common(READ, {"a", "b", "c", "d"})
    assert common.unknown is not None and common.unknown.tolist() == [0, 0]


@pytest.mark.parametrize(("rule", "expected"), [("mean", [4, 5.75]), ("zeros", [0, 0])])
def test_named_rules(rule: vector_unknown.Rule, expected: list[float]) -> None:
    """Dies if the names are swapped."""
    unknown = vector_unknown.with_unknown(READ, rule).unknown
    assert unknown is not None and unknown.tolist() == expected


def test_a_random_vector_is_the_seeds() -> None:
    """Dies if the seed is not used, or numbers leave (-.25, .25)."""
    drawn = [vector_unknown.with_unknown(READ, "random", seed).unknown for seed in (1, 1, 2)]
    assert drawn[0] is not None and (np.abs(drawn[0]) < 0.25).all()
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert drawn[2] is not None and not np.array_equal(drawn[0], drawn[2])
