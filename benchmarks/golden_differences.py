"""What differs between two recordings, beyond what golden_rules.py allows."""

import difflib
import fnmatch
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

from golden_rules import ADDED, CHANGED, DROPPED_COMMANDS, DROPPED_FIGURES, RENAMED

_NUMBER = re.compile(r"(?<![\w.])-?\d*\.?\d+(?:e[+-]?\d+)?")
_PAPER = r"_(tex|md|xml)$"  # files with captions
_SHOWN_IN = r"\.(title|left_title|label|ticks|texts|legends?)(\.|$)"  # of a figure
_SHOWN = 12  # differences of a kind and command
# ids of experiments and hashes, which are others wherever a config has another key
_ID = re.compile(r"(?<![0-9a-zA-Z.])(?=[0-9]*[a-f])[0-9a-f]{16}(?![0-9a-zA-Z])")


def _numbered_ids(tree: dict[str, Any]) -> Any:
    """A recording with ids by number, in the order in which they first stand in it.

    Hashes of data stay. Tables of runs, which are sorted by id, have no ids, and are sorted by
    their other columns.
    """
    numbers = {of: of for of in _hashes_of_data(tree)}
    ids = itertools.count(1)
    files = {name: _without_ids(of) for name, of in tree.get("files", {}).items()}
    text = json.dumps({**tree, **({"files": files} if files else {})})
    for found in _ID.findall(text):
        if found not in numbers:
            numbers[found] = f"id{next(ids)}"
    return json.loads(_ID.sub(lambda found: numbers[found[0]], text))


def _hashes_of_data(tree: Any, inside: bool = False) -> Iterator[str]:
    if isinstance(tree, str) and inside:
        yield tree
    for key, of in tree.items() if isinstance(tree, dict) else ():
        yield from _hashes_of_data(of, key == "data_hash")
    for of in tree if isinstance(tree, list) else ():
        yield from _hashes_of_data(of, inside)


