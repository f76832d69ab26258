"""Analogy questions, a is to b as c is to what: Google's file, and the folders of BATS."""

import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.data import text
from jaxeval.errors import DataError

_SYNTACTIC = "gram"  # how names of Google's syntactic sections begin


class Questions(NamedTuple):
    """Analogy questions. A unit is a pair of words, a and b or c and its answers.

    Every question combines two units of its section, so units number fewer than questions.
    """

    name: str
    asked: list[tuple[str, str, str]]  # a, b, c of each question
    answers: list[tuple[str, ...]]  # any of them is right
    section: np.ndarray  # [Q] int
    sections: tuple[str, ...]
    groups: tuple[str, ...]  # of each section: semantic or syntactic, or the folder
    first: np.ndarray  # [Q] unit of a and b
    second: np.ndarray  # [Q] unit of c and its answers
    strata: np.ndarray  # [units] section of each


def read(path: str | Path) -> Questions:
    """The questions of a file like Google's (": section" lines, four words a line) or of BATS.

    BATS is a folder of folders of files, each a section, a word, a tab and its answers, separated
    by /, a line. Any two of its lines make two questions; b is the first answer.

    Raises:
      DataError: a line that is neither, no question.
    """
    path = Path(path)
    return _bats(path) if path.is_dir() else _google(path)


def files_of(path: str | Path) -> list[Path]:
    """The files that `read` reads: the one, or the sections of BATS in their order."""
    path = Path(path)
    return sorted(path.glob("*/*.txt")) if path.is_dir() else [path]


def _google(path: Path) -> Questions:
    triples, section, now = [], list[int](), -1
    answers: list[tuple[str, ...]] = []
    sections: dict[str, int] = {}  # one may go on later in the file
    units: dict[tuple[int, str, str], int] = {}
    pairs = []
    for number, line in enumerate(text.iterate_lines(path), 1):
        fields = line.split()
        if fields and fields[0].startswith(":"):
            now = sections.setdefault(" ".join(fields).lstrip(": "), len(sections))
            continue
        if not fields:
            continue
        if len(fields) != 4 or not sections:
            message = f"expected ': section' or four words, found {len(fields)} words"
            raise DataError(message, path, number)
        a, b, c, d = fields
        triples.append((a, b, c))
        answers.append((d,))
        section.append(now)
        pairs.append([units.setdefault((now, *pair), len(units)) for pair in ((a, b), (c, d))])
    groups = tuple("syntactic" if name.startswith(_SYNTACTIC) else "semantic" for name in sections)
    strata = [unit[0] for unit in units]
    return _questions(path, triples, answers, section, [*sections], groups, pairs, strata)


def _bats(path: Path) -> Questions:
    triples, answers, section, pairs = [], [], [], []
    sections, groups, strata = [], [], list[int]()
    for number, file in enumerate(files_of(path)):
        sections.append(file.stem)
        groups.append(file.parent.name)
        lines = _bats_lines(file)
        before = len(strata)
        strata += [number] * len(lines)
        for i, j in itertools.permutations(range(len(lines)), 2):
            triples.append((lines[i][0], lines[i][1][0], lines[j][0]))
            answers.append(lines[j][1])
            section.append(number)
            pairs.append([before + i, before + j])
    return _questions(path, triples, answers, section, sections, tuple(groups), pairs, strata)


def _bats_lines(file: Path) -> list[tuple[str, tuple[str, ...]]]:
    """A word and its answers a line."""
    lines = []
    for number, line in enumerate(text.iterate_lines(file), 1):
        fields = line.split()
        if not fields:
            continue
        answers = tuple(answer for answer in fields[-1].split("/") if answer)
        if len(fields) != 2 or not answers:
            raise DataError("expected a word, a tab and answers separated by /", file, number)
        lines.append((fields[0], answers))
    return lines


def _questions(
    path: Path,
    triples: list[tuple[str, str, str]],
    answers: list[tuple[str, ...]],
    section: list[int],
    sections: list[str],
    groups: tuple[str, ...],
    pairs: list[list[int]],
    strata: list[int],
) -> Questions:
    if not triples:
        raise DataError("no analogy question found; expected four words a line, or BATS", path)
    units = np.array(pairs, np.int64)
    order = np.argsort(strata, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    numbers = np.array(section, np.int64)
    first, second = rank[units].T
    sorted_strata = np.array(strata, np.int64)[order]
    names = tuple(sections)
    return Questions(
        name=path.name,
        asked=triples,
        answers=answers,
        section=numbers,
        sections=names,
        groups=groups,
        first=first,
        second=second,
        strata=sorted_strata,
    )
