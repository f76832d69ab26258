"""Differences between two recordings, beyond what the rules beside the older one allow.

Rules are lists in NAME.rules.json beside NAME.json.gz. Each rule is a list of a path, of what
becomes of it, and of its reason:

    {"renamed": [["json.*.pairs.*.p", "json.*.pairs.*.p_value", "one name for p-values"],
                 ["json.*.signature", null, "nobody reads it", "compare: *"]],
     "added": [["json.*.seconds", "how long it took"]],
     "changed": [["json.*.p_value", "exact for small samples", "compare: few*"]],
     "dropped_commands": [["sweep: *", "the verb has gone"]],
     "dropped_figures": [["profiles*", "the figure has gone"]]}

A path names leaves of a recording: json.j.pairs.0.difference.estimate of out/j.json,
figures.violins.axes.0.lines.2.xy.5.1, files.t_tex of out/t.tex, exit.0 of the first line. Dots in
keys are underscores. In `renamed`, `*` is one key and `**` one or several, null drops a leaf, a
rule also moves all that lies below, and the first that fits counts. A last item is a pattern of
commands. Dropped leaves are not compared: `golden_commands.py check` says how many they are.
"""

import difflib
import fnmatch
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

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


class Rules(NamedTuple):
    """What was renamed, added, changed or dropped on purpose since a recording."""

    renamed: tuple[list, ...] = ()
    added: tuple[list, ...] = ()
    changed: tuple[list, ...] = ()
    dropped_commands: tuple[list, ...] = ()
    dropped_figures: tuple[list, ...] = ()

    def apply(self, leaves: dict[str, Any], command: str) -> dict[str, Any]:
        """Leaves of a recording by the paths that they have now, without those dropped."""
        rules = [(f"figures.{of}", None, "*") for of, _ in self.dropped_figures]
        rules += [(*rule[:2], rule[3] if len(rule) > 3 else "*") for rule in self.renamed]
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

    def drops(self, command: str) -> bool:
        """Whether a command was dropped on purpose."""
        return any(fnmatch.fnmatch(command, of) for of, _ in self.dropped_commands)

    def adds(self, path: str, command: str) -> bool:
        """Whether a leaf that the recording lacks is there on purpose."""
        return any(
            fnmatch.fnmatch(path, of) and fnmatch.fnmatch(command, (*more, "*")[0])
            for of, _, *more in self.added
        )

    def changes(self, path: str, command: str) -> bool:
        """Whether a leaf differs on purpose."""
        return any(
            fnmatch.fnmatch(path, of) and fnmatch.fnmatch(command, commands)
            for of, _, commands in self.changed
        )


def read_rules(recording: Path) -> Rules:
    """The rules beside a recording; none without a file of them."""
    path = recording.with_name(recording.name.removesuffix(".json.gz") + ".rules.json")
    return Rules(**json.loads(path.read_text())) if path.exists() else Rules()


def differences(
    command: str, before: dict, after: dict, rules: Rules
) -> Iterator[tuple[str, str]]:
    """Kind (exit, json, figures, files, words, numbers in words, text) and what differs."""
    kinds = ("exit", "json", "figures", "files", "text")
    old, new = (
        dict(flat(_numbered_ids({k: of[k] for k in kinds if of[k]}))) for of in (before, after)
    )
    old = rules.apply(old, command)  # of what was empty nothing is lost
    old = {path: of for path, of in old.items() if path in new or of not in (None, {}, [])}
    added = {path: of for path, of in new.items() if path in old or not rules.adds(path, command)}
    for side, leaves, others in (("lost", old, new), ("new", added, old)):
        for path, count in _alone(leaves, others):
            leaf = json.dumps(leaves[path])[:80] if path in leaves else f"{count} leaves"
            yield path.partition(".")[0], f"{side} {path}: {leaf}"
    for path in old:
        if path in new and not (_equal(old[path], new[path]) or rules.changes(path, command)):
            yield _kind(path, old[path], new[path]), f"{path}: {_said(old[path], new[path])}"


def _equal(old: Any, new: Any) -> bool:
    """To the last bit; 2 and 2.0 alike."""
    return ({type(old), type(new)} == {int, float} and old == new) or repr(old) == repr(new)


def _alone(leaves: dict, others: dict) -> Iterator[tuple[str, int]]:
    """The shortest paths of which the others have nothing, and how many leaves are there."""
    known = {path[:k] for path in others for k in _ends(path)}
    counts: dict[str, int] = {}
    for path in leaves:
        if path not in others:
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


def _numbers(recorded: dict[str, dict], rules: Rules) -> tuple[int, int]:
    """How many numbers were recorded, but in texts, and how many of them are compared."""
    count = compared = 0
    for name, of in recorded.items():
        leaves = dict(flat({kind: of[kind] for kind in ("json", "figures", "files") if of[kind]}))
        count += sum(isinstance(leaf, int | float) for leaf in leaves.values())
        kept = {} if rules.drops(name) else rules.apply(leaves, name)
        compared += sum(isinstance(leaf, int | float) for leaf in kept.values())
    return count, compared


def check(
    before: dict, after: Iterator[tuple[str, dict]], rules: Rules, text: bool, whole: bool
) -> int:
    """Prints what differs; how much of it counts.

    Args:
      before: what was recorded of the commands that are run.
      rules: what differs on purpose.
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
        for kind, said in differences(name, before[name], of, rules):
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
    left = {name for name in left if not rules.drops(name)}
    for name in sorted(left):
        print(f"{name}: recorded, and no command any more")
    failed += len(left)
    numbers, compared = _numbers(before, rules)
    print(f"{numbers} numbers recorded, of which {numbers - compared} are dropped on purpose")
    told = ", ".join(f"{count} {kind}" for kind, count in total.items())
    print(f"{failed} differences; told apart: {told}")
    return failed
