"""Reads and writes the runs database: SQLite in a folder, or any database SQLAlchemy reaches.

SQLite runs in WAL mode with `BEGIN IMMEDIATE`: a transaction that reads first and writes later
would otherwise fail with "database is locked" whatever the timeout. WAL does not work on network
file systems; use a PostgreSQL URL there.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from jaxeval.errors import RunError
from jaxeval.runs import records, schema

FILE = "runs.sqlite"
_BUSY_SECONDS = 60
MemberKey = tuple[int, int, str]  # seed, split, hparams


class Store:
    """An open runs database."""

    def __init__(self, engine: sa.Engine, place: str):
        self._engine, self._place = engine, place

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        with _explained(self._place), self._engine.begin() as connection:
            yield connection

    def create(self) -> None:
        """Makes the tables that are not there yet; several processes may do so at once."""
        with self._transaction() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(20171)"))
            schema.metadata.create_all(connection)
            self._insert(connection, schema.versions, [{"version": schema.VERSION}], [])
        self.check()

    def check(self) -> None:
        """Raises RunError unless the database holds runs of this schema."""
        with self._transaction() as connection:
            if not sa.inspect(connection).has_table(schema.versions.name):
                raise RunError(f"{self._place} is not a runs database of jaxeval")
            found = connection.scalars(sa.select(schema.versions.c.version)).all()
        if found != [schema.VERSION]:
            raise RunError(
                f"{self._place} has schema version {found}, this jaxeval reads {schema.VERSION}"
            )

    def register(self, experiment: records.Experiment) -> None:
        """Records an experiment; once is enough, again is harmless."""
        row = dataclasses.asdict(experiment)
        facts = {"experiment": experiment.id, "facts": row.pop("facts")}
        with self._transaction() as connection:
            self._insert(connection, schema.experiments, [row], [])
            self._insert(connection, schema.facts, [facts], ["facts"])
            query = sa.select(schema.experiments).where(schema.experiments.c.id == experiment.id)
            found = connection.execute(query).mappings().one()
        # name and place may change between commands; what the id stands for may not
        for name in ("config_hash", "data_hash", "metric"):
            if found[name] != row[name]:
                raise RunError(
                    f"{self._place}: experiment {experiment.id} is recorded with {name} "
                    f"{found[name]!r}, not {row[name]!r}"
                )

    def record(
        self, members: Sequence[records.MemberResult], scores: Sequence[records.EpochScore]
    ) -> None:
        """Writes all in one transaction; rows of the same key are overwritten."""
        with self._transaction() as connection:
            for table, rows in ((schema.scores, scores), (schema.members, members)):
                plain = [dataclasses.asdict(row) for row in rows]
                values = [c.name for c in table.columns if not c.primary_key]
                self._insert(connection, table, plain, values)

    def _insert(
        self,
        connection: sa.Connection,
        table: sa.Table,
        rows: list[dict[str, Any]],
        overwrite: list[str],
    ) -> None:
        """Inserts rows; on a key that is there already sets the columns to overwrite."""
        if not rows:
            return
        dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
        insert = dialect.insert(table)
        keys = [column.name for column in table.primary_key]
        if overwrite:
            new = {name: insert.excluded[name] for name in overwrite}
            insert = insert.on_conflict_do_update(index_elements=keys, set_=new)
        else:
            insert = insert.on_conflict_do_nothing(index_elements=keys)
        connection.execute(insert, rows)

    def ended(self, experiment: str) -> dict[MemberKey, records.MemberResult]:
        """The members of an experiment that have ended, by seed, split and hparams."""
        query = sa.select(schema.members).where(schema.members.c.experiment == experiment)
        with self._transaction() as connection:
            rows = connection.execute(query).mappings().all()
        found = [records.MemberResult(**row) for row in rows]
        return {(m.seed, m.split, m.hparams): m for m in found}

    def epochs(self, experiment: str) -> dict[MemberKey, int]:
        """How many epochs of training are recorded of each member that has begun."""
        columns = schema.scores.c
        key = (columns.seed, columns.split, columns.hparams)
        count = sa.func.count(sa.distinct(columns.epoch))
        query = (
            sa.select(*key, count)
            .where(columns.experiment == experiment, columns.part == "train")
            .group_by(*key)
        )
        with self._transaction() as connection:
            rows = connection.execute(query).all()
        return {(seed, split, hparams): epochs for seed, split, hparams, epochs in rows}

    def members(self) -> list[records.MemberRow]:
        """All members with their experiments."""
        rows = self._joined(schema.members, records.MemberRow)
        return [records.MemberRow(**row) for row in rows]

    def curves(self) -> list[records.CurveRow]:
        """All scores by epoch with their experiments."""
        rows = self._joined(schema.scores, records.CurveRow)
        return [records.CurveRow(**row) for row in rows]

    def _joined(self, table: sa.Table, row: Any) -> Sequence[Any]:
        own = {c.name: c for c in table.columns}
        columns = [own[n] if n in own else schema.experiments.c[n] for n in row._fields]
        keys = [schema.experiments.c.name, *table.primary_key.columns]
        query = sa.select(*columns).select_from(table.join(schema.experiments)).order_by(*keys)
        with self._transaction() as connection:
            return connection.execute(query).mappings().all()


def open_store(location: str | Path) -> Store:
    """Opens, and where needed creates, the runs of a folder or a database URL."""
    if _is_url(location):
        store = Store(_engine(str(location)), place(location))
    else:
        folder = Path(location)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{folder}: no runs folder can be made ({error.strerror})") from None
        store = Store(_sqlite(folder / FILE, write=True), str(folder / FILE))
    with _closed_on_error(store):
        store.create()
    return store


def open_existing(location: str | Path) -> Store:
    """Opens runs to read them; never creates anything."""
    if _is_url(location):
        store = Store(_engine(str(location)), place(location))
    else:
        file = Path(location)
        file = file / FILE if file.is_dir() else file
        if not file.is_file():
            raise RunError(
                f"{location}: no runs here; expected a folder with {FILE}, as "
                "`python -m jaxeval.train --out FOLDER` makes it"
            )
        store = Store(_sqlite(file, write=False), str(file))
    with _closed_on_error(store):
        store.check()
    return store


@contextlib.contextmanager
def _closed_on_error(store: Store) -> Iterator[None]:
    try:
        yield
    except BaseException:
        store.close()
        raise


def load(location: str | Path) -> list[records.MemberRow]:
    """All members of a runs folder or URL as tidy rows, ordered by experiment, seed and split.

    `pandas.DataFrame(load(path))` makes a data frame of them.
    """
    with open_existing(location) as store:
        return store.members()


def load_curves(location: str | Path) -> list[records.CurveRow]:
    """All scores by epoch of a runs folder or URL as tidy rows."""
    with open_existing(location) as store:
        return store.curves()


def place(location: str | Path) -> str:
    """How a folder or URL is named in messages and pages: a password never is."""
    if not _is_url(location):
        return str(location)
    try:
        return sa.engine.make_url(str(location)).render_as_string(hide_password=True)
    except (sa.exc.ArgumentError, ValueError):  # ValueError: a port that is no number
        return "the given URL"


def _is_url(location: str | Path) -> bool:
    return "://" in str(location)


def _engine(url: str) -> sa.Engine:
    named = place(url)
    if url.startswith("postgresql://"):
        url = "postgresql+psycopg://" + url.removeprefix("postgresql://")
    try:
        return sa.create_engine(url)
    except ModuleNotFoundError as error:
        raise RunError(f"{named}: install jaxeval[postgres] ({error})") from None
    except (sa.exc.ArgumentError, ValueError):
        raise RunError(
            f"{named} is not a database URL; expected e.g. postgresql://user@host/name"
        ) from None


def _sqlite(file: Path, write: bool) -> sa.Engine:
    engine = sa.create_engine(_url(file, write), connect_args={"timeout": _BUSY_SECONDS})

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions are ours, see _begin
        connection.execute("PRAGMA foreign_keys=ON")
        if write:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")  # one commit an epoch: affordable

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _url(file: Path, write: bool) -> sa.URL:
    """The file as SQLite opens it.

    A database in WAL mode is opened with files beside it. Where none can be made (a colleague's
    folder, an archive) SQLite must be told that nobody writes; a log that stands there is read.
    """
    effective = os.access in os.supports_effective_ids
    sealed = not os.access(file.parent, os.W_OK, effective_ids=effective)
    log = file.with_name(f"{file.name}-wal")
    query = {"uri": "true"}
    if sealed and not write and not log.exists():
        query["immutable"] = "1"
    return sa.URL.create("sqlite", database=file.absolute().as_uri(), query=query)


@contextlib.contextmanager
def _explained(place: str) -> Iterator[None]:
    """Turns a database's errors into one line that says what to do."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0] if error.orig else str(error)
        raise RunError(
            f"{place}: {reason}; what was recorded is kept: mend this and run the same command "
            "again"
        ) from error
