"""Notes folded by kind: what is said of many is said once, with its count."""

import re
from collections.abc import Iterable, Mapping, Sequence

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
    groups = [
        (sum(counts[line] for line in lines), _first(lines)) for lines in _kinds(counts).values()
    ]
    return sorted(groups, key=lambda group: -group[0])


def folded(notes: Sequence[tuple[str, str]], noun: str) -> list[str]:
    """A line a kind of note, in the order of their first: "3 sweeps (a, b, c): not read: name".

    Notes are of one kind that differ in numbers, or in what stands in brackets, alone.

    Args:
      notes: of what, and what is said of it; what is of nothing has "".
      noun: what the notes are of.
    """
    of: dict[str, dict[str, list[str]]] = {}
    for subject, said in notes:
        of.setdefault(_ASIDE.sub("", _NUMBER.sub("#", said)), {}).setdefault(said, []).append(
            subject
        )
    return [
        _line([*kind], [s for subjects in kind.values() for s in subjects], noun)
        for kind in of.values()
    ]


def lines(notes: Iterable[str], noun: str = "file", details: bool = False) -> list[str]:
    """Notes as they are printed: folded by kind, at most so many lines.

    Args:
      notes: a line each; "task NAME: ..." is of a task, "NAME: ..." of a `noun`.
      details: all of them, as they are.
    """
    if details:
        return [*notes]
    parted: dict[str, list[tuple[str, str]]] = {}
    for note in notes:
        found = _SUBJECT.fullmatch(note)
        task, subject, said = found.groups() if found else (None, "", note)
        parted.setdefault("task" if task else noun, []).append((subject, said))
    every = [line for what, of in parted.items() for line in folded(of, what)]
    more = len(every) - _MOST
    return every if more <= 1 else [*every[:_MOST], f"{more} more notes: --details"]


def _line(said: Sequence[str], subjects: Sequence[str], noun: str) -> str:
    names = [name for name in dict.fromkeys(subjects) if name]
    bare = {_ASIDE.sub("", line) for line in said}
    what = bare.pop() if len(said) > 1 == len(bare) else _first(said)
    if not names:
        return what
    if len(names) == 1:
        return f"{names[0]}: {what}"
    shown = ", ".join(names[:_MOST_NAMED]) + (" ..." if len(names) > _MOST_NAMED else "")
    return f"{len(names)} {noun}s ({shown}): {what}"


def _kinds(lines: Iterable[str]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for line in lines:
        kinds.setdefault(_NUMBER.sub("#", line), []).append(line)
    return kinds


def _first(lines: Sequence[str]) -> str:
    return lines[0] + (" (numbers differ)" if lines[1:] else "")
