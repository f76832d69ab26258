"""Notes folded by kind: what is said of many is said once, with its count."""

import re
from collections.abc import Iterable, Mapping

# of an exit code the number is the cause
_NUMBER = re.compile(r"(?<!exit code )(?<![\d.])\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)
_ASIDE = re.compile(r" \([^()]*\)")
_SUBJECT = re.compile(r"(task )?(\S+): (.+)")
_MOST = 8  # lines
_MOST_NAMED = 3  # of what a line is said


def alike(counts: Mapping[str, int]) -> list[tuple[int, str]]:
    """Lines that differ in numbers alone as one, the first of them; the most frequent first.

    Args:
      counts: line -> how often it occurs.
    """
    kinds: dict[str, list[str]] = {}
    for line in counts:
        kinds.setdefault(_NUMBER.sub("#", line), []).append(line)
    groups = [(sum(counts[line] for line in of), _first(of)) for of in kinds.values()]
    return sorted(groups, key=lambda group: -group[0])


def lines(notes: Iterable[str], noun: str = "file", details: bool = False) -> list[str]:
    """Notes as they are printed: "3 sweeps (a, b, c): not read: name", at most so many lines.

    Notes are of one kind that differ in numbers, or in what stands in brackets, alone.

    Args:
      notes: a line each; "task NAME: ..." is of a task, "NAME: ..." of a `noun`.
      details: all of them, as they are.
    """
    if details:
        return [*notes]
    kinds: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for note in notes:
        found = _SUBJECT.fullmatch(note)
        task, subject, said = found.groups() if found else (None, "", note)
        kind = _ASIDE.sub("", _NUMBER.sub("#", said))
        kinds.setdefault(("task" if task else noun, kind), []).append((subject, said))
    every = [_line(of, what) for (what, _), of in kinds.items()]
    more = len(every) - _MOST
    return every if more <= 1 else [*every[:_MOST], f"{more} more notes: --details"]


def _line(notes: list[tuple[str, str]], noun: str) -> str:
    """One kind of note."""
    names, said = ([*dict.fromkeys(filter(None, of))] for of in zip(*notes, strict=True))
    bare = {_ASIDE.sub("", line) for line in said}
    what = bare.pop() if len(said) > 1 == len(bare) else _first(said)
    if len(names) < 2:
        return "".join(f"{name}: " for name in names) + what
    shown = ", ".join(names[:_MOST_NAMED]) + (" ..." if len(names) > _MOST_NAMED else "")
    return f"{len(names)} {noun}s ({shown}): {what}"


def _first(lines: list[str]) -> str:
    return lines[0] + (" (numbers differ)" if lines[1:] else "")
