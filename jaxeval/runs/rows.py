"""The normal form of a row, which every reader gives: the score of a run, or of its answer.

Notation: N rows.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError, printable
from jaxeval.runs.directions import Key


class Coded(NamedTuple):
    """N names as places in a tuple of them; -1 where one is not known."""

    names: tuple[str, ...]
    codes: np.ndarray

    def named(self, k: int) -> str:
        """The name of a row; "" where it is not known."""
        code = int(self.codes[k])
        return self.names[code] if code >= 0 else ""


def coded(values: Sequence[object], first: Sequence[str] = ()) -> Coded:
    """Distinct values, some first, then in order of appearance, and the place of each.

    Control characters are escaped: names reach terminals, pages and figures.
    """
    texts = values if {*map(type, values)} <= {str} else [str(value) for value in values]
    places = {name: k for k, name in enumerate(dict.fromkeys([*first, *texts]))}
    codes = np.fromiter(map(places.__getitem__, texts), np.int64, len(texts))
    return Coded(tuple(printable(str(name)) for name in places), codes)


def constant(name: str, size: int) -> Coded:
    """One name for all rows."""
    return Coded((name,), np.zeros(size, np.int64))


def both_of(first: Coded, second: Coded) -> Coded:
    """Two names of each row as one."""
    keys = first.codes * len(second.names) + second.codes
    places, codes = np.unique(keys, return_inverse=True)
    pairs = (divmod(int(place), len(second.names)) for place in places)
    return Coded(tuple(f"{first.names[a]} {second.names[b]}".strip() for a, b in pairs), codes)


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Scores of any program, a row a score; arrays have one length, N.

    Attributes:
      item: one name, "", where rows are whole runs.
      metric: -1 of a failed answer, which has no score in any metric.
      run: equal where rows are of one run of a model on a data set.
      score: NaN where there is none.
      status: of `Status`; not ABSENT.
      labels: "seed", "split" or "name" of its run.
      number: of its row in the file, or of its run.
      sample: which of a run's answers to an item.
      content, prompt: hashes of what the item asks, and of all else in which one item can differ
        between two logs.
      recorded: (data set, metric) -> whether higher is better, as the source says.
      named: whether higher is better, as a column's name says; None: the metric's name may.
      who: has recorded it, in a message.
      unit: of the metric, where the source says so.
      file: that a row of logs stands in.
      count: places of rows -> names of counts and [n, C] counts, of predictions.
    """

    source: str
    model: Coded
    dataset: Coded
    metric: Coded
    item: Coded
    run: np.ndarray
    score: np.ndarray
    status: np.ndarray
    number: np.ndarray
    labels: Mapping[str, Coded] = dataclasses.field(default_factory=dict)
    sample: np.ndarray | None = None
    cluster: Coded | None = None
    content: Coded | None = None
    prompt: Coded | None = None
    dev: np.ndarray | None = None
    recorded: Mapping[Key, bool] = dataclasses.field(default_factory=dict)
    named: bool | None = None
    who: str = "the table says"
    unit: str | None = None
    file: Coded | None = None
    count: Callable[[np.ndarray], tuple[tuple[str, ...], np.ndarray]] | None = None
    warnings: tuple[str, ...] = ()

    def head(self, name: str) -> str:
        """How a message on a data set begins."""
        return f"task {name}: " if name and not self.whole else ""

    def error(self, name: str, message: str) -> DataError:
        """What is wrong with a data set."""
        return DataError(f"{self.head(name)}{message}", self.place)

    @property
    def place(self) -> str | None:
        """Where a message says that rows stand; None: logs, of which it names a task."""
        return None if self.file else self.source

    @property
    def whole(self) -> bool:
        """Whether rows are whole runs."""
        return self.item.names == ("",)
