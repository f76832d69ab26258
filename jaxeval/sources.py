"""Reads scores from any source a verb accepts: file, runs folder, database, records, sequences."""

import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval import parameters, stats
from jaxeval.errors import ConfigError, DataError, JaxevalError, counted, parsing
from jaxeval.results import Runs
from jaxeval.runs import columns, metrics, native, store, tables, trackers
from jaxeval.runs.columns import Columns, listed
from jaxeval.runs.layout import AXES, PICKS, ROLES, Layout, Missing
from jaxeval.runs.records import MemberRow
from jaxeval.runs.scores import Scores


@parameters.verb
def read_scores(
    source: "str | Path | Any",
    *models: str,
    score: str | None = None,
    column: Mapping[str, str] | None = None,
    metric: str | None = None,
    missing: Missing = "error",
    lower_is_better: bool | None = None,
) -> Scores:
    """Reads the scores in a table, runs folder, database, records or data frame, for `compare`.

    Raises DataError, RunError: names file, row and column.

    Args:
      source: a path, records or a data frame.
      models: only these.
      score, column, metric, missing, lower_is_better: as of `compare`.
    """
    return read(source, layout(column, score, metric, missing, lower_is_better, models))


def layout(
    column: Mapping[str, str] | None = None,
    score: str | None = None,
    metric: str | None = None,
    missing: Missing = "error",
    lower_is_better: bool | None = None,
    models: Sequence[str] = (),
    **more: Any,
) -> Layout:
    """Returns the layout of a table or of logs by the arguments of a verb.

    Args:
      more: further fields of `Layout`, such as cluster.
    """
    roles = {role: str(name) for role, name in (column or {}).items()}
    roles |= {"score": score} if score else {}
    higher = None if lower_is_better is None else not lower_is_better
    return Layout(roles, [*dict.fromkeys(models)], metric, missing, higher, **more)


def read(source: Any, layout: Layout | None = None) -> Scores:
    """Reads the scores of whole runs.

    Raises DataError, RunError: names file, row and column; or there is no such source.

    Args:
      source: path of a file of scores, of runs of ours or of a tracker; records, members or a data
        frame; or scores that were read.
    """
    layout = layout or Layout()
    if isinstance(source, Scores):
        return _redirect(source.only(layout.models), layout.higher_is_better)
    if _is_table(source):
        return tables.from_table(columns.from_python(source), layout)
    if isinstance(source, list | tuple) and source and isinstance(source[0], MemberRow):
        return native.scores(source, "runs", layout)
    if not isinstance(source, str | PathLike):
        expected = "a path, records, a data frame, or what was read of one"
        raise DataError(f"expected {expected}, found {type(source).__name__}")
    path = _path(source)
    if is_recorded(path):
        return native.scores(store.load(path), path, layout)
    folder = Path(path).is_dir()
    is_table = Path(path).suffix.lower() in columns.SUFFIXES and not folder  # of no tracker
    if not is_table and (tracked := _read_tracked(path, layout)):
        found = tables.from_table(tracked[0], layout)
        return replace(found, warnings=(tracked[1], *found.warnings))
    if folder:
        other = "jaxeval compare logs reads logs of evaluations; other scores belong in a table"
        raise DataError(f"no runs of jaxeval or a tracker here; {other}", path)
    return tables.from_table(columns.read(path), layout)


def _read_tracked(path: str, layout: Layout) -> tuple[Columns, str] | None:
    """Reads a table of a tracker's runs, and a note; None if no tracker wrote the path.

    A row is a run, or a step of one if the layout picks rows. Settings that are the same in all
    runs are left out.

    Raises DataError: damaged, or without runs.
    """
    with parsing("cannot be read", path, passing=(JaxevalError, MemoryError)):
        program, runs = trackers.find(Path(path))
    if not program:
        return None
    picked = any(pick in layout.columns for pick in PICKS)
    rows = [row for run in runs for row in run.rows(picked)]
    if not rows:
        raise DataError(f"no run of {program} in it", path)
    table = columns.from_python(rows)
    named = ({*ROLES} - {*AXES}) | {"seed", *layout.columns.values()}
    settings = {key for run in runs for key in run.config} - named
    same = {key for key in settings if len({*table.texts(key)}) == 1}
    values = {name: column for name, column in table.values.items() if name not in same}
    note = "" if picked else ": the last value of each metric is read"
    return Columns(path, values, table.rows), f"{counted(len(runs), 'run')} of {program}{note}"


