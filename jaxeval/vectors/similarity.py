"""Spearman's correlation of the cosines of word vectors with people's similarity scores.

A pair with a word without a vector is left out (`skip`, as wordvectors.org does), or has a
similarity of 0 (`zero`, as hyperwords does). The two can differ widely, so both are computed.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.data import text, vectors
from jaxeval.errors import DataError, counted
from jaxeval.stats import Interval
from jaxeval.vectors import Bootstrap, Lookup, Scored, adjust, compare

Unknown = Literal["skip", "zero"]
_FEWEST = 3  # pairs that a rank correlation needs
_NAME = re.compile(r"[^\W\d_]{2}")  # a word, which a header has in place of the score


class Pairs(NamedTuple):
    """Pairs of words with people's scores: WordSim-353, SimLex-999, MEN ..."""

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: np.ndarray  # [n] float64
    header: str = ""  # the first line, if it is no pair


@dataclasses.dataclass(frozen=True)
class _Score:
    """Correlations of one file on one set; None for too few pairs or equal scores."""

    covered: int  # pairs with a vector for both words
    skip: float | None
    zero: float | None
    interval: Interval | None  # of the chosen rule


def read(path: str | Path, column: int = 3) -> Pairs:
    """Reads pairs: two words and a score a line, between tabs, else commas, else blanks.

    A first line with a name in place of the score is a header. Blank lines and lines that begin
    with # are skipped. `column` is that of the score, from 1 (SimLex-999 as published: 4).
    Raises DataError: a line without two words and a finite number, fewer than three pairs.
    """
    rows: list[tuple[str, str, float]] = []
    header = ""
    for line in text.lines(path):
        if line.text.startswith("#"):
            continue
        separator = next((s for s in ("\t", ",") if s in line.text), None)
        fields = [f.strip() for f in line.text.split(separator)]
        first_line = not (rows or header)
        score = fields[column - 1] if len(fields) >= column else ""
        number = float(score) if vectors.is_number(score) and "_" not in score else math.nan
        if first_line and _NAME.search(score) and not vectors.is_number(score):
            header = line.text
        elif math.isfinite(number) and fields[0] and fields[1]:
            rows.append((fields[0], fields[1], number))
        else:
            found = vectors.shown(score) if score else counted(len(fields), "column")
            found = found if all(fields[:2]) else "an empty word"
            advice = "; begin it with # if it is a header" if first_line else ""
            expected = f"expected two words and a score in column {column}"
            raise line.error(f"{expected}, found {found}{advice}")
    if len(rows) < _FEWEST:
        raise DataError(f"expected at least {_FEWEST} pairs of words, found {len(rows)}", path)
    first, second, gold = zip(*rows, strict=True)
    return Pairs(Path(path).name, first, second, np.array(gold), header)


def evaluate(
    sets: Sequence[Pairs],
    files: Mapping[str, Lookup],
    unknown: Unknown = "skip",
    *,
    resamples: int = 9999,
    seed: int = 0,
) -> tuple[Scored[_Score], ...]:
    """Computes the correlations of all files on all sets, and the differences of any two files.

    Differences, and intervals, follow the rule `unknown`: they are on the pairs that both files
    cover, or on all pairs.
    """
    return adjust([_evaluate(pairs, files, unknown, resamples, seed) for pairs in sets])


def _cosines(pairs: Pairs, vectors: Lookup) -> np.ndarray:
    """Computes the cosine of each pair: [n], NaN if a word has no vector."""
    first, second = vectors.rows(pairs.first), vectors.rows(pairs.second)
    known = (first >= 0) & (second >= 0)
    values = np.full(len(known), np.nan)
    rows = (vectors.unit[side[known]].astype(np.float64) for side in (first, second))
    values[known] = np.einsum("nd,nd->n", *rows)
    return values


def _evaluate(
    pairs: Pairs, files: Mapping[str, Lookup], unknown: Unknown, resamples: int, seed: int
) -> Scored[_Score]:
    values = {name: _cosines(pairs, file) for name, file in files.items()}
    known = {name: ~np.isnan(value) for name, value in values.items()}
    everywhere = np.ones(len(pairs.gold), bool)

    def statistic(names: Sequence[str], chosen: np.ndarray, weights: np.ndarray) -> np.ndarray:
        rows = [np.nan_to_num(values[name][chosen]) for name in names]
        return _correlations(pairs.gold[chosen], rows, weights)

    def drawer(chosen: np.ndarray) -> Callable[[np.random.Generator, int], np.ndarray]:
        n = int(chosen.sum())
        return lambda generator, size: generator.multinomial(n, np.full(n, 1 / n), size)

    bootstrap = Bootstrap("pairs", statistic, drawer, resamples, seed)

    def score(name: str, interval: Interval | None) -> _Score:
        skip, zero = (bootstrap.estimate(name, chosen) for chosen in (known[name], everywhere))
        return _Score(int(known[name].sum()), skip, zero, interval)

    covered = dict.fromkeys(files, everywhere) if unknown == "zero" else known
    return compare(pairs.name, "Spearman", covered, bootstrap, score)


def _centred_ranks(row: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean ranks [B, n] less their mean, of items that count `weights` [B, n] times."""
    order = np.argsort(row, kind="stable")
    group = np.empty(len(row), np.int64)
    new = np.concatenate([[True], row[order][1:] != row[order][:-1]])
    group[order] = np.cumsum(new) - 1
    tied = np.add.reduceat(weights[:, order], np.flatnonzero(new), axis=1)
    ranks = np.cumsum(tied, axis=1) - tied / 2 - tied.sum(axis=1, keepdims=True) / 2
    return ranks[:, group]


def _correlations(
    gold: np.ndarray, others: Sequence[np.ndarray], weights: np.ndarray
) -> np.ndarray:
    """Spearman's correlations [B, V] of scores [V, n] with gold ones [n], with weights [B, n].

    Items count `weights` times, as if they stood so often in the sample. NaN: fewer than three
    items, or equal scores.
    """
    if len(gold) < _FEWEST:
        return np.full((len(weights), len(others)), np.nan)
    first, *ranks = (_centred_ranks(row, weights) for row in (gold, *others))
    weighted = first * weights
    own = (weighted * first).sum(axis=1)
    columns = []
    for other in ranks:
        scale = np.sqrt(own * (other * other * weights).sum(axis=1))
        unknown = np.full_like(scale, np.nan)
        products = (weighted * other).sum(axis=1)
        columns.append(np.divide(products, scale, out=unknown, where=scale > 0))
    return np.stack(columns, axis=1)
