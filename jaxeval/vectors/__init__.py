"""Word vectors: looked up by word, and scored on sets of items (word pairs, analogy questions).

Notation: V files, B resamples, n items. All files share one set of resamples, so that their
differences are paired.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from jaxeval.data import vectors
from jaxeval.errors import ConfigError
from jaxeval.stats import (
    Effect,
    HypothesisTest,
    Interval,
    blocks,
    multiple,
    percentile_interval,
    sign,
)

_Score = TypeVar("_Score")
_CONFIDENCE = 0.95
_AT_ONCE = 2_000_000  # weights of resamples in memory
_SHORT = 1e-15  # length below which squares in float32 have few digits, or none
_MOST_UNDEFINED = 0.05  # share of resamples without a value; with more the others are biased
_SUFFIXES = {".txt", ".gz", ".vec", ".bin", ".w2v", ".tsv", ".csv"}


def short_names(paths: Sequence[str | Path], what: str) -> dict[str, str]:
    """Maps short names of files to their paths; names have no folder and suffixes if they differ.

    Raises ConfigError: no file, or a file named twice, by whatever path.
    """
    if not paths:
        raise ConfigError(f"expected a file of {what}")
    known: dict[Path, str] = {}
    for path in map(str, paths):
        place = Path(path).resolve()
        if place in known:
            message = f"{known[place]} and {path} are the same file of {what}"
            raise ConfigError(f"{message}; expected different ones")
        known[place] = path
    names = [_stem(path) for path in known.values()]
    distinct = len({*names}) == len(names)
    return dict(zip(names if distinct else known.values(), known.values(), strict=True))


def _stem(path: str) -> str:
    name = Path(path).name
    while Path(name).suffix in _SUFFIXES and Path(name).stem:
        name = Path(name).stem
    return name


@dataclasses.dataclass(frozen=True)
class Lookup:
    """Unit vectors by word; a vector of zeros has no direction and counts as none."""

    index: Mapping[str, int]  # word -> row
    unit: np.ndarray  # [V, D] float32, rows of length 1
    zeros: int = 0  # number of words that were left out for a vector of zeros
    lower_case: bool = True  # whether words are looked up in lower case
    repeated: int = 0  # number of vectors that were left out: their word was there before

    def rows(self, words: Iterable[str]) -> np.ndarray:
        """Returns the row of each word, -1 for a word without a vector."""
        return np.array([self.index.get(_form(w, self.lower_case), -1) for w in words], np.int64)


class _Forms(frozenset[str]):
    """Words in lower case; it contains every spelling of them."""

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and super().__contains__(word.lower())


def read(
    path: str | Path, words: Iterable[str] | None = None, *, lower_case: bool = True
) -> Lookup:
    """Reads the vectors of some words (None: all) of a file.

    In lower case, the first of several equal words of the file counts. Raises DataError: the file
    cannot be read, or all its vectors are 0.
    """
    forms = (_Forms if lower_case else frozenset)(_form(word, lower_case) for word in words or ())
    read = vectors.read(path, None if words is None else forms)
    table = read.table
    lengths = np.sqrt(np.einsum("vd,vd->v", read.table, read.table))
    short = np.flatnonzero(lengths < _SHORT)
    lengths[short] = np.linalg.norm(table[short].astype(np.float64), axis=1)
    directed = (lengths > 0).tolist()
    index: dict[str, int] = {}
    for word, row in read.index.items():
        if directed[row]:
            index.setdefault(_form(word, lower_case), row)
    zeros = len(table) - sum(directed)
    if len(index) < len(table):
        chosen = np.fromiter(index.values(), np.int64, len(index))
        table, lengths = table[chosen], lengths[chosen]
        index = dict(zip(index, range(len(index)), strict=True))
    table /= lengths[:, None]  # in place: there may be no room for a second table
    return Lookup(index, table, zeros, lower_case, read.repeated)


def _form(word: str, lower_case: bool) -> str:
    return word.lower() if lower_case else word


@dataclasses.dataclass(frozen=True)
class _Difference:
    """Score of file A minus that of file B on what both cover."""

    a: str
    b: str
    effect: Effect
    test: HypothesisTest
    p_adjusted: float  # over all differences (Holm)


@dataclasses.dataclass(frozen=True)
class Scored(Generic[_Score]):
    """Scores of all files on one set of items by one method."""

    name: str
    method: str
    total: int  # items of the set
    scores: Mapping[str, _Score]  # by file
    differences: tuple[_Difference, ...]  # of files with a score on the items of both


@dataclasses.dataclass(frozen=True)
class Bootstrap:
    """A statistic of files on a set of items, and resamples of the items."""

    items: str  # what is resampled
    # of several files on chosen items [n] bool with weights [B, items]: [B, V], NaN where there is
    # none
    statistic: Callable[[Sequence[str], np.ndarray, np.ndarray], np.ndarray]
    # of chosen items [n] bool: (generator, B) -> weights [B, items]
    drawer: Callable[[np.ndarray], Callable[[np.random.Generator, int], np.ndarray]]
    resamples: int
    seed: int

    def __str__(self) -> str:
        return f"bootstrap of {self.items}, {self.resamples} resamples, seed {self.seed}"

    def estimate(self, file: str, chosen: np.ndarray) -> float | None:
        """Returns the statistic of a file on chosen items, or None if it has none."""
        ones = np.ones((1, int(chosen.sum())), np.int64)
        value = float(self.statistic([file], chosen, ones)[0, 0])
        return None if math.isnan(value) else value

    def draws(self, files: Sequence[str], chosen: np.ndarray) -> np.ndarray:
        """Returns the statistic [V, B] of files on the same resamples of chosen items."""
        generator = np.random.default_rng(self.seed)
        draw = self.drawer(chosen)
        sizes = blocks(self.resamples, int(chosen.sum()), _AT_ONCE)
        weights = (draw(generator, n) for n in sizes)
        return np.concatenate([self.statistic(files, chosen, each) for each in weights]).T


def compare(
    name: str,
    method: str,
    covered: Mapping[str, np.ndarray],
    bootstrap: Bootstrap,
    score: Callable[[str, Interval | None], _Score],
) -> Scored[_Score]:
    """Scores all files on one set of items, and compares any two.

    Args:
      covered: file -> [n] bool, the items that it covers.
      score: of a file, with the interval of its statistic on what it covers.
    """
    scores: dict[str, _Score] = {}
    found: list[_Difference] = []
    how = str(bootstrap)
    for file, mine in covered.items():
        known = bootstrap.estimate(file, mine) is not None
        drawn = bootstrap.draws([file], mine)[0] if known else None
        scores[file] = score(file, None if drawn is None else _interval(drawn, how))
    for a, b in itertools.combinations(covered, 2):
        both = covered[a] & covered[b]
        of_a, of_b = (bootstrap.estimate(file, both) for file in (a, b))
        if of_a is not None and of_b is not None:
            drawn = bootstrap.draws([a, b], both)
            effect, test = _difference((of_a, of_b), drawn, int(both.sum()), how)
            found.append(_Difference(a, b, effect, test, test.p_value))
    total = len(next(iter(covered.values())))
    return Scored(name, method, total, scores, tuple(found))


def _difference(
    estimates: tuple[float, float], draws: np.ndarray, n: int, method: str
) -> tuple[Effect, HypothesisTest]:
    """Score A minus score B of n items, and the test whether they are equal; draws [2, B].

    p = 2 (1 + k) / (1 + B), with k of the B draws on the rarer side of 0, or at 0. Draws without a
    value do not count; p is NaN if there are many.
    """
    gap, gaps = estimates[0] - estimates[1], draws[0] - draws[1]
    effect = Effect(gap, _interval(gaps, method), (n,))
    p_value, direction = math.nan, 0
    if np.isnan(gaps).mean() <= _MOST_UNDEFINED:
        gaps = gaps[~np.isnan(gaps)]
        rarer = min(int(np.sum(gaps <= 0)), int(np.sum(gaps >= 0)))
        p_value = min(1.0, 2 * (1 + rarer) / (1 + len(gaps)))
        direction = sign(float(np.median(gaps)))
    return effect, HypothesisTest(gap, p_value, (n,), method, direction)


def _interval(draws: np.ndarray, method: str) -> Interval:
    """Percentile interval of draws [B]; NaN is a draw without a value, of which few may be."""
    share = float(np.isnan(draws).mean())
    if share > _MOST_UNDEFINED:
        reason = f"{100 * share:.0f} % of the resamples draw too few different items for a score"
        return Interval.none(_CONFIDENCE, reason)
    return percentile_interval(draws[~np.isnan(draws)], _CONFIDENCE, method)


def adjust(results: Sequence[Scored[_Score]]) -> tuple[Scored[_Score], ...]:
    """Adjusts the p-values of all differences together by Holm's method."""
    p_values = [d.test.p_value for result in results for d in result.differences]
    corrected = iter(multiple.adjust_p_values(p_values) if p_values else ())

    def adjusted(each: _Difference) -> _Difference:
        return dataclasses.replace(each, p_adjusted=float(next(corrected)))

    return tuple(
        dataclasses.replace(result, differences=tuple(map(adjusted, result.differences)))
        for result in results
    )
