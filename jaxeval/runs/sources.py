"""Opens any source of scores: a file, a runs folder, a database, records, a data frame."""

import dataclasses
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from jaxeval.errors import DataError
from jaxeval.runs import database, directions, imported, native, tables
from jaxeval.runs.layout import Layout
from jaxeval.runs.records import MemberRow
from jaxeval.runs.scores import DataSetScores, Scores


def scores(source: Any, layout: Layout | None = None) -> Scores:
    """The scores of whole runs.

    Args:
      source: a path of a file of scores, of a runs folder or of a database; a URL; a list of
        records or of members; a data frame; or what was read of one.

    Raises:
      DataError, RunError: naming file, row and column; or it is no source.
    """
    layout = layout or Layout()
    if isinstance(source, Scores):
        return directed(source.only(layout.models), layout.higher_is_better)
    if isinstance(source, str | PathLike):
        path = str(source)
        recorded = database.is_url(path) or Path(path).is_dir() or Path(path).suffix == ".sqlite"
        return (native.scores if recorded else tables.read)(path, layout)
    if isinstance(source, Sequence) and source and isinstance(source[0], MemberRow):
        return native.scores_of(source, "runs", layout)
    if not is_table(source):
        expected = "a path, a URL, records, a data frame, or what was read of one"
        raise DataError(f"expected {expected}, found {type(source).__name__}")
    return tables.of_program(imported.of_python(source), layout)


def is_table(source: object) -> bool:
    """Whether it is a list of records, or a data frame of pandas or another library."""
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(record, Mapping) for record in source)
    return hasattr(source, "columns") and hasattr(source, "to_dict")


def directed(read: Scores, asked: bool | None) -> Scores:
    """Scores in the direction asked for, where it was assumed or only a name said it.

    Raises:
      DataError: the source says the opposite; failed runs count as 0, the best of losses.
    """
    if asked is None:
        return read

    def turned(data: DataSetScores) -> DataSetScores:
        recorded = data.higher_is_better if data.direction == "recorded" else None
        named = data.higher_is_better if data.direction == "named" else None
        metric = data.metric or "score"
        said = directions.decided(recorded, asked, named, metric, "the table says", read.source)
        if said is False and read.missing == "zero" and read.unusable:
            raise DataError("0 would be the best of scores that are missing", read.source)
        return dataclasses.replace(data, higher_is_better=said is not False, direction="recorded")

    return dataclasses.replace(read, data_sets=tuple(map(turned, read.data_sets)))
