"""Where scores to compare come from: sequences, runs, and names in a table."""

import dataclasses
import string
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval.errors import ConfigError, DataError
from jaxeval.results import Runs
from jaxeval.runs import database, directions, flat, imported, native
from jaxeval.runs.flat import ScoreTable
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import Layout
from jaxeval.stats import results


def read(path: Any, layout: Layout) -> ScoreTable:
    """The score table in a file, a runs folder or a database; that of records or a data frame.

    Raises:
      DataError, RunError: naming file, row and column.
    """
    if not isinstance(path, str | PathLike) and _is_source(path):
        return flat.of_program(imported.of_python(path), layout)
    recorded = database.is_url(path) or Path(path).is_dir() or Path(path).suffix == ".sqlite"
    return (native.score_table if recorded else flat.read)(str(path), layout)


def table(
    models: Sequence[object],
    source: object = None,
    *,
    paired: bool = False,
    higher_is_better: bool | None = None,
) -> ScoreTable:
    """The score table of models; arguments as of `jaxeval.compare`.

    Raises:
      ConfigError: models of different sorts, or of none; `paired` is no bool, or of other than
        sequences.
    """
    if not isinstance(paired, bool | np.bool_):
        raise ConfigError(f"paired: expected True or False, got {paired!r:.60}")
    if paired and (source is not None or any(isinstance(model, Runs) for model in models)):
        raise ConfigError("paired: expected with sequences; tables and runs say what is paired")
    if source is not None:
        return _of_names(_names(models), source, higher_is_better)
    if len(models) == 1 and _is_source(models[0]):
        return _of_names([], models[0], higher_is_better)
    if not models:
        raise ConfigError("compare: expected sequences of scores, runs, or table=")
    runs = [model for model in models if isinstance(model, Runs)]
    if len(runs) == len(models):
        return _of_runs(runs, Layout(higher_is_better=higher_is_better))
    if any(isinstance(model, str | Runs) for model in models):
        raise ConfigError(
            "compare: expected sequences of scores, runs, or names with table=, and not several "
            "of these; runs.scores() is a sequence"
        )
    if len(models) == 1 and isinstance(models[0], Mapping):
        return _of_sequences(models[0], paired, higher_is_better)
    letters = dict(zip(string.ascii_uppercase, models, strict=False))
    return _of_sequences(letters, paired, higher_is_better)


def _names(models: Sequence[object]) -> list[str]:
    names: dict[str, None] = {}
    for model in models:
        if not isinstance(model, str):
            raise ConfigError(f"compare: table= goes with names of models, got {model!r:.60}")
        names[model] = None
    return list(names)


def _of_names(names: list[str], source: object, higher_is_better: bool | None) -> ScoreTable:
    if isinstance(source, ScoreTable):
        return flat.only(_directed(source, higher_is_better), names)
    layout = Layout(models=names, higher_is_better=higher_is_better)
    if isinstance(source, Runs):
        return _of_runs([source], layout)
    if not (isinstance(source, str | PathLike) or _is_source(source)):
        expected = "a path, a URL, records, a data frame, or what was read of one"
        raise DataError(f"table: expected {expected}, found {type(source).__name__}")
    return read(source, layout)


def _is_source(given: object) -> bool:
    """Whether it is a table by itself: a path that is there, records, or a data frame."""
    if isinstance(given, str | PathLike):
        known = bool(Path(given).suffix) or database.is_url(given)
        return known or Path(given).exists()
    if isinstance(given, list | tuple):
        return bool(given) and all(isinstance(record, Mapping) for record in given)
    return _is_frame(given)


def _is_frame(given: object) -> bool:
    """Whether it is a data frame, of pandas or another library."""
    return hasattr(given, "columns") and hasattr(given, "to_dict")


def _directed(table: ScoreTable, asked: bool | None) -> ScoreTable:
    """A table in the direction asked for, where it was assumed or only a name said it.

    Raises:
      DataError: the table says the opposite; failed runs count as 0, the best of losses.
    """
    known = None if table.direction_assumed else table.higher_is_better
    recorded, named = (None, known) if table.direction_named else (known, None)
    metric = table.metric or "score"
    said = directions.decided(recorded, asked, named, metric, "the table says", table.source)
    if said == known:
        return table
    return dataclasses.replace(flat.directed(table, said), warnings=table.warnings)


def _of_runs(of: Sequence[Runs], layout: Layout) -> ScoreTable:
    rows = [row for runs in of for row in runs.rows]
    locations = dict.fromkeys(runs.location for runs in of)
    return native.of_members(rows, ", ".join(locations), layout)


def _of_sequences(
    scores: Mapping[str, object], paired: bool, higher_is_better: bool | None
) -> ScoreTable:
    """Scores by name; paired ones are of splits 1, 2 ..."""
    arrays = {str(name): _numbers(str(name), values) for name, values in scores.items()}
    if paired:
        _refuse_unequal(arrays)
    columns: dict[str, Sequence[object]] = {
        "model": [name for name, values in arrays.items() for _ in values],
        "score": [score for values in arrays.values() for score in values.tolist()],
    }
    if paired:
        columns["split"] = [k for values in arrays.values() for k in range(1, len(values) + 1)]
    rows = range(1, len(columns["score"]) + 1)
    layout = Layout(higher_is_better=higher_is_better)
    return flat.of_columns(Columns("scores", columns, rows), layout)


def _numbers(name: str, values: object) -> np.ndarray:
    try:
        numbers = results.floats(values, "expected numbers")
    except DataError:
        numbers = np.zeros(())
    if numbers.ndim != 1 or not len(numbers):
        a_table = "; table= takes one" if isinstance(values, ScoreTable) else ""
        kind = type(values).__name__ if a_table else f"{values!r:.60}"
        raise DataError(f"{name}: expected a sequence of numbers, got {kind}{a_table}", "scores")
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        what = "missing" if np.isnan(numbers[wrong[0]]) else "infinite"
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise DataError(f"{name}: score {wrong[0] + 1} is {what}{more}; expected finite numbers")
    return numbers


def _refuse_unequal(arrays: Mapping[str, np.ndarray]) -> None:
    """Raises DataError where scores that belong together are not as many of all models."""
    sizes = {name: len(values) for name, values in arrays.items()}
    if len(set(sizes.values())) > 1:
        shown = listed([f"{name} has {size}" for name, size in sizes.items()])
        raise DataError(f"paired=True: expected as many scores of each model, {shown}")
