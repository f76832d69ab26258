"""Scores of answers to items, as readers of logs give them, and all of several logs as rows."""

import dataclasses
import hashlib
import json
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxeval.errors import DataError, printable
from jaxeval.files import Json
from jaxeval.runs import rows as normal
from jaxeval.runs.directions import Key
from jaxeval.runs.layout import Layout
from jaxeval.runs.rows import Coded, Rows, constant
from jaxeval.runs.scores import Status

Notes = Counter[str]  # what a user should know of the logs, and how often
_MOST = 50_000_000  # scores of all logs
_OF_ROWS = ("model", "dataset", "metric", "item", "cluster", "content", "prompt")
_KINDS = (*_OF_ROWS, "run", "run_id", "name")


class Source(NamedTuple):
    """A log, and its model's name by NAME=PATH; "": the log says."""

    path: Path
    model: str = ""


class Record(NamedTuple):
    """A score.

    Attributes:
      model: as the log names it.
      dataset: the task; "" unknown.
      metric: "" of a failed answer: of all metrics.
      run: what tells runs within a log apart; "" where it holds one.
      sample: number of the answer, where a run answers an item several times.
      content: hash of what the item asks; "" unknown.
      prompt: hash of all else in which one item can differ between two logs; "" unknown.
      run_id: what names the run in other logs too, as where several files are parts of one run.
      settings: of the model beside its name, as of `settings`; None: unknown.
    """

    model: str
    dataset: str
    metric: str
    item: str
    score: float
    run: str = ""
    sample: int = 1
    cluster: str = ""
    content: str = ""
    prompt: str = ""
    status: Status = Status.SCORED
    run_id: str = ""
    higher_is_better: bool | None = None
    settings: str | None = None


Reader = Callable[[Source, Layout, Notes], Iterator[Record] | Rows]


class _Codes(dict[str, int]):
    """Names, numbered as they come; -1 of none."""

    def __missing__(self, name: str) -> int:
        self[name] = code = len(self) - 1
        return code


@dataclasses.dataclass
class Collector:
    """All rows of several logs as they are read, 4 or 8 bytes a cell, and what else logs say.

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
        notes, before = Notes(), len(self.scores)
        found = reader(source, layout, notes)
        if isinstance(found, Rows):
            self._extend(found, source)
        else:
            for record in found:
                self.tasks[record.dataset] = None
                if self.wanted(record.dataset):
                    self._add(record, source)
        if len(self.scores) > before:
            self.notes.update(notes)

    def _add(self, record: Record, source: Source) -> None:
        self._refuse_many(1, source)
        model, task, log = source.model or record.model, record.dataset, len(self.sources) - 1
        higher, key = record.higher_is_better, (task, record.metric)
        if higher is not None and self.directions.setdefault(key, higher) != higher:
            message = f"{', '.join(key)}: logs differ in whether higher is better"
            raise DataError(message, source.path)
        if record.settings is not None and not source.model:
            self.settings.setdefault((model, task), {})[record.settings] = None
        names = (
            *(model, task, record.metric, record.item, record.cluster, record.content),
            *(record.prompt, f"{log} {record.run}", record.run_id, ""),
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
        name = table.labels.get("name") or constant("", size)
        run = table.labels.get("place") or name
        if "name" not in table.labels and table.dataset.names == ("",) and not source.model:
            for model in table.model.names:
                first = self.unplaced.setdefault(model, source.path)
                if first != source.path:
                    message = f"model {model} is in {first.name} too; expected a key task, or run"
                    raise DataError(message, source.path)
        run = Coded(tuple(f"{log} {of}" for of in run.names), run.codes)
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

    def rows(self, source: str) -> Rows:
        """All of them, `source` in a message; raises DataError where there is no score."""
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
        said_of = [f"{of} ({n} times)" if n > 1 else of for of, n in self.notes.items()]
        return Rows(
            source,
            labels={"name": coded.pop("name")},
            **coded,
            run=run,
            score=np.asarray(self.scores),
            status=cells["status"].astype(np.uint8),
            number=run + 1,
            sample=cells["sample"],
            recorded=self.directions,
            who="the logs say",
            file=Coded(tuple(str(of.path) for of in self.sources), cells["log"]),
            warnings=tuple(map(printable, said_of)),
        )


def _merged(cells: Mapping[str, np.ndarray]) -> np.ndarray:
    """[N] the run of each score; several logs that are parts of one run count as the first."""
    run, known = cells["run"].copy(), np.flatnonzero(cells["run_id"] >= 0)
    whole = normal.pairs(cells["model"][known], cells["dataset"][known])
    whole = normal.pairs(np.unique(whole, return_inverse=True)[1], cells["run_id"][known])
    _, whole = np.unique(whole, return_inverse=True)
    pairs = np.unique(normal.pairs(whole, run[known]), return_index=True)[1]
    of_run, logs = np.unique(whole[pairs], return_counts=True)
    for one in of_run[logs > 1].tolist():
        rows = known[whole == one]
        parts = np.unique(normal.pairs(run[rows], cells["item"][rows]))
        if len(parts) == len(np.unique(cells["item"][rows])):
            run[rows] = run[rows].min()
    return run


def digest(tree: Json) -> str:
    """A hash of JSON data; ids that a program draws at random in it do not count."""
    text = json.dumps(_without_ids(tree), sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _without_ids(tree: Json) -> Json:
    if isinstance(tree, Mapping):
        return {key: _without_ids(value) for key, value in tree.items() if key != "id"}
    return [_without_ids(value) for value in tree] if isinstance(tree, list) else tree


def cluster_of(
    data: object, layout: Layout, source: Source, item: str, line: int | None = None
) -> str:
    """The cluster of an item, by its own data; raises DataError where that does not say."""
    if not layout.cluster:
        return ""
    known = data if isinstance(data, Mapping) else {}
    value = known.get(layout.cluster)
    if value is not None and not isinstance(value, Mapping | list):
        return str(value)
    keys = ", ".join(map(str, [*known][:12])) or "none"
    said = f"item {item:.60}: no {layout.cluster!r} to cluster it by; its keys are {keys}"
    raise DataError(said, source.path, line)


def settings(*given: Json) -> str:
    """What makes two models of one name different, as text; seeds do not count."""
    found = []
    for tree in given:
        words = tree.split(",") if isinstance(tree, str) else []
        if isinstance(tree, Mapping):
            words = [f"{key}={value}" for key, value in sorted(tree.items()) if value is not None]
        found += [word for word in words if word and "seed" not in word.partition("=")[0]]
    return ",".join(found)


def label(value: object, what: str, path: Path, line: int | None = None) -> str:
    """A name or number that identifies something, as text; raises DataError where it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        message = f"{what}: expected a name or a number, found {str(value)[:40]!r}"
        raise DataError(message, path, line)
    return str(value)


def note_lost(held: int, answered: object, source: Source, notes: Notes) -> None:
    """Notes that a log holds fewer answers than its results count: it may have been cut.

    lm-evaluation-harness counts all, also where --samples chose some.
    """
    said = number(answered) or 0.0
    if held < said < math.inf:
        lost = f"holds {held} of the {said:.0f} answers that its results count"
        notes[f"{source.path}: {lost}: cut, or not all were asked for"] += 1


def number(value: object) -> float | None:
    """A score as a number: true is 1; None for what is none."""
    try:
        return float(value) if isinstance(value, bool | int | float) else None
    except OverflowError:
        return None
