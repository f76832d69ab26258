"""Scores of any source that a verb or a function of Python is given."""

import dataclasses
import string
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval.errors import ConfigError, DataError
from jaxeval.results import Runs
from jaxeval.runs import database, imported, native, old_scores, tables
from jaxeval.runs import items as predicted
from jaxeval.runs import trained as outcomes
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import Layout, Missing
from jaxeval.runs.logs import finding, pairing
from jaxeval.runs.logs.pairing import Mismatched
from jaxeval.runs.logs.records import Keys
from jaxeval.runs.scores import Scores
from jaxeval.stats import results


def scores(
    given: Sequence[Any], layout: Layout, paired: bool = False
) -> tuple[Scores, Scores | None]:
    """Scores of whole runs, and of their items where a runs folder has these.

    Args:
      given: sequences of scores, or one dict of them by name; `Runs`; one table (a path, a URL,
        records, a data frame, `Scores`) and names of its models.
      paired: the k-th scores of all sequences belong together.

    Raises:
      ConfigError: of different sorts, or none.
      DataError, RunError: naming file, row and column.
    """
    runs = [of for of in given if isinstance(of, Runs)]
    first = given[0] if given else None
    if not (runs or is_table(first) or isinstance(first, Scores)):
        return _of_sequences(given, paired, layout), None
    if paired:
        raise ConfigError("paired: expected with sequences; tables and runs say what is paired")
    if runs and len(runs) == len(given):
        rows = [row for of in runs for row in of.rows]
        locations = dict.fromkeys(of.location for of in runs)
        return old_scores.of_table(native.of_members(rows, ", ".join(locations), layout)), None
    names = [name for name in given[1:] if isinstance(name, str)]
    if len(names) < len(given) - 1:
        raise ConfigError(
            "compare: expected sequences of scores, runs, or one table and names of its models, "
            "and not several of these; runs.scores() is a sequence"
        )
    layout = Layout(layout.columns, [*dict.fromkeys(names)], layout.metric, layout.missing,
                    layout.higher_is_better)  # fmt: skip
    if isinstance(first, Scores):
        return first.only(layout.models), None
    if isinstance(first, Runs):
        return old_scores.of_table(native.of_members(first.rows, first.location, layout)), None
    return _of_table(first, layout)


def is_table(given: object) -> bool:
    """Whether it is a table by itself: a path or URL, records, or a data frame."""
    if isinstance(given, list | tuple):
        return bool(given) and all(isinstance(record, Mapping) for record in given)
    return isinstance(given, str | PathLike) or _is_frame(given)


def _is_frame(given: object) -> bool:
    """Of pandas or another library."""
    return hasattr(given, "columns") and hasattr(given, "to_dict")


def _of_table(given: Any, layout: Layout) -> tuple[Scores, Scores | None]:
    if not isinstance(given, str | PathLike):
        return old_scores.of_table(tables.of_program(_columns(given), layout)), None
    path = str(given)
    if not (database.is_url(path) or Path(path).is_dir() or Path(path).suffix == ".sqlite"):
        return old_scores.of_table(tables.read(path, layout)), None
    table = native.score_table(path, layout)
    kept = outcomes.of_table(path, table, layout)
    items = old_scores.of_trained(kept, table.higher_is_better, table.source)
    return old_scores.of_table(table), items


def columns(given: Any) -> Columns:
    """The columns of a table, as they are."""
    if not isinstance(given, str | PathLike):
        return _columns(given)
    path = str(given)
    recorded = database.is_url(path) or Path(path).is_dir() or Path(path).suffix == ".sqlite"
    return native.columns(path) if recorded else imported.read(path)


def _columns(given: Any) -> Columns:
    """Those of records or of a data frame."""
    if not _is_frame(given):
        records = [{str(key): value for key, value in of.items()} for of in given]
        return imported.of_records(records, "records", range(1, len(records) + 1))
    values = {str(name): [*given[name]] for name in given.columns}
    if len(values) < len(given.columns) or not len(given):
        raise DataError("table: expected a data frame with rows, and columns of different names")
    return Columns("data frame", values, range(1, len(given) + 1))


def _of_sequences(given: Sequence[Any], paired: bool, layout: Layout) -> Scores:
    """Scores by name, else A, B ...; paired ones are of splits 1, 2 ..."""
    if any(isinstance(of, str | Runs | Scores) for of in given):
        raise ConfigError("compare: expected sequences of scores, runs, or a table first")
    named = given[0] if len(given) == 1 and isinstance(given[0], Mapping) else None
    by_name = named or dict(zip(string.ascii_uppercase, given, strict=False))
    arrays = {str(name): _numbers(str(name), values) for name, values in by_name.items()}
    sizes = {name: len(values) for name, values in arrays.items()}
    if paired and len({*sizes.values()}) > 1:
        shown = listed([f"{name} has {size}" for name, size in sizes.items()])
        raise DataError(f"paired=True: expected as many scores of each model, {shown}")
    rows: dict[str, Sequence[object]] = {
        "model": [name for name, values in arrays.items() for _ in values],
        "score": [score for values in arrays.values() for score in values.tolist()],
    }
    if paired:
        rows["split"] = [k for values in arrays.values() for k in range(1, len(values) + 1)]
    whole = Columns("scores", rows, range(1, len(rows["score"]) + 1))
    asked = Layout(higher_is_better=layout.higher_is_better)
    return old_scores.of_table(tables.of_columns(whole, asked))


def _numbers(name: str, values: object) -> np.ndarray:
    try:
        numbers = results.floats(values, "expected numbers")
    except DataError:
        numbers = np.zeros(())
    if numbers.ndim != 1 or not len(numbers):
        raise DataError(f"{name}: expected a sequence of numbers, got {values!r:.60}", "scores")
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        what = "missing" if np.isnan(numbers[wrong[0]]) else "infinite"
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise DataError(f"{name}: score {wrong[0] + 1} is {what}{more}; expected finite numbers")
    return numbers


def predictions(
    path: str | Path,
    models: Sequence[str] = (),
    metric: str | None = None,
    roles: Mapping[str, str] | None = None,
) -> tuple[Scores, Scores]:
    """Scores of runs, and of their items, of a table of predictions.

    Raises:
      DataError: naming file, row and column.
    """
    table, kept = predicted.read(path, [*models], metric, roles or {})
    items = old_scores.of_trained(kept, table.higher_is_better, table.source)
    return old_scores.of_table(table), items


def logs(
    paths: Sequence[str],
    models: Sequence[str] = (),
    tasks: Sequence[str] = (),
    metric: str | None = None,
    roles: Mapping[str, str] | None = None,
    cluster: str | None = None,
    missing: Missing = "error",
    mismatched: Mismatched = "error",
    lower_is_better: bool | None = None,
) -> Scores:
    """Scores of items, of logs of evaluations.

    Raises:
      DataError: naming file and line.
    """
    table = finding.read([*paths], Keys(cluster or "", roles or {}), [*tasks])
    metrics = [name for name in (metric or "").split(",") if name]
    higher = None if lower_is_better is None else not lower_is_better
    rules = pairing.Rules([*models], metrics, missing, mismatched, higher)
    found = old_scores.of_logs(table, rules)
    shown = [*paths[:4], *([f"{len(paths) - 4} more"] if len(paths) > 4 else [])]
    noun = "log" if table.logs == 1 else "logs"
    return dataclasses.replace(found, source=f"{table.logs} {noun}: {', '.join(shown)}")
