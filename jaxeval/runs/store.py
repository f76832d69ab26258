"""The runs database of a folder: SQLite, with a table for each dataclass of `records`.

It is in WAL mode, and transactions begin by `BEGIN IMMEDIATE`: one that reads first and writes
later would otherwise fail with "database is locked" whatever the timeout. WAL does not work over
network file systems, where processes share no memory, but for a process that locks the file.
"""

import contextlib
import dataclasses
import json
import sqlite3
import threading
import typing
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval import files
from jaxeval.errors import DataError, RunError
from jaxeval.runs import records
from jaxeval.runs.records import MEMBER, MemberKey

FILE = "runs.sqlite"
_VERSION = 4  # of the tables; a database of another version is refused
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
_TYPES = {int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", np.ndarray: "BLOB"}  # else TEXT
sqlite3.register_converter("BOOLEAN", lambda stored: stored != b"0")


class _Table:
    """A table: a column a field of a dataclass, and more."""

    def __init__(self, name: str, record: type, keys: Sequence[str], **more: str):
        self.name, self.keys, self.columns = name, keys, dict[str, str]()  # column -> type
        for field, hint in typing.get_type_hints(record).items():
            kind, *others = typing.get_args(hint) or (hint,)
            null = "" if type(None) in others else " NOT NULL"
            self.columns[field] = f"{_TYPES.get(kind, 'TEXT')}{null}"
        self.columns |= more

    def insert(
        self, sql: sqlite3.Connection, rows: Iterable, overwrite: Sequence[str] | None = None
    ) -> None:
        """Inserts rows; if the key exists, sets some columns; None: all beside the key."""
        rest = [name for name in self.columns if name not in self.keys]
        new = ", ".join(f"{name} = excluded.{name}" for name in (overwrite or rest))
        then = "NOTHING" if overwrite == () else f"UPDATE SET {new}"
        known = f"ON CONFLICT ({', '.join(self.keys)}) DO {then}"
        marks = ", ".join("?" * len(self.columns))
        sql.executemany(f"INSERT INTO {self.name} VALUES ({marks}) {known}", rows)


def _rows(entries: Iterable[object]) -> list[tuple]:
    """Returns dataclasses as rows of their table."""
    return [tuple(vars(record).values()) for record in entries]


_EXPERIMENTS = _Table("experiments", records.Experiment, ["id"])
_MEMBERS = _Table("members", records.MemberResult, MEMBER)
_SCORES = _Table("scores", records.EpochScore, (*MEMBER, "epoch", "part", "metric"))
# names in JSON; counts as float32, little-endian, compressed by zlib
_OUTCOMES = _Table("outcomes", records.Outcomes, (*MEMBER, "part"), items="BIGINT NOT NULL")
_TABLES = (_EXPERIMENTS, _OUTCOMES, _MEMBERS, _SCORES)
_BY_MEMBER = f"ORDER BY name, {', '.join(MEMBER)}"


class Store(contextlib.AbstractContextManager["Store"]):
    """An open runs database, whose file is None in memory; threads may share it."""

    def __init__(self, file: Path | None, write: bool, shared: bool):
        self.file, self._write = file, write
        self._lock = threading.RLock()
        with self._explaining():
            self._sql = files.connect(file, write)
        try:
            with self._explaining():
                self._sql.execute("PRAGMA foreign_keys=ON")
                if write:
                    self._sql.execute(f"PRAGMA locking_mode={'NORMAL' if shared else 'EXCLUSIVE'}")
                    self._sql.execute("PRAGMA journal_mode=WAL")
                    self._sql.execute("PRAGMA synchronous=FULL")  # one commit an epoch: affordable
            self._check(create=write)
        except BaseException:
            self.close()
            raise

    def close(self, *error: object) -> None:
        """Closes the connection."""
        self._sql.close()

    __exit__ = close

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        """Makes an error of the database a RunError with a remedy."""
        try:
            yield
        except sqlite3.Error as error:
            kept = "what was recorded is kept: make it writable or free space"
            todo = f"{kept}, and run the same command again"
            if getattr(error, "sqlite_errorcode", None) in _DAMAGED:
                todo = "damaged, or not written by jaxeval: put a copy back, or use other runs"
            raise RunError(f"{self.file}: {error}; {todo}") from error

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._explaining(), self._lock, self._sql:
            self._sql.execute("BEGIN IMMEDIATE" if self._write else "BEGIN")
            yield self._sql
            if self._write and self.file and not self.file.exists():  # SQLite would not notice
                raise RunError(f"{self.file}: was deleted; the same command starts again")

    def _select(self, query: str, *values: object) -> list[Any]:
        with self._transaction() as sql:
            return sql.execute(query, values).fetchall()

    def _check(self, create: bool) -> None:
        """Raises RunError unless the database holds runs of this schema.

        `create`: makes missing tables; several processes may do so at once.
        """
        with self._transaction() as sql:
            named = "SELECT 1 FROM sqlite_master WHERE name = 'jaxeval_schema'"
            there = sql.execute(named).fetchone()
            version = _VERSION if create else None
            if there:
                (version,) = sql.execute("SELECT max(version) FROM jaxeval_schema").fetchone()
            if version is None:
                raise RunError(f"{self.file} is not a runs database of jaxeval")
            if version != _VERSION:
                raise RunError(
                    f"{self.file} was written by another version of jaxeval (tables of version "
                    f"{version}, expected {_VERSION}); use another runs folder"
                )
            if not there:
                sql.execute("CREATE TABLE jaxeval_schema (version INTEGER PRIMARY KEY)")
                sql.execute("INSERT INTO jaxeval_schema VALUES (?)", [version])
                for table in _TABLES:
                    parts = [f"{name} {kind}" for name, kind in table.columns.items()]
                    parts.append(f"PRIMARY KEY ({', '.join(table.keys)})")
                    if table is not _EXPERIMENTS:
                        parts.append("FOREIGN KEY (experiment) REFERENCES experiments (id)")
                    sql.execute(f"CREATE TABLE {table.name} ({', '.join(parts)})")

    def register(self, experiment: records.Experiment) -> None:
        """Records an experiment; of several times the last name is kept."""
        with self._transaction() as sql:
            _EXPERIMENTS.insert(sql, _rows([experiment]), ["name"])

    def record(
        self, members: Sequence[records.MemberResult], scores: Sequence[records.EpochScore]
    ) -> None:
        """Writes all in one transaction; rows of the same key are overwritten.

        Epochs after a member's end, of a training that did not finish, are deleted, and test
        scores of a pause before it.
        """
        with self._transaction() as sql:
            _record(sql, _rows(members), _rows(scores))

    def stop(self, paused: records.MemberResult) -> None:
        """Ends a member that has paused: it does not go on."""
        stopped = dataclasses.replace(paused, status="early_stopped")
        with self._transaction() as sql:
            _MEMBERS.insert(sql, _rows([stopped]))

    def merge(self, other: "Store") -> None:
        """Copies the rows of another database in one transaction; the same again changes nothing.

        A training that goes on or pauses there adds nothing to a member that has ended here.
        """
        each = (other._select(f"SELECT * FROM {table.name}") for table in _TABLES)
        known, outcomes, members, scores = each
        here = {row[0]: self.ended(row[0]) for row in known}
        members = [row for row in members if row[5] != "paused" or row[1:5] not in here[row[0]]]
        there = {row[:5] for row in members}
        going_on = [row for row in scores if row[:5] in there or row[1:5] not in here[row[0]]]
        with self._transaction() as sql:
            _EXPERIMENTS.insert(sql, known, ())
            _OUTCOMES.insert(sql, outcomes)
            _record(sql, members, going_on)

    def record_outcomes(self, outcomes: Sequence[records.Outcomes]) -> None:
        """Writes outcomes of items; those of the same member and part are overwritten."""
        rows = []
        for of in outcomes:
            packed = zlib.compress(np.ascontiguousarray(of.counts, "<f4").tobytes())
            rows.append((*records.key(of), of.part, json.dumps(of.names), packed, len(of.counts)))
        if rows:  # none after most epochs
            with self._transaction() as sql:
                _OUTCOMES.insert(sql, rows)

    def with_outcomes(self, experiment: str) -> set[MemberKey]:
        """Returns the members of an experiment that have outcomes."""
        query = f"SELECT {', '.join(MEMBER[1:])} FROM outcomes WHERE experiment = ?"
        return {*self._select(query, experiment)}

    def outcomes(self, experiment: str, part: str) -> list[records.Outcomes]:
        """Reads the outcomes of an experiment's members on a part."""
        query = "SELECT * FROM outcomes WHERE experiment = ? AND part = ?"
        unpacked = []
        for row in self._select(
            f"{query} ORDER BY seed, split, repeat, hparams", experiment, part
        ):
            *member, encoded_names, packed, items = row
            names = tuple(json.loads(encoded_names))
            counts = np.frombuffer(zlib.decompress(packed), "<f4").reshape(items, len(names))
            fields = (*member, names, counts)
            unpacked.append(records.Outcomes(*fields))
        return unpacked

    def ended(self, experiment: str, pause: int = 0) -> dict[MemberKey, records.MemberResult]:
        """Reads members that have ended; if `pause`, also those paused at that epoch or later."""
        query = "SELECT * FROM members WHERE experiment = ?"
        ended = "(status != 'paused' OR ? BETWEEN 1 AND epochs)"
        found = self._select(f"{query} AND {ended}", experiment, pause)
        return {row[1:5]: records.MemberResult(*row) for row in found}

    def epochs(self, experiment: str) -> dict[MemberKey, int]:
        """Counts the recorded epochs of training of each member that has begun."""
        key = ", ".join(MEMBER[1:])
        counted = f"SELECT {key}, count(DISTINCT epoch) FROM scores"
        query = f"{counted} WHERE experiment = ? AND part = 'train' GROUP BY {key}"
        return {tuple(member): count for *member, count in self._select(query, experiment)}

    def members(self, experiment: str | None = None) -> list[records.MemberRow]:
        """Reads all members, or those of an experiment, with their experiments.

        Those that diverged have failed: they have no scores, whatever an epoch before had.
        """
        names = ", ".join(records.MemberRow._fields)
        one = "WHERE id = ?" if experiment else ""
        query = f"SELECT {names} FROM members JOIN experiments ON experiment = id {one}"
        found = self._select(f"{query} {_BY_MEMBER}", *[experiment] * bool(experiment))
        rows = map(records.MemberRow._make, found)
        return [r._replace(dev=None, test=None) if r.status == "diverged" else r for r in rows]

    def curves(self) -> list[records.CurveRow]:
        """Reads all scores by epoch with their experiments."""
        names = ", ".join(records.CurveRow._fields).replace("metric", "s.metric")
        query = f"SELECT {names} FROM scores s JOIN experiments ON experiment = id"
        found = self._select(f"{query} {_BY_MEMBER}, epoch, part, s.metric")
        return [*map(records.CurveRow._make, found)]


def _record(sql: sqlite3.Connection, members: Sequence[Any], scores: Sequence[Any]) -> None:
    same = " AND ".join(f"{name} = ?" for name in MEMBER)
    gone = ((*row[:5], row[6]) for row in members)  # 5: the status, 6: the epochs
    sql.executemany(f"DELETE FROM scores WHERE {same} AND (epoch > ? OR part = 'test')", gone)
    _SCORES.insert(sql, scores)
    _MEMBERS.insert(sql, members)


def open_store(folder: str | Path | None, shared: bool = True) -> Store:
    """Opens the runs of a folder; creates them if needed. None: a database in memory.

    `shared`: other processes may open them at the same time, but not over a network file system.
    """
    if folder is None:
        return Store(None, True, shared)
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder}: no runs folder can be made ({error.strerror})") from None
    return Store(Path(folder) / FILE, write=True, shared=shared)


def open_existing(location: str | Path) -> Store:
    """Opens a runs folder or its database to read it; creates nothing.

    Raises RunError: there is none, or it is not one of ours.
    """
    if not isinstance(location, str | Path):
        raise DataError(f"path: expected a text or a path, found {location!r:.60}")
    file = Path(location) / FILE if Path(location).is_dir() else Path(location)
    if not file.is_file():
        expected = f"a folder with {FILE}, as `jaxeval train --out FOLDER` makes it"
        raise RunError(f"{location}: no runs here; expected {expected}")
    return Store(file, write=False, shared=True)


def load(location: str | Path) -> list[records.MemberRow]:
    """Reads all members of a runs folder, ordered by experiment, seed and split.

    Raises DataError: there are none. RunError: as of `open_existing`.
    """
    with open_existing(location) as store:
        if rows := store.members():
            return rows
    raise DataError("no member has ended", location)


def load_curves(location: str | Path) -> list[records.CurveRow]:
    """Reads all scores by epoch of a runs folder."""
    with open_existing(location) as store:
        return store.curves()
