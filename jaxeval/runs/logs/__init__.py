"""Logs of evaluations in files and folders; no program is imported, and nothing in one is run."""

import dataclasses
import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval.data import text
from jaxeval.errors import DataError, JaxevalError, argument, parsing, printable
from jaxeval.runs import cube, items
from jaxeval.runs.columns import listed, paused_collector
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs import inspect_logs, programs
from jaxeval.runs.logs.records import Log, Reader, Record
from jaxeval.runs.metrics import Key
from jaxeval.runs.rows import Rows, first_place
from jaxeval.runs.scores import Scores, Status
from jaxeval.runs.texts import Coded, constant, encode, join

_MOST = 50_000_000  # scores of all logs
_HEAD = 1 << 16
_EVAL_LOG = re.compile(rb'\s*\{\s*"(version|status|eval)"\s*:')
_SUFFIXES = (".eval", ".json", ".jsonl", ".ndjson")
_INSPECT = re.compile(r"\d{4}-\d\d-\d\dT")  # 2026-03-01T10-00-00+00-00_TASK_ID.json
_ANSWERS = re.compile(rb'"(score|correct|predicted)"\s*:')
_EXPECTED = (
    "samples_*.jsonl of lm-evaluation-harness (--log_samples), .eval or .json of Inspect, "
    "per_instance_stats.json of HELM, .jsonl of openai/evals or of predictions, .csv of items"
)
_CODED = ("model", "dataset", "metric", "item", "cluster", "content")


def read(paths: Sequence[str], layout: Layout | None = None) -> Scores:
    """Reads the scores of all logs in files and folders, of the tasks that all models have.

    Raises DataError: as `read_rows` and `cube.build`.

    Args:
      paths: as of `read_rows`.
    """
    layout = layout or Layout()
    return cube.build(read_rows(paths, layout), layout)


def read_rows(paths: Sequence[str], layout: Layout) -> Rows:
    """Reads all logs in files and folders.

    Raises DataError: names the file; no log, or no such task.

    Args:
      paths: PATH or NAME=PATH: all logs there are runs of the model NAME.
    """
    by_path: dict[Path, Log] = {}
    for log in (log for path in paths for log in _find(path, layout)):
        first = by_path.setdefault(log.path.resolve(), log)  # named twice: read once
        if log.model and first.model and first.model != log.model:
            message = f"named as a run of {first.model} and of {log.model}; expected each once"
            raise DataError(message, log.path)
    readers = {path: _reader(log.path, True) or items.read_log for path, log in by_path.items()}
    inspect = [log for path, log in by_path.items() if readers[path] is inspect_logs.read]
    again = inspect_logs.tried_again(inspect)
    logs = {path: log for path, log in by_path.items() if log not in again}
    found, total = list[tuple[Log, Rows]](), 0
    with paused_collector():
        for path, log in logs.items():
            found.append((log, _read(log, readers[path])))
            total += len(found[-1][1])
            if total > _MOST:
                raise DataError(f"more than {_MOST} scores", log.path)
    notes = _check(found, layout)
    if again:
        notes["a log of an evaluation that was tried again is left out"] = len(again)
    more = [f"{len(paths) - 4} more"] if len(paths) > 4 else []
    named = ", ".join([*map(printable, paths[:4]), *more])
    rows = _merge(found, f"{_count(found)}: {named}", layout)
    said = (f"{note} ({n} times)" if n > 1 else note for note, n in notes.items())
    return dataclasses.replace(rows, warnings=tuple(map(printable, said)))


def _find(given: str, layout: Layout) -> list[Log]:
    """Returns the logs of an argument; raises DataError if there is none."""
    model, equals, rest = given.partition("=")
    if Path(given).exists() or not equals:
        model, rest = "", given  # HELM's folders have = in their names
    if not rest:
        raise DataError(f"{given}: expected a path, found none")
    path = Path(rest)
    if path.is_file():
        text.refuse_pointer(path)
        if _reader(path, True) is None:
            raise DataError(f"no log of an evaluation; expected {_EXPECTED}", path)
        return [Log(path, model, layout)]
    if not path.is_dir():
        raise text.no_file(path)
    found = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not any(p.startswith(".") for p in file.relative_to(path).parts)
    ]
    others = {f for f in found if f.suffix in items.TABLES and not items.is_table(f)}
    any_lines = bool(layout.columns)  # JSON lines are read whatever their keys
    logs = [f for f in found if f not in others and _reader(f, any_lines) is not None]
    if not logs:
        only = any(programs.RESULTS.fullmatch(file.name) for file in found)
        hint = "results without samples: run lm_eval with --log_samples" if only else _EXPECTED
        raise DataError(f"no log of items in it; expected {hint}", path)
    return [Log(file, model, layout) for file in logs]


def _reader(path: Path, any_lines: bool) -> Reader | None:
    """Returns the reader for a log file, or None if the file is not a log."""
    if path.suffix in items.TABLES:
        return items.read_log
    if path.suffix not in _SUFFIXES:
        return None
    named = programs.reader(path.name)
    if named or _INSPECT.match(path.name) or path.suffix != ".json":
        text.refuse_pointer(path)  # other JSON may be there, such as a model's
    if named or path.suffix == ".eval":
        return named or inspect_logs.read
    with parsing("cannot be read", path, passing=(MemoryError,)), path.open("rb") as file:
        head = file.read(_HEAD)
    if path.suffix == ".json" and _EVAL_LOG.match(head) and b'"eval"' in head:
        return inspect_logs.read
    if head.startswith(b'{"spec"'):
        return programs.read_evals
    lines = path.suffix != ".json" or b"\n{" in head
    return items.read_log if lines and (any_lines or _ANSWERS.search(head)) else None


