"""Blocks of three lines (.raw, .seg): a text with `$T$` for its target, the target, its label."""

from collections.abc import Iterator
from pathlib import Path

from jaxeval.data import labelled_text, text
from jaxeval.data.labelled_text import LabelledTexts, Target
from jaxeval.errors import DataError

_HOLE = "$T$"
_LABELS = {"-1": "negative", "0": "neutral", "1": "positive"}


def read(path: str | Path) -> LabelledTexts:
    """The texts of a file, each once with the targets of all its blocks; blanks part words.

    A block is one target, at its first `$T$`. Further ones (tweets of Dong et al. 2014) stand for
    the target's words too, and are no targets of their own.

    Raises:
      DataError: a block that is cut short, a text without `$T$`, no target, an unknown label.
    """
    targets = [_target(lines, path, number) for number, lines in _blocks(path)]
    return LabelledTexts(labelled_text.by_text(targets), targeted=True, tokenised=True)


def _blocks(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Number of the first line, and the lines of each block; blank ones between them left out."""
    first, lines = 1, list[str]()
    for number, line in enumerate(text.iterate_lines(path), 1):
        if not lines and not line.strip():
            continue
        first = first if lines else number
        lines.append(line)
        if len(lines) == 3:
            yield first, lines
            lines = []
    if lines:
        raise DataError("expected three lines: a text with $T$, a target, a label", path, first)


def _target(lines: list[str], path: str | Path, number: int) -> tuple[str, Target]:
    """The text of a block, its words parted by single blanks, and its target."""
    before, hole, after = lines[0].partition(_HOLE)
    words = " ".join(lines[1].split())
    label = _LABELS.get(lines[2].strip())
    if not hole:
        raise DataError(f"expected a text with {_HOLE} for its target", path, number)
    if not words:
        raise DataError("the target is empty", path, number + 1)
    if label is None:
        message = f"label {lines[2].strip()!r}; expected {', '.join(_LABELS)}"
        raise DataError(message, path, number + 2)
    start = len(" ".join([*before.split(), ""]))
    content = f"{before} {words} {after.replace(_HOLE, f' {words} ')}"
    return " ".join(content.split()), Target(start, start + len(words), label)
