"""The normal form that every reader gives, a row a score, and the checks of scores.

Notation: N rows. A code is the place of a name in a tuple, or -1 if the name is unknown.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import metrics, texts
from jaxeval.runs.columns import Columns, listed
from jaxeval.runs.layout import Missing
from jaxeval.runs.metrics import Direction, Key
from jaxeval.runs.texts import Coded

LARGEST = 1e70  # of a score: the degrees of freedom need its fourth power
MISSING = {"", "nan", "na", "n/a", "<na>", "null", "-"}
# how runs end, in the words of this program, Weights & Biases, MLflow, Optuna and Slurm
FAILED = (
    *("diverged", "failed", "fail", "crashed", "killed", "error", "canceled", "cancelled"),
    *("timeout", "oom", "out_of_memory"),
)
_NUMBER = r"[+-]?\d*[.,]?\d+\s*"
_NOTATIONS = {  # -> what is expected instead
    rf"{_NUMBER}%": "the number without the percent sign",
    rf"{_NUMBER}(±|\+/?-|\$?\\pm|\(\d).*": "the score of each run, not a mean with its spread",
    r"[+-]?[\d.,]*,[\d.]+": "one decimal point (or comma, in a CSV with semicolons)",
}


class Unusable(NamedTuple):
    """A score that is missing, not a number or not finite."""

    row: int
    column: str
    what: str


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Scores of any program, a row a score. All arrays have length N."""

    source: str
    model: Coded
    dataset: Coded
    metric: Coded  # -1 for a failed answer, which belongs to all metrics
    item: Coded  # the one name "" if rows are whole runs
    run: np.ndarray  # equal if rows are of one run of a model on a data set
    score: np.ndarray  # NaN if there is none
    status: np.ndarray  # of `Status`, without ABSENT
    number: np.ndarray  # of the row in the file, or of the run
    # "seed", "split" or "name" of the run
    labels: Mapping[str, Coded] = dataclasses.field(default_factory=dict)
    sample: np.ndarray | None = None  # number of a run's answer to an item
    cluster: Coded | None = None
    # hash of what two logs must agree on: the item's question, gold and prompt
    content: Coded | None = None
    dev: np.ndarray | None = None
    # whether higher is better, and who says so; None: `recorded`, or metrics' names
    direction: tuple[bool, Direction] | None = None
    # (data set, metric) -> whether higher is better, as logs say
    recorded: Mapping[Key, bool] = dataclasses.field(default_factory=dict)
    unit: str | None = None
    ended: Coded | None = None  # how each row's run ended, in the source's words
    file: Coded | None = None  # the log; None for a table
    # places of rows -> names of counts and [n, C] counts, for predictions
    count: Callable[[np.ndarray], tuple[tuple[str, ...], np.ndarray]] | None = None
    unusable: tuple[Unusable, ...] = ()
    unread: Sequence[str] = ()  # columns that have no role
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.score)

    @property
    def whole(self) -> bool:
        """True if rows are whole runs."""
        return self.item.names == ("",)

    def head(self, name: str) -> str:
        """Returns the beginning of a message on a data set."""
        return f"task {name}: " if name and not self.whole else ""

    def error(self, name: str, message: str) -> DataError:
        """Returns an error on a data set; of logs it names the task, not the source."""
        return DataError(f"{self.head(name)}{message}", None if self.file else self.source)


def word(value: object) -> str:
    """Returns a value as a lower-case word; "" for None."""
    return "" if value is None else str(value).strip().lower()


def is_failed(status: object) -> bool:
    """True if the status explains a missing score."""
    return word(status) in FAILED


def parse_scores(table: Columns, name: str) -> tuple[np.ndarray, dict[int, Unusable]]:
    """Converts a column of scores to float64; returns them, and place -> problem.

    Raises DataError: a list, an object, or a number with a decimal comma or a percent sign.
    """
    raw = table[name]
    wrong: dict[int, Unusable] = {}
    score = texts.to_floats(raw)
    for k in np.flatnonzero(~np.isfinite(score)).tolist():
        value = raw[k]
        row = int(table.rows[k])
        if isinstance(value, Mapping | list | tuple | np.ndarray):
            found = f"row {row}, column {name}: {str(value)[:40]} is not a number"
            raise DataError(f"{found}; expected a row for each score", table.source)
        refuse_notation(value, name, row, table.source)
        what = "infinite" if not math.isnan(score[k]) else f"not a number: {str(value)[:40]!r}"
        what += ", which belongs in a column status" * is_failed(value)
        wrong[k] = Unusable(row, name, "missing" if word(value) in MISSING else what)
    return score, wrong


