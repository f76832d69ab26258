"""Tiny corpora of every task: sentences with names, a text, words to be turned round."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

_PLAIN = ("a", "dog", "ran", "home", "she", "saw", "the", "old", "mill", ".")
_NAMES = (("Ann", "PER"), ("Bo", "PER"), ("Rome", "LOC"), ("Mill", "LOC"), ("Ash", "ORG"))
_SIZES = {"train": 96, "dev": 30, "test": 24}


def write(folder: Path) -> None:
    """Writes tags/, text/ and pairs/ under a folder, the same every time."""
    draw = np.random.default_rng(2017)
    for name, lines in (("tags", _tagged), ("text", _text), ("pairs", _pairs)):
        (folder / name).mkdir(parents=True)
        for part, count in _SIZES.items():
            content = "".join(lines(draw, count))
            (folder / name / f"{part}.txt").write_text(content, encoding="utf-8")


def _tagged(draw: np.random.Generator, count: int) -> Iterator[str]:
    """CoNLL columns; names of one or two words, of a few lengths of sentence."""
    for _ in range(count):
        for _ in range(draw.integers(1, 4)):
            for _ in range(draw.integers(1, 4)):
                yield f"{_PLAIN[draw.integers(len(_PLAIN))]} O\n"
            name, kind = _NAMES[draw.integers(len(_NAMES))]
            yield f"{name} B-{kind}\n"
            if draw.integers(2):
                yield f"Lee I-{kind}\n"
        yield "\n"


def _text(draw: np.random.Generator, count: int) -> Iterator[str]:
    """A line of words; the next word depends on the last."""
    for _ in range(count):
        word = int(draw.integers(len(_PLAIN)))
        for _ in range(draw.integers(3, 9)):
            yield _PLAIN[word] + " "
            word = int(3 * word + draw.integers(3)) % len(_PLAIN)
        yield ".\n"


def _pairs(draw: np.random.Generator, count: int) -> Iterator[str]:
    """A word and its letters backwards."""
    for _ in range(count):
        letters = "".join("abc"[k] for k in draw.integers(3, size=draw.integers(2, 5)))
        yield f"{letters}\t{letters[::-1]}\n"
