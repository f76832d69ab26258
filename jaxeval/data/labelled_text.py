"""Classified texts, and their formats of lines: tab-separated, binary SST, TREC, three lines."""

import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxeval.data import folders, text
from jaxeval.errors import DataError

_SST = {"0": "negative", "1": "positive"}
_HOLE = "$T$"
_THREE_LINE = {"-1": "negative", "0": "neutral", "1": "positive"}


class Target(NamedTuple):
    """What a label is of: from `start` to before `end`, in characters or words; 0, 0: a text."""

    start: int
    end: int
    label: str


class LabelledText(NamedTuple):
    """A text, its targets in the order in which they stand in it, and the line of each."""

    text: str
    targets: tuple[Target, ...]  # in characters
    lines: tuple[int, ...] = ()  # empty: unknown


class LabelledTexts(NamedTuple):
    """The texts of a file.

    Attributes:
      targeted: whether labels are of targets.
      tokenised: whether words are what stands between blanks.
      dropped: why targets were left out, and how many.
    """

    texts: Sequence[LabelledText]
    targeted: bool
    tokenised: bool
    dropped: Mapping[str, int] = types.MappingProxyType({})


def by_text(targets: Iterable[tuple[int, str, Target]]) -> list[LabelledText]:
    """Texts with all their targets, of lines; equal texts are one, in the place of the first."""
    collected: dict[str, list[tuple[int, Target]]] = {}
    for line, content, target in targets:
        collected.setdefault(content, []).append((line, target))
    return [with_targets(content, of_text) for content, of_text in collected.items()]


def with_targets(content: str, targets: Iterable[tuple[int, Target]]) -> LabelledText:
    """A text with targets as they stand in it; of one place, in the order given."""
    ordered = sorted(targets, key=lambda target: target[1][:2])
    return LabelledText(content, tuple(t for _, t in ordered), tuple(n for n, _ in ordered))


def whole(rows: Iterable[tuple[int, str, str]], tokenised: bool) -> LabelledTexts:
    """Texts without targets, of lines, texts and labels."""
    texts = [LabelledText(content, (Target(0, 0, label),), (n,)) for n, content, label in rows]
    return LabelledTexts(texts, targeted=False, tokenised=tokenised)


def read_tsv(path: str | Path) -> LabelledTexts:
    """Lines of a text, a tab and its label.

    Raises:
      DataError: a line without either.
    """
    rows = text.columns(path, {"text": 1, "label": 2})
    return whole(((n, row["text"], row["label"].strip()) for n, row in rows), False)


def read_sst(path: str | Path) -> LabelledTexts:
    """Lines of a label, 0 (negative) or 1, and a text in words (Socher et al. 2013).

    Raises:
      DataError: another label, no text.
    """
    rows = _after_label(text.iterate_lines(path), path, "0 or 1", _SST.get)
    return whole(rows, True)


def read_trec(path: str | Path) -> LabelledTexts:
    """Lines such as `DESC:manner How did ...` in Latin-1; the label is DESC (Li & Roth 2002).

    Raises:
      DataError: a line without label or text.
    """

    def coarse(label: str) -> str:
        return label.partition(":")[0] if ":" in label else ""

    lines = text.read_bytes(path).decode("latin-1").removesuffix("\n").split("\n")
    return whole(_after_label(lines, path, "LABEL:detail", coarse), True)


def _after_label(
    lines: Iterable[str],
    path: str | Path,
    expected: str,
    name_of: Callable[[str], str | None],
) -> Iterator[tuple[int, str, str]]:
    """Number, text and label of lines of a label, a blank and a text."""
    for number, line in enumerate(lines, 1):
        label, _, content = line.partition(" ")
        name = name_of(label)
        if not (name and content.strip()):
            message = f"expected {expected}, a blank and a text, found {line[:40]!r}"
            raise DataError(f"{message}; {folders.OTHER_FORMAT}", path, number)
        yield number, content, name


def read_three_line(path: str | Path) -> LabelledTexts:
    """Blocks of three lines (.raw, .seg): a text with `$T$` for its target, the target, its label.

    Each text stands once, with the targets of all its blocks; blanks part words. A block is one
    target, at its first `$T$`. Further ones (tweets of Dong et al. 2014) stand for the target's
    words too, and are no targets of their own.

    Raises:
      DataError: a block that is cut short, a text without `$T$`, no target, an unknown label.
    """
    targets, block, number = [], list[str](), 0
    for number, line in enumerate(text.iterate_lines(path), 1):
        if block or line.strip():  # blank lines may stand between blocks
            block.append(line)
        if len(block) == 3:
            targets.append((number, *_target(block, path, number - 2)))
            block = []
    if block:
        expected = "expected three lines: a text with $T$, a target, a label"
        raise DataError(expected, path, number - len(block) + 1)
    return LabelledTexts(by_text(targets), targeted=True, tokenised=True)


def _target(lines: list[str], path: str | Path, number: int) -> tuple[str, Target]:
    """The text of a block, its words parted by single blanks, and its target."""
    before, hole, after = lines[0].partition(_HOLE)
    words = " ".join(lines[1].split())
    label = _THREE_LINE.get(lines[2].strip())
    if not hole:
        raise DataError(f"expected a text with {_HOLE} for its target", path, number)
    if not words:
        raise DataError("the target is empty", path, number + 1)
    if label is None:
        message = f"label {lines[2].strip()!r}; expected {', '.join(_THREE_LINE)}"
        raise DataError(message, path, number + 2)
    start = len(" ".join([*before.split(), ""]))
    content = f"{before} {words} {after.replace(_HOLE, f' {words} ')}"
    return " ".join(content.split()), Target(start, start + len(words), label)
