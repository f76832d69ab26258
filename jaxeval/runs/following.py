"""What a runs database holds while processes write to it, followed by the ids of its rows.

SQLite numbers the rows of `scores` (rowid). A look costs microseconds until another connection
has committed; then only rows with a higher number are read.
"""

import array
import contextlib
import dataclasses
import itertools
import json
import os
import statistics
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval import files
from jaxeval.errors import JaxevalError, RunError, parsing
from jaxeval.runs import records, store
from jaxeval.runs.records import MemberKey, MemberRow

_MISSED = 3  # writes, after which an experiment counts as stalled
_FIRST_GUESS = 60.0  # seconds between two writes, before any is known
_LEAST = 5.0  # seconds: shorter gaps between writes are not waited for
_LOOKS = 20  # writes that rates are computed from
_LOCKS = ("checkpoints/*.lock", "jobs/*/lock", "tunings/.*.lock")  # of processes that train
_MEMBER = ", ".join(records.MEMBER)


class Point(NamedTuple):
    """The dev scores after an epoch, over the members that trained it."""

    epoch: int
    n: int
    min: float
    q1: float
    median: float
    q3: float
    max: float


@dataclasses.dataclass
class Followed:
    """An experiment that may still grow."""

    id: str
    name: str
    task: str
    metric: str
    unit: str
    margin: float
    config: str
    higher_is_better: bool
    data: str
    epochs: dict[MemberKey, int] = dataclasses.field(default_factory=dict)  # the last of each
    statuses: Counter[str] = dataclasses.field(default_factory=Counter)  # of ended members
    version: int = 0  # another one when members end
    row: int = 0  # the last one of its scores
    _ended: set[MemberKey] = dataclasses.field(default_factory=set)
    _members: list[MemberRow] | None = None
    _curve: "dict[int, array.array[float]]" = dataclasses.field(default_factory=dict)
    _changed: dict[int, int] = dataclasses.field(default_factory=dict)  # epoch -> its last row
    _read: int = 0  # the last row of its curve, epoch -> dev scores
    _writes: deque[tuple[float, int]] = dataclasses.field(
        default_factory=lambda: deque(maxlen=_LOOKS)
    )  # time, epochs of members
    _share: float | None = None  # seconds that an epoch of a member took, of those that ended

    @property
    def training(self) -> list[MemberKey]:
        """The members that have begun and not ended."""
        return [key for key in self.epochs if key not in self._ended]

    def state(self, now: float, last: float, trained: bool) -> str:
        """Returns "begun" (no epoch yet), "training", "ended", or "stalled".

        Stalled: three writes missed, or no process trains.

        Args:
          last: time of the last write of any experiment before they were followed.
          trained: whether a process trains some experiment.
        """
        if not self.training and self.statuses:
            return "ended"
        if not trained:
            return "stalled"
        if not self.training:
            return "begun"
        written = [when for when, _ in self._writes]
        gaps = [b - a for a, b in itertools.pairwise(written)]
        guess = _FIRST_GUESS if self._share is None else self._share * len(self.training)
        gap = max(_LEAST, statistics.median(gaps) if gaps else guess)
        waited = now - (written[-1] if written else last)
        return "stalled" if waited > _MISSED * gap else "training"

    def seconds_left(self) -> float | None:
        """Estimates the time until the members that have begun end; None if unknown."""
        times = [*self._writes]
        share = self._share
        budget = json.loads(self.config).get("training", {}).get("epochs")
        if len(times) > 1 and times[-1][0] > times[0][0]:
            share = (times[-1][0] - times[0][0]) / sum(count for _, count in times[1:])
        ended = [self.epochs[key] for key in self._ended if key in self.epochs]
        typical = statistics.fmean(ended) if ended else budget
        if share is None or not isinstance(typical, int | float):
            return None
        return share * sum(max(typical - self.epochs[key], 1) for key in self.training)

    def points(self, after: int = 0) -> list[Point]:
        """Returns the points of the dev curve that changed after a row; all of them for 0."""
        kept = sorted(epoch for epoch, row in self._changed.items() if row > after)
        each = ((epoch, self._curve[epoch]) for epoch in kept)
        shares = (0, 0.25, 0.5, 0.75, 1)
        return [Point(epoch, len(of), *np.quantile(of, shares).tolist()) for epoch, of in each]


