"""What a runs folder holds, in words: kinds of experiments, and the data sets behind them."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Literal

from jaxeval.runs.records import MemberRow

Kind = Literal["seeds", "sweep", "tuning", "noise", "neighbourhood"]
_MOST_LISTED = 12
_LEAST = 4  # characters of the beginning of an id
_MOST_KEYS = 6  # that a line shows with their values
_LONGEST = 40  # characters of a value
READ_WITH = {
    "sweep": "a random sweep: jaxeval sensitivity",
    "noise": "repeated runs: jaxeval noise",
    "neighbourhood": "changed settings: jaxeval neighbourhood",
    "tuning": "settings of a search: jaxeval tune",
}


def kind(members: Sequence[MemberRow]) -> Kind:
    """What the members of one experiment differ in: "seeds" (or splits), or what a study varies.

    Read from the records; repeated runs of which none has been repeated yet are runs of seeds.
    """
    config = json.loads(members[0].config)
    keys = config if isinstance(config, dict) else {}
    if "sweep" in keys or "tuning" in keys:
        return "sweep" if "sweep" in keys else "tuning"
    if any(row.repeat for row in members):
        return "noise"
    return "neighbourhood" if any(row.hparams != "{}" for row in members) else "seeds"


def by_experiment(rows: Sequence[MemberRow]) -> list[list[MemberRow]]:
    """Rows grouped by experiment, in their order."""
    groups: dict[str, list[MemberRow]] = {}
    for row in rows:
        groups.setdefault(row.experiment, []).append(row)
    return list(groups.values())


def ids_of(names: Mapping[str, str], asked: str) -> list[str]:
    """The experiments of a name, else the one whose id begins with four or more characters.

    `names`: id -> name.
    """
    named = [key for key, name in names.items() if name == asked]
    begun = [key for key in names if len(asked) >= _LEAST and key.startswith(asked)]
    return named or (begun if len(begun) == 1 else [])


def model_of(names: Mapping[str, str], models: Collection[str], asked: str) -> str | None:
    """The model that a text means: of this name, else that of the one experiment of `ids_of`."""
    ids = [] if asked in models else ids_of(names, asked)
    return asked if asked in models else names[ids[0]] if len(ids) == 1 else None


def with_ids(names: Mapping[str, str]) -> str:
    """Experiments for a message: each by its name and its id, what `ids_of` takes."""
    shown = [f"{name} ({key})" for key, name in list(names.items())[:_MOST_LISTED]]
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(shown) + more


def listed(rows: Sequence[MemberRow]) -> str:
    """The experiments of some rows for a message: name, runs, metric, and what else they are."""
    groups, said = by_experiment(rows), []
    for members in groups[:_MOST_LISTED]:
        other = READ_WITH.get(kind(members))
        runs = f"{len(members)} run{'s' if len(members) > 1 else ''} of {members[0].metric}"
        said.append(f"{members[0].name} ({runs}{'; ' + other if other else ''})")
    more = len(groups) - len(said)
    return ", ".join(said) + (f" and {more} more" if more else "")


def difference(a: MemberRow, b: MemberRow) -> str | None:
    """The keys in which the configs of two members differ, with their values; None: in no key."""
    trees = [dict(leaves(json.loads(row.config))) for row in (a, b)]
    said = []
    for key in dict.fromkeys([*trees[0], *trees[1]]):
        values = [json.dumps(of[key], sort_keys=True) if key in of else "absent" for of in trees]
        if key != "name" and values[0] != values[1]:
            cut = (v if len(v) <= _LONGEST else f"{v[:_LONGEST]}..." for v in values)
            said.append(f"{key}: {', '.join(cut)}")
    if len(said) > _MOST_KEYS:
        return f"{len(said)} keys of their configs"
    return "; ".join(said) or None


def leaves(tree: object, above: str = "") -> Iterator[tuple[str, object]]:
    """Dotted keys and values; of an empty table the table itself."""
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from leaves(value, f"{above}.{key}" if above else key)
    else:
        yield above, tree


def dataset_names(rows: Sequence[MemberRow]) -> dict[str, str]:
    """data_hash -> a name: of its place the last part, or all of it, and the hash if need be."""
    locations: dict[str, str] = {}
    for row in rows:
        locations.setdefault(row.data_hash, row.data)
    last = {key: PurePath(location).name or key for key, location in locations.items()}
    whole = {key: location or key for key, location in locations.items()}
    hashed = {key: f"{name} ({key[:8]})" for key, name in last.items()}
    each = (names for names in (last, whole, hashed) if len({*names.values()}) == len(names))
    return next(each, {key: key for key in locations})
