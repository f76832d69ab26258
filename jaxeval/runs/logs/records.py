"""Scores of items as readers of logs give them, and the rows of several logs."""

import dataclasses
import fnmatch
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.data import text
from jaxeval.errors import DataError, JaxevalError, argument, parsing, printable
from jaxeval.files import Json
from jaxeval.runs import texts
from jaxeval.runs.columns import listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.metrics import Key
from jaxeval.runs.rows import Rows, first_place
from jaxeval.runs.scores import Status
from jaxeval.runs.texts import Coded, constant, encode

Notes = Counter[str]  # note -> how often
MOST_BYTES = 1 << 30  # of a JSON file, or of a member of an archive
_MOST = 50_000_000  # scores of all logs
_NAMES = ("model", "dataset", "metric", "item", "cluster", "content")


class Source(NamedTuple):
    """A log, and its model's name by NAME=PATH, or ""."""

    path: Path
    model: str = ""


class Record(NamedTuple):
    """A score of an answer; "" is unknown.

    Attributes:
      dataset: the task.
      metric: "" for a failed answer, which belongs to all metrics.
      run: name of the run within its log.
      sample: number of the answer, if a run answers an item several times.
      content: hash of what two logs must agree on: the item's question, gold and prompt.
      settings: of the model, see `settings`.
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
    status: Status = Status.SCORED
    higher_is_better: bool | None = None
    settings: str | None = None


Reader = Callable[[Source, Layout, Notes], Iterator[Record] | Rows]


class Collector:
    """Reads several logs into rows."""

    def __init__(self, layout: Layout) -> None:
        self.notes = Notes()
        self._layout = layout
        self._tasks: dict[str, None] = {}
        self._directions: dict[Key, bool] = {}
        self._settings: dict[Key, dict[str, None]] = {}
        self._unplaced: dict[str, Path] = {}  # model -> file of scores without a task or run
        self._parts: list[Rows] = []

    def read(self, source: Source, reader: Reader) -> None:
        """Reads a log; its notes count if a task of it is wanted."""
        notes = Notes()
        with parsing("cannot be read", source.path, passing=(JaxevalError, MemoryError)):
            found = reader(source, self._layout, notes)
            rows = found if isinstance(found, Rows) else self._from_records(found, source)
        if rows is found:
            self._refuse_unplaced(rows, source)
            self._tasks |= dict.fromkeys(rows.dataset.names)
        if source.model:
            model = constant(printable(source.model), len(rows))
            rows = dataclasses.replace(rows, model=model)
        self._parts.append(rows)
        if any(map(self._is_wanted, rows.dataset.names)):
            self.notes.update(notes)
        if sum(map(len, self._parts)) > _MOST:
            raise DataError(f"more than {_MOST} scores", source.path)

    def _is_wanted(self, task: str) -> bool:
        asked = self._layout.tasks
        return not asked or any(task == n or fnmatch.fnmatchcase(task, n) for n in asked)

    def _from_records(self, records: Iterator[Record], source: Source) -> Rows:
        kept = list[Record]()
        for record in records:
            self._tasks[record.dataset] = None
            if not self._is_wanted(record.dataset):
                continue
            kept.append(record)
            higher, key = record.higher_is_better, (record.dataset, record.metric)
            if higher is not None and self._directions.setdefault(key, higher) != higher:
                message = f"{', '.join(key)}: logs differ in whether higher is better"
                raise DataError(message, source.path)
            if record.settings is not None and not source.model:
                key = record.model, record.dataset
                self._settings.setdefault(key, {})[record.settings] = None
        columns = zip(*kept, strict=True) if kept else ([] for _ in Record._fields)
        values = dict(zip(Record._fields, columns, strict=True))
        run = first_place(encode(values["run"]).codes)
        return Rows(
            str(source.path),
            **{name: encode(values[name]) for name in _NAMES},  # type: ignore[arg-type]
            run=run,
            score=np.array(values["score"], np.float64),
            status=np.array(values["status"], np.uint8),
            number=run,
            sample=np.array(values["sample"], int),
        )

    def _refuse_unplaced(self, rows: Rows, source: Source) -> None:
        if "name" not in rows.labels and rows.dataset.names == ("",) and not source.model:
            for model in rows.model.names:
                first = self._unplaced.setdefault(model, source.path)
                if first != source.path:
                    message = f"model {model} is in {first.name} too; expected a key task, or run"
                    raise DataError(message, source.path)

    def _check(self) -> None:
        """Refuses logs without the requested tasks or without scores; notes mixed settings."""
        for task in self._layout.tasks:
            if not any(known == task or fnmatch.fnmatchcase(known, task) for known in self._tasks):
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
        parts = self._parts
        sizes = [len(rows) for rows in parts]
        dataset = texts.join_coded([rows.dataset for rows in parts])
        keep = np.array([*map(self._is_wanted, dataset.names)], bool)[dataset.codes]

        def joined(find: Callable[[Rows], Coded | None]) -> Coded:
            found = (find(rows) or constant("", len(rows)) for rows in parts)
            whole = texts.without_nameless(texts.join_coded([*found]))
            return Coded(whole.names, whole.codes[keep])

        def whole(find: Callable[[Rows], np.ndarray]) -> np.ndarray:
            return np.concatenate([*map(find, parts)])[keep]

        run = whole(lambda rows: rows.run) + np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)[keep]
        return Rows(
            name,
            model=joined(lambda rows: rows.model),
            dataset=Coded(dataset.names, dataset.codes[keep]),
            metric=joined(lambda rows: rows.metric),
            item=joined(lambda rows: rows.item),
            run=run,
            score=whole(lambda rows: rows.score),
            status=whole(lambda rows: rows.status),
            number=run + 1,
            labels={"name": joined(lambda rows: rows.labels.get("name"))},
            sample=whole(lambda r: np.ones(len(r), int) if r.sample is None else r.sample),
            cluster=joined(lambda rows: rows.cluster),
            content=joined(lambda rows: rows.content),
            recorded=self._directions,
            file=Coded(
                tuple(rows.source for rows in parts), np.repeat(np.arange(len(parts)), sizes)[keep]
            ),
            warnings=tuple(
                printable(f"{note} ({n} times)" if n > 1 else note)
                for note, n in self.notes.items()
            ),
        )


def read_json(path: Path) -> Json:
    """Reads a JSON file; raises DataError if it is none, or too large."""
    text.refuse_pointer(path)
    with parsing("cannot be read", path, passing=(MemoryError,)), path.open("rb") as stream:
        raw = stream.read(MOST_BYTES + 1)
    return parse_json(raw, MOST_BYTES, path)


def parse_json(raw: bytes, most: int, path: Path, head: str = "") -> Json:
    """Parses the bytes of a log; raises DataError if they are more than `most`, or no JSON."""
    if len(raw) > most:
        raise DataError(f"{head}expected at most {most} bytes, or as many as it declares", path)
    with parsing(f"{head}not valid JSON", path):
        tree: Json = json.loads(raw)
    return tree


def members(tree: Json) -> Mapping[str, Json]:
    """Returns the members of a JSON object; none of other values."""
    return tree if isinstance(tree, Mapping) else {}


def digest(tree: Json) -> str:
    """Returns a hash of JSON data without keys "id", which programs draw at random."""

    def without_ids(tree: Json) -> Json:
        if isinstance(tree, Mapping):
            return {key: without_ids(value) for key, value in tree.items() if key != "id"}
        return [*map(without_ids, tree)] if isinstance(tree, list) else tree

    whole = json.dumps(without_ids(tree), sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()


def cluster_of(
    data: Json, layout: Layout, source: Source, item: str, line: int | None = None
) -> str:
    """Returns the cluster of an item by its data; raises DataError if the data has none."""
    if not layout.cluster:
        return ""
    value = members(data).get(layout.cluster)
    if value not in (None, "") and not isinstance(value, Mapping | list):
        return str(value)
    keys = ", ".join([*members(data)][:12]) or "none"
    found = f"item {item:.60}: no {layout.cluster!r} to cluster it by; its keys are {keys}"
    raise DataError(found, source.path, line)


def settings(*given: Json) -> str:
    """Returns as text the settings that tell two models of one name apart; seeds do not."""
    found = []
    for tree in given:
        words = tree.split(",") if isinstance(tree, str) else []
        if isinstance(tree, Mapping):
            words = [f"{key}={value}" for key, value in sorted(tree.items()) if value is not None]
        found += [word for word in words if word and "seed" not in word.partition("=")[0]]
    return ",".join(found)


def label(value: object, what: str, path: Path, line: int | None = None) -> str:
    """Returns an identifying name or number as text; raises DataError for other values."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        message = f"{what}: expected a name or a number, found {str(value)[:40]!r}"
        raise DataError(message, path, line)
    return str(value)


def note_missing(held: int, counted: object, source: Source, notes: Notes) -> None:
    """Notes that a log holds fewer answers than its own results count."""
    answers = number(counted) or 0.0
    if held < answers < math.inf:
        found = f"holds {held} of the {answers:.0f} answers that its results count"
        notes[f"{source.path}: {found}: cut, or not all were asked for"] += 1


def number(value: object) -> float | None:
    """Returns a score as a float, 1 for true; None if it is no number."""
    try:
        return float(value) if isinstance(value, bool | int | float) else None
    except OverflowError:
        return None
