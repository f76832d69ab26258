"""The tables of a runs database: one for each dataclass of `records`, and a column a field."""

import sqlite3
import typing
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.runs import records

MEMBER = ("experiment", "seed", "split", "repeat", "hparams")  # first columns of its tables
_TYPES = {int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", np.ndarray: "BLOB"}  # else TEXT
sqlite3.register_converter("BOOLEAN", lambda stored: stored != b"0")


class Table(NamedTuple):
    """A table of the database."""

    name: str
    columns: dict[str, str]  # name -> type
    keys: Sequence[str]

    def query(self, where: str = "") -> str:
        """Returns the statement that selects all columns."""
        return f"SELECT {', '.join(self.columns)} FROM {self.name} {where}"

    def make(self, sql: sqlite3.Connection) -> None:
        """Makes the table."""
        parts = [f"{name} {kind}" for name, kind in self.columns.items()]
        parts.append(f"PRIMARY KEY ({', '.join(self.keys)})")
        if "experiment" in self.columns:
            parts.append("FOREIGN KEY (experiment) REFERENCES experiments (id)")
        sql.execute(f"CREATE TABLE {self.name} ({', '.join(parts)})")

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


def _table(name: str, record: type, keys: Sequence[str], **more: str) -> Table:
    """Returns the table of a dataclass: a column a field, and more."""
    columns = dict[str, str]()
    for field, hint in typing.get_type_hints(record).items():
        kind, *others = typing.get_args(hint) or (hint,)
        null = "" if type(None) in others else " NOT NULL"
        columns[field] = f"{_TYPES.get(kind, 'TEXT')}{null}"
    return Table(name, columns | more, keys)


EXPERIMENTS = _table("experiments", records.Experiment, ["id"])
MEMBERS = _table("members", records.MemberResult, MEMBER)
SCORES = _table("scores", records.EpochScore, (*MEMBER, "epoch", "part", "metric"))
# names in JSON; counts as float32, little-endian, compressed by zlib
OUTCOMES = _table("outcomes", records.Outcomes, (*MEMBER, "part"), items="BIGINT NOT NULL")
TABLES = (EXPERIMENTS, OUTCOMES, MEMBERS, SCORES)
