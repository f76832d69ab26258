"""All scores of logs as one long table of numpy columns."""

import dataclasses
import functools
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, printable
from jaxeval.runs.checks import LARGEST
from jaxeval.runs.imported import collector_paused
from jaxeval.runs.logs import log_runs, metric_names
from jaxeval.runs.logs.records import STATUSES, Notes, Record, Source, note_settings

MOST = 50_000_000  # scores of a table
_OF_RUNS = ("run_id", "run_name")  # by which runs are told, not of the table
_HASHED = ("content", "prompt", *_OF_RUNS)
_CODED = ("model", "task", "metric", "item", "cluster", "run", *_HASHED)
_NOT_KNOWN = {"": log_runs.UNKNOWN}
_COLUMNS = (*_CODED[: -len(_OF_RUNS)], "sample", "score", "status")  # of the table
_NAMED = ("model", "task", "metric", "item", "cluster")


@dataclasses.dataclass(frozen=True)
class LogTable:
    """A row a score; a name is a place in the tuple of its kind.

    Attributes:
      names: of "model", "task", "metric", "item" and "cluster".
      metric: "" of a failed item, which has no score in any metric.
      item: of different tasks may share their names.
      sample: number of an answer to an item in a run.
      run: number, from 0, among the runs of a model on a task.
      content, prompt: hashes, -1 where unknown.
      run_names: (model, task) -> what its runs are called, where each has a name.
      status: place in `records.STATUSES`; only with "scored" is there a score.
      higher_is_better: (task, metric) -> what its log says.
      notes: what a user should know, with how often.
    """

    names: Mapping[str, tuple[str, ...]]
    model: np.ndarray
    task: np.ndarray
    metric: np.ndarray
    item: np.ndarray
    cluster: np.ndarray
    sample: np.ndarray
    run: np.ndarray
    score: np.ndarray
    status: np.ndarray
    content: np.ndarray
    prompt: np.ndarray
    run_names: Mapping[tuple[str, str], tuple[str, ...]]
    higher_is_better: Mapping[tuple[str, str], bool]
    logs: int
    notes: Mapping[str, int]


class _Codes(dict[str, int]):
    """Names, numbered as they come."""

    def __missing__(self, name: str) -> int:
        self[name] = code = len(self)
        return code


