"""Records of experiments, members and scores by epoch, and how messages name them."""

import dataclasses
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.runs.columns import listed
from jaxeval.runs.layout import leaves

MEMBER = ("experiment", "seed", "split", "repeat", "hparams")  # the fields that name a member
MemberKey = tuple[int, int, int, str]  # those of a member within its experiment
_Status = Literal["finished", "early_stopped", "diverged", "failed", "paused"]
Kind = Literal["seeds", "sweep", "tuning", "noise", "neighbourhood"]
_SHORTEST_ID = 4
_MOST_KEYS = 6  # that a line shows with their values
_LONGEST_VALUE = 40
_NO_SCORE = {"name", "training.lanes", "training.save_models", "training.checkpoint_every"}
READ_WITH = {
    "sweep": "settings drawn at random: jaxeval sensitivity",
    "noise": "repeated runs: jaxeval noise",
    "neighbourhood": "changed settings: jaxeval neighbourhood",
    "tuning": "settings of a search: jaxeval tune",
}


@dataclasses.dataclass(frozen=True)
class Experiment:
    """Config and data of a set of members; no member of one id is trained twice."""

    id: str  # hash of config and data
    name: str
    task: str
    metric: str
    higher_is_better: bool
    unit: str  # of the metric: "fraction", "bits" ...
    margin: float  # smaller differences of the metric count as equal
    config: str  # full canonical JSON
    config_hash: str
    data: str  # path or URL
    data_hash: str
    facts: str = "{}"  # canonical JSON: sizes of the data, coverage of vectors, unseen symbols


@dataclasses.dataclass(frozen=True)
class _Member:
    experiment: str
    seed: int
    split: int
    repeat: int  # 0, unless the same seed is trained several times
    hparams: str  # canonical JSON of changes to the config, "{}" for none


@dataclasses.dataclass(frozen=True)
class MemberResult(_Member):
    """The end of a member's training. Scores are fractions, at the epoch that is scored."""

    status: _Status
    epochs: int
    best_epoch: int | None
    dev: float | None
    test: float | None
    wall_seconds: float  # the member's share of its population's time
    lanes: str  # mode and width, such as "map:8"
    jax: str
    flax: str
    jaxeval: str
    device: str
    message: str = ""


@dataclasses.dataclass(frozen=True)
class EpochScore(_Member):
    """One metric of a member after an epoch (from 1) on a part of the data."""

    epoch: int
    part: str  # train, dev or test
    metric: str
    value: float | None  # None if not finite


@dataclasses.dataclass(frozen=True)
class Outcomes(_Member):
    """Counts of right and wrong answers of a member, item by item."""

    part: str
    names: tuple[str, ...]  # of the counts, whose sums over the items give the part's score
    counts: np.ndarray  # [items, names] float32, in the order of the items in the data


class MemberRow(NamedTuple):
    """A member with its experiment: one row of the tidy table."""

    name: str
    experiment: str
    task: str
    metric: str
    higher_is_better: bool
    unit: str
    margin: float
    split: int
    seed: int
    repeat: int
    hparams: str
    status: str
    epochs: int
    best_epoch: int | None
    dev: float | None
    test: float | None
    wall_seconds: float
    lanes: str
    jax: str
    flax: str
    jaxeval: str
    device: str
    message: str
    config: str
    config_hash: str
    data: str
    data_hash: str

    @property
    def never_learned(self) -> bool:
        """True if dev never left 0: no epoch was best, and the test score is the last epoch's."""
        return self.test is not None and self.best_epoch is None


class CurveRow(NamedTuple):
    """One score by epoch, with its experiment."""

    name: str
    experiment: str
    split: int
    seed: int
    repeat: int
    hparams: str
    epoch: int
    part: str
    metric: str
    value: float | None


