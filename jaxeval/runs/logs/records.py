"""Scores of items as readers of logs give them, and all scores of several logs as rows."""

import dataclasses
import hashlib
import itertools
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxeval.data import text
from jaxeval.errors import DataError, parsing, printable
from jaxeval.files import Json
from jaxeval.runs import rows as normal
from jaxeval.runs.layout import Layout
from jaxeval.runs.metrics import Key
from jaxeval.runs.rows import Coded, Rows, constant, encode
from jaxeval.runs.scores import Status

Notes = Counter[str]  # note -> how often
_MOST = 50_000_000  # scores of all logs
MOST_BYTES = 1 << 30  # of a JSON file, or of a member of an archive
_OF_ROWS = ("model", "dataset", "metric", "item", "cluster", "content", "prompt")
_KINDS = (*_OF_ROWS, "run", "run_id", "name")


class Source(NamedTuple):
    """A log, and its model's name by NAME=PATH, or ""."""

    path: Path
    model: str = ""


class Record(NamedTuple):
    """A score of an answer.

    Attributes:
      dataset: the task.
      metric: "" for a failed answer, which belongs to all metrics.
      run: name of the run within its log.
      sample: number of the answer, if a run answers an item several times.
      content: hash of the item's question; "" if unknown.
      prompt: hash of everything else that two logs must agree on; "" if unknown.
      run_id: name of the run in other logs too, which may be parts of it.
      settings: settings of the model, see `settings`; None if unknown.
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


@dataclasses.dataclass
class Collector:
    """The rows of several logs as they are read, and what else the logs say.

    Attributes:
      wanted: returns whether a task is read.
      tasks: all tasks of the logs.
      unplaced: model -> file of its scores without a task or run.
    """

    wanted: Callable[[str], bool]
    sources: list[Source] = dataclasses.field(default_factory=list)
    notes: Notes = dataclasses.field(default_factory=Counter)
    tasks: dict[str, None] = dataclasses.field(default_factory=dict)
    unplaced: dict[str, Path] = dataclasses.field(default_factory=dict)
    directions: dict[Key, bool] = dataclasses.field(default_factory=dict)
    settings: dict[Key, dict[str, None]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        # an empty name is unknown, but a task without a name is a task
        self._codes = {
            kind: defaultdict(itertools.count().__next__, {"" if kind != "dataset" else " ": -1})
            for kind in _KINDS
        }
        self._parts: list[dict[str, np.ndarray]] = []
        self._size = 0

    def read(self, source: Source, reader: Reader, layout: Layout) -> None:
        """Appends the scores of a log; its notes too if a task of it is wanted."""
        self.sources.append(source)
        notes, before = Notes(), self._size
        found = reader(source, layout, notes)
        if isinstance(found, Rows):
            self._add_rows(found, source)
        else:
            self._add_records(found, source)
        if self._size > before:
            self.notes.update(notes)

    def _add_records(self, records: Iterator[Record], source: Source) -> None:
        kept = list[Record]()
        for record in records:
            self.tasks[record.dataset] = None
            if not self.wanted(record.dataset):
                continue
            kept.append(record)
            higher, key = record.higher_is_better, (record.dataset, record.metric)
            if higher is not None and self.directions.setdefault(key, higher) != higher:
                message = f"{', '.join(key)}: logs differ in whether higher is better"
                raise DataError(message, source.path)
            if record.settings is not None and not source.model:
                key = record.model, record.dataset
                self.settings.setdefault(key, {})[record.settings] = None
        if not kept:
            return
        columns = dict(zip(Record._fields, zip(*kept, strict=True), strict=True))
        coded = {kind: encode(columns[kind]) for kind in (*_OF_ROWS, "run", "run_id")}
        if source.model:
            coded["model"] = constant(source.model, len(kept))
        numbers = {name: np.array(columns[name]) for name in ("sample", "status", "score")}
        self._extend(coded | {"name": constant("", len(kept))}, numbers, source)

    def _add_rows(self, table: Rows, source: Source) -> None:
        size = len(table.score)
        name = table.labels.get("name") or constant("", size)
        if "name" not in table.labels and table.dataset.names == ("",) and not source.model:
            for model in table.model.names:
                first = self.unplaced.setdefault(model, source.path)
                if first != source.path:
                    message = f"model {model} is in {first.name} too; expected a key task, or run"
                    raise DataError(message, source.path)
        coded = {kind: getattr(table, kind) or constant("", size) for kind in _OF_ROWS}
        coded |= {"run": table.labels.get("place") or name, "run_id": name, "name": name}
        if source.model:
            coded["model"] = constant(source.model, size)
        self.tasks |= dict.fromkeys(table.dataset.names)
        keep = np.array([*map(self.wanted, table.dataset.names)])[table.dataset.codes]
        sample = np.ones(size) if table.sample is None else table.sample
        numbers = {"sample": sample, "status": table.status, "score": table.score}
        coded = {kind: Coded(c.names, c.codes[keep]) for kind, c in coded.items()}
        self._extend(coded, {name: values[keep] for name, values in numbers.items()}, source)

    def _extend(
        self, coded: Mapping[str, Coded], numbers: Mapping[str, np.ndarray], source: Source
    ) -> None:
        """Appends the columns of a log, 4 or 8 bytes a cell."""
        size, log = len(numbers["score"]), len(self.sources) - 1
        self._size += size
        if self._size > _MOST:
            raise DataError(f"more than {_MOST} scores", source.path)
        part: dict[str, np.ndarray] = {"log": np.full(size, log, np.intc)}
        part["score"] = numbers["score"].astype(np.float64)
        part |= {name: numbers[name].astype(np.intc) for name in ("sample", "status")}
        for kind, (names, codes) in coded.items():
            names = tuple(f"{log} {name}" for name in names) if kind == "run" else names
            part[kind] = np.array([self._codes[kind][n] for n in names], np.intc)[codes]
        self._parts.append(part)

    def rows(self, source: str) -> Rows:
        """Returns all rows; raises DataError if there is no score.

        Args:
          source: for messages.
        """
        if not any(np.any(part["status"] == Status.SCORED) for part in self._parts):
            none = "no item in them has one" if self._size else "they hold no items"
            reason = "; ".join(map(printable, self.notes)) or none
            count = f"{len(self.sources)} log{'s' if len(self.sources) > 1 else ''}"
            raise DataError(f"no score in {count} ({reason})")
        cells = {name: np.concatenate([p[name] for p in self._parts]) for name in self._parts[0]}
        cells = {name: v if name == "score" else v.astype(np.int64) for name, v in cells.items()}
        for (model, _), settings in self.settings.items():
            if len(settings) > 1:
                differ = f"({'; '.join(words or 'none' for words in settings):.200})"
                found = f"logs of {model} differ in their settings {differ} and are taken for one"
                self.notes[f"{found} model; NAME=PATH tells them apart"] = 1
        coded: dict[str, Any] = {
            kind: Coded(tuple(map(printable, [*self._codes[kind]][1:])), cells[kind])
            for kind in (*_OF_ROWS, "name")
        }
        run = _merge_parts(cells)
        warnings = [f"{note} ({n} times)" if n > 1 else note for note, n in self.notes.items()]
        return Rows(
            source,
            labels={"name": coded.pop("name")},
            **coded,
            run=run,
            score=cells["score"],
            status=cells["status"].astype(np.uint8),
            number=run + 1,
            sample=cells["sample"],
            recorded=self.directions,
            who="the logs say",
            file=Coded(tuple(str(source.path) for source in self.sources), cells["log"]),
            warnings=tuple(map(printable, warnings)),
        )


def _merge_parts(cells: Mapping[str, np.ndarray]) -> np.ndarray:
    """Returns [N] the run of each score; logs without a common item may be parts of one run."""
    run, known = cells["run"].copy(), np.flatnonzero(cells["run_id"] >= 0)
    whole = normal.pair_codes(cells["model"][known], cells["dataset"][known])
    whole = normal.pair_codes(np.unique(whole, return_inverse=True)[1], cells["run_id"][known])
    _, whole = np.unique(whole, return_inverse=True)
    pairs = np.unique(normal.pair_codes(whole, run[known]), return_index=True)[1]
    names, logs = np.unique(whole[pairs], return_counts=True)
    for one in names[logs > 1].tolist():
        rows = known[whole == one]
        parts = np.unique(normal.pair_codes(run[rows], cells["item"][rows]))
        if len(parts) == len(np.unique(cells["item"][rows])):
            run[rows] = run[rows].min()
    return run


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
    """Returns a hash of JSON data; keys "id", which programs draw at random, do not count."""
    whole = json.dumps(_without_ids(tree), sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()


def _without_ids(tree: Json) -> Json:
    if isinstance(tree, Mapping):
        return {key: _without_ids(value) for key, value in tree.items() if key != "id"}
    return [_without_ids(value) for value in tree] if isinstance(tree, list) else tree


def cluster_of(
    data: object, layout: Layout, source: Source, item: str, line: int | None = None
) -> str:
    """Returns the cluster of an item by its data; raises DataError if the data has none."""
    if not layout.cluster:
        return ""
    known = data if isinstance(data, Mapping) else {}
    value = known.get(layout.cluster)
    if value not in (None, "") and not isinstance(value, Mapping | list):
        return str(value)
    keys = ", ".join(map(str, [*known][:12])) or "none"
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


def number(value: object) -> float | None:
    """Returns a score as a float, 1 for true; None if it is no number."""
    try:
        return float(value) if isinstance(value, bool | int | float) else None
    except OverflowError:
        return None


def note_lost(held: int, answered: object, source: Source, notes: Notes) -> None:
    """Notes that a log holds fewer answers than its results count: it may have been cut."""
    counted = number(answered) or 0.0
    if held < counted < math.inf:
        lost = f"holds {held} of the {counted:.0f} answers that its results count"
        notes[f"{source.path}: {lost}: cut, or not all were asked for"] += 1
