"""Brings databases of older versions of the schema up to date."""

import json
import sqlite3
from collections.abc import Mapping

import sqlalchemy as sa

from jaxeval.runs import schema

# version 1 had no units; the metrics of its tasks: (unit, margin)
_UNITS: Mapping[str, tuple[str, float]] = {
    "bits": ("bits", 0.05),
    "perplexity": ("perplexity", 3.0),
    "f1": ("fraction", 0.01),
    "accuracy": ("fraction", 0.01),
}
_KEYED = ("members", "scores")  # tables whose key has had a `repeat` since version 2


def version(connection: sa.Connection) -> int | None:
    """The schema's version; None: no database of jaxeval.

    Of several rows, as no jaxeval writes them, the highest.
    """
    if not sa.inspect(connection).has_table(schema.versions.name):
        return None
    return connection.scalar(sa.select(sa.func.max(schema.versions.c.version)))


def copy(source: sa.Connection, target: sa.Connection) -> None:
    """Copies a SQLite database into another, empty one."""
    origin, empty = (each.connection.driver_connection for each in (source, target))
    assert isinstance(origin, sqlite3.Connection) and isinstance(empty, sqlite3.Connection)
    origin.backup(empty)


def upgrade(connection: sa.Connection) -> None:
    """Converts an older database in the connection's transaction; others are left alone."""
    found = version(connection)
    if found == 1:
        _add_units_and_repeats(connection)
    if found in (1, 2):
        connection.execute(sa.update(schema.versions).values(version=schema.VERSION))


def _add_units_and_repeats(connection: sa.Connection) -> None:
    for column, default in (("unit", "TEXT NOT NULL DEFAULT ''"), ("margin", _double(connection))):
        connection.execute(sa.text(f"ALTER TABLE experiments ADD COLUMN {column} {default}"))
    table = schema.experiments
    for metric, (unit, margin) in _UNITS.items():
        change = sa.update(table).where(table.c.metric == metric)
        connection.execute(change.values(unit=unit, margin=margin))
    for name in _KEYED:
        _add_repeat(connection, schema.metadata.tables[name])


def _double(connection: sa.Connection) -> str:
    kind = "DOUBLE PRECISION" if connection.dialect.name == "postgresql" else "DOUBLE"
    return f"{kind} NOT NULL DEFAULT 0"


def _add_repeat(connection: sa.Connection, table: sa.Table) -> None:
    """Makes a table anew with `repeat` in its key: SQLite cannot change one.

    Version 1 kept the number of a repeated run, from 1, among the hyperparameters.
    """
    old = f"{table.name}_1"
    connection.execute(sa.text(f"ALTER TABLE {table.name} RENAME TO {old}"))
    if connection.dialect.name == "postgresql":  # a renamed table keeps the name of its key
        connection.execute(sa.text(f"ALTER INDEX {table.name}_pkey RENAME TO {old}_pkey"))
    table.create(connection)
    names = [column.name for column in table.columns]
    changed = [f":{name}" if name in ("repeat", "hparams") else name for name in names]
    distinct = connection.scalars(sa.text(f"SELECT DISTINCT hparams FROM {old}")).all()
    for hparams in distinct:
        values = json.loads(hparams)
        repeated = values.keys() == {"repeat"}
        connection.execute(
            sa.text(
                f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {', '.join(changed)} "
                f"FROM {old} WHERE hparams = :before"
            ),
            {
                "repeat": int(values["repeat"]) - 1 if repeated else 0,
                "hparams": "{}" if repeated else hparams,
                "before": hparams,
            },
        )
    connection.execute(sa.text(f"DROP TABLE {old}"))
