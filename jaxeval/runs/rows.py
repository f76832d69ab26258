"""The normal form of a row, which every reader gives: the score of a run, or of its answer.

Notation: N rows. A code is the place of a name in a tuple; -1 where it is not known.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError, printable
from jaxeval.runs.directions import Key


class Coded(NamedTuple):
    """N names as codes."""

    names: tuple[str, ...]
    codes: np.ndarray

    def named(self, k: int) -> str:
        """The name of a row; "" where it is not known."""
        code = int(self.codes[k])
        return self.names[code] if code >= 0 else ""


def coded(values: Sequence[object]) -> Coded:
    """Distinct values as text, in order of appearance, and the place of each.

    Control characters are escaped: names reach terminals, pages and figures.
    """
    texts = [*map(str, values)]
    places = {name: k for k, name in enumerate(dict.fromkeys(texts))}
    codes = np.fromiter(map(places.__getitem__, texts), np.int64, len(texts))
    whole = "".join(places)
    return Coded(tuple(places if printable(whole) == whole else map(printable, places)), codes)


def constant(name: str, size: int) -> Coded:
    """One name for all rows."""
    return Coded((name,), np.zeros(size, np.int64))


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

    @property
    def whole(self) -> bool:
        """Whether rows are whole runs."""
        return self.item.names == ("",)

    @property
    def place(self) -> str | None:
        """Where a message says that rows stand; None: logs, of which it names a task."""
        return None if self.file else self.source

    def head(self, name: str) -> str:
        """How a message on a data set begins."""
        return f"task {name}: " if name and not self.whole else ""

    def error(self, name: str, message: str) -> DataError:
        """What is wrong with a data set."""
        return DataError(f"{self.head(name)}{message}", self.place)


def same_items(
    ids: np.ndarray, content: np.ndarray, prompt: np.ndarray, model: np.ndarray, run: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """[N] keys, equal where items are the same, and whether logs mean different things by one.

    Items are the same if their ids are, unless two logs mean different things by one id (shuffled
    or other data): then equal content makes them the same. Prompts must agree in any case.

    Args:
      ids, content, prompt, model: [N] codes of the item, of hashes, and of the model.
      run: [N] code of the run of the model.
    """
    models = len(np.unique(model))
    conflicts = _distinct(ids, content) > 1
    unsure = conflicts.any() or not np.any(_distinct(ids, model) == models)
    if not (unsure and np.all(content >= 0)):
        return ids, conflicts | (_distinct(ids, prompt) > 1)
    # an id that logs use for different items is harmless where each is found by its content
    alone = _distinct(content, model) < models
    copies = _distinct(pairs(run, content), ids) > 1
    return content, (conflicts & alone) | copies | (_distinct(content, prompt) > 1)


def _distinct(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """[N] how many known values a row's key has."""
    _, keys = np.unique(keys, return_inverse=True)
    known = values >= 0
    first = np.unique(pairs(keys[known], values[known]), return_index=True)[1]
    return np.bincount(keys[known][first], minlength=len(keys))[keys]


def pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """[N] a number of each distinct pair of whole numbers from 0."""
    return first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second


def first_place(keys: np.ndarray) -> np.ndarray:
    """[N] the first place of each row's key."""
    _, places, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(places[inverse])