def key(row: MemberRow | CurveRow | Outcomes) -> tuple[str, int, int, int, str]:
    """Returns the key of a member: experiment, seed, split, repeat, hparams."""
    return row.experiment, row.seed, row.split, row.repeat, row.hparams


def kind(members: Sequence[MemberRow]) -> Kind:
    """Returns in what the members of one experiment differ; "seeds" also means splits."""
    config = json.loads(members[0].config)
    keys = config if isinstance(config, dict) else {}
    if "sweep" in keys or "tuning" in keys:
        return "sweep" if "sweep" in keys else "tuning"
    if any(row.repeat for row in members):
        return "noise"
    return "neighbourhood" if any(row.hparams != "{}" for row in members) else "seeds"


def by_experiment(rows: Sequence[MemberRow]) -> list[list[MemberRow]]:
    """Groups rows by experiment, in their order."""
    groups: dict[str, list[MemberRow]] = {}
    for row in rows:
        groups.setdefault(row.experiment, []).append(row)
    return list(groups.values())


def find_ids(names: Mapping[str, str], asked: str) -> list[str]:
    """Returns the ids of the experiments of a name, else the one id that begins so.

    `names`: id -> name.
    """
    named = [key for key, name in names.items() if name == asked]
    begun = [key for key in names if len(asked) >= _SHORTEST_ID and key.startswith(asked)]
    return named or (begun if len(begun) == 1 else [])


def find_model(names: Mapping[str, str], models: Collection[str], asked: str) -> str | None:
    """Returns the model of this name, else that of the one experiment of this id or name."""
    ids = [] if asked in models else find_ids(names, asked)
    return asked if asked in models else names[ids[0]] if len(ids) == 1 else None


def told_apart(names: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns names by id; those that several ids share get the beginning of theirs."""
    known = dict(names)
    shared = Counter(known.values())
    return {id: f"{name} ({id[:8]})" if shared[name] > 1 else name for id, name in known.items()}


def describe_ids(names: Mapping[str, str]) -> str:
    """Returns the names and ids of experiments for a message."""
    return listed((f"{name} ({key})" for key, name in names.items()), longest=None)


def describe(rows: Sequence[MemberRow]) -> str:
    """Returns the experiments of some rows for a message: name, runs, metric, verb to read it."""
    shown = []
    for members in by_experiment(rows):
        other = READ_WITH.get(kind(members))
        runs = f"{len(members)} run{'s' if len(members) > 1 else ''} of {members[0].metric}"
        shown.append(f"{members[0].name} ({runs}{'; ' + other if other else ''})")
    return listed(shown, longest=None)


def difference(a: MemberRow, b: MemberRow) -> str | None:
    """Returns the keys in which two configs differ, with their values; None if in no key."""
    trees = [{k: v for k, v in leaves(json.loads(row.config)) if v != {}} for row in (a, b)]
    shown = []
    for key in dict.fromkeys([*trees[0], *trees[1]]):
        values = [json.dumps(t[key], sort_keys=True) if key in t else "absent" for t in trees]
        if key not in _NO_SCORE and values[0] != values[1]:
            cut = (v if len(v) <= _LONGEST_VALUE else f"{v[:_LONGEST_VALUE]}..." for v in values)
            shown.append(f"{key}: {', '.join(cut)}")
    if len(shown) > _MOST_KEYS:
        return f"{len(shown)} keys of their configs"
    return "; ".join(shown) or None


def dataset_names(rows: Sequence[MemberRow]) -> dict[str, str]:
    """Returns data_hash -> a name that is unique: the file's name, its path, or with the hash."""
    whole: dict[str, str] = {}
    for row in rows:
        whole.setdefault(row.data_hash, row.data or row.data_hash)
    last = {key: PurePath(location).name or key for key, location in whole.items()}
    hashed = {key: f"{name} ({key[:8]})" for key, name in last.items()}
    each = (names for names in (last, whole, hashed) if len({*names.values()}) == len(names))
    return next(each, {key: key for key in whole})
