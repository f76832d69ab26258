"""Spearman's correlation of the cosines of word vectors with people's similarity scores.

A pair with a word without a vector is left out (`skip`, as wordvectors.org does), or has a
similarity of 0 (`zero`, as hyperwords does). The two can differ widely, so both are computed.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.data import text, vectors
from jaxeval.errors import DataError
from jaxeval.stats.results import Interval, Sample, sample
from jaxeval.vectors import Lookup, Scored, adjust, blocks, compare

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

    Raises:
      DataError: a line without two words and a finite number, fewer than three pairs.
    """
    rows, header = list[tuple[str, str, float]](), ""
    for number, line in enumerate(text.iterate_lines(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        separator = next((s for s in ("\t", ",") if s in line), None)
        fields, first_line = [f.strip() for f in line.split(separator)], not rows and not header
        score = fields[column - 1] if len(fields) >= column else ""
        if first_line and _NAME.search(score) and not vectors.is_number(score):
            header = line
            continue
        if not score or not (fields[0] and fields[1]):
            found = "an empty word" if score else f"{len(fields)} columns"
        elif vectors.is_number(score) and np.isfinite(float(score)) and "_" not in score:
            rows.append((fields[0], fields[1], float(score)))
            continue
        else:
            found = vectors.shown(score)
        advice = "; begin it with # if it is a header" if first_line else ""
        expected = f"expected two words and a score in column {column}"
        raise DataError(f"{expected}, found {found}{advice}", path, number)
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
    gold, values = pairs.gold, {name: _cosines(pairs, file) for name, file in files.items()}
    filled = {name: np.nan_to_num(value) for name, value in values.items()}
    zero = unknown == "zero"
    covered = {name: np.full(len(v), True) if zero else ~np.isnan(v) for name, v in values.items()}

    def draws(names: Sequence[str], chosen: np.ndarray) -> np.ndarray:
        table = np.stack([filled[name][chosen] for name in names])
        return _correlation_draws(gold[chosen], table, resamples=resamples, seed=seed)

    def estimate(name: str, chosen: np.ndarray) -> float | None:
        return _correlation(gold[chosen], filled[name][chosen])

    def score(name: str, interval: Interval | None) -> _Score:
        known = ~np.isnan(values[name])
        everywhere = np.ones(len(gold), bool)
        both = estimate(name, known), estimate(name, everywhere)
        return _Score(int(known.sum()), *both, interval)

    items = f"pairs, {resamples} resamples, seed {seed}"
    return compare(pairs.name, "Spearman", covered, estimate, draws, score, items)


def _correlation(gold: np.ndarray, values: np.ndarray) -> float | None:
    try:
        return float(_spearman(gold, values[None])[0])
    except DataError:  # fewer than three pairs, or equal scores
        return None


def _spearman(gold: Sample, scores: np.ndarray) -> np.ndarray:
    """Spearman's correlation [V] of each row of scores [V, n] with the gold scores [n]."""
    rows = _rows(gold, scores)
    return _correlations(rows, np.ones((1, len(rows[0])), np.int64))[0]


def _correlation_draws(
    gold: Sample, scores: np.ndarray, *, resamples: int = 9999, seed: int = 0
) -> np.ndarray:
    """The correlations on resamples of the items, drawn with replacement: [B, V].

    Ranks are those within each resample; NaN if all scores of a resample are equal.
    """
    rows, generator = _rows(gold, scores), np.random.default_rng(seed)
    items = len(rows[0])
    drawn = (
        generator.multinomial(items, np.full(items, 1 / items), size)
        for size in blocks(resamples, items)
    )
    return np.concatenate([_correlations(rows, weights) for weights in drawn])


def _rows(gold: Sample, scores: np.ndarray) -> list[np.ndarray]:
    rows = [sample(gold, "gold scores", 3), *(sample(row, "scores", 3) for row in scores)]
    if any((row == row[0]).all() for row in rows):
        raise DataError("all scores are equal; their ranks correlate with nothing")
    return rows


def _centred_ranks(row: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean ranks [B, n] less their mean, of items that count `weights` [B, n] times."""
    order, group = np.argsort(row, kind="stable"), np.empty(len(row), np.int64)
    new = np.concatenate([[True], row[order][1:] != row[order][:-1]])
    group[order] = np.cumsum(new) - 1
    tied = np.add.reduceat(weights[:, order], np.flatnonzero(new), axis=1)
    ranks = np.cumsum(tied, axis=1) - tied / 2 - tied.sum(axis=1, keepdims=True) / 2
    return ranks[:, group]


def _correlations(rows: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Correlations [B, V] of items that count `weights` [B, n] times."""
    gold, *others = (_centred_ranks(row, weights) for row in rows)
    weighted = gold * weights
    own, columns = (weighted * gold).sum(axis=1), []
    for other in others:
        scale = np.sqrt(own * (other * other * weights).sum(axis=1))
        unknown = np.full_like(scale, np.nan)
        products = (weighted * other).sum(axis=1)
        columns.append(np.divide(products, scale, out=unknown, where=scale > 0))
    return np.stack(columns, axis=1)
