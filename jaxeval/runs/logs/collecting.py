"""All scores of several logs as rows of the normal form, 4 or 8 bytes a cell."""

import dataclasses
from array import array
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from jaxeval.errors import DataError, printable
from jaxeval.runs import matching
from jaxeval.runs.directions import Key
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs.records import Notes, Reader, Record, Source
from jaxeval.runs.rows import Coded, Rows
from jaxeval.runs.scores import Status

_MOST = 50_000_000  # scores of all logs
_KINDS = (
    *("model", "dataset", "metric", "item", "cluster", "content", "prompt", "run"),
    *("run_id", "name"),
)


class _Codes(dict[str, int]):
    """Names, numbered as they come; -1 of none."""

    def __missing__(self, name: str) -> int:
        self[name] = code = len(self) - 1
        return code


@dataclasses.dataclass
class Collector:
    """All rows as they are read, 4 or 8 bytes a cell, and what else logs say.

    Attributes:
      wanted: whether a task is read.
      tasks: that there are, those too that are not read.
      files: that name tasks.
    """

    wanted: Callable[[str], bool]
    sources: list[Source] = dataclasses.field(default_factory=list)
    notes: Notes = dataclasses.field(default_factory=Counter)
    tasks: dict[str, None] = dataclasses.field(default_factory=dict)
    models: dict[str, None] = dataclasses.field(default_factory=dict)
    files: dict[str, None] = dataclasses.field(default_factory=dict)
    directions: dict[Key, bool] = dataclasses.field(default_factory=dict)
    settings: dict[Key, dict[frozenset[str], None]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.codes = {kind: _Codes({"": -1}) for kind in _KINDS}
        self.cells = {kind: array("i") for kind in (*_KINDS, "sample", "status", "log")}
        self.scores = array("d")

    def read(self, source: Source, reader: Reader, layout: Layout) -> None:
        """Appends the scores of a log; of one without a task that is wanted nothing is noted."""
        self.sources.append(source)
        notes, before, log = Notes(), len(self.scores), len(self.sources) - 1
        for record in reader(source, layout, notes):
            if len(self.scores) == _MOST:
                raise DataError(f"more than {_MOST} scores", source.path)
            task = record.dataset
            if record.file and not task:
                self.files[record.file] = None
                task = record.file
            model = source.model or record.model
            self.tasks[task] = self.models[model] = None
            if self.wanted(task):
                self._direct(record, task, source)
                if record.settings is not None and not source.model:
                    self.settings.setdefault((model, task), {})[record.settings] = None
                self._add(record, model, task, log)
        if len(self.scores) > before:
            self.notes.update(notes)

    def _add(self, record: Record, model: str, task: str, log: int) -> None:
        names = (
            *(model, task or " ", record.metric, record.item, record.cluster, record.content),
            *(record.prompt, f"{log} {record.run}", record.run_id, record.name),
        )
        for kind, name in zip(_KINDS, names, strict=True):
            self.cells[kind].append(self.codes[kind][name])
        for number, value in (("sample", record.sample), ("status", record.status), ("log", log)):
            self.cells[number].append(value)
        self.scores.append(record.score)

    def _direct(self, record: Record, task: str, source: Source) -> None:
        higher, key = record.higher_is_better, (task, record.metric)
        if higher is not None and self.directions.setdefault(key, higher) != higher:
            message = f"{task}, {record.metric}: logs differ in whether higher is better"
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
        self._name_tasks(cells)
        self._note_settings()
        coded = {kind: self._coded(kind, cells[kind]) for kind in _KINDS}
        files = Coded(tuple(str(of.path) for of in self.sources), cells["log"])
        run = _merged(cells)
        return Rows(
            source,
            coded["model"],
            coded["dataset"],
            coded["metric"],
            coded["item"],
            run=run,
            score=np.asarray(self.scores),
            status=cells["status"].astype(np.uint8),
            number=run + 1,
            labels={"name": coded["name"]},
            sample=cells["sample"],
            cluster=coded["cluster"],
            content=cells["content"],
            prompt=cells["prompt"],
            recorded=self.directions,
            who="the logs say",
            file=files,
            warnings=tuple(
                printable(f"{said} ({n} times)" if n > 1 else said)
                for said, n in self.notes.items()
            ),
        )

    def _coded(self, kind: str, codes: np.ndarray) -> Coded:
        names = [*self.codes[kind]][1:]
        return Coded(tuple(printable(name.strip(" ") or "") for name in names), codes)

    def _name_tasks(self, cells: Mapping[str, np.ndarray]) -> None:
        """Files that hold one model each are of one task, where no model has several of them."""
        codes = [self.codes["dataset"][file] for file in self.files if self.wanted(file)]
        if len(codes) < 2:
            return
        models = [np.unique(cells["model"][cells["dataset"] == code]) for code in codes]
        if max(map(len, models)) > 1:
            return
        if len(np.unique(np.concatenate(models))) == len(codes):
            cells["dataset"][np.isin(cells["dataset"], codes)] = self.codes["dataset"][" "]
        else:
            why = "where lines have a model and no task, a file's name is the task"
            self.notes[f"{why}; a key task says it"] = 1

    def _note_settings(self) -> None:
        """Notes, once, logs of one model and task that differ in how the model was made."""
        for (model, _), settings in self.settings.items():
            common = frozenset.intersection(*settings)
            if len(settings) > 1:
                differ = "; ".join(", ".join(sorted(of - common)) or "none" for of in settings)
                self.notes[
                    f"logs of {model} differ in more than seeds ({differ}) and are taken for one "
                    "model; NAME=PATH tells them apart"
                ] = 1


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
