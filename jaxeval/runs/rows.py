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
from jaxeval.runs import texts
from jaxeval.runs.columns import Columns
from jaxeval.runs.layout import Missing
from jaxeval.runs.metrics import Direction, Key
from jaxeval.runs.texts import Coded, constant, encode, to_floats

LARGEST = 1e70  # of a score: the degrees of freedom need its fourth power
MISSING = {"", "nan", "na", "n/a", "null", "-"}
# how runs end, in the words of this program, of Weights & Biases and of MLflow
FAILED = ("diverged", "failed", "crashed", "killed", "error", "canceled", "cancelled", "timeout")
UNFINISHED = ("running", "preempted", "preempting")
ENDED = {
    *(*FAILED, *UNFINISHED, "finished", "early_stopped", "completed", "success"),
    *("pending", "scheduled"),
}
_COMMA = re.compile(r"[+-]?\d*,\d+(\s*%)?")
_PERCENT = re.compile(r"[+-]?\d*\.?\d+\s*%")


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Scores of any program, a row a score. All arrays have length N.

    Attributes:
      labels: "seed", "split" or "name" of the run.
      content, prompt: hashes of the item's question, and of everything else that two logs must
        agree on.
      direction: whether higher is better, and who says so; None: `recorded`, or metrics' names.
      recorded: (data set, metric) -> whether higher is better, as logs say.
      count: places of rows -> names of counts and [n, C] counts, for predictions.
    """

    source: str
    model: Coded
    dataset: Coded
    metric: Coded  # -1 for a failed answer, which belongs to all metrics
    item: Coded  # the one name "" if rows are whole runs
    run: np.ndarray  # equal if rows are of one run of a model on a data set
    score: np.ndarray  # NaN if there is none
    status: np.ndarray  # of `Status`, without ABSENT
    number: np.ndarray  # of the row in the file, or of the run
    labels: Mapping[str, Coded] = dataclasses.field(default_factory=dict)
    sample: np.ndarray | None = None  # number of a run's answer to an item
    cluster: Coded | None = None
    content: Coded | None = None
    prompt: Coded | None = None
    dev: np.ndarray | None = None
    direction: tuple[bool, Direction] | None = None
    recorded: Mapping[Key, bool] = dataclasses.field(default_factory=dict)
    unit: str | None = None
    file: Coded | None = None  # the log; None for a table
    count: Callable[[np.ndarray], tuple[tuple[str, ...], np.ndarray]] | None = None
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


def match_items(
    ids: np.ndarray, content: np.ndarray, prompt: np.ndarray, model: np.ndarray, run: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns [N] keys that are equal for equal items, and [N] whether logs disagree on the item.

    Items are equal if their ids are. If two logs use one id for different contents (shuffled or
    other data), items are equal if their contents are. Prompts must agree in any case.

    Args:
      ids, content, prompt, model, run: [N] codes; runs of two models have different codes.
    """
    models = len(np.unique(model))
    conflicts = _count_distinct(ids, content) > 1
    unsure = conflicts.any() or not np.any(_count_distinct(ids, model) == models)
    if not (unsure and np.all(content >= 0)):
        return ids, conflicts | (_count_distinct(ids, prompt) > 1)
    # a conflicting id is harmless if all models have its content
    alone = _count_distinct(content, model) < models
    copies = _count_distinct(pair_codes(run, content), ids) > 1
    return content, (conflicts & alone) | copies | (_count_distinct(content, prompt) > 1)


def _count_distinct(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Returns [N] how many known values each row's key has."""
    keys, known = texts.dense(keys), values >= 0
    first = np.unique(pair_codes(keys[known], values[known]), return_index=True)[1]
    return np.bincount(keys[known][first], minlength=len(keys))[keys]


def pair_codes(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Returns [N] one number for each distinct pair of codes."""
    return first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second


def first_place(keys: np.ndarray) -> np.ndarray:
    """Returns [N] the first place of each row's key."""
    ranks = texts.dense(keys)
    return texts.first_of(ranks)[ranks]


class Unusable(NamedTuple):
    """A score that is missing, not a number or not finite."""

    row: int
    column: str
    what: str


def word(value: object) -> str:
    """Returns a value as a lower-case word; "" for None."""
    return "" if value is None else str(value).strip().lower()


def is_failed(status: object) -> bool:
    """True if the status explains a missing score."""
    return word(status) in FAILED


def are_failed(statuses: Sequence[object]) -> np.ndarray:
    """Returns [N] `is_failed` of each row."""
    coded = encode(statuses)
    return np.array([*map(is_failed, coded.names)], bool)[coded.codes]


def parse_scores(
    raw: Sequence[object], columns: Coded, rows: Sequence[int] | np.ndarray, source: str
) -> tuple[np.ndarray, dict[int, Unusable]]:
    """Converts scores to float64; returns them, and place -> problem.

    Raises DataError: a list, an object, or a number with a decimal comma or a percent sign.

    Args:
      raw, columns, rows: value, column name and row number of each score.
    """
    score = to_floats(raw)
    wrong: dict[int, Unusable] = {}
    for k in np.flatnonzero(~np.isfinite(score)).tolist():
        value, column = raw[k], columns.name(k)
        if isinstance(value, Mapping | list | tuple | np.ndarray):
            found = f"row {rows[k]}, column {column}: {str(value)[:40]} is no number"
            raise DataError(f"{found}; expected a score in each record", source)
        refuse_notation(value, column, rows[k], source)
        what = "infinite" if not math.isnan(score[k]) else f"not a number: {str(value)[:40]!r}"
        wrong[k] = Unusable(int(rows[k]), column, "missing" if word(value) in MISSING else what)
    return score, wrong


def refuse_notation(value: object, column: str, row: int, source: str) -> None:
    """Raises DataError for a number with a decimal comma or a percent sign."""
    text = str(value).strip()
    comma = _COMMA.fullmatch(text)
    if comma or _PERCENT.fullmatch(text):
        expected = "a decimal point" if comma else "the number without the percent sign"
        raise DataError(f"row {row}, column {column}: {text!r:.40}; expected {expected}", source)


def usable_scores(
    table: Columns, name: str, missing: Missing
) -> tuple[np.ndarray, np.ndarray, tuple[Unusable, ...]]:
    """Returns a column of scores, the places of those that count, and the problems.

    Raises DataError: no score is usable, or one is not and `missing` is "error".
    """
    score, wrong = parse_scores(table[name], constant(name, len(table)), table.rows, table.source)
    refuse_unusable([*wrong.values()], missing, table.source)
    read = np.isfinite(score) | (missing == "zero")
    score = np.nan_to_num(score, nan=0.0, posinf=0.0, neginf=0.0)
    if not read.any():
        raise DataError(f"column {name}: expected at least one usable score", table.source)
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