def _read(log: Log, reader: Reader) -> Rows:
    with parsing("cannot be read", log.path, passing=(JaxevalError, MemoryError)):
        found = reader(log)
        rows = found if isinstance(found, Rows) else _from_records(found, log)
    model = constant(printable(log.model), len(rows)) if log.model else rows.model
    return dataclasses.replace(rows, model=model)


def _from_records(records: Iterator[Record], log: Log) -> Rows:
    columns = [*zip(*records, strict=True)] or [()] * len(Record._fields)
    values = dict(zip(Record._fields, columns, strict=True))
    coded: dict[str, Any] = {name: encode(values[name]) for name in _CODED}
    run = first_place(encode(values["run"]).codes)
    return Rows(
        str(log.path),
        **coded,
        run=run,
        score=np.array(values["score"], np.float64),
        status=np.array(values["status"], np.uint8),
        number=run,
        sample=np.array(values["sample"], int),
    )


def _is_wanted(task: str, layout: Layout) -> bool:
    asked = layout.tasks
    return not asked or any(task == one or fnmatch.fnmatchcase(task, one) for one in asked)


def _are_scored(rows: Rows, layout: Layout) -> bool:
    wanted = np.array([_is_wanted(task, layout) for task in rows.dataset.names], bool)
    return bool(np.any(wanted[rows.dataset.codes] & (rows.status == Status.SCORED)))


def _count(found: Sequence[object]) -> str:
    return f"{len(found)} log{'s' if len(found) > 1 else ''}"


def _check(found: Sequence[tuple[Log, Rows]], layout: Layout) -> Counter[str]:
    """Returns notes and how often they hold; refuses logs that do not belong together.

    Raises DataError: no requested task, no score, scores that no task or run tells apart.
    """
    notes, unplaced = Counter[str](), dict[str, Path]()
    settings, tasks = dict[Key, dict[str, None]](), dict[str, None]()
    for log, rows in found:
        tasks |= dict.fromkeys(rows.dataset.names)
        if any(_is_wanted(task, layout) for task in rows.dataset.names):
            notes.update(log.notes)
        for key, words in log.settings.items() if not log.model else ():
            settings.setdefault(key, {})[words] = None
        placed = "name" in rows.labels or rows.dataset.names != ("",) or log.model
        for model in () if placed else rows.model.names:
            first = unplaced.setdefault(model, log.path)
            if first != log.path:
                message = f"model {model} is in {first.name} too; expected a key task, or run"
                raise DataError(message, log.path)
    for asked in layout.tasks:
        if not any(_is_wanted(known, Layout(tasks=[asked])) for known in tasks):
            expected = f"expected one of {listed(tasks)}"
            raise DataError(f"{argument('task')}: no task {asked!r} in the logs; {expected}")
    if not any(_are_scored(rows, layout) for _, rows in found):
        reason = "; ".join(map(printable, notes)) or "no item has one"
        raise DataError(f"no score in {_count(found)} ({reason})")
    for (model, _), each in settings.items():
        if len(each) > 1:
            differ = f"({'; '.join(words or 'none' for words in each):.200})"
            said = f"logs of {model} differ in their settings {differ} and are taken for one"
            notes[f"{said} model; NAME=PATH tells them apart"] = 1
    return notes


def _merge(found: Sequence[tuple[Log, Rows]], source: str, layout: Layout) -> Rows:
    """Returns the rows of all logs; raises DataError if a metric has two directions."""
    recorded = dict[Key, bool]()
    for log, _ in found:
        for key, higher in log.directions.items():
            if recorded.setdefault(key, higher) != higher:
                message = f"{', '.join(key)}: logs differ in whether higher is better"
                raise DataError(message, log.path)
    parts = [rows for _, rows in found]
    sizes = [*map(len, parts)]
    dataset = join([rows.dataset for rows in parts])
    wanted = [_is_wanted(task, layout) for task in dataset.names]
    keep = np.array(wanted, bool)[dataset.codes]

    def coded(columns: Iterable[Coded | None]) -> Coded:
        each = zip(columns, sizes, strict=True)
        whole = join([constant("", n) if c is None else c for c, n in each])
        whole = _without_nameless(whole)
        return Coded(whole.names, whole.codes[keep])

    def joined(find: Callable[[Rows], np.ndarray]) -> np.ndarray:
        return np.concatenate([*map(find, parts)])[keep]

    own = {name: coded(getattr(r, name) for r in parts) for name in _CODED}
    own["dataset"] = Coded(dataset.names, dataset.codes[keep])
    run = joined(lambda rows: rows.run) + np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)[keep]
    logs = np.repeat(np.arange(len(parts)), sizes)[keep]
    return Rows(
        source,
        **own,  # type: ignore[arg-type]
        run=run,
        score=joined(lambda rows: rows.score),
        status=joined(lambda rows: rows.status),
        number=run + 1,
        labels={"name": coded(rows.labels.get("name") for rows in parts)},
        sample=joined(lambda r: np.ones(len(r), int) if r.sample is None else r.sample),
        recorded=recorded,
        file=Coded(tuple(rows.source for rows in parts), logs),
    )


def _without_nameless(column: Coded) -> Coded:
    """Returns names of which "" is unknown."""
    if "" not in column.names:
        return column
    code, codes = column.names.index(""), column.codes
    names = (*column.names[:code], *column.names[code + 1 :])
    return Coded(names, np.where(codes == code, -1, codes - (codes > code)))
