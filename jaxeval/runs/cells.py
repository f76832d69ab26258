"""The scores of one model by split and seed, or of one minus another: what `noise` reads."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jaxeval.errors import DataError
from jaxeval.runs import units
from jaxeval.runs.flat import ScoreTable
from jaxeval.runs.imported import listed


class Cells(NamedTuple):
    """One entry a run, or a pair of runs.

    Attributes:
      scores: None where one of a pair is missing.
    """

    splits: Sequence[str]
    seeds: Sequence[str]
    scores: Sequence[float | None]


def cells(table: ScoreTable, model: str | None = None, minus: str | None = None) -> Cells:
    """The scores of a model by split and seed.

    Args:
      model: None: the only one of the table.
      minus: another, whose score with the same seed on the same split is subtracted.

    Raises:
      DataError: no such model, several data sets, or no columns split and seed.
    """
    for axis in ("split", "seed"):
        if axis not in table.axes:
            raise DataError(
                f"no column {axis}; name it with --column {axis}=NAME, every seed on every split",
                table.source,
            )
    units.refuse_several(list(dict.fromkeys(table.axes.get("dataset", ()))), table.source)
    if model is None and len(table.models) > 1:
        raise DataError(f"expected --model with one of {listed(table.models)}", table.source)
    scores: dict[tuple[str, str], float | None] = dict(_by_cell(table, model or table.models[0]))
    if minus is not None:
        scores = _differences(scores, _by_cell(table, minus))
    splits, seeds = ([cell[axis] for cell in scores] for axis in (0, 1))
    return Cells(splits, seeds, list(scores.values()))


def _differences(
    of_model: Mapping[tuple[str, str], float | None], of_other: Mapping[tuple[str, str], float]
) -> dict[tuple[str, str], float | None]:
    """In every cell that either has; None where the other has not."""
    return {
        cell: a - b
        if (a := of_model.get(cell)) is not None and (b := of_other.get(cell)) is not None
        else None
        for cell in dict.fromkeys([*of_model, *of_other])
    }


def _by_cell(table: ScoreTable, model: str) -> dict[tuple[str, str], float]:
    rows = table.of(model)
    labels = zip(table.axes["split"][rows], table.axes["seed"][rows], strict=True)
    return dict(zip(labels, table.score[rows].tolist(), strict=True))
