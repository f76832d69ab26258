"""Do the cosines of word vectors rank pairs of words as people do? Spearman's correlation.

A pair of which a word has no vector is left out (`skip`, as wordvectors.org does), or counts with
a similarity of 0 (`zero`, as hyperwords does). The two can differ widely, so both are computed.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.data import text, vectors
from jaxeval.errors import DataError
from jaxeval.stats import vectors as statistics
from jaxeval.stats.results import Interval
from jaxeval.vectors import scored
from jaxeval.vectors.scored import Lookup, Resampling, Scored

Unknown = Literal["skip", "zero"]
_FEWEST = 3  # pairs that a rank correlation needs
_NAME = re.compile(r"[^\W\d_]{2}")  # a word, which a header has in place of the score


class Pairs(NamedTuple):
    """Pairs of words with the score people gave: WordSim-353, SimLex-999, MEN ...

    Attributes:
      gold: [n] float64.
      header: the first line, where it is none of them.
    """

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: np.ndarray
    header: str = ""


@dataclasses.dataclass(frozen=True)
class Score:
    """Of one file on one set; None where too few pairs, or equal scores, have no correlation.

    Attributes:
      covered: pairs of which both words have a vector.
      interval: of the rule that was asked for.
    """

    covered: int
    skip: float | None
    zero: float | None
    interval: Interval | None


def read(path: str | Path, column: int = 3) -> Pairs:
    """The pairs of a file: two words and a score a line, between tabs, else commas, else blanks.

    A first line with a name in place of the score is a header. Blank lines and lines that begin
    with # are left out.

    Args:
      column: which column holds the score, from 1 (SimLex-999 as published: 4).

    Raises:
      DataError: a line without two words and a finite number, fewer than three pairs.
    """
    rows: list[tuple[str, str, float]] = []
    header = ""
    for number, line in enumerate(text.iterate_lines(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        separator = next((s for s in ("\t", ",") if s in line), None)
        fields, begins = [f.strip() for f in line.split(separator)], not rows and not header
        name = fields[column - 1] if begins and len(fields) >= column else ""
        if _NAME.search(name) and not vectors.is_number(name):
            header = line
            continue
        try:
            rows.append(_row(fields, column))
        except ValueError as error:
            advice = "; begin it with # if it is a header" if begins else ""
            raise DataError(f"{error}{advice}", path, number) from None
    if len(rows) < _FEWEST:
        raise DataError(f"expected at least {_FEWEST} pairs of words, found {len(rows)}", path)
    first, second, gold = zip(*rows, strict=True)
    return Pairs(Path(path).name, first, second, np.array(gold), header)


def _row(fields: list[str], column: int) -> tuple[str, str, float]:
    """Two words and their score; raises ValueError."""
    expected = f"expected two words and a score in column {column}"
    if len(fields) < column or not (fields[0] and fields[1]):
        found = f"{len(fields)} columns" if len(fields) < column else "an empty word"
        raise ValueError(f"{expected}, found {found}")
    field = fields[column - 1]
    if not vectors.is_number(field) or not np.isfinite(float(field)) or "_" in field:
        raise ValueError(f"{expected}, found {vectors.shown(field)}")
    return fields[0], fields[1], float(field)


def evaluate(
    sets: Sequence[Pairs],
    files: Mapping[str, Lookup],
    unknown: Unknown = "skip",
    resampling: Resampling = Resampling(),  # noqa: B008 (a NamedTuple does not change)
) -> tuple[Scored[Score], ...]:
    """Correlations of every file on every set, and the differences of any two files.

    Differences are of correlations on the same pairs: with `skip` those that all files cover,
    with `zero` all.

    Args:
      unknown: which rule for words without a vector intervals and differences follow.
    """
    return scored.adjusted([_on_set(pairs, files, unknown, resampling) for pairs in sets])


def cosines(pairs: Pairs, vectors: Lookup) -> np.ndarray:
    """Cosine of the two words of each pair: [n], nan where one has no vector."""
    first, second = vectors.rows(pairs.first), vectors.rows(pairs.second)
    known = (first >= 0) & (second >= 0)
    values = np.full(len(known), np.nan)
    rows = (vectors.unit[side[known]].astype(np.float64) for side in (first, second))
    values[known] = np.einsum("nd,nd->n", *rows)
    return values


def _on_set(
    pairs: Pairs, files: Mapping[str, Lookup], unknown: Unknown, how: Resampling
) -> Scored[Score]:
    gold, values = pairs.gold, {name: cosines(pairs, file) for name, file in files.items()}
    filled = {name: np.nan_to_num(value) for name, value in values.items()}
    zero = unknown == "zero"
    covered = {name: np.full(len(v), True) if zero else ~np.isnan(v) for name, v in values.items()}

    def draws(names: Sequence[str], chosen: np.ndarray) -> np.ndarray:
        table = np.stack([filled[name][chosen] for name in names])
        return statistics.spearman_draws(gold[chosen], table, **how._asdict())

    def estimate(name: str, chosen: np.ndarray) -> float | None:
        return _spearman(gold[chosen], filled[name][chosen])

    def score(name: str, interval: Interval | None) -> Score:
        known = ~np.isnan(values[name])
        everywhere = np.ones(len(gold), bool)
        return Score(int(known.sum()), estimate(name, known), estimate(name, everywhere), interval)

    items = f"pairs, {how.resamples} resamples, seed {how.seed}"
    return scored.compare(pairs.name, "Spearman", covered, estimate, draws, score, items)


def _spearman(gold: np.ndarray, values: np.ndarray) -> float | None:
    try:
        return float(statistics.spearman(gold, values[None])[0])
    except DataError:  # fewer than three pairs, or equal scores
        return None
