"""The ledger of comparisons: a SQLite file with every side, score and decision."""

import contextlib
import itertools
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from jaxeval import files
from jaxeval.errors import ConfigError, RunError, argument
from jaxeval.files import Json
from jaxeval.settle.sides import Side
from jaxeval.stats import sequential

_APPLICATION = 0x6A657661  # marks the file as ours
_VERSION = 1  # of the tables
_TABLES = """
CREATE TABLE sides (id TEXT PRIMARY KEY, name TEXT, "commit" TEXT);
CREATE TABLE scores (side TEXT, seed INTEGER, score REAL, seconds REAL, PRIMARY KEY (side, seed));
CREATE TABLE comparisons (
  number INTEGER PRIMARY KEY, base TEXT, candidate TEXT, note TEXT, settings TEXT, level REAL,
  after INTEGER, known INTEGER, begun REAL, verdict TEXT, result TEXT
);
"""
Correction = Literal["none", "e-lond", "spending"]
DECIDED = ("better", "worse", "equal")


class Comparison(NamedTuple):
    """A candidate against a base."""

    number: int  # from 1, in the order of the ledger
    base: str
    candidate: str
    note: str
    settings: Mapping[str, Any]
    level: float  # alpha of this comparison
    after: int  # its seeds come after this one
    known: int  # scores that the base had when it began
    begun: float  # Unix time in seconds
    verdict: str | None  # of its last run; None: none has ended
    result: Mapping[str, Any] | None

    @property
    def won(self) -> bool:
        """True if the candidate is better, and so the next base."""
        return self.verdict == "better"

    @property
    def last(self) -> int:
        """The last seed that the verdict rests on."""
        return self.after + (self.result or {"looks": 0})["looks"]


class Ledger:
    """An open ledger."""

    def __init__(self, connection: sqlite3.Connection):
        self._sql = connection

    def comparisons(self) -> list[Comparison]:
        """Returns all comparisons in their order."""
        rows = self._sql.execute("SELECT * FROM comparisons ORDER BY number")
        return [
            Comparison._make([*row[:4], json.loads(row[4]), *row[5:10], json.loads(row[10])])
            for row in rows
        ]

    def sides(self) -> dict[str, Side]:
        """Returns the sides by their ids."""
        rows = self._sql.execute('SELECT id, name, "commit" FROM sides')
        return {row[0]: Side(*row) for row in rows}

    def scores(self, side: str) -> dict[int, float]:
        """Returns the scores of a side by seed."""
        rows = self._sql.execute("SELECT seed, score FROM scores WHERE side = ?", (side,))
        return dict(rows.fetchall())

    def fresh(self, side: str) -> list[float]:
        """Returns the scores of a side but those that it had as a candidate.

        It may be the base for being high in those.
        """
        after = self._chosen(side)
        return [score for seed, score in sorted(self.scores(side).items()) if seed > after]

    def _chosen(self, side: str) -> int:
        """Returns the last seed that a side had as a candidate; 0 if it has been none."""
        return max((old.last for old in self.comparisons() if old.candidate == side), default=0)

    def seconds(self) -> dict[tuple[str, int], float]:
        """Returns the seconds of each evaluation by side and seed."""
        rows = self._sql.execute("SELECT side, seed, seconds FROM scores ORDER BY side, seed")
        return {(side, seed): seconds for side, seed, seconds in rows}

    def next_level(self, alpha: float, correction: Correction) -> float:
        """Returns the level of the comparison that begins next."""
        if correction == "none":
            return alpha
        every = self.comparisons()
        kept = sum(old.won for old in every)
        return sequential.level(alpha, len(every) + 1, kept, correction)

    def add(self, side: str, seed: int, score: float, seconds: float) -> None:
        """Writes a score."""
        self._sql.execute(
            "INSERT OR IGNORE INTO scores VALUES (?, ?, ?, ?)", (side, seed, score, seconds)
        )

    def begin(
        self,
        base: Side,
        candidate: Side,
        note: str,
        settings: Mapping[str, Any],
        again: bool = False,
    ) -> Comparison:
        """Returns the last comparison of two sides with these settings, or a new one.

        Scores that the base has already are used again, but none that it has as a candidate: it
        may be the base for their sake. A candidate's own come after all that it has, likewise. A
        comparison of the same two with another margin or alpha rests on the same scores.

        Args:
          settings: with "alpha" and "correction"; a comparison has others if they differ.
          again: begin a new one with fresh seeds if the last one is decided.
        """
        every, ids = self.comparisons(), (base.id, candidate.id)
        pair = [old for old in every if (old.base, old.candidate) == ids]
        same = [old for old in pair if old.settings == settings]
        anew = again and same and same[-1].verdict in DECIDED
        if same and not anew:
            return same[-1]
        if pair and not anew:
            after, count = pair[-1].after, pair[-1].known
        else:
            known = self.scores(base.id)
            own = [*self.scores(candidate.id), *(known if anew else ())]
            after = max([self._chosen(base.id), *own])
            count = next(k for k in itertools.count() if after + k + 1 not in known)
        level = self.next_level(settings["alpha"], settings["correction"])
        for side in (base, candidate):
            self._sql.execute("INSERT OR IGNORE INTO sides VALUES (?, ?, ?)", side[:3])
        self._sql.execute(
            "INSERT INTO comparisons VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, NULL, 'null')",
            (*ids, note, json.dumps(settings), level, after, count, time.time()),
        )
        return self.comparisons()[-1]

    def decide(self, number: int, verdict: str, result: Mapping[str, Json]) -> None:
        """Writes the verdict of a comparison, and its result as plain data."""
        self._sql.execute(
            "UPDATE comparisons SET verdict = ?, result = ? WHERE number = ?",
            (verdict, json.dumps(result), number),
        )


@contextlib.contextmanager
def opened(path: Path, read_only: bool = False) -> Iterator[Ledger]:
    """Opens a ledger, and makes it if it is missing.

    Raises:
      ConfigError: the file is no ledger, or there is none to read.
      RunError: another process works with it, or it cannot be written.
    """
    if read_only and not path.is_file():
        raise ConfigError(f"{path}: no such ledger; expected one that settle has written")
    if not read_only:
        files.refuse_unwritable(path)
    busy = f"{path}: another process settles with this ledger"
    lock = path.with_name(f".{path.name}.lock")
    held = contextlib.nullcontext() if read_only else files.locked(lock, busy)
    with held, contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        try:
            _prepare(connection, path)
            yield Ledger(connection)
        except sqlite3.OperationalError as error:
            raise RunError(f"{path}: cannot be used ({error})") from None
        except sqlite3.DatabaseError as error:
            raise ConfigError(f"{path}: not a ledger of settle ({error})") from None


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Makes the tables of a new ledger; ConfigError if the file is something else."""
    found = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if (found, version) == (_APPLICATION, _VERSION):
        return
    if found or version or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise ConfigError(f"{path}: not a ledger of settle; expected another {argument('ledger')}")
    marks = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION};"
    connection.executescript(f"BEGIN; {_TABLES} {marks} COMMIT;")
