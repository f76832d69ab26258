"""All scores of several logs as rows of the normal form, 4 or 8 bytes a cell."""

import dataclasses
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval.errors import DataError, printable
from jaxeval.runs import items, matching
from jaxeval.runs.directions import Key
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs.records import Notes, Reader, Record, Source
from jaxeval.runs.rows import Coded, Rows, constant
from jaxeval.runs.scores import Status

_MOST = 50_000_000  # scores of all logs
_OF_ROWS = ("model", "dataset", "metric", "item", "cluster", "content", "prompt")
_KINDS = (*_OF_ROWS, "run", "run_id", "name")


class _Codes(dict[str, int]):
    """Names, numbered as they come; -1 of none."""

    def __missing__(self, name: str) -> int:
        self[name] = code = len(self) - 1
        return code


@dataclasses.dataclass
class Collector:
    """All rows as they are read, and what else logs say.

    Attributes:
      wanted: whether a task is read.
      tasks: that there are, those too that are not read.
      unplaced: model -> the file of its scores of which nothing says the task or run.
    """

    wanted: Callable[[str], bool]
    sources: list[Source] = dataclasses.field(default_factory=list)
    notes: Notes = dataclasses.field(default_factory=Counter)
    tasks: dict[str, None] = dataclasses.field(default_factory=dict)
    unplaced: dict[str, Path] = dataclasses.field(default_factory=dict)
    directions: dict[Key, bool] = dataclasses.field(default_factory=dict)
    settings: dict[Key, dict[str, None]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.codes = {kind: _Codes({"": -1}) for kind in _KINDS}
        self.codes["dataset"] = _Codes({" ": -1})  # a task without a name is one too
        self.cells = {kind: array("i") for kind in (*_KINDS, "sample", "status", "log")}
        self.scores = array("d")

    def read(self, source: Source, reader: Reader, layout: Layout) -> None:
        """Appends the scores of a log; of one without a task that is wanted nothing is noted."""
        self.sources.append(source)
        if source.path.suffix in items.TABLES:
            self._extend(items.of_log(source.path, layout), source)
            return
        notes, before = Notes(), len(self.scores)
        for record in reader(source, layout, notes):
            self._refuse_many(1, source)
            task, model = record.dataset, source.model or record.model
            self.tasks[task] = None
            if record.unplaced:
                self._refuse_unplaced(model, source)
            if self.wanted(task):
                self._direct(record, source)
                if record.settings is not None and not source.model:
                    self.settings.setdefault((model, task), {})[record.settings] = None
                self._add(record, model)
        if len(self.scores) > before:
            self.notes.update(notes)

    def _add(self, record: Record, model: str) -> None:
        log = len(self.sources) - 1
        names = (
            *(model, record.dataset, record.metric, record.item, record.cluster, record.content),
            *(record.prompt, f"{log} {record.run}", record.run_id, record.name),
        )
        for kind, name in zip(_KINDS, names, strict=True):
            self.cells[kind].append(self.codes[kind][name])
        for number, value in (("sample", record.sample), ("status", record.status), ("log", log)):
            self.cells[number].append(value)
        self.scores.append(record.score)

    def _extend(self, table: Rows, source: Source) -> None:
        """Appends the scores of a table."""
        size, log = len(table.score), len(self.sources) - 1
        self._refuse_many(size, source)
        if not table.labels and table.dataset.names == ("",):
            for model in table.model.names:
                self._refuse_unplaced(model, source)
        name = table.labels.get("name") or constant("", size)
        run = Coded(tuple(f"{log} {of}" for of in name.names), name.codes)
        columns = {kind: getattr(table, kind) or constant("", size) for kind in _OF_ROWS}
        columns |= {"run": run, "run_id": name, "name": name}
        if source.model:
            columns["model"] = constant(source.model, size)
        self.tasks |= dict.fromkeys(table.dataset.names)
        keep = np.array([*map(self.wanted, table.dataset.names)])[table.dataset.codes]
        numbers = {"status": table.status, "log": np.full(size, log)}
        numbers["sample"] = np.ones(size) if table.sample is None else table.sample
        for kind, of in columns.items():
            numbers[kind] = np.array([self.codes[kind][n] for n in of.names])[of.codes]
        for kind, values in numbers.items():
            self.cells[kind].frombytes(values[keep].astype(np.intc).tobytes())
        self.scores.frombytes(table.score[keep].tobytes())

    def _refuse_many(self, more: int, source: Source) -> None:
        if len(self.scores) + more > _MOST:
            raise DataError(f"more than {_MOST} scores", source.path)

    def _refuse_unplaced(self, model: str, source: Source) -> None:
        """Refuses a second file of a model where nothing says of which task or run each is."""
        first = self.unplaced.setdefault(model, source.path)
        if first != source.path and not source.model:
            message = f"model {model} is in {first.name} too; expected a key task, or run"
            raise DataError(message, source.path)

    def _direct(self, record: Record, source: Source) -> None:
        higher, key = record.higher_is_better, (record.dataset, record.metric)
        if higher is not None and self.directions.setdefault(key, higher) != higher:
            message = f"{', '.join(key)}: logs differ in whether higher is better"
            raise DataError(message, source.path)

    def rows(self, source: str) -> Rows:
        """All of them.

        Args:
          source: in a word, for the head of what is said of them.

        Raises:
          DataError: there is no score.
        """
        cells = {kind: np.asarray(of).astype(np.int64) for kind, of in self.cells.items()}
        if not np.any(cells["status"] == Status.SCORED):
            none = "no item in them has one" if len(self.scores) else "they hold no items"
            said = "; ".join(map(printable, self.notes)) or none
            count = f"{len(self.sources)} log{'s' if len(self.sources) > 1 else ''}"
            raise DataError(f"no score in {count} ({said})")
        for (model, _), settings in self.settings.items():
            if len(settings) > 1:
                differ = f"({'; '.join(of or 'none' for of in settings):.200})"
                said = f"logs of {model} differ in their settings {differ} and are taken for one"
                self.notes[f"{said} model; NAME=PATH tells them apart"] = 1
        coded: dict[str, Any] = {
            kind: Coded(tuple(map(printable, [*self.codes[kind]][1:])), cells[kind])
            for kind in (*_OF_ROWS, "name")
        }
        run = _merged(cells)
        labels = {"name": coded.pop("name")}
        return Rows(
            source,
            **coded,
            run=run,
            score=np.asarray(self.scores),
            status=cells["status"].astype(np.uint8),
            number=run + 1,
            labels=labels,
            sample=cells["sample"],
            recorded=self.directions,
            who="the logs say",
            file=Coded(tuple(str(of.path) for of in self.sources), cells["log"]),
            warnings=tuple(map(printable, self._said())),
        )

    def _said(self) -> Iterator[str]:
        """The notes."""
        for said, count in self.notes.items():
            yield f"{said} ({count} times)" if count > 1 else said


def _merged(cells: Mapping[str, np.ndarray]) -> np.ndarray:
    """[N] the run of each score; several logs that are parts of one run count as the first.

    Parts have the run's id in common and no item: two logs with an item in common are two runs,
    whatever their ids.
    """
    run, known = cells["run"].copy(), np.flatnonzero(cells["run_id"] >= 0)
    whole = matching.pairs(cells["model"][known], cells["dataset"][known])
    whole = matching.pairs(np.unique(whole, return_inverse=True)[1], cells["run_id"][known])
    _, whole = np.unique(whole, return_inverse=True)
    pairs = np.unique(matching.pairs(whole, run[known]), return_index=True)[1]
    of_run, logs = np.unique(whole[pairs], return_counts=True)
    for one in of_run[logs > 1].tolist():
        rows = known[whole == one]
        parts = np.unique(matching.pairs(run[rows], cells["item"][rows]))
        if len(parts) == len(np.unique(cells["item"][rows])):
            run[rows] = run[rows].min()
    return run
