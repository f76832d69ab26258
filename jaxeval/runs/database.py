"""The tables of a runs database, and connections: SQLite files, or what SQLAlchemy reaches.

SQLite runs in WAL mode with `BEGIN IMMEDIATE`: a transaction that reads first and writes later
would otherwise fail with "database is locked" whatever the timeout. WAL does not work on network
file systems; use a PostgreSQL URL there.
"""

import os
import sqlite3
import typing
import urllib.parse
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from jaxeval.errors import DataError, RunError
from jaxeval.runs import records

VERSION = 4  # of the tables; a database of another version is refused
_BUSY_SECONDS = 60

metadata = sa.MetaData()
KEY = ("seed", "split", "repeat", "hparams")  # of a member within its experiment
# other types are text
_TYPES = {int: sa.BigInteger, float: sa.Double, bool: sa.Boolean, np.ndarray: sa.LargeBinary}


def _table(name: str, record: type, keys: Sequence[str]) -> sa.Table:
    """Returns the table of a dataclass of `records`: a column a field."""
    columns: list[sa.Column] = []
    for field, hint in typing.get_type_hints(record).items():
        kinds = typing.get_args(hint) or (hint,)
        foreign = [sa.ForeignKey("experiments.id")] if field == "experiment" else []
        optional, is_key = type(None) in kinds, field in keys
        kind = _TYPES.get(kinds[0], sa.Text)
        columns.append(sa.Column(field, kind, *foreign, primary_key=is_key, nullable=optional))
    return sa.Table(name, metadata, *columns)


versions = sa.Table("jaxeval_schema", metadata, sa.Column("version", sa.Integer, primary_key=True))
experiments = _table("experiments", records.Experiment, ["id"])
members = _table("members", records.MemberResult, ["experiment", *KEY])
_SCORE_KEY = ("experiment", *KEY, "epoch", "part", "metric")
scores = _table("scores", records.EpochScore, _SCORE_KEY)
# names in JSON; counts as float32, little-endian, compressed by zlib
outcomes = _table("outcomes", records.Outcomes, ["experiment", *KEY, "part"])
outcomes.append_column(sa.Column("items", sa.BigInteger, nullable=False))


def shown(location: str | Path) -> str:
    """Returns the location for messages, without the password."""
    if not is_url(location):
        return str(location)
    try:
        return sa.engine.make_url(str(location)).render_as_string(hide_password=True)
    except (sa.exc.ArgumentError, ValueError):  # ValueError: a port that is no number
        return "the given URL"


def is_url(location: str | PathLike[str]) -> bool:
    """True for a database URL, False for a path; raises DataError for anything else."""
    if not isinstance(location, str | PathLike):
        raise DataError(f"path: expected a text or a path, found {location!r:.60}")
    return "://" in str(location)


def sqlite_file(url: str) -> Path | None:
    """Returns the file of a SQLite URL; None if it is in memory, or another URL."""
    try:
        parsed = sa.engine.make_url(url)
    except (sa.exc.ArgumentError, ValueError):  # an error where it is opened
        return None
    name = parsed.database
    if parsed.get_backend_name() != "sqlite" or not name or name == ":memory:":
        return None
    if not name.startswith("file:"):
        return Path(name)
    return Path(urllib.parse.unquote(urllib.parse.urlsplit(name).path))


def connect(url: str) -> sa.Engine:
    """Returns the engine of a database URL; raises RunError if there is no driver for it."""
    named = shown(url)
    if url.startswith("postgresql://"):
        url = "postgresql+psycopg://" + url.removeprefix("postgresql://")
    try:
        return sa.create_engine(url)
    except ModuleNotFoundError as error:
        raise RunError(f"{named}: install jaxeval[postgres] ({error})") from None
    except (sa.exc.ArgumentError, ValueError):
        expected = "expected e.g. postgresql://user@host/name"
        raise RunError(f"{named} is not a database URL; {expected}") from None


def connect_file(file: Path, write: bool, shared: bool = True) -> sa.Engine:
    """Returns the engine of a SQLite file; `shared`: as of `store.open_store`."""
    engine = sa.create_engine(_file_url(file, write), connect_args={"timeout": _BUSY_SECONDS})

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # _begin starts transactions
        connection.execute("PRAGMA foreign_keys=ON")
        if write:
            connection.execute(f"PRAGMA journal_mode={'WAL' if shared else 'DELETE'}")
            connection.execute("PRAGMA synchronous=FULL")  # one commit an epoch: affordable

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _file_url(file: Path, write: bool) -> sa.URL:
    """Returns the URL of a file; immutable if SQLite cannot make its files beside it.

    A database in WAL mode needs files beside it. In a folder without write permission SQLite must
    be sure that nobody writes; an existing log is read.
    """
    effective = os.access in os.supports_effective_ids
    sealed = not os.access(file.parent, os.W_OK, effective_ids=effective)
    log = file.with_name(f"{file.name}-wal")
    query = {"uri": "true"}
    if sealed and not write and not log.exists():
        query["immutable"] = "1"
    return sa.URL.create("sqlite", database=file.absolute().as_uri(), query=query)