def refuse_notation(value: object, column: str, row: int, source: str) -> None:
    """Raises DataError for a number with a decimal comma, a percent sign or its spread."""
    text = str(value).strip()
    for notation, expected in _NOTATIONS.items():
        if re.fullmatch(notation, text):
            found = f"row {row}, column {column}: {text!r:.40}"
            raise DataError(f"{found}; expected {expected}", source)


def usable_scores(
    table: Columns, name: str, missing: Missing
) -> tuple[np.ndarray, np.ndarray, tuple[Unusable, ...]]:
    """Returns a column of scores, the places of those that count, and the problems.

    Raises DataError: no score is usable, or one is not and `missing` is "error".
    """
    score, wrong = parse_scores(table, name)
    refuse_unusable([*wrong.values()], missing, table.source)
    read = np.isfinite(score) | (missing == "zero")
    if not read.any():
        raise DataError(f"column {name}: expected at least one usable score", table.source)
    score = np.nan_to_num(score, nan=0.0, posinf=0.0, neginf=0.0)
    return score, np.flatnonzero(read), tuple(wrong.values())


def refuse_unusable(unusable: Sequence[Unusable], missing: Missing, source: str) -> None:
    """Raises DataError for the first unusable score if `missing` is "error"."""
    if missing == "error" and unusable:
        first, *others = unusable
        more = f" (and {len(others)} more)" if others else ""
        found = f"row {first.row}, column {first.column}: {first.what}{more}"
        drop, zero = argument("missing", "drop"), argument("missing", "zero")
        advice = f"{drop} leaves such scores out, {zero} counts them as 0"
        raise DataError(f"{found}; expected a finite number; {advice}", source)


def column_direction(
    columns: Mapping[str, Sequence[object]],
    name: str | None,
    source: str,
    asked: bool | None = None,
    who: str = "the table says",
) -> tuple[bool, Direction, str]:
    """Returns whether higher scores of a table are better, who says so, and the metric.

    The column higher_is_better records it; else the column metric, or the score column's name,
    names a metric.

    Raises DataError: the table contradicts itself or the request, or metrics differ in direction.
    """
    recorded = None
    if "higher_is_better" in columns:
        words = {word(value) for value in texts.encode(columns["higher_is_better"]).names}
        if words not in ({"true"}, {"false"}):
            expected = "expected true or false, the same in all rows"
            raise DataError(f"higher_is_better: {expected}, found {listed(sorted(words))}", source)
        recorded = words == {"true"}
    unit = next((str(unit) for unit in columns.get("unit", ())), None)
    named = texts.encode(columns.get("metric", ())).names
    known = {metrics.higher_is_better(metric, unit) for metric in named}
    if len(known) > 1:
        known = {asked if higher is None else higher for higher in known}
    if len(known) > 1 and recorded is None:
        expected = "expected one metric, as higher scores are not better for all of them"
        if None in known:
            expected += f", or not known to be; {argument('lower_is_better', False)} says they are"
        raise DataError(f"several metrics ({listed(named)}); {expected}", source)
    better = next(iter(known), None)
    own = metrics.higher_is_better(name, None if named else unit)  # the unit is that of metrics
    if {better, own} == {True, False} and recorded is asked is None:
        raise DataError(f"column {name}: expected {named[0]}, as the column metric says", source)
    better = own if better is None else better
    metric = (*named, name or "score")[0]
    higher = metrics.resolve_direction(recorded, asked, better, metric, who, source)
    told = recorded is not None or asked is not None
    says: Direction = "recorded" if told else "assumed" if higher is None else "named"
    return higher is not False, says, metric
