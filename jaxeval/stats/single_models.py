"""Tests on the items of two single trained models; their population is the items.

They say nothing of other seeds: two networks of one method can differ as surely as two of
different methods.
"""

import dataclasses
import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxeval.runs import metrics
from jaxeval.runs.metrics import Score
from jaxeval.runs.scores import DataSetScores, Scores
from jaxeval.stats import (
    Effect,
    HypothesisTest,
    Rules,
    blocks,
    hypotheses,
    multiple,
    percentile_interval,
    sign,
)

_ROUNDING = 1e-12  # relative: equal sums in another order
_MOST_DRAWN, _NARROW = 4_000_000, 200  # numbers at a time, of so many or more a round
_MOST_EXACT = 2**24  # whole numbers up to which sums of float32 are exact
_AS_BITS = 32  # groups up to this size are drawn as single bits


@dataclasses.dataclass(frozen=True)
class SinglePair:
    """Two trained models on the items that both have a score for."""

    a: str
    b: str
    data_set: str
    part: str  # of the data
    items: int
    seeds: tuple[str, str]
    split: str
    best_dev: bool  # each is its model's run of the best dev score, else the first run
    scores: tuple[float, float]  # from the items' counts
    tests: Mapping[str, HypothesisTest]  # with McNemar's if each item is right or wrong
    adjusted: Mapping[str, float]  # test -> p-value corrected over all pairs
    difference: Effect  # A - B, with a paired bootstrap interval over items


class SingleModels(NamedTuple):
    """All pairs, and why others are not tested."""

    pairs: tuple[SinglePair, ...]
    notes: tuple[str, ...]


def compare(
    items: Scores, rules: Rules, control: str | None = None, iterations: int = 1_000_000
) -> SingleModels:
    """Tests all pairs of models (with the control) by one trained model of each.

    That is the run of the best dev score, else the first.
    """
    pairs = [
        _pair(data, a, b, rules, iterations)
        for data in items.data_sets
        if data.counts
        for a, b in itertools.combinations(data.models, 2)
        if control in (None, a, b)
    ]
    p_values = [{name: test.p_value for name, test in pair.tests.items()} for pair in pairs]
    adjusted = multiple.adjust_by_name(p_values, rules.correction)
    both = zip(pairs, adjusted, strict=True)
    return SingleModels(tuple(dataclasses.replace(p, adjusted=of) for p, of in both), items.notes)


def _pair(data: DataSetScores, a: str, b: str, rules: Rules, iterations: int) -> SinglePair:
    how = metrics.scoring(data.metric, data.counts)
    assert how is not None  # readers give counts only for metrics that follow from them
    columns = [data.counts.index(name) for name in how.columns]
    best = np.nanargmax if data.higher_is_better else np.nanargmin
    counts, labels = [], []
    for of in (data.models[a], data.models[b]):
        run = 0 if of.dev is None or np.isnan(of.dev).all() else int(best(of.dev))
        assert of.counts is not None
        counts.append(of.counts[:, run][:, columns].astype(np.float64))
        labels.append({name: str(values[run]) for name, values in of.labels.items()})
    (first, second), score = counts, how.score
    shuffled = _approximate_randomization(first, second, score, iterations, rules.seed)
    tests = {"approximate_randomization": shuffled}
    if score is metrics.ratio and np.all(first[:, 1] == 1):
        tests["mcnemar"] = hypotheses.mcnemar(first[:, 0], second[:, 0])
    return SinglePair(
        a=a,
        b=b,
        data_set=data.name,
        part=data.part,
        items=len(first),
        seeds=(labels[0].get("seed", ""), labels[1].get("seed", "")),
        split=labels[0].get("split", ""),
        best_dev=data.models[a].dev is not None,
        scores=(float(score(first.sum(0))), float(score(second.sum(0)))),
        tests=tests,
        adjusted={},
        difference=_paired_bootstrap(first, second, score, rules),
    )


