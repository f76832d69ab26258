"""Reads and writes the runs database: SQLite in a folder, or any database SQLAlchemy reaches."""

import contextlib
import dataclasses
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from jaxeval.errors import RunError
from jaxeval.runs import database, records

FILE = "runs.sqlite"
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
_COUNTED = ["names", "items", "counts"]  # columns of outcomes beside their key
_MemberKey = tuple[int, int, int, str]  # seed, split, repeat, hparams
_Rows = list[dict[str, Any]]


class Store(contextlib.AbstractContextManager["Store"]):
    """An open runs database."""

    def __init__(self, engine: sa.Engine, shown: str):
        self._engine, self._shown = engine, shown

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        """Opens a transaction; errors of the database become a RunError with a remedy."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.DBAPIError as error:
            reason = str(error.orig).strip().splitlines()[0] if error.orig else str(error)
            todo = "what was recorded is kept: make it writable, and run the same command again"
            if getattr(error.orig, "sqlite_errorcode", None) in _DAMAGED:
                todo = "damaged, or not written by jaxeval: put a copy back, or use other runs"
            raise RunError(f"{self._shown}: {reason}; {todo}") from error

    def check(self, create: bool = False) -> None:
        """Raises RunError unless the database holds runs of this schema.

        `create`: makes missing tables; several processes may do so at once.
        """
        table = database.versions
        with self._transaction() as connection:
            if create and connection.dialect.name == "postgresql":
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(20171)"))
            version, there = None, sa.inspect(connection).has_table(table.name)
            if there:
                version = connection.scalar(sa.select(sa.func.max(table.c.version)))
            elif create:
                version = database.VERSION
            if version is None:
                raise RunError(f"{self._shown} is not a runs database of jaxeval")
            if version != database.VERSION:
                raise RunError(
                    f"{self._shown} was written by another version of jaxeval (tables of version "
                    f"{version}, expected {database.VERSION}); use another runs folder"
                )
            if not there:
                database.metadata.create_all(connection)
                _insert(connection, table, [{"version": version}])

    def register(self, experiment: records.Experiment) -> None:
        """Records an experiment; of several times the last name is kept."""
        row = dataclasses.asdict(experiment)
        with self._transaction() as connection:
            _insert(connection, database.experiments, [row], ["name"])

    def record(
        self, members: Sequence[records.MemberResult], scores: Sequence[records.EpochScore]
    ) -> None:
        """Writes all in one transaction; rows of the same key are overwritten.

        Epochs after a member's end are deleted: they are of a training that did not finish. So are
        test scores of an earlier end: of a pause.
        """
        ended, scored = ([*map(dataclasses.asdict, rows)] for rows in (members, scores))
        with self._transaction() as connection:
            _record(connection, ended, scored)

    def stop(self, paused: records.MemberResult) -> None:
        """Ends a member that has paused: it does not go on."""
        row = {**dataclasses.asdict(paused), "status": "early_stopped"}
        with self._transaction() as connection:
            _insert(connection, database.members, [row], ["status"])

    def merge(self, other: "Store") -> None:
        """Copies the rows of another database in one transaction; the same again changes nothing.

        A training that has not ended there, or has paused, adds nothing to a member that has ended
        here.
        """
        tables = database.experiments, database.outcomes, database.members, database.scores
        known, outcomes, members, scores = (
            [dict(row) for row in other._select(sa.select(table))] for table in tables
        )
        here = {row["id"]: self.ended(row["id"]) for row in known}
        members = [
            row
            for row in members
            if row["status"] != "paused" or _member_key(row) not in here[row["experiment"]]
        ]
        there = {(row["experiment"], *_member_key(row)) for row in members}
        going_on = [
            row
            for row in scores
            if (key := _member_key(row)) not in here[row["experiment"]]
            or (row["experiment"], *key) in there
        ]
        with self._transaction() as connection:
            _insert(connection, database.experiments, known)
            _insert(connection, database.outcomes, outcomes, _COUNTED)
            _record(connection, members, going_on)

    def keep_outcomes(self, outcomes: Sequence[records.Outcomes]) -> None:
        """Writes outcomes of items; those of the same member and part are overwritten."""
        rows = []
        for kept in outcomes:
            row = {f.name: getattr(kept, f.name) for f in dataclasses.fields(kept)}
            packed = zlib.compress(np.ascontiguousarray(kept.counts, "<f4").tobytes())
            row |= {"names": json.dumps(kept.names), "items": len(kept.counts), "counts": packed}
            rows.append(row)
        if rows:  # none after most epochs
            with self._transaction() as connection:
                _insert(connection, database.outcomes, rows, _COUNTED)

    def _select(self, query: sa.Select) -> Sequence[sa.RowMapping]:
        with self._transaction() as connection:
            return connection.execute(query).mappings().all()

    def with_outcomes(self, experiment: str) -> set[_MemberKey]:
        """Returns the members of an experiment that have outcomes."""
        table = database.outcomes.c
        query = sa.select(*_key(table)).where(table.experiment == experiment)
        return {_member_key(row) for row in self._select(query)}

    def outcomes(self, experiment: str, part: str) -> list[records.Outcomes]:
        """Reads the outcomes of an experiment's members on a part."""
        table = database.outcomes
        query = sa.select(table).where(table.c.experiment == experiment, table.c.part == part)
        unpacked = []
        for row in map(dict, self._select(query.order_by(*table.primary_key.columns))):
            names = tuple(json.loads(row.pop("names")))
            counts = np.frombuffer(zlib.decompress(row.pop("counts")), "<f4")
            counts = counts.reshape(row.pop("items"), len(names))
            unpacked.append(records.Outcomes(**row, names=names, counts=counts))
        return unpacked

    def ended(self, experiment: str, pause: int = 0) -> dict[_MemberKey, records.MemberResult]:
        """Reads the members of an experiment that have ended, or paused at an epoch from `pause`.

        0: without those that have paused.
        """
        table = database.members
        over = table.c.status != "paused"
        over = sa.or_(over, table.c.epochs >= pause) if pause else over
        rows = self._select(sa.select(table).where(table.c.experiment == experiment, over))
        return {_member_key(row): records.MemberResult(**row) for row in rows}

    def epochs(self, experiment: str) -> dict[_MemberKey, int]:
        """Counts the recorded epochs of training of each member that has begun."""
        table = database.scores.c
        query = sa.select(*_key(table), sa.func.count(sa.distinct(table.epoch)).label("epochs"))
        query = query.where(table.experiment == experiment, table.part == "train")
        rows = self._select(query.group_by(*_key(table)))
        return {_member_key(row): row["epochs"] for row in rows}

    def members(self, experiment: str | None = None) -> list[records.MemberRow]:
        """Reads all members, or those of an experiment, with their experiments."""
        query = _joined(database.members, records.MemberRow._fields)
        if experiment is not None:
            query = query.where(database.members.c.experiment == experiment)
        return [records.MemberRow(**row) for row in self._select(query)]

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lends a connection that cannot write; RunError for a database other than SQLite."""
        if (found := self._engine.dialect.name) != "sqlite":
            raise RunError(f"{self._shown}: expected runs in SQLite, found {found}")
        lent = self._engine.raw_connection()
        try:
            lent.execute("PRAGMA query_only=ON")
            yield lent.driver_connection  # type: ignore[misc]
        finally:
            lent.close()

    def curves(self) -> list[records.CurveRow]:
        """Reads all scores by epoch with their experiments."""
        query = _joined(database.scores, records.CurveRow._fields)
        return [records.CurveRow(**row) for row in self._select(query)]


def _insert(
    connection: sa.Connection, table: sa.Table, rows: _Rows, overwrite: Sequence[str] = ()
) -> None:
    """Inserts rows; if the key exists, sets the columns to overwrite."""
    if not rows:
        return
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    insert, keys = dialect.insert(table), [column.name for column in table.primary_key]
    if overwrite:
        new = {name: insert.excluded[name] for name in overwrite}
        insert = insert.on_conflict_do_update(index_elements=keys, set_=new)
    else:
        insert = insert.on_conflict_do_nothing(index_elements=keys)
    connection.execute(insert, rows)


def _record(connection: sa.Connection, members: _Rows, scores: _Rows) -> None:
    scored, keys = database.scores.c, database.members.primary_key.columns.keys()
    for row in members:
        same = [scored[name] == row[name] for name in keys]
        gone = sa.or_(scored.epoch > row["epochs"], scored.part == "test")
        connection.execute(sa.delete(database.scores).where(*same, gone))
    for table, rows in ((database.scores, scores), (database.members, members)):
        _insert(connection, table, rows, [c.name for c in table.columns if not c.primary_key])


def _key(table: sa.ColumnCollection) -> list[sa.Column]:
    return [table[name] for name in database.KEY]


def _member_key(row: Mapping[Any, Any]) -> _MemberKey:
    seed, split, repeat, hparams = (row[name] for name in database.KEY)
    return seed, split, repeat, hparams


def _joined(table: sa.Table, names: Sequence[str]) -> sa.Select:
    """Returns the query of columns of a table and of its rows' experiments."""
    own = {c.name: c for c in table.columns}
    columns = [own[n] if n in own else database.experiments.c[n] for n in names]
    keys = [database.experiments.c.name, *table.primary_key.columns]
    return sa.select(*columns).select_from(table.join(database.experiments)).order_by(*keys)


