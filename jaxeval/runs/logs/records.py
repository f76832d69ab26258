"""Scores and texts of items as readers of logs give them, and what all readers need."""

import dataclasses
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from jaxeval.data import text
from jaxeval.errors import DataError, parsing
from jaxeval.files import Json
from jaxeval.runs.layout import Layout
from jaxeval.runs.metrics import Key
from jaxeval.runs.normal import Rows

MOST_BYTES = 1 << 30  # of a JSON file, or of a member of an archive


class Record(NamedTuple):
    """A score of an answer; "" is unknown."""

    model: str
    dataset: str  # the task
    metric: str = ""  # "" for a failed answer, which belongs to all metrics
    item: str = ""
    score: float | None = None  # None for an answer without one
    seed: str = ""  # name of the run within its log
    sample: int = 1  # number of the answer, if a run answers an item several times
    cluster: str = ""
    content: str = ""  # hash of what two logs must agree on: the item's question, gold and prompt


class Text(NamedTuple):
    """The texts of an item in one log; "" is unknown."""

    question: str = ""
    expected: str = ""
    answer: str = ""


@dataclasses.dataclass(frozen=True)
class Log:
    """A log, how it is to be read, and what its reader notes."""

    path: Path
    read: "Reader"  # its reader
    model: str = ""  # the model's name by NAME=PATH, or ""
    layout: Layout = dataclasses.field(default_factory=Layout)
    notes: Counter[str] = dataclasses.field(default_factory=Counter)  # note -> how often
    # (task, metric) -> whether higher is better
    directions: dict[Key, bool] = dataclasses.field(default_factory=dict)
    # (model, task) -> settings of the model, see `settings`
    settings: dict[Key, str] = dataclasses.field(default_factory=dict)
    # the evaluation, if it may have been tried again, -> when
    tried: dict[tuple[str, ...], str] = dataclasses.field(default_factory=dict)

    def label(self, value: object, what: str, line: int | None = None) -> str:
        """Returns an identifying name or number as text; raises DataError for other values."""
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            message = f"{what}: expected a name or a number, found {str(value)[:40]!r}"
            raise DataError(message, self.path, line)
        return str(value)

    def cluster(self, data: Json, item: str, line: int | None = None) -> str:
        """Returns the cluster of an item by its data; raises DataError if the data has none."""
        key = self.layout.cluster
        value = dig(data, key) if key else ""
        if key and (value in (None, "") or isinstance(value, Mapping | list)):
            keys = ", ".join([*members(data)][:12]) or "none"
            found = f"item {item:.60}: no {key!r} to cluster it by; its keys are {keys}"
            raise DataError(found, self.path, line)
        return str(value)

    def note_missing(self, held: int, counted: object) -> None:
        """Notes that the log holds fewer answers than its own results count."""
        answers = number(counted) or 0.0
        if held < answers < math.inf:
            found = f"holds {held} of the {answers:.0f} answers that its results count"
            self.notes[f"{self.path}: {found}: cut, or not all were asked for"] += 1


Reader = Callable[[Log], Iterator[Record] | Rows]


def read_json(path: Path) -> Json:
    """Reads a JSON file; raises DataError if it is none, or too large."""
    text.refuse_pointer(path)
    with parsing("cannot be read", path, passing=(MemoryError,)), path.open("rb") as stream:
        raw = stream.read(MOST_BYTES + 1)
    return parse_json(raw, MOST_BYTES, path)


def parse_json(raw: bytes, most: int, path: Path, head: str = "") -> Json:
    """Parses the bytes of a log; raises DataError if they are more than `most`, or no JSON."""
    if len(raw) > most:
        raise DataError(f"{head}expected at most {most} bytes, or as many as it declares", path)
    with parsing(f"{head}not valid JSON", path):
        return json.loads(raw)


def dig(tree: Json, *keys: str | int) -> Json:
    """Returns what stands under keys of objects and places of lists; None if nothing does."""
    for key in keys:
        if isinstance(key, str):
            tree = tree.get(key) if isinstance(tree, Mapping) else None
        else:
            tree = tree[key] if isinstance(tree, list) and len(tree) > key else None
    return tree


def members(tree: Json, *keys: str | int) -> Mapping[str, Json]:
    """Returns the members of the JSON object under some keys; none of other values."""
    found = dig(tree, *keys)
    return found if isinstance(found, Mapping) else {}


def objects(tree: Json, *keys: str | int) -> list[Mapping[str, Json]]:
    """Returns the objects of the JSON list under some keys; none of other values."""
    found = dig(tree, *keys)
    return [*map(members, found)] if isinstance(found, list) else []


def digest(tree: Json) -> str:
    """Returns a hash of JSON data without keys "id", which programs draw at random."""

    def without_ids(tree: Json) -> Json:
        if isinstance(tree, Mapping):
            return {key: without_ids(value) for key, value in tree.items() if key != "id"}
        return [*map(without_ids, tree)] if isinstance(tree, list) else tree

    whole = json.dumps(without_ids(tree), sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()


def settings(*given: Json) -> str:
    """Returns as text the settings that tell two models of one name apart; seeds do not."""
    found = []
    for tree in given:
        named = (f"{k}={value}" for k, value in sorted(members(tree).items()) if value is not None)
        words = tree.split(",") if isinstance(tree, str) else named
        found += [word for word in words if word and "seed" not in word.partition("=")[0]]
    return ",".join(found)


def number(value: object) -> float | None:
    """Returns a score as a float, 1 for true; None if it is not a number."""
    try:
        return float(value) if isinstance(value, bool | int | float) else None
    except OverflowError:
        return None


def plain(value: object) -> str:
    """Returns words as they are, messages as "role: words", and other data as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    parts = value if isinstance(value, list) else []
    if parts and all(isinstance(part, Mapping) for part in parts):
        said = ((p.get("role"), p.get("content", p.get("text"))) for p in parts)
        return "\n\n".join(f"{role}: {plain(of)}" if role else plain(of) for role, of in said)
    if parts and all(isinstance(part, str) for part in parts):
        return "\n".join(parts)
    return json.dumps(value, ensure_ascii=False, default=str)


def first(values: Json) -> Json:
    """Returns the first of a list; a value that is no list, itself."""
    return dig(values, 0) if isinstance(values, list) else values
