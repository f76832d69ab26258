"""Do the cosines of word vectors rank pairs of words as people do? Spearman's correlation.

A pair of which a word has no vector is left out (`skip`, as wordvectors.org does), or counts with
a similarity of 0 (`zero`, as hyperwords does). The two can differ widely, so both are given, and
the coverage with them.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import resampled
from jaxeval.stats.results import Interval
from jaxeval.vectors import differences, lookup
from jaxeval.vectors.differences import Difference, LeftOut, Resampling
from jaxeval.vectors.lookup import Lookup
from jaxeval.vectors.pairs import Pairs

Missing = Literal["skip", "zero"]
_ITEMS = "pairs"


@dataclasses.dataclass(frozen=True)
class Score:
    """Of one file on one set; None where too few pairs, or equal scores, have no correlation."""

    covered: int  # pairs of which both words have a vector that is not 0
    skip: float | None
    zero: float | None
    interval: Interval | None  # of the rule that was asked for


@dataclasses.dataclass(frozen=True)
class OnSet:
    """All files on one set."""

    name: str
    pairs: int
    scores: Mapping[str, Score]  # by file
    compared_on: int  # pairs by which files are compared
    differences: tuple[Difference, ...]
    left_out: tuple[LeftOut, ...] = ()  # of the differences


@dataclasses.dataclass(frozen=True)
class Rules:
    """How correlations are estimated."""

    missing: Missing = "skip"
    lower_case: bool = True
    resampling: Resampling = Resampling()  # noqa: RUF009 (a NamedTuple does not change)


def words(sets: Sequence[Pairs]) -> set[str]:
    """All words of some sets."""
    return {word for pairs in sets for word in (*pairs.first, *pairs.second)}


def evaluate(
    sets: Sequence[Pairs], files: Mapping[str, Lookup], rules: Rules | None = None
) -> list[OnSet]:
    """Correlations of every file on every set, and the differences of any two files.

    Differences are of correlations on the same pairs: with `skip` those that all files cover,
    with `zero` all. A file without a correlation there is left out of them, and named. Their
    p-values are adjusted together, by Holm's method.
    """
    rules = Rules() if rules is None else rules
    return differences.adjusted([_on_set(pairs, files, rules) for pairs in sets])


def cosines(pairs: Pairs, vectors: Lookup, lower_case: bool = True) -> np.ndarray:
    """Cosine of the two words of each pair: [n], nan where one has no vector."""
    first, second = (
        vectors.rows(lookup.word_of(word, lower_case) for word in words)
        for words in (pairs.first, pairs.second)
    )
    known = (first >= 0) & (second >= 0)
    values = np.full(len(known), np.nan)
    rows = (vectors.unit[side[known]].astype(np.float64) for side in (first, second))
    values[known] = np.einsum("nd,nd->n", *rows)
    return values


def _on_set(pairs: Pairs, files: Mapping[str, Lookup], rules: Rules) -> OnSet:
    values = {name: cosines(pairs, file, rules.lower_case) for name, file in files.items()}
    scores = {name: _score(pairs.gold, value, rules) for name, value in values.items()}
    zero = rules.missing == "zero"
    covered = {name: np.full(len(v), True) if zero else ~np.isnan(v) for name, v in values.items()}
    filled = {name: np.nan_to_num(value) for name, value in values.items()}

    def without_score(names: Sequence[str], common: np.ndarray) -> list[str]:
        gold = pairs.gold[common]
        return [name for name in names if _spearman(gold, filled[name][common]) is None]

    names, common, left_out = differences.comparable(covered, without_score)
    table = np.stack([filled[name][common] for name in names])
    between = _differences(pairs.gold[common], table, names, rules)
    return OnSet(pairs.name, len(pairs.gold), scores, int(common.sum()), between, left_out)


def _score(gold: np.ndarray, values: np.ndarray, rules: Rules) -> Score:
    known = ~np.isnan(values)
    of = {"skip": (gold[known], values[known]), "zero": (gold, np.nan_to_num(values))}
    estimates = {missing: _spearman(*sample) for missing, sample in of.items()}
    interval = None
    if estimates[rules.missing] is not None:
        rated, similarities = of[rules.missing]
        draws = _draws(rated, similarities[None], rules)
        interval = resampled.interval(
            draws[:, 0], rules.resampling.confidence, rules.resampling.method(_ITEMS)
        )
    return Score(int(known.sum()), estimates["skip"], estimates["zero"], interval)


def _spearman(gold: np.ndarray, values: np.ndarray) -> float | None:
    try:
        return float(resampled.spearman(gold, values[None])[0])
    except DataError:  # fewer than three pairs, or equal scores
        return None


def _differences(
    gold: np.ndarray, table: np.ndarray, names: Sequence[str], rules: Rules
) -> tuple[Difference, ...]:
    """Of any two rows of a table [V, n]."""
    if len(names) < 2:
        return ()
    estimates, draws = resampled.spearman(gold, table), _draws(gold, table, rules)
    return differences.between(
        names, estimates.tolist(), draws, len(gold), rules.resampling, _ITEMS
    )


def _draws(gold: np.ndarray, table: np.ndarray, rules: Rules) -> np.ndarray:
    resamples, seed, _ = rules.resampling
    return resampled.spearman_draws(gold, table, resamples=resamples, seed=seed)
