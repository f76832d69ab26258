"""Tests of two models item by item, beside the interval of their difference.

They speak of other items and these runs: an item's score is the mean of its runs.
"""

from collections.abc import Mapping

import numpy as np

from jaxeval.stats import examples
from jaxeval.stats.items import pairs
from jaxeval.stats.items.tables import Labels, Scores
from jaxeval.stats.results import (
    Effect,
    HypothesisTest,
    Sample,
    count,
    percentile_interval,
    sample,
    sign,
)

PERMUTATIONS = 1_000_000
_BITS = 16  # signs of a table of sums
_BLOCK = 1_000_000  # permutations at a time
_ROUNDING = 1e-12  # of the sum of all sizes: equal sums in another order
_MOST_DRAWN = 4_000_000  # numbers at a time, of resamples


def paired_tests(
    a: Scores,
    b: Scores,
    *,
    clusters: Labels | None = None,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Mapping[str, HypothesisTest]:
    """What can be tested of two models on the same items, function name -> test.

    `sign_flips` always; `mcnemar`, exact, of one run each of right and wrong answers without
    clusters.

    Args:
      a, b, clusters: as of `estimates.difference`.
    """
    pair = pairs.pair(a, b, clusters)
    sums = pair.groups.sums(pair.gaps[:, np.newaxis])[:, 0]
    tests = {"sign_flips": sign_flips(sums, permutations=permutations, seed=seed)}
    single = pair.a.cells.shape[1] == pair.b.cells.shape[1] == 1
    if clusters is None and single and pair.binary and pair.a.samples == pair.b.samples == 1:
        tests["mcnemar"] = examples.mcnemar(pair.a.cells[:, 0], pair.b.cells[:, 0])
    return tests


def sign_flips(
    differences: Sample, *, permutations: int = PERMUTATIONS, seed: int = 0
) -> HypothesisTest:
    """Paired permutation test: on each item (cluster) A and B are exchanged at random.

    All 2^n exchanges where these are no more than `permutations` (exact), else as many drawn, with
    p = (1 + hits) / (1 + permutations); two-sided. The sums of 16 signs are looked up in a table,
    so that a million permutations of 14,000 items draw no sign twice and keep no matrix.

    Args:
      differences: of the items, or of clusters their sums; those of 0 change nothing.
    """
    values = sample(differences, "differences")
    permutations = count(permutations, "permutations")
    observed = float(values.sum())
    moved = values[values != 0]
    exact = len(moved) < 63 and 2 ** len(moved) <= permutations
    least = abs(observed) - _ROUNDING * float(np.abs(values).sum())
    if exact:
        share = float(np.mean(np.abs(_signed_sums(moved)) >= least))
        method = f"exact, all {2 ** len(moved)} exchanges"
    else:
        generator, hits = np.random.default_rng(seed), 0
        for begin in range(0, permutations, _BLOCK):
            drawn = _drawn(moved, min(_BLOCK, permutations - begin), generator)
            hits += int(np.sum(np.abs(drawn) >= least))
        share = (1 + hits) / (1 + permutations)
        method = f"{permutations} permutations, seed {seed}"
    return HypothesisTest(
        "paired permutation",
        observed / len(values),
        share,
        (len(values),),
        "both models' scores of an item are exchangeable",
        method,
        sign(observed),
    )


def bootstrap(
    a: Scores,
    b: Scores,
    *,
    clusters: Labels | None = None,
    confidence: float = 0.95,
    resamples: int = 9_999,
    seed: int = 0,
) -> Effect:
    """The difference with the percentile interval of clusters (items) drawn with replacement.

    For scores with long tails; of few items it is too short (docs/items_and_runs_measured.md).
    """
    resamples = count(resamples, "resamples")
    pair = pairs.pair(a, b, clusters)
    sizes = pair.groups.sizes
    sums = np.stack([pair.groups.sums(pair.gaps[:, np.newaxis])[:, 0], sizes], axis=1)
    generator, number = np.random.default_rng(seed), len(sizes)
    means, block = [], max(1, _MOST_DRAWN // number)
    for begin in range(0, resamples, block):
        rounds = min(block, resamples - begin)
        drawn = generator.multinomial(number, np.full(number, 1 / number), rounds) @ sums
        means.append(drawn[:, 0] / drawn[:, 1])
    method = f"cluster bootstrap, {resamples} resamples, seed {seed}"
    interval = percentile_interval(np.concatenate(means), confidence, method)
    return Effect("difference", float(pair.gaps.mean()), interval, (len(pair.gaps),))


def _signed_sums(values: np.ndarray) -> np.ndarray:
    """[2^n] sums of n values, with every choice of signs."""
    sums = np.zeros(1)
    for value in values.tolist():
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _drawn(values: np.ndarray, rounds: int, generator: np.random.Generator) -> np.ndarray:
    """[rounds] sums of values with random signs."""
    sums = np.zeros(rounds)
    for begin in range(0, len(values), _BITS):
        table = _signed_sums(values[begin : begin + _BITS])
        signs = np.frombuffer(generator.bytes(2 * rounds), np.uint16)
        sums += table[signs if len(table) == 2**_BITS else signs % len(table)]
    return sums
