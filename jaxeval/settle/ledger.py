"""The ledger of comparisons: a SQLite file with every score and decision.

Several processes may work with one ledger at a time, each on a comparison of its own. The level of
a comparison is fixed when it begins, from the candidates kept until then.
"""

import contextlib
import hashlib
import itertools
import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from jaxeval import files
from jaxeval.errors import ConfigError, RunError, argument
from jaxeval.files import Json
from jaxeval.settle.sides import Side
from jaxeval.stats import sequential

_MARKS = {"application_id": 0x6A657661, "user_version": 3}  # ours, and version of the tables
_TABLES = {  # the seal of a row tells whether somebody changed it
    "scores": "side TEXT, seed INTEGER, score REAL, seconds REAL, comparison INTEGER, seal TEXT,"
    " PRIMARY KEY (side, seed)",
    "comparisons": "number INTEGER PRIMARY KEY, base TEXT, candidate TEXT, note TEXT,"
    " settings TEXT, level REAL, after INTEGER, known INTEGER, begun REAL, verdict TEXT,"
    " result TEXT, seal TEXT",
}
_ADD = (  # the first score of a seed stays
    "INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET score ="
    " excluded.score, seconds = excluded.seconds, comparison = excluded.comparison,"
    " seal = excluded.seal WHERE score IS NULL"
)
_KEEP = f"INSERT OR REPLACE INTO comparisons VALUES ({', '.join('?' * 12)})"
Correction = Literal["none", "e-lond", "spending"]
DECIDED = ("better", "worse", "equal")


class Comparison(NamedTuple):
    """A candidate against a base."""

    number: int  # from 1, in the order of the ledger
    base: Side
    candidate: Side
    note: str
    settings: Mapping[str, Any]
    level: float  # alpha of this comparison
    after: int  # its seeds come after this one
    known: int  # scores that the base had when it began
    begun: float  # Unix time in seconds
    verdict: str | None = None  # of its last run; None: none has ended
    result: Mapping[str, Any] | None = None

    @property
    def won(self) -> bool:
        """True if the candidate is better, and so the next base."""
        return self.verdict == "better"

    @property
    def last(self) -> int:
        """The last seed that the verdict rests on."""
        return self.after + (self.result or {"looks": 0})["looks"]


