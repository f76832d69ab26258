"""Analogy questions: a is to b as c is to the word whose vector is nearest to b - a + c.

A question is covered if a, b, c and one of its answers have a vector. Accuracies are those of the
questions covered and of all, since the two can differ many times over.

Notation: Q questions, V candidate words, W words in questions, D vector size. Questions share
words, so the cosines [W, block] of all words with a block of candidates are computed once.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent import futures
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from jaxeval import backend
from jaxeval.data import text
from jaxeval.errors import DataError
from jaxeval.stats import Interval
from jaxeval.vectors import Bootstrap, Lookup, Scored, compare

_Method = Literal["3CosAdd", "3CosMul"]
METHODS: tuple[_Method, ...] = ("3CosAdd", "3CosMul")
_SMALL = 0.001  # in 3CosMul's denominator (Levy & Goldberg 2014, eq. 4)
_SYNTACTIC = "gram"  # beginning of the names of Google's syntactic sections
_CANDIDATES = 1024  # at a time
_QUESTIONS = 128
_MOST_COSINES = 1 << 22  # at a time


class _Unit(NamedTuple):
    """A word and the words that answer it; as a and b the first answer counts."""

    section: int
    word: str
    answers: tuple[str, ...]


class _Questions(NamedTuple):
    """Analogy questions, each of two units of one section: a is to b as c is to what?"""

    name: str
    sections: tuple[str, ...]
    groups: tuple[str, ...]  # of each section: semantic or syntactic, or the folder
    units: tuple[_Unit, ...]  # sorted by section
    first: np.ndarray  # [Q] unit of a and b
    second: np.ndarray  # [Q] unit of c and its answers

    @property
    def strata(self) -> np.ndarray:
        """Section of each unit."""
        return np.array([unit.section for unit in self.units], np.int64)


class Answered(NamedTuple):
    """Questions that one file covers and answers correctly: [Q] bool each."""

    covered: np.ndarray
    right: np.ndarray


class Accuracy(NamedTuple):
    """Numbers of questions."""

    right: int
    covered: int
    total: int


@dataclasses.dataclass(frozen=True)
class _Score:
    """Accuracies of one file."""

    overall: Accuracy
    interval: Interval | None  # of the accuracy on the questions covered
    groups: Mapping[str, Accuracy]
    sections: Mapping[str, Accuracy]

    @property
    def covered(self) -> int:
        """Questions."""
        return self.overall.covered


def read(path: str | Path) -> _Questions:
    """Reads the questions of a file like Google's, or of a folder like BATS.

    Google's has ": section" lines and four words a line. BATS has a file for each section in
    folders of groups, and a word, a tab and answers separated by / a line; any two lines of a
    section make two questions. Raises DataError: a line that is neither, no question.
    """
    path = Path(path)
    sections, units, asked = (_bats if path.is_dir() else _google)(path)
    if not asked:
        raise DataError("no analogy question found; expected four words per line, or BATS", path)
    order = sorted(range(len(units)), key=lambda unit: units[unit].section)
    rank = np.argsort(order)
    first, second = rank[np.array(asked, np.int64)].T
    names, groups = zip(*sections, strict=True)
    return _Questions(path.name, names, groups, tuple(units[k] for k in order), first, second)


# sections with their groups; units; units of each question
_Read = tuple[Iterable[tuple[str, str]], Sequence[_Unit], Sequence[tuple[int, int]]]


def _google(path: Path) -> _Read:
    sections: dict[str, str] = {}  # one may go on later
    units: dict[_Unit, int] = {}
    asked, now = [], ""
    for line in text.lines(path):
        fields = line.text.split()
        if fields[0].startswith(":"):
            now = " ".join(fields).lstrip(": ")
            sections[now] = "syntactic" if now.startswith(_SYNTACTIC) else "semantic"
        elif len(fields) != 4 or not sections:
            expected = "': section' before it" if len(fields) == 4 else "': section' or four words"
            raise line.error(f"expected {expected}, found {line.text!r:.60}")
        else:
            section = [*sections].index(now)
            pair = (_Unit(section, fields[k], (fields[k + 1],)) for k in (0, 2))
            first, second = (units.setdefault(unit, len(units)) for unit in pair)
            asked.append((first, second))
    return sections.items(), [*units], asked


def _bats(path: Path) -> _Read:
    units: list[_Unit] = []
    asked: list[tuple[int, int]] = []
    files = sorted(path.glob("*/*.txt"))
    for section, file in enumerate(files):
        before = len(units)
        for line in text.lines(file):
            word, *more = line.text.split()
            answers = tuple(answer for each in more for answer in each.split("/") if answer)
            if len(more) != 1 or not answers:
                raise line.error("expected a word, a tab and answers separated by /")
            units.append(_Unit(section, word, answers))
        asked += itertools.permutations(range(before, len(units)), 2)
    return [(file.stem, file.parent.name) for file in files], units, asked


def answer(questions: _Questions, vectors: Lookup, method: _Method) -> Answered:
    """Answers questions; all words of the file are candidates."""
    words = vectors.rows(unit.word for unit in questions.units)
    most = max(len(unit.answers) for unit in questions.units)
    gold = np.full((len(words), most), -1)  # [units, most]
    for row, unit in zip(gold, questions.units, strict=True):
        row[: len(unit.answers)] = vectors.rows(unit.answers)
    first, second = questions.first, questions.second
    rows = np.stack([words[first], gold[first, 0], words[second]], axis=1)
    covered = np.all(rows >= 0, axis=1) & np.any(gold[second] >= 0, axis=1)
    right = np.zeros(covered.shape, bool)
    if covered.any():
        predicted = _solve(vectors.unit, rows[covered], method)
        right[covered] = (gold[second[covered]] == predicted[:, None]).any(axis=1)
    return Answered(covered, right)


def _solve(unit: np.ndarray, triples: np.ndarray, method: _Method) -> np.ndarray:
    """Returns the candidate [Q] with the highest score for each question, except a, b and c.

    3CosAdd is cos(d, b) - cos(d, a) + cos(d, c) (Mikolov, Yih & Zweig 2013). 3CosMul is s(d, b)
    s(d, c) / (s(d, a) + .001) with s = (1 + cos) / 2 (Levy & Goldberg 2014, eq. 4). The first of
    equal candidates counts.

    Args:
      unit: [V, D] float32, rows of length 1; all are candidates.
      triples: [Q, 3] rows of a, b and c.
    """
    words, where = np.unique(triples, return_inverse=True)
    where = where.reshape(triples.shape)
    best = np.full(len(triples), -np.inf, np.float32)
    answer = np.zeros(len(triples), np.int64)
    width = max(1, min(_CANDIDATES, _MOST_COSINES // len(words)))
    parts = [slice(k, k + _QUESTIONS) for k in range(0, len(triples), _QUESTIONS)]
    with futures.ThreadPoolExecutor(backend.cores()) as pool:
        for start in range(0, len(unit), width):
            near = unit[words] @ unit[start : start + width].T
            far = near
            if method == "3CosMul":
                near = (1 + near) / 2
                far = 1 / (near + np.float32(_SMALL))

            def improve(
                part: slice, start: int = start, near: np.ndarray = near, far: np.ndarray = far
            ) -> None:
                scores = _scores(near, far, method, where[part], triples[part] - start)
                column = scores.argmax(axis=1)
                highest = scores[np.arange(len(column)), column]
                better = highest > best[part]
                best[part][better] = highest[better]
                answer[part][better] = column[better] + start

            list(pool.map(improve, parts))
    return answer


def _scores(
    near: np.ndarray, far: np.ndarray, method: _Method, asked: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Scores [q, block] of candidates; -inf for a question's own words.

    Args:
      near, far: [W, block] contributions of b and c, and of a.
      asked, columns: [q, 3] rows of a, b and c, and their columns, maybe outside the block.
    """
    a, b, c = asked.T
    scores = near[b]
    if method == "3CosAdd":
        scores -= far[a]
        scores += near[c]
    else:
        scores *= near[c]
        scores *= far[a]
    for column in columns.T:
        inside = np.flatnonzero((column >= 0) & (column < scores.shape[1]))
        scores[inside, column[inside]] = -np.inf
    return np.asarray(scores)