def open_store(location: str | Path, shared: bool = True) -> Store:
    """Opens the runs of a folder or a database URL; creates them if needed.

    `shared`: other processes may open them too, but not over a network file system.
    """
    if not database.is_url(location):
        try:
            Path(location).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{location}: no runs folder can be made ({error.strerror})") from None
    return _open(location, write=True, shared=shared)


def open_existing(location: str | Path) -> Store:
    """Opens runs to read them; creates nothing."""
    return _open(location, write=False)


def _open(location: str | Path, write: bool, shared: bool = True) -> Store:
    if database.is_url(location):
        absent = None if write else database.sqlite_file(str(location))
        if absent is not None and not absent.is_file():  # reading would make it
            raise RunError(f"{database.shown(location)}: no such file")
        store = Store(database.connect(str(location)), database.shown(location))
    else:
        file = Path(location) / FILE if Path(location).is_dir() else Path(location)
        if not (write or file.is_file()):
            raise RunError(
                f"{location}: no runs here; expected a folder with {FILE}, as "
                "`jaxeval train --out FOLDER` makes it"
            )
        store = Store(database.connect_file(file, write, shared), str(file))
    try:
        store.check(create=write)
    except BaseException:
        store.close()
        raise
    return store


def load(location: str | Path) -> list[records.MemberRow]:
    """Reads all members of a runs folder or URL, ordered by experiment, seed and split."""
    with open_existing(location) as store:
        return store.members()


def load_curves(location: str | Path) -> list[records.CurveRow]:
    """Reads all scores by epoch of a runs folder or URL."""
    with open_existing(location) as store:
        return store.curves()