class Ledger:
    """An open ledger, in memory without a path; threads may share it."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None):
        self._sql = connection
        self._path = path
        self._lock = threading.Lock()

    def _rows(self, query: str, *values: object) -> list[Any]:
        with self._lock:
            return self._sql.execute(query, values).fetchall()

    def comparisons(self) -> list[Comparison]:
        """Returns all comparisons in their order."""
        found = []
        for row in self._rows("SELECT * FROM comparisons ORDER BY number"):
            base, candidate, settings, result = (json.loads(row[k]) for k in (1, 2, 4, 10))
            sides = Side(*base), Side(*candidate)
            of = [row[0], *sides, row[3], settings, *row[5:10], result]
            found.append(Comparison._make(of))
        return found

    def _ended(self, side: str) -> list[tuple[int, float | None, int | None]]:
        """Returns seed, score and comparison of the evaluations of a side."""
        query = "SELECT seed, score, comparison FROM scores WHERE side = ? ORDER BY seed"
        return self._rows(query, side)

    def scores(self, side: str) -> dict[int, float]:
        """Returns the scores of a side by seed, without those of seeds that failed."""
        return {seed: score for seed, score, _ in self._ended(side) if score is not None}

    def lost(self, side: str) -> set[int]:
        """Returns the seeds of a side that failed, where that counted against it."""
        return {seed for seed, score, _ in self._ended(side) if score is None}

    def fresh(self, side: str) -> list[float]:
        """Returns the scores of a side but those that it had as a candidate.

        It may be the base for being high in those.
        """
        after = self._chosen(side)
        return [score for seed, score in self.scores(side).items() if seed > after]

    def _chosen(self, side: str) -> int:
        """Returns the last seed that a side had as a candidate; 0 if it has been none."""
        before = {old.number: old.last for old in self.comparisons() if old.candidate.id == side}
        seen = [seed for seed, _, number in self._ended(side) if number in before]
        return max([0, *before.values(), *seen])

    def spent(self) -> dict[int | None, list[float]]:
        """Returns the seconds of new evaluations by comparison; None: of no comparison."""
        found: dict[int | None, list[float]] = {}
        for number, seconds in self._rows("SELECT comparison, seconds FROM scores"):
            found.setdefault(number, []).append(seconds)
        return found

    def next_level(self, alpha: float, correction: Correction) -> float:
        """Returns the level of the comparison that begins next."""
        if correction == "none":
            return alpha
        every = self.comparisons()
        kept = sum(old.won for old in every)
        return sequential.level(alpha, len(every) + 1, kept, correction)

    def add(
        self,
        side: str,
        seed: int,
        score: float | None,
        seconds: float = 0.0,
        comparison: int | None = None,
    ) -> float | None:
        """Writes the first score of a seed, and returns it: another process may have been first.

        Args:
          score: None if the seed failed, and this counts against its side.
          comparison: for which the seed was evaluated.
        """
        kept = None if score is None else score + 0.0  # SQLite has no -0
        row = (side, seed, kept, float(seconds), comparison)
        self._rows(_ADD, *row, _seal(row))
        return self.scores(side).get(seed)

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
        self._rows("BEGIN IMMEDIATE")  # numbers and levels of two processes differ
        with self._sql:  # commits
            every = self.comparisons()
            ids = (base.id, candidate.id)
            pair = [old for old in every if (old.base.id, old.candidate.id) == ids]
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
            number = len(every) + 1
            begun = time.time()
            return self._keep(
                Comparison(number, base, candidate, note, settings, level, after, count, begun)
            )

    def _keep(self, comparison: Comparison) -> Comparison:
        """Writes a comparison."""
        plain: dict[str, Any] = comparison._asdict() | {
            "base": comparison.base[:3],
            "candidate": comparison.candidate[:3],
        }
        for name in ("base", "candidate", "settings", "result"):
            plain[name] = json.dumps(plain[name])
        row = tuple(plain.values())
        self._rows(_KEEP, *row, _seal(row))
        return comparison

    def alone(self, number: int) -> contextlib.AbstractContextManager[None]:
        """Holds a comparison; RunError if another process works on it."""
        if self._path is None:
            return contextlib.nullcontext()
        place = self._path.with_name(f".{self._path.name}.locks") / str(number)
        return files.locked(place, f"{self._path}: another process works on comparison {number}")

    def decide(self, number: int, verdict: str, result: Mapping[str, Json]) -> None:
        """Writes the verdict of a comparison, and its result as plain data."""
        (of,) = (old for old in self.comparisons() if old.number == number)
        self._keep(of._replace(verdict=verdict, result=result))


def _seal(row: tuple[object, ...]) -> str:
    return hashlib.sha256(repr(row).encode()).hexdigest()[:16]


@contextlib.contextmanager
def opened(path: Path | None, read_only: bool = False) -> Iterator[Ledger]:
    """Opens a ledger, and makes it if it is missing; None: one in memory.

    Raises:
      ConfigError: the file is no ledger, or a row was changed; or there is none to read.
      RunError: it cannot be written, or is locked by another process.
    """
    if path is not None and read_only and not path.is_file():
        raise ConfigError(f"{path}: no such ledger; expected one that settle has written")
    if path is not None and not read_only:
        files.replaceable(path)  # else RunError
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with contextlib.closing(files.connect(path, write=not read_only)) as sql:
            _prepare(sql, path, read_only)
            yield Ledger(sql, path)
    except sqlite3.OperationalError as error:
        raise RunError(f"{path}: cannot be used ({error})") from None
    except sqlite3.DatabaseError as error:
        raise ConfigError(f"{path}: not a ledger of settle ({error})") from None


def _prepare(sql: sqlite3.Connection, path: Path | None, read_only: bool) -> None:
    """Makes the tables of a new ledger, or checks those of an old one; ConfigError if not ours."""
    sql.execute("PRAGMA synchronous = NORMAL")  # after a power cut the last scores run again
    sql.execute("BEGIN" if read_only else "BEGIN IMMEDIATE")
    found = {what: sql.execute(f"PRAGMA {what}").fetchone()[0] for what in _MARKS}
    empty = not any(found.values()) and not sql.execute("SELECT 1 FROM sqlite_master").fetchone()
    wrong = None
    if empty and not read_only:
        for name, columns in _TABLES.items():
            sql.execute(f"CREATE TABLE {name} ({columns})")
        for what, value in _MARKS.items():
            sql.execute(f"PRAGMA {what} = {value}")
    elif found != _MARKS:
        ours = found["application_id"] == _MARKS["application_id"]
        wrong = (
            f"a ledger of version {found['user_version']}" if ours else "not a ledger of settle"
        )
    for name in () if wrong else _TABLES:
        for *row, seal in sql.execute(f"SELECT * FROM {name}"):
            if seal != _seal(tuple(row)):
                shown = ", ".join(map(str, row[:3]))
                wrong = f"a row of {name} is not as settle wrote it: {shown}"
    if wrong:
        raise ConfigError(f"{path}: {wrong}; choose another {argument('ledger')}")
    sql.execute("COMMIT")
