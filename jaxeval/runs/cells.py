"""The scores of one model by split and seed, or of one minus another: what `noise` reads."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jaxeval.errors import DataError, argument
from jaxeval.runs.imported import listed
from jaxeval.runs.scores import Scores


class Cells(NamedTuple):
    """One entry a run, or a pair of runs.

    Attributes:
      scores: None where one of a pair is missing.
    """

    splits: Sequence[str]
    seeds: Sequence[str]
    scores: Sequence[float | None]


def cells(scores: Scores, model: str | None = None, minus: str | None = None) -> Cells:
    """The scores of a model by split and seed, of whole runs.

    Args:
      model: None: the only one there is.
      minus: another, whose score with the same seed on the same split is subtracted.

    Raises:
      DataError: no such model, several data sets, or no columns split and seed.
    """
    for axis in ("split", "seed"):
        if axis not in scores.labels:
            raise DataError(
                f"no column {axis}; name it with --column {axis}=NAME, every seed on every split",
                scores.source,
            )
    if len(scores.data_sets) > 1:
        said = f"{len(scores.data_sets)} data sets; {argument('column', {'dataset': 'NAME'})}"
        raise DataError(f"{said}: expected one", scores.source)
    if model is None and len(scores.models) > 1:
        raise DataError(f"expected --model with one of {listed(scores.models)}", scores.source)
    found: dict[tuple[str, str], float | None] = dict(_by_cell(scores, model or scores.models[0]))
    if minus is not None:
        found = _differences(found, _by_cell(scores, minus))
    splits, seeds = ([cell[axis] for cell in found] for axis in (0, 1))
    return Cells(splits, seeds, list(found.values()))


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


def _by_cell(scores: Scores, model: str) -> dict[tuple[str, str], float]:
    of = scores.data_sets[0].models[model]
    kept = of.finished
    labels = zip(of.labels["split"][kept], of.labels["seed"][kept], strict=True)
    return dict(zip(labels, of.scores[0, kept, 0].tolist(), strict=True))