@dataclasses.dataclass(frozen=True)
class _Columns:
    """Rows as they are read: 4 or 8 bytes a cell; and what else logs say.

    Attributes:
      files: that name tasks.
      settings: of each model that logs name, on each task (`records.settings`).
    """

    codes: Mapping[str, _Codes]
    cells: Mapping[str, array] = dataclasses.field(
        default_factory=lambda: {
            name: array("d" if name == "score" else "i")
            for name in (*_CODED, "sample", "score", "status")
        }
    )
    sources: list[Source] = dataclasses.field(default_factory=list)
    directions: dict[tuple[str, str], bool] = dataclasses.field(default_factory=dict)
    files: set[str] = dataclasses.field(default_factory=set)
    settings: dict[tuple[str, str], dict[frozenset[str], None]] = dataclasses.field(
        default_factory=dict
    )

    def read(self, source: Source, records: Iterable[Record]) -> None:
        """Appends the scores of a log."""
        self.sources.append(source)
        log = f"{len(self.sources)} "
        for record in records:
            if len(self.cells["score"]) == MOST:
                raise DataError(f"more than {MOST} scores", source.path)
            if record.higher_is_better is not None:
                _direct(self.directions, record, source)
            if record.file and not record.task:
                self.files.add(record.file)
                record = record._replace(task=record.file)
            if record.settings is not None and not source.model:
                of_task = self.settings.setdefault((record.model, record.task), {})
                of_task[record.settings] = None
            self.add(record, source.model or record.model, log + record.run)

    @functools.cached_property
    def _coded(self) -> list[tuple[_Codes, Callable[[int], None]]]:
        """Of each column of names: how they are numbered, and what takes a number."""
        return [(self.codes[name], self.cells[name].append) for name in _CODED]

    def add(self, record: Record, model: str, run: str) -> None:
        """Appends a score."""
        names = (model, record.task, record.metric, record.item, record.cluster, run)
        hashed = (record.content, record.prompt, record.run_id, record.run_name)
        for (codes, append), value in zip(self._coded, names + hashed, strict=True):
            append(codes[value])
        self.cells["sample"].append(record.sample)
        self.cells["score"].append(record.score)
        self.cells["status"].append(STATUSES.index(record.status))

    def models_by_task(self) -> dict[str, set[int]]:
        """Codes of the models that have scores of each task."""
        pairs = np.stack([np.asarray(self.cells[name]) for name in ("task", "model")])
        by_task: dict[str, set[int]] = {name: set() for name in self.codes["task"]}
        names = [*by_task]
        for task, model in np.unique(pairs, axis=1).T.tolist():
            by_task[names[task]].add(model)
        return by_task

    def join_tasks(self, tasks: Iterable[str]) -> None:
        """Makes these tasks one, whose name is not known."""
        column, codes = np.asarray(self.cells["task"]), self.codes["task"]
        column[np.isin(column, [codes[task] for task in tasks])] = codes[""]

    def read_for_nothing(self, kept: np.ndarray) -> list[int]:
        """Numbers, from 0, of the logs that hold rows, but none of those that are kept."""
        runs, codes = [*self.codes["run"]], np.asarray(self.cells["run"])
        every, used = (
            {int(runs[code].split(" ")[0]) - 1 for code in np.unique(of).tolist()}
            for of in (codes, codes[kept])
        )
        return sorted(every - used)

    def source_of(self, row: int) -> Source:
        """The log that a row stands in."""
        run = [*self.codes["run"]][self.cells["run"][row]]
        return self.sources[int(run.split(" ")[0]) - 1]

    def table(self, notes: Notes) -> LogTable:
        """All of them."""
        logs = len(self.sources)
        cells = {name: np.asarray(column) for name, column in self.cells.items()}
        if not np.any(cells["status"] == 0):
            none = "no item in them has one" if len(cells["status"]) else "they hold no items"
            said = "; ".join(map(printable, notes)) or none
            raise DataError(f"no score in {logs} log{'s' if logs > 1 else ''} ({said})")
        run_id, run_name = (cells.pop(name) for name in _OF_RUNS)
        logs_of_runs = log_runs.merged(cells, run_id)
        cells["run"] = log_runs.numbers(cells["model"], cells["task"], logs_of_runs)
        names = {name: tuple(map(printable, self.codes[name])) for name in _NAMED}
        run_names = log_runs.names(cells, run_name, [*self.codes["run_name"]])
        return LogTable(
            **cells,
            names=names,
            run_names={
                (names["model"][model], names["task"][task]): of
                for (model, task), of in run_names.items()
            },
            higher_is_better=self.directions,
            logs=logs,
            notes={printable(said): count for said, count in notes.items()},
        )


@collector_paused()
def of_logs(
    logs: Iterable[tuple[Source, Callable[[Notes], Iterable[Record]]]],
    notes: Notes,
    tasks: Sequence[str] = (),
) -> LogTable:
    """The table of what several readers give, who note what a user should know of a log.

    Logs of one model and task are its runs, as are logs of several models that --log NAME=PATH
    puts under one name.

    Args:
      notes: what is to be known beside it; those of all logs are added.
      tasks: as of `metric_names.tasks_meant`.

    Raises:
      DataError: too many scores, no score, one that is there twice, or no such task.
    """
    columns = _Columns({name: _Codes(_NOT_KNOWN if name in _HASHED else {}) for name in _CODED})
    of_logs: list[Notes] = []
    for source, records in logs:
        of_logs.append(Notes())
        columns.read(source, records(of_logs[-1]))
        notes.update(of_logs[-1])
    if len(columns.files) > 1:
        _join_files(columns, columns.files, notes)
    wanted = metric_names.tasks_meant([*map(printable, columns.codes["task"])], tasks)
    for (model, task), settings in columns.settings.items():
        if columns.codes["task"][task] in wanted:
            note_settings(model, [*settings], notes)
    table, rows = columns.table(notes), None
    if tasks:
        table, rows = _only_tasks(table, wanted)
        for number in columns.read_for_nothing(rows):
            table = _without(table, of_logs[number])
    twice = _scored_twice(table)
    if len(twice):
        row = int(twice[0] if rows is None else rows[twice[0]])
        raise DataError(_said_twice(table, twice), columns.source_of(row).path)
    _refuse_sizes(table)
    return table


