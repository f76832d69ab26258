"""Notes folded by kind: what is said of many is said once, with its count."""

import re
from collections.abc import Iterable, Mapping, Sequence

# of an exit code the number is the cause
_NUMBER = re.compile(r"(?<!exit code )(?<![\d.])\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)


def alike(counts: Mapping[str, int]) -> list[tuple[int, str]]:
    """Lines that differ in numbers alone as one, the first of them; the most frequent first.

    Args:
      counts: line -> how often it occurs.
    """
    groups = [
        (sum(counts[line] for line in lines), _first(lines)) for lines in _kinds(counts).values()
    ]
    return sorted(groups, key=lambda group: -group[0])


def folded(notes: Sequence[tuple[str, str]], noun: str) -> list[str]:
    """A line a kind of note, in the order of their first: "3 sweeps (a ...): not read: name".

    Args:
      notes: of what, and what is said of it; what is of nothing has "".
      noun: what the notes are of.
    """
    of: dict[str, dict[str, list[str]]] = {}
    for subject, said in notes:
        of.setdefault(_NUMBER.sub("#", said), {}).setdefault(said, []).append(subject)
    return [
        _line([*kind], [s for subjects in kind.values() for s in subjects], noun)
        for kind in of.values()
    ]


def _line(said: Sequence[str], subjects: Sequence[str], noun: str) -> str:
    names = [name for name in dict.fromkeys(subjects) if name]
    if not names:
        return _first(said)
    if len(names) == 1:
        return f"{names[0]}: {_first(said)}"
    return f"{len(names)} {noun}s ({names[0]} ...): {_first(said)}"


def _kinds(lines: Iterable[str]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for line in lines:
        kinds.setdefault(_NUMBER.sub("#", line), []).append(line)
    return kinds


def _first(lines: Sequence[str]) -> str:
    return lines[0] + (" (numbers differ)" if lines[1:] else "")