def _approximate_randomization(
    first: np.ndarray, second: np.ndarray, score: Score, iterations: int, seed: int = 0
) -> HypothesisTest:
    """Approximate randomisation (Noreen 1989; Yeh 2000): swaps the two runs' answers at random.

    The score is recomputed from the summed counts of each shuffle. Items with equal differences of
    counts are alike, and a binomial number of them is swapped. p = (1 + hits) / (1 + iterations).

    Args:
      first, second: [N, K] additive counts of the two runs, a row an item.
      score: summed counts [..., K] -> [...], such as f1, ratio or macro_f1 of `runs.metrics`.
    """
    start = first.sum(0)
    both = first.sum(0) + second.sum(0)
    scores = float(score(start)), float(score(both - start))
    observed = scores[0] - scores[1]
    hits = 0
    least = abs(observed) - _ROUNDING * max(map(abs, scores))
    kinds, sizes = _kinds(second - first)
    kinds, sizes = kinds[kinds.any(axis=1)], sizes[kinds.any(axis=1)]
    generator = np.random.default_rng(seed)
    width = max(_NARROW, int(np.minimum(sizes, _AS_BITS).sum()))
    for rounds in blocks(iterations, width, _MOST_DRAWN):
        swapped = start + _moved(generator, kinds, sizes, rounds)
        hits += int(np.sum(np.abs(score(swapped) - score(both - swapped)) >= least))
    method = f"{iterations} shuffles, seed {seed}"
    p_value = (1 + hits) / (1 + iterations)
    n = (len(first),)
    return HypothesisTest(observed, p_value, n, method, sign(observed))


def _paired_bootstrap(first: np.ndarray, second: np.ndarray, score: Score, rules: Rules) -> Effect:
    """The difference of two runs' scores, with a percentile interval over items (Koehn 2004).

    Items are drawn with replacement, the same for both runs. Arguments as of
    `_approximate_randomization`.
    """
    n, columns = first.shape
    kinds, sizes = _kinds(np.concatenate([first, second], axis=1))
    generator = np.random.default_rng(rules.seed)
    drawn = []
    for rounds in blocks(rules.resamples, max(_NARROW, len(kinds)), _MOST_DRAWN):
        sums = generator.multinomial(n, sizes / n, rounds) @ kinds
        drawn.append(score(sums[:, :columns]) - score(sums[:, columns:]))
    method = f"paired bootstrap of examples, {rules.resamples} resamples, seed {rules.seed}"
    interval = percentile_interval(np.concatenate(drawn), rules.confidence, method)
    gap = float(score(first.sum(0)) - score(second.sum(0)))
    return Effect(gap, interval, (n,))


def _kinds(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows in order of appearance, so that A and B may be exchanged; their numbers."""
    distinct, where, sizes = np.unique(rows, axis=0, return_index=True, return_counts=True)
    order = np.argsort(where)
    return distinct[order], sizes[order]


def _moved(
    generator: np.random.Generator, kinds: np.ndarray, sizes: np.ndarray, rounds: int
) -> np.ndarray:
    """Changes of A's counts by random swaps: [rounds, K]."""
    large = sizes > _AS_BITS
    moved = np.zeros((rounds, kinds.shape[1]))
    if large.any():
        moved += generator.binomial(sizes[large], 0.5, (rounds, int(large.sum()))) @ kinds[large]
    single = np.repeat(kinds[~large], sizes[~large], axis=0)
    if len(single):
        drawn = np.frombuffer(generator.bytes(rounds * -(-len(single) // 8)), np.uint8)
        bits = np.unpackbits(drawn.reshape(rounds, -1), axis=1, count=len(single))
        whole = np.all(single == np.round(single)) and np.abs(single).sum(0).max() < _MOST_EXACT
        number = np.float32 if whole else np.float64
        moved += bits.astype(number) @ single.astype(number)
    return moved
