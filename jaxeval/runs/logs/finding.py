"""Finds logs of evaluations in files and folders, and reads the scores of all of them."""

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
from jaxeval.runs import cube, items, texts
from jaxeval.runs.columns import listed, paused_collector
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs import inspect_logs, programs
from jaxeval.runs.logs.records import Log, Reader, Record
from jaxeval.runs.metrics import Key
from jaxeval.runs.rows import Rows, first_place
from jaxeval.runs.scores import Scores, Status
from jaxeval.runs.texts import Coded, constant, encode

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
_NAMES = ("model", "metric", "item", "cluster", "content")


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
    readers = {path: _reader(log.path, True) for path, log in by_path.items()}
    inspect = [log for path, log in by_path.items() if readers[path] is inspect_logs.read]
    again = inspect_logs.tried_again(inspect)
    logs = {path: log for path, log in by_path.items() if log not in again}
    merging = _Merging(layout)
    if again:
        merging.notes["a log of an evaluation that was tried again is left out"] = len(again)
    with paused_collector():
        for path, log in logs.items():
            merging.add(log, readers[path] or items.read_log)
    more = [f"{len(paths) - 4} more"] if len(paths) > 4 else []
    named = ", ".join([*map(printable, paths[:4]), *more])
    return merging.rows(f"{len(logs)} log{'s' if len(logs) > 1 else ''}: {named}")


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


def _fits(task: str, asked: str) -> bool:
    return task == asked or fnmatch.fnmatchcase(task, asked)


class _Merging:
    """The rows of several logs, and what is known of all of them."""

    def __init__(self, layout: Layout) -> None:
        self.notes = Counter[str]()
        self._asked = layout.tasks
        self._tasks: dict[str, None] = {}
        self._directions: dict[Key, bool] = {}
        self._settings: dict[Key, dict[str, None]] = {}
        self._unplaced: dict[str, Path] = {}  # model -> file of scores without a task or run
        self._parts: list[Rows] = []

    def add(self, log: Log, reader: Reader) -> None:
        """Reads a log; its notes count if a task of it is wanted."""
        with parsing("cannot be read", log.path, passing=(JaxevalError, MemoryError)):
            found = reader(log)
            rows = found if isinstance(found, Rows) else self._from_records(found, log)
        if rows is found:
            self._refuse_unplaced(rows, log)
            self._tasks |= dict.fromkeys(rows.dataset.names)
        if log.model:
            model = constant(printable(log.model), len(rows))
            rows = dataclasses.replace(rows, model=model)
        self._parts.append(rows)
        if any(map(self._is_wanted, rows.dataset.names)):
            self.notes.update(log.notes)
        if sum(map(len, self._parts)) > _MOST:
            raise DataError(f"more than {_MOST} scores", log.path)

    def _is_wanted(self, task: str) -> bool:
        return not self._asked or any(_fits(task, asked) for asked in self._asked)

    def _from_records(self, records: Iterator[Record], log: Log) -> Rows:
        kept = list[Record]()
        for record in records:
            self._tasks[record.dataset] = None
            if not self._is_wanted(record.dataset):
                continue
            kept.append(record)
            higher, key = record.higher_is_better, (record.dataset, record.metric)
            if higher is not None and self._directions.setdefault(key, higher) != higher:
                message = f"{', '.join(key)}: logs differ in whether higher is better"
                raise DataError(message, log.path)
            if record.settings is not None and not log.model:
                key = record.model, record.dataset
                self._settings.setdefault(key, {})[record.settings] = None
        columns = zip(*kept, strict=True) if kept else ([] for _ in Record._fields)
        values = dict(zip(Record._fields, columns, strict=True))
        coded: dict[str, Any] = {name: encode(values[name]) for name in ("dataset", *_NAMES)}
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

    def _refuse_unplaced(self, rows: Rows, log: Log) -> None:
        if "name" not in rows.labels and rows.dataset.names == ("",) and not log.model:
            for model in rows.model.names:
                first = self._unplaced.setdefault(model, log.path)
                if first != log.path:
                    message = f"model {model} is in {first.name} too; expected a key task, or run"
                    raise DataError(message, log.path)

    def _check(self) -> None:
        """Refuses logs without the requested tasks or without scores; notes mixed settings."""
        for task in self._asked:
            if not any(_fits(known, task) for known in self._tasks):
                found = f"no task {task!r} in the logs; expected one of {listed(self._tasks)}"
                raise DataError(f"{argument('task')}: {found}")
        if not any(np.any(rows.status == Status.SCORED) for rows in self._parts):
            reason = "; ".join(map(printable, self.notes)) or "no item has one"
            count = f"{len(self._parts)} log{'s' if len(self._parts) > 1 else ''}"
            raise DataError(f"no score in {count} ({reason})")
        for (model, _), settings in self._settings.items():
            if len(settings) > 1:
                differ = f"({'; '.join(words or 'none' for words in settings):.200})"
                found = f"logs of {model} differ in their settings {differ} and are taken for one"
                self.notes[f"{found} model; NAME=PATH tells them apart"] = 1

    def rows(self, name: str) -> Rows:
        """Returns the rows of all logs; raises DataError if there is no score or no such task.

        Args:
          name: of the logs, for messages.
        """
        self._check()
        parts, sizes = self._parts, [*map(len, self._parts)]
        dataset = texts.join_coded([rows.dataset for rows in parts])
        keep = np.array([*map(self._is_wanted, dataset.names)], bool)[dataset.codes]

        def coded(columns: Iterable[Coded | None]) -> Coded:
            each = zip(columns, sizes, strict=True)
            whole = texts.join_coded([constant("", n) if c is None else c for c, n in each])
            whole = texts.without_nameless(whole)
            return Coded(whole.names, whole.codes[keep])

        def joined(find: Callable[[Rows], np.ndarray]) -> np.ndarray:
            return np.concatenate([*map(find, parts)])[keep]

        own: dict[str, Any] = {name: coded(getattr(r, name) for r in parts) for name in _NAMES}
        run = joined(lambda rows: rows.run) + np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)[keep]
        logs = Coded(tuple(rows.source for rows in parts), np.repeat(np.arange(len(parts)), sizes))
        notes = (f"{note} ({n} times)" if n > 1 else note for note, n in self.notes.items())
        return Rows(
            name,
            dataset=Coded(dataset.names, dataset.codes[keep]),
            **own,
            run=run,
            score=joined(lambda rows: rows.score),
            status=joined(lambda rows: rows.status),
            number=run + 1,
            labels={"name": coded(rows.labels.get("name") for rows in parts)},
            sample=joined(lambda r: np.ones(len(r), int) if r.sample is None else r.sample),
            recorded=self._directions,
            file=Coded(logs.names, logs.codes[keep]),
            warnings=tuple(map(printable, notes)),
        )