def _without_ids(table: Any) -> Any:
    if not isinstance(table, dict) or not isinstance(table.get("experiment"), list):
        return table
    ids = ("experiment", "config_hash")
    names = [n for n, of in table.items() if isinstance(of, list) and n not in ids]  # of no clock
    rows = sorted(zip(*(table[name] for name in names), strict=True), key=repr)
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def flat(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a tree by path: keys with dots between them, places in lists as numbers."""
    items = list(enumerate(tree)) if isinstance(tree, list) else tree
    if isinstance(items, dict):
        items = [(k.removesuffix(".json").replace(".", "_"), of) for k, of in items.items()]
    if not isinstance(tree, dict | list) or not items:
        yield path, tree
        return
    for key, of in items:
        yield from flat(of, f"{path}.{key}" if path else str(key))


def renamed(leaves: dict[str, Any], command: str) -> dict[str, Any]:
    """Leaves of a recording by the paths that they have now; those dropped on purpose left out."""
    rules = [(f"figures.{of}", None, "*") for of, _ in DROPPED_FIGURES]
    rules += [(*rule[:2], rule[3] if len(rule) > 3 else "*") for rule in RENAMED]
    mine = [
        (re.compile(re.escape(old).replace(r"\*\*", "(.+)").replace(r"\*", "([^.]+)")), new)
        for old, new, commands in rules
        if old and fnmatch.fnmatch(command, commands)
    ]
    after: dict[str, Any] = {}
    for path, leaf in leaves.items():
        for old, new in mine:  # the first that fits; it also moves all that is below
            if (found := re.fullmatch(f"{old.pattern}(\\..*)?", path)) is not None:
                *parts, rest = found.groups()
                for part in parts if new else ():
                    new = re.sub(r"\*\*|\*", lambda _, part=part: part, new, count=1)
                path = None if new is None else new + (rest or "")
                break
        while path in after:  # of two that are one now, both must be as they were
            path += ", again"
        if path is not None:
            after[path] = leaf
    return after


def _is_dropped(command: str) -> bool:
    return any(fnmatch.fnmatch(command, of) for of, _ in DROPPED_COMMANDS)


def is_added(path: str, command: str) -> bool:
    """Whether a leaf that the recording lacks is there on purpose."""
    return any(
        fnmatch.fnmatch(path, of) and fnmatch.fnmatch(command, (*more, "*")[0])
        for of, _, *more in ADDED
    )


def differences(command: str, before: dict, after: dict) -> Iterator[tuple[str, str]]:
    """Kind (exit, json, figures, files, words, numbers in words, text) and what differs."""
    kinds = ("exit", "json", "figures", "files", "text")
    old, new = (
        dict(flat(_numbered_ids({k: of[k] for k in kinds if of[k]}))) for of in (before, after)
    )
    old = renamed(old, command)  # of what was empty nothing is lost
    old = {path: of for path, of in old.items() if path in new or of not in (None, {}, [])}
    for side, leaves, others in (("lost", old, new), ("new", new, old)):
        for path, count in _alone(leaves, others, side == "new" and command):
            leaf = json.dumps(leaves[path])[:80] if path in leaves else f"{count} leaves"
            yield path.partition(".")[0], f"{side} {path}: {leaf}"
    for path in old:
        if path in new and not _equal(old[path], new[path], path, command):
            yield _kind(path, old[path], new[path]), f"{path}: {_said(old[path], new[path])}"


def _equal(old: Any, new: Any, path: str, command: str) -> bool:
    """To the last bit, 2 and 2.0 alike, or another one on purpose."""
    both = {type(old), type(new)} == {int, float} and old == new
    changed = (of for of in CHANGED if fnmatch.fnmatch(path, of[0]))
    return both or repr(old) == repr(new) or any(fnmatch.fnmatch(command, of[2]) for of in changed)


def _alone(leaves: dict, others: dict, command: str | bool) -> Iterator[tuple[str, int]]:
    """The shortest paths of which the others have nothing, and how many leaves are there."""
    known = {path[:k] for path in others for k in _ends(path)}
    counts: dict[str, int] = {}
    for path in leaves:
        if path not in others and not (command and is_added(path, str(command))):
            shortest = next((path[:k] for k in _ends(path) if path[:k] not in known), path)
            counts[shortest] = counts.get(shortest, 0) + 1
    return iter(counts.items())


def _ends(path: str) -> list[int]:
    return [*(k for k, letter in enumerate(path) if letter == "."), len(path)]


def _said(old: Any, new: Any) -> str:
    if isinstance(old, str) and isinstance(new, str) and "\n" in old + new:
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "", "", "", "", 0)
        return "\n      ".join(["", *(line for line in [*lines][2:40] if line[:2] != "@@")])
    return f"{json.dumps(old)} -> {json.dumps(new)}"


def _kind(path: str, old: Any, new: Any) -> str:
    """Words may change on purpose: sentences, and what stands in figures and captions."""
    kind = path.partition(".")[0]
    if kind == "text" or not (isinstance(old, str) and isinstance(new, str)):
        return kind
    equal = _NUMBER.findall(old) == _NUMBER.findall(new)
    if kind == "files":
        return "words" if equal and re.search(_PAPER, path) else kind
    if kind == "figures":
        return ("words" if equal else "numbers in words") if re.search(_SHOWN_IN, path) else kind
    if kind == "json" and all(
        re.search(r"[a-z]{2,}.* ", t) and t[0] not in "[{" for t in (old, new)
    ):
        return "words" if equal else "numbers in words"
    return kind


def _numbers(recorded: dict[str, dict]) -> tuple[int, int]:
    """How many numbers were recorded, but in texts, and how many of them are compared."""
    count = compared = 0
    for name, of in recorded.items():
        leaves = dict(flat({kind: of[kind] for kind in ("json", "figures", "files") if of[kind]}))
        count += sum(isinstance(leaf, int | float) for leaf in leaves.values())
        kept = {} if _is_dropped(name) else renamed(leaves, name)
        compared += sum(isinstance(leaf, int | float) for leaf in kept.values())
    return count, compared


def check(before: dict, after: Iterator[tuple[str, dict]], text: bool, whole: bool) -> int:
    """Prints what differs; how much of it counts.

    Args:
      before: what was recorded of the commands that are run.
      text: words too.
      whole: all of it.
    """
    left = {*before}
    failed, total = 0, dict.fromkeys(("numbers in words", "words", "text"), 0)
    for name, of in after:
        left.discard(name)
        if name not in before:
            print(f"{name}: not recorded")
            failed += 1
            continue
        by_kind: dict[str, list[str]] = {}
        for kind, said in differences(name, before[name], of):
            by_kind.setdefault(kind, []).append(said)
        counts = ", ".join(f"{len(said)} {kind}" for kind, said in by_kind.items())
        print(f"{name}: {counts or 'equal'} ({of['seconds']} s)", flush=True)
        for kind, said in by_kind.items():
            counted = kind in total
            if counted:
                total[kind] += len(said)
            else:
                failed += len(said)
            if not counted or text:
                most = len(said) if whole else _SHOWN
                print(*(f"    {kind}: {of}" for of in said[:most]), sep="\n")
                if len(said) > most:
                    print(f"    ... and {len(said) - most} more (--all)")
    left = {name for name in left if not _is_dropped(name)}
    for name in sorted(left):
        print(f"{name}: recorded, and no command any more")
    failed += len(left)
    numbers, compared = _numbers(before)
    print(f"{numbers} numbers recorded, of which {numbers - compared} are dropped on purpose")
    told = ", ".join(f"{count} {kind}" for kind, count in total.items())
    print(f"{failed} differences; told apart: {told}")
    return failed