class Following:
    """An open runs database that is read as it grows; several threads may use it."""

    def __init__(self, location: str | Path, clock: Callable[[], float] = time.time):
        self._location = location
        self._clock = clock
        self._lock = threading.RLock()
        self._stack = contextlib.ExitStack()
        self._versions = itertools.count(1)
        self._open()
        try:
            self.poll()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        with contextlib.ExitStack() as stack:
            opened = stack.enter_context(store.open_existing(self._location))
            file = opened.file or Path(self._location)
            sql = stack.enter_context(contextlib.closing(files.connect(file)))
            sql.execute("PRAGMA query_only=ON")
            self._stack.close()
            self._stack = stack.pop_all()
        self._store = opened
        self._sql = sql
        self._file = file
        self._opened = file.stat()
        both = (file, file.with_name(f"{file.name}-wal"))
        each = [path.stat() for path in both if path.exists()]
        self.begun = max(of.st_mtime for of in each if of.st_size)  # who reads makes an empty log
        self._version: int | None = None
        self.trained = False  # whether a process trains into the folder
        self.row = 0  # the last one of the scores
        self.experiments: dict[str, Followed] = {}

    def close(self) -> None:
        """Closes the database."""
        self._stack.close()

    @property
    def folder(self) -> Path:
        """The runs folder."""
        return self._file.parent

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        known = JaxevalError, MemoryError
        with self._lock, parsing("cannot be read", self._file, None, RunError, known):
            yield

    def poll(self) -> bool:
        """Reads what was committed since the last call; returns whether something was.

        Raises RunError: it cannot be read.
        """
        with self._reading():
            # first: of a process that ends meanwhile, all that it wrote is read
            each = (file for of in _LOCKS for file in self.folder.glob(of))
            self.trained = any(map(files.held, each))
            with contextlib.suppress(FileNotFoundError):
                if not os.path.samestat(self._file.stat(), self._opened):
                    self._open()  # another one in its place
            version = self._sql.execute("PRAGMA data_version").fetchone()[0]
            if version == self._version:
                return False
            self._sql.execute("BEGIN")
            try:
                self._read_epochs()
                self._read_ends()
            finally:
                self._sql.execute("COMMIT")
            self._version = version
            return True

    def _read_epochs(self) -> None:
        """Reads the experiments, and the last epoch of each member with new scores."""
        names = "id, name, task, metric, unit, margin, config, higher_is_better, data"
        experiments = dict(self.experiments)  # other threads iterate over the old one
        for found in self._sql.execute(f"SELECT {names} FROM experiments ORDER BY rowid"):
            experiments.setdefault(found[0], Followed(*found)).name = found[1]
        self.experiments = experiments
        last = self._sql.execute("SELECT max(rowid) FROM scores").fetchone()[0] or 0
        again = self._version is None or last < self.row
        for known in self.experiments.values() if again else ():
            known.epochs, known._curve, known._changed, known._read = {}, {}, {}, 0
        new = "" if again else f"NOT INDEXED WHERE rowid > {self.row}"
        query = f"SELECT {_MEMBER}, max(epoch), max(rowid) FROM scores {new} GROUP BY {_MEMBER}"
        trained: Counter[str] = Counter()
        for experiment, *member, epoch, row in self._sql.execute(query):
            known = self.experiments[experiment]
            key = tuple(member)
            known.row = max(known.row, row)
            before = known.epochs.get(key, 0)
            known.epochs[key] = max(epoch, before)
            trained[experiment] += known.epochs[key] - before
        for experiment, count in (+trained).items() if self._version is not None else ():
            self.experiments[experiment]._writes.append((self._clock(), count))
        self.row = last

    def _read_ends(self) -> None:
        """Reads how many members have ended, and which ones of experiments with other counts."""
        counts: dict[str, Counter[str]] = {}
        query = "SELECT experiment, status, count(*) FROM members GROUP BY experiment, status"
        for experiment, status, count in self._sql.execute(query):
            counts.setdefault(experiment, Counter())[status] = count
        for experiment, found in counts.items():
            known = self.experiments[experiment]
            if found == known.statuses:
                continue
            known.statuses, known._members = found, None
            known.version = next(self._versions)
            query = "SELECT seed, split, repeat, hparams, wall_seconds, epochs FROM members"
            rows = self._sql.execute(f"{query} WHERE experiment = ?", (experiment,)).fetchall()
            known._ended = {row[:4] for row in rows}
            seconds, epochs = (sum(row[k] for row in rows) for k in (4, 5))
            known._share = seconds / epochs if epochs else None

    def members(self, experiment: str) -> list[MemberRow]:
        """Returns the members of an experiment that have ended."""
        with self._reading():
            known = self.experiments[experiment]
            if known._members is None:
                rows = self._store.members(experiment)  # each with copies of equal texts
                shared = (
                    [sys.intern(value) if isinstance(value, str) else value for value in row]
                    for row in rows
                )
                known._members = [*map(MemberRow._make, shared)]
            return known._members

    def scores(self, experiment: str, key: MemberKey, after: int) -> dict[int, dict[str, float]]:
        """Returns epoch -> part/metric -> score of a member after an epoch."""
        found: dict[int, dict[str, float]] = {}
        query = (
            "SELECT epoch, part, metric, value FROM scores WHERE experiment = ? AND seed = ? "
            "AND split = ? AND repeat = ? AND hparams = ? AND epoch > ? AND value IS NOT NULL "
            "ORDER BY epoch"
        )
        with self._reading():
            for epoch, part, metric, value in self._sql.execute(query, (experiment, *key, after)):
                found.setdefault(epoch, {})[f"{part}/{metric}"] = value
        return found

    def curve(self, experiment: str, after: int = 0) -> list[Point]:
        """Returns the points of an experiment's dev curve that changed after a row."""
        with self._reading():
            known = self.experiments[experiment]
            new = f"NOT INDEXED WHERE rowid > {known._read} AND" if known._read else "WHERE"
            query = (
                f"SELECT rowid, epoch, value FROM scores {new} experiment = ? AND part = 'dev' "
                "AND metric = ? AND rowid <= ? AND value IS NOT NULL ORDER BY rowid"
            )
            of = experiment, known.metric, self.row
            for row, epoch, value in self._sql.execute(query, of):
                known._curve.setdefault(epoch, array.array("d")).append(value)
                known._changed[epoch] = row
            known._read = self.row
            return known.points(after)

    def find(self, asked: str) -> str | None:
        """Returns the id of an experiment, given its id, the start of it, or its name."""
        ids = records.find_ids({key: of.name for key, of in self.experiments.items()}, asked)
        return ids[0] if len(ids) == 1 else None
