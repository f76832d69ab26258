"""The budget solver against the published sizes and a plain search."""

import pytest

from jaxeval.errors import ConfigError
from jaxeval.models import budget
from jaxeval.models.cells import Cell


@pytest.mark.parametrize(
    ("sizes", "options", "expected", "count"),
    [
        ((10_001, 10_000_000), {"ratio": 0.224374398589}, (1194, 268), 9_997_549),
        ((10_001, 24_000_000), {"layers": 4, "ratio": 1.3}, (723, 723), None),
        ((33_279, 24_000_000), {"layers": 2, "ratio": 0.121502}, (1227, 149), None),
        ((206, 27_000_000), {"layers": 4, "tied": False}, (911, 911), 26_947_586),
        ((206, 46_000_000), {"layers": 4, "tied": False}, (1192, 1192), None),
    ],
)
def test_published_sizes(
    sizes: tuple[int, int], options: dict, expected: tuple[int, int], count: int | None
) -> None:
    """Dies if the count misses the softmax bias or the projection (golden numbers)."""
    shape = budget.solve(*sizes, Cell(), **options)
    assert (shape.hidden, shape.embedding) == expected
    if count is not None:
        assert budget.parameter_count(shape, Cell()) == count


@pytest.mark.parametrize(
    "cell",
    [Cell(), Cell(gates="tied"), Cell("rhn", "tied", depth=5), Cell("nas", "untied")],
    ids=str,
)
def test_the_largest_that_fits(cell: Cell) -> None:
    """Dies if one more unit would fit, or one fewer was needed."""
    shape = budget.solve(500, 60_000, cell, ratio=0.4)
    assert budget.parameter_count(shape, cell) <= 60_000
    more = shape._replace(hidden=shape.hidden + 1, embedding=round(0.4 * (shape.hidden + 1)))
    assert budget.parameter_count(more, cell) > 60_000


def test_impossible_budgets_are_explained() -> None:
    """Dies if a budget below the softmax bias gives a model of no units."""
    with pytest.raises(ConfigError, match="budget: expected at least"):
        budget.solve(10_000, 10_000, Cell())
    with pytest.raises(ConfigError, match="ratio"):
        budget.solve(100, 10_000, Cell(), ratio=0)