def evaluate(
    questions: _Questions,
    method: _Method,
    answered: Mapping[str, Answered],
    *,
    resamples: int = 9999,
    seed: int = 0,
) -> Scored[_Score]:
    """Computes the accuracies of all files, and differences on the questions that both cover."""
    section = questions.strata[questions.first]
    group = np.array(questions.groups)[section]

    def statistic(names: Sequence[str], chosen: np.ndarray, weights: np.ndarray) -> np.ndarray:
        right = np.stack([answered[name].right[chosen] for name in names], axis=1)
        total = weights.sum(axis=1, keepdims=True)
        return weights @ right.astype(np.float64) / np.where(total > 0, total, np.nan)

    def drawer(chosen: np.ndarray) -> Callable[[np.random.Generator, int], np.ndarray]:
        return _drawer(questions.first[chosen], questions.second[chosen], questions.strata)

    def score(name: str, interval: Interval | None) -> _Score:
        def accuracy(part: np.ndarray) -> Accuracy:
            right, covered = answered[name].right[part], answered[name].covered[part]
            return Accuracy(int(right.sum()), int(covered.sum()), int(part.sum()))

        groups = {of: accuracy(group == of) for of in dict.fromkeys(questions.groups)}
        sections = {of: accuracy(section == k) for k, of in enumerate(questions.sections)}
        return _Score(accuracy(section >= 0), interval, groups, sections)

    covered = {name: of.covered for name, of in answered.items()}
    items = "pairs of words within sections (pigeonhole)"
    bootstrap = Bootstrap(items, statistic, drawer, resamples, seed)
    return compare(questions.name, method, covered, bootstrap, score)


def _drawer(
    first: np.ndarray, second: np.ndarray, strata: np.ndarray
) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Returns the function that draws weights [B, Q] of questions that combine two units each.

    Units are drawn with replacement within their stratum; a question counts as the product of the
    counts of its units (Owen 2007, "The pigeonhole bootstrap").

    Args:
      first, second: [Q] numbers of the units of each question.
      strata: [units] number of each unit's stratum, sorted.
    """
    used, where = np.unique(np.concatenate([first, second]), return_inverse=True)
    of_first, of_second = np.split(where, 2)
    sizes = np.unique(strata[used], return_counts=True)[1]

    def draw(generator: np.random.Generator, rounds: int) -> np.ndarray:
        drawn = [generator.multinomial(size, np.full(size, 1 / size), rounds) for size in sizes]
        units = np.concatenate(drawn, axis=1).astype(np.float64)
        return units[:, of_first] * units[:, of_second]

    return draw
