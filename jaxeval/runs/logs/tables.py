"""All scores of logs as one long table of numpy columns."""

import dataclasses
import fnmatch
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument, printable
from jaxeval.runs.checks import LARGEST
from jaxeval.runs.imported import collector_paused, listed
from jaxeval.runs.logs.records import STATUSES, Notes, Record, Source

MOST = 50_000_000  # scores of a table
_UNKNOWN = -1
_CODED = ("model", "task", "metric", "item", "cluster", "run", "content", "prompt", "run_id")
_HASHED = ("content", "prompt", "run_id")  # or unknown
_COLUMNS = (*_CODED[:-1], "sample", "score", "status")  # of the table
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
    """Rows as they are read: 4 or 8 bytes a cell."""

    codes: Mapping[str, _Codes]
    cells: Mapping[str, array] = dataclasses.field(
        default_factory=lambda: {
            name: array("d" if name == "score" else "i")
            for name in (*_CODED, "sample", "score", "status")
        }
    )

    def add(self, record: Record, model: str, run: str) -> None:
        """Appends a score."""
        names = (model, record.task, record.metric, record.item, record.cluster, run)
        for name, value in zip(_CODED, names, strict=False):
            self.cells[name].append(self.codes[name][value])
        for name in _HASHED:
            value = getattr(record, name)
            self.cells[name].append(self.codes[name][value] if value else _UNKNOWN)
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

    def table(
        self, directions: Mapping[tuple[str, str], bool], logs: int, notes: Notes
    ) -> LogTable:
        """All of them."""
        cells = {name: np.asarray(column) for name, column in self.cells.items()}
        if not np.any(cells["status"] == 0):
            said = "; ".join(map(printable, notes)) or "they hold no items"
            raise DataError(f"no score in {logs} log{'s' if logs > 1 else ''} ({said})")
        logs_of_runs = _merged(cells, cells.pop("run_id"))
        cells["run"] = _runs(cells["model"], cells["task"], logs_of_runs)
        return LogTable(
            **cells,
            names={name: tuple(map(printable, self.codes[name])) for name in _NAMED},
            higher_is_better=directions,
            logs=logs,
            notes={printable(said): count for said, count in notes.items()},
        )


@collector_paused()
def of_logs(
    logs: Iterable[tuple[Source, Iterator[Record]]], notes: Notes, tasks: Sequence[str] = ()
) -> LogTable:
    """The table of what several readers give.

    Logs of one model and task are its runs, as are logs of several models that --log NAME=PATH
    puts under one name.

    Args:
      notes: what the readers had to note, complete when all are read.
      tasks: as of `_only_tasks`; none: all.

    Raises:
      DataError: too many scores, no score, one that is there twice, or no such task.
    """
    columns = _Columns({name: _Codes() for name in _CODED})
    directions: dict[tuple[str, str], bool] = {}
    files: set[str] = set()  # that name tasks
    count = 0
    for source, records in logs:
        count += 1
        for record in records:
            if len(columns.cells["score"]) == MOST:
                raise DataError(f"more than {MOST} scores", source.path)
            if record.higher_is_better is not None:
                _direct(directions, record, source)
            if record.file and not record.task:
                files.add(record.file)
                record = record._replace(task=record.file)
            run = f"{count} {record.run}"
            columns.add(record, source.model or record.model, run)
    if len(files) > 1:
        _join_files(columns, files, notes)
    table = columns.table(directions, count, notes)
    if tasks:
        table = _only_tasks(table, tasks)
    _refuse_twice(table)
    _refuse_sizes(table)
    return table


def _only_tasks(table: LogTable, asked: Sequence[str]) -> LogTable:
    """Some tasks, and the models that have any; other names are patterns of tasks (`mmlu_*`).

    Raises:
      DataError: a name or pattern that no task has.
    """
    tasks = table.names["task"]
    wanted: set[int] = set()
    for name in asked:
        meant = [name] if name in tasks else fnmatch.filter(tasks, name)
        if not meant:
            said = f"no task {name!r} in the logs; expected one of {listed(tasks)}"
            raise DataError(f"{argument('task')}: {said}")
        wanted |= {tasks.index(task) for task in meant}
    rows = np.isin(table.task, sorted(wanted))
    columns = {name: getattr(table, name)[rows] for name in _COLUMNS}
    models = table.names["model"]
    of_tasks, columns["model"] = np.unique(columns["model"], return_inverse=True)
    kept = tuple(models[code] for code in of_tasks.tolist())
    notes = {
        f"no log of {model} has these tasks; left out": 1 for model in models if model not in kept
    }
    return dataclasses.replace(
        table, **columns, names={**table.names, "model": kept}, notes={**table.notes, **notes}
    )


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


def _merged(cells: Mapping[str, np.ndarray], run_id: np.ndarray) -> np.ndarray:
    """[N] in which log each score is; several that are parts of one run count as the first.

    Parts have the run's id in common and no item: two logs with an item in common are two runs,
    whatever their ids.
    """
    log, known = cells["run"].copy(), np.flatnonzero(run_id != _UNKNOWN)
    whole = np.stack([cells["model"][known], cells["task"][known], run_id[known]])
    _, inverse = np.unique(whole, axis=1, return_inverse=True)
    pairs = np.unique(np.stack([inverse.ravel(), log[known]]), axis=1)
    of_run, logs = np.unique(pairs[0], return_counts=True)
    for run in of_run[logs > 1].tolist():
        rows = known[inverse.ravel() == run]
        parts = np.unique(np.stack([log[rows], cells["item"][rows]]), axis=1)
        if len(np.unique(parts[1])) == parts.shape[1]:
            log[rows] = log[rows].min()
    return log


def _runs(model: np.ndarray, task: np.ndarray, log: np.ndarray) -> np.ndarray:
    """[N] the number, from 0, of each score's run among those of its model on its task."""
    pair = model.astype(np.int64) * (int(task.max(initial=0)) + 1) + task
    logs = int(log.max(initial=0)) + 1
    triples, inverse = np.unique(pair * logs + log, return_inverse=True)
    _, starts, counts = np.unique(triples // logs, return_index=True, return_counts=True)
    within = np.arange(len(triples)) - np.repeat(starts, counts)
    return np.asarray(within[inverse])


def _refuse_twice(table: LogTable) -> None:
    """Raises DataError if an answer to an item has two scores."""
    keys = np.stack([table.model, table.task, table.metric, table.run, table.item, table.sample])
    order = np.lexsort(keys)
    same = np.all(np.diff(keys[:, order], axis=1) == 0, axis=0)
    if not same.any():
        return
    k = int(order[int(np.argmax(same))])
    model, task, item = _whose(table, k)
    count = int(same.sum())
    found = "a score is" if count == 1 else f"{count} scores are"
    raise DataError(
        f"{found} there twice: {model}, {task}, {item}, sample {int(table.sample[k])}; expected "
        "one score of each answer in a log"
    )


def _refuse_sizes(table: LogTable) -> None:
    """Raises DataError for a score whose fourth power floating point cannot hold."""
    large = np.abs(np.where(np.isfinite(table.score), table.score, 0.0)) > LARGEST
    if large.any():
        k = int(np.argmax(large))
        found = f"{', '.join(_whose(table, k))}: {table.score[k]:g}"
        raise DataError(f"{found}; expected an absolute value up to {LARGEST:g}")


def _whose(table: LogTable, row: int) -> list[str]:
    """Model, task and item of a score, for a message."""
    return [
        f"{what} {table.names[what][int(getattr(table, what)[row])]:.60}"
        for what in ("model", "task", "item")
    ]