def _only_tasks(table: LogTable, wanted: set[int]) -> tuple[LogTable, np.ndarray]:
    """Some tasks by their codes, and the models that have any.

    Returns:
      The table, and the numbers of its rows in the whole one.
    """
    rows = np.flatnonzero(np.isin(table.task, sorted(wanted)))
    columns = {name: getattr(table, name)[rows] for name in _COLUMNS}
    models = table.names["model"]
    of_tasks, columns["model"] = np.unique(columns["model"], return_inverse=True)
    kept = tuple(models[code] for code in of_tasks.tolist())
    notes = {
        f"no log of {model} has these tasks; left out": 1 for model in models if model not in kept
    }
    names = {**table.names, "model": kept}
    return dataclasses.replace(table, **columns, names=names, notes={**table.notes, **notes}), rows


def _without(table: LogTable, notes: Notes) -> LogTable:
    """The table without what was noted of a log."""
    left = Counter(dict(table.notes)) - Counter({printable(n): k for n, k in notes.items()})
    return dataclasses.replace(table, notes=dict(left))


def _join_files(columns: _Columns, files: Collection[str], notes: Notes) -> None:
    """Files that hold one model each are of one task, where no model has several of them."""
    by_task = columns.models_by_task()
    models = [by_task[file] for file in files]
    if max(map(len, models)) > 1:
        return
    if len(set.union(*models)) == len(files):
        columns.join_tasks(files)
    else:
        notes[
            "where lines have a model and no task, a file's name is the task; a key task says it"
        ] += 1


def _direct(directions: dict[tuple[str, str], bool], record: Record, source: Source) -> None:
    assert record.higher_is_better is not None
    key = record.task, record.metric
    if directions.setdefault(key, record.higher_is_better) != record.higher_is_better:
        message = f"{record.task}, {record.metric}: logs differ in whether higher is better"
        raise DataError(message, source.path)


def _scored_twice(table: LogTable) -> np.ndarray:
    """Rows of answers to an item that have a score in another row."""
    keys = np.stack([table.model, table.task, table.metric, table.run, table.item, table.sample])
    order = np.lexsort(keys)
    same = np.all(np.diff(keys[:, order], axis=1) == 0, axis=0)
    return np.asarray(order[:-1][same])


def _said_twice(table: LogTable, rows: np.ndarray) -> str:
    found = "a score is" if len(rows) == 1 else f"{len(rows)} scores are"
    named = ", ".join(_whose(table, int(rows[0])))
    sample = int(table.sample[rows[0]])
    return (
        f"{found} there twice: {named}, sample {sample}; expected one score of each answer in a "
        "log"
    )


def _refuse_sizes(table: LogTable) -> None:
    """Raises DataError for a score whose fourth power floating point cannot hold."""
    large = np.abs(np.where(np.isfinite(table.score), table.score, 0.0)) > LARGEST
    if large.any():
        k = int(np.argmax(large))
        found = f"{', '.join(_whose(table, k))}: {table.score[k]:g}"
        raise DataError(f"{found}; expected an absolute value up to {LARGEST:g}")


def _whose(table: LogTable, row: int) -> list[str]:
    """Model, task and item of a score, as far as they have names, for a message."""
    named = {
        what: table.names[what][int(getattr(table, what)[row])]
        for what in ("model", "task", "item")
    }
    return [f"{what} {name:.60}" for what, name in named.items() if name]
