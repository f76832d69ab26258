"""What readers of logs give: a score of an answer to an item."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.runs.layout import Layout
from jaxeval.runs.scores import Status

Notes = Counter[str]  # what a user should know of the logs, and how often


class Source(NamedTuple):
    """A log, as it was asked for.

    Attributes:
      model: its model's name by NAME=PATH; "": the log says.
    """

    path: Path
    model: str = ""


class Record(NamedTuple):
    """A score.

    Attributes:
      model: as the log names it.
      dataset: the task; "" unknown.
      metric: "" of a failed answer: of all metrics.
      run: what tells runs within a log apart; "" where it holds one.
      sample: number of the answer, where a run answers an item several times.
      content: hash of what the item asks; "" unknown.
      prompt: hash of all else in which one item can differ between two logs; "" unknown.
      run_id: what names the run in other logs too, as where several files are parts of one run.
      name: what a user calls the run, on all tasks alike.
      unplaced: nothing says which task or run of its model a score is of.
      settings: of the model beside its name, as of `settings`; None: unknown.
    """

    model: str
    dataset: str
    metric: str
    item: str
    score: float
    run: str = ""
    sample: int = 1
    cluster: str = ""
    content: str = ""
    prompt: str = ""
    status: Status = Status.SCORED
    run_id: str = ""
    name: str = ""
    unplaced: bool = False
    higher_is_better: bool | None = None
    settings: str | None = None


Reader = Callable[[Source, Layout, Notes], Iterator[Record]]


def digest(tree: Json) -> str:
    """A hash of JSON data; ids that a program draws at random in it do not count."""
    text = json.dumps(_without_ids(tree), sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _without_ids(tree: Json) -> Json:
    if isinstance(tree, Mapping):
        return {key: _without_ids(value) for key, value in tree.items() if key != "id"}
    return [_without_ids(value) for value in tree] if isinstance(tree, list) else tree


def cluster_of(
    data: object, layout: Layout, source: Source, item: str, line: int | None = None
) -> str:
    """The cluster of an item, by its own data.

    Raises:
      DataError: the item does not say.
    """
    if not layout.cluster:
        return ""
    known = data if isinstance(data, Mapping) else {}
    value = known.get(layout.cluster)
    if value is not None and not isinstance(value, Mapping | list):
        return str(value)
    said = f"no {layout.cluster!r} to cluster it by"
    if layout.cluster in known:
        said = f"{layout.cluster!r} is no name or number to cluster it by"
    names = ", ".join(map(str, [*known][:12])) or "none"
    raise DataError(f"item {item:.60}: {said}; its keys are {names}", source.path, line)


def settings(*given: Json) -> str:
    """What makes two models of one name different, as text; seeds do not count."""
    found = []
    for tree in given:
        words = tree.split(",") if isinstance(tree, str) else []
        if isinstance(tree, Mapping):
            words = [f"{key}={value}" for key, value in sorted(tree.items()) if value is not None]
        found += [word for word in words if word and "seed" not in word.partition("=")[0]]
    return ",".join(found)


def label(value: object, what: str, source: Source, line: int | None = None) -> str:
    """A name or number that identifies something, as text.

    Raises:
      DataError: it is neither.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        message = f"{what}: expected a name or a number, found {str(value)[:40]!r}"
        raise DataError(message, source.path, line)
    return str(value)


def sample(value: object, source: Source, line: int | None = None) -> int:
    """The number of an answer; 1 where the log has none.

    Raises:
      DataError: no whole number.
    """
    if value is None:
        return 1
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        message = f"expected a whole number of an answer, found {str(value)[:40]!r}"
        raise DataError(message, source.path, line)
    return value


def note_lost(held: int, answered: object, source: Source, notes: Notes) -> None:
    """Notes that a log holds fewer answers than its results count.

    It may have been cut; and lm-evaluation-harness counts all, also where --samples chose some.

    Args:
      answered: the number as the log has it; no number: it does not say.
    """
    said = number(answered) or 0.0
    if held < said < math.inf:
        lost = f"holds {held} of the {said:.0f} answers that its results count"
        notes[f"{source.path}: {lost}: cut, or not all were asked for"] += 1


def number(value: object) -> float | None:
    """A score as a number: true is 1; None for what is none."""
    if isinstance(value, bool | int | float):
        try:
            return float(value)
        except OverflowError:
            return None
    return None