def scores(
    given: Sequence[Any], layout: Layout, paired: bool = False
) -> tuple[Scores, Scores | None]:
    """Reads scores of whole runs, and of their items if a runs folder has them.

    Raises ConfigError: sources of different kinds, or none. DataError, RunError: names file, row
    and column.

    Args:
      given: sequences of scores; `Runs`; or one dict of sequences by name or one table (path,
        records, data frame, `Scores`), and names of its models.
      paired: the k-th scores of all sequences belong together.
    """
    runs = [x for x in given if isinstance(x, Runs)]
    first = given[0] if given else None
    if not (runs or isinstance(first, str | PathLike | Scores) or _is_table(first)):
        return _from_sequences(given, paired, layout), None
    if paired:
        raise ConfigError("paired: for sequences only; tables and runs say what is paired")
    names = [name for name in given[1:] if isinstance(name, str)]
    several = len(runs) or 1
    if len(names) + several < len(given) or (names and len(runs) > 1):
        raise ConfigError(
            "compare: expected sequences of scores, runs, or one table and names of its models, "
            "and not several of these; runs.scores() is a sequence"
        )
    layout = replace(layout, models=[*dict.fromkeys(names)])
    if runs:
        locations = ", ".join(dict.fromkeys(x.location for x in runs))
        return native.scores([row for x in runs for row in x.rows], locations, layout), None
    found = read(first, layout)
    items = native.item_scores(_path(first), found, layout) if is_recorded(first) else None
    return found, items


def read_columns(source: Any) -> Columns:
    """Reads the columns of a table, a runs folder or a database as they are."""
    if _is_table(source):
        return columns.from_python(source)
    path = _path(source)
    if is_recorded(source):
        return native.read_columns(path)
    tracked = _read_tracked(path, Layout())
    return tracked[0] if tracked else columns.read(path)


def _path(source: object) -> str:
    """Returns a path, also of a database as MLflow's URIs name it."""
    return str(source).removeprefix("sqlite:///")


def is_recorded(source: object) -> bool:
    """True for a runs folder or its database."""
    if not isinstance(source, str | PathLike):
        return False
    path = Path(_path(source))
    return path.suffix == ".sqlite" or (path / store.FILE).is_file()


def _is_table(source: object) -> bool:
    """True for a list of records, or a data frame of pandas or another library.

    A series of several named labels is one too, as pandas' groupby returns it.
    """
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(record, Mapping) for record in source)
    labels = getattr(getattr(source, "index", None), "names", ())
    framed = hasattr(source, "columns") or (len(labels) > 1 and None not in labels)
    return framed and hasattr(source, "to_dict")


def _redirect(read: Scores, asked: bool | None) -> Scores:
    """Returns scores in the requested direction; raises DataError if another is recorded."""
    if asked is None:
        return read
    if not asked and read.missing == "zero" and read.unusable:
        raise DataError("0 would be the best of scores that are missing", read.source)
    data_sets = []
    for data in read.data_sets:
        recorded = data.higher_is_better if data.direction == "recorded" else None
        metric = data.metric or "score"
        metrics.resolve_direction(recorded, asked, None, metric, "the table says", read.source)
        data_sets.append(replace(data, higher_is_better=asked, direction="recorded"))
    return replace(read, data_sets=tuple(data_sets))


def _from_sequences(given: Sequence[Any], paired: bool, layout: Layout) -> Scores:
    """Returns scores by name, else A, B ...; paired ones are of splits 1, 2 ..."""
    first, *models = given or [None]
    named = isinstance(first, Mapping) and all(isinstance(name, str) for name in models)
    if not named and any(isinstance(x, str | Runs | Scores) for x in given):
        raise ConfigError("compare: expected sequences of scores, runs, or a table first")
    by_name = (named and first) or dict(zip(string.ascii_uppercase, given, strict=False))
    scores = {str(name): stats.sample(values, str(name)) for name, values in by_name.items()}
    sizes = [len(values) for values in scores.values()]
    if paired and len({*sizes}) > 1:
        shown = listed([f"{name} has {len(values)}" for name, values in scores.items()])
        raise DataError(f"paired=True: expected as many scores of each model, {shown}")
    columns = {
        "model": np.repeat([*scores], sizes).tolist(),
        "score": [score for values in scores.values() for score in values.tolist()],
        **({"split": [k for size in sizes for k in range(1, size + 1)]} if paired else {}),
    }
    table = Columns("scores", columns, range(1, sum(sizes) + 1))
    chosen = Layout(models=models if named else (), higher_is_better=layout.higher_is_better)
    return tables.from_columns(table, chosen)
