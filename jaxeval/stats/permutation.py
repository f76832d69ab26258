"""Tests that exchange labels, and bootstraps of items: of means, and of scores of summed counts.

Those on items of two single runs say nothing of other seeds of the same models.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs import counts as counted
from jaxeval.runs.counts import Score
from jaxeval.stats.results import (
    Effect,
    HypothesisTest,
    Sample,
    count,
    exchanged,
    floats,
    location_gap,
    pairs,
    percentile_interval,
    rounding_unit,
    sample,
    sign,
    two_samples,
    typical_size,
)

_LIMB = 2.0**44  # above 1e13, the most that a score of typical size has of its twelfth digit
_LARGEST = 1e300  # in that unit
_BITS = 16  # signs of a table of sums
_BLOCK = 1_000_000  # permutations at a time
_ROUNDING = 1e-12  # of the scores: equal sums, or gaps of counts, in another order
_ROUNDS = 20_000  # shuffles or resamples at a time, fewer of many items: bounds memory
_MOST_DRAWN = 4_000_000  # numbers at a time
_MOST_EXACT = 2**24  # whole numbers up to which sums of float32 are exact
_AS_BITS = 32  # groups up to this size are drawn as single bits


def permutation_test(
    a: Sample, b: Sample, *, paired: bool = False, resamples: int = 99_999, seed: int = 0
) -> HypothesisTest:
    """Permutation test on the difference of means; paired scores swap within pairs only.

    All permutations where there are at most `resamples` of them (exact), else random ones. p is
    twice that of the smaller side, (1 + hits) / (1 + resamples). Which is called A changes
    nothing.
    """
    from scipy import stats

    resamples = count(resamples, "resamples")
    first, second = pairs(a, b) if paired else two_samples(a, b)
    samples = _whole(*((second, first) if exchanged(first, second) else (first, second)))
    large, small = _limbs(samples[0])

    def total(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
        """The first's sum, as that of both is fixed, less the observed: SciPy's ties are loose."""
        above, below = _limbs(x, axis)
        return (above - large) + (below - small)

    result = stats.permutation_test(
        samples,
        total,
        permutation_type="samples" if paired else "independent",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, 5_000_000 // sum(map(len, samples))),
        rng=np.random.default_rng(seed),
    )
    exact, pairwise = len(result.null_distribution) != resamples, " within pairs" if paired else ""
    return HypothesisTest(
        "permutation of means" + (", paired" if paired else ""),
        float(np.mean(first) - np.mean(second)),
        float(result.pvalue),
        (len(first),) if paired else (len(first), len(second)),
        f"the labels A and B are exchangeable{pairwise}",
        "exact" if exact else f"{resamples} random permutations, seed {seed}",
        sign(location_gap(first, second, "mean")),
    )


def _whole(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both as whole numbers around a middle one, in the unit of the scores' twelfth digit.

    Their sums are exact, so that labellings which differ by rounding alone are ties.
    """
    pooled = np.concatenate([first, second])
    unit = rounding_unit(typical_size(pooled)) or math.ulp(0.0)
    with np.errstate(over="ignore"):
        multiples = np.round(np.clip(pooled / unit, -_LARGEST, _LARGEST))
    multiples -= np.sort(multiples)[len(multiples) // 2]
    return multiples[: len(first)], multiples[len(first) :]


def _limbs(values: np.ndarray, axis: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Sums of whole numbers, of their multiples of _LIMB and of what is left.

    A diverged score takes no digit from the others so.
    """
    below = np.fmod(values, _LIMB)
    return (values - below).sum(axis=axis), below.sum(axis=axis)


def sign_flips(
    differences: Sample, *, permutations: int = 1_000_000, seed: int = 0
) -> HypothesisTest:
    """Paired permutation test: on each item (cluster) A and B are exchanged at random.

    All 2^n exchanges where these are no more than `permutations` (exact), else as many drawn, with
    p = (1 + hits) / (1 + permutations); two-sided. The sums of 16 signs are looked up in a table.
    """
    values = sample(differences, "differences")
    permutations = count(permutations, "permutations")
    observed, moved = float(values.sum()), values[values != 0]
    least = abs(observed) - _ROUNDING * float(np.abs(values).sum())
    if len(moved) < 63 and 2 ** len(moved) <= permutations:
        share = float(np.mean(np.abs(_signed_sums(moved)) >= least))
        method = f"exact, all {2 ** len(moved)} exchanges"
    else:
        generator, hits = np.random.default_rng(seed), 0
        for begin in range(0, permutations, _BLOCK):
            sums = np.zeros(min(_BLOCK, permutations - begin))
            for k in range(0, len(moved), _BITS):
                table = _signed_sums(moved[k : k + _BITS])
                signs = np.frombuffer(generator.bytes(2 * len(sums)), np.uint16)
                sums += table[signs if len(table) == 2**_BITS else signs % len(table)]
            hits += int(np.sum(np.abs(sums) >= least))
        share = (1 + hits) / (1 + permutations)
        method = f"{permutations} permutations, seed {seed}"
    null, n = "both models' scores of an item are exchangeable", len(values)
    mean, name = observed / n, "paired permutation"
    return HypothesisTest(name, mean, share, (n,), null, method, sign(observed))


def _signed_sums(values: np.ndarray) -> np.ndarray:
    """[2^n] sums of n values, with every choice of signs."""
    sums = np.zeros(1)
    for value in values.tolist():
        sums = np.concatenate([sums + value, sums - value])
    return sums


def approximate_randomization(
    a: np.ndarray,
    b: np.ndarray,
    *,
    score: Score = counted.f1,
    iterations: int = 1_000_000,
    seed: int = 0,
) -> HypothesisTest:
    """Approximate randomisation (Noreen 1989; Yeh 2000): swaps the two runs' answers at random.

    The score is recomputed from the summed counts of each shuffle. Items with the same difference
    of counts are alike, and a binomial number of them is swapped. p = (1 + hits) / (1 +
    iterations).

    Args:
      a: [N, K] additive counts of run A, a row an item; b: the same of run B.
      score: summed counts [..., K] -> [...]: of `runs.counts` f1, ratio, macro_f1, or one's own.
    """
    iterations = count(iterations, "iterations")
    first, second = _counts(a, b)
    start, both = first.sum(0), first.sum(0) + second.sum(0)
    scores = float(score(start)), float(score(both - start))
    observed, hits = scores[0] - scores[1], 0
    least = abs(observed) - _ROUNDING * max(map(abs, scores))
    kinds, sizes = _kinds(second - first)
    kinds, sizes = kinds[kinds.any(axis=1)], sizes[kinds.any(axis=1)]
    generator = np.random.default_rng(seed)
    for rounds in _blocks(iterations, int(np.minimum(sizes, _AS_BITS).sum())):
        swapped = start + _moved(generator, kinds, sizes, rounds)
        hits += int(np.sum(np.abs(score(swapped) - score(both - swapped)) >= least))
    return HypothesisTest(
        "approximate randomisation",
        observed,
        (1 + hits) / (1 + iterations),
        (len(first),),
        "the two runs' answers are exchangeable",
        f"{iterations} shuffles, seed {seed}",
        sign(observed),
    )


def paired_bootstrap(
    a: np.ndarray,
    b: np.ndarray,
    *,
    score: Score = counted.f1,
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> Effect:
    """The difference of two runs' scores, with the interval that other such items leave open.

    Items are drawn with replacement, the same for both runs (Koehn 2004); the interval is that of
    percentiles. Arguments and errors as of `approximate_randomization`.
    """
    resamples = count(resamples, "resamples")
    first, second = _counts(a, b)
    n, columns = first.shape
    kinds, sizes = _kinds(np.concatenate([first, second], axis=1))
    generator, drawn = np.random.default_rng(seed), []
    for rounds in _blocks(resamples, len(kinds)):
        sums = generator.multinomial(n, sizes / n, rounds) @ kinds
        drawn.append(score(sums[:, :columns]) - score(sums[:, columns:]))
    method = f"paired bootstrap of examples, {resamples} resamples, seed {seed}"
    interval = percentile_interval(np.concatenate(drawn), confidence, method)
    gap = float(score(first.sum(0)) - score(second.sum(0)))
    return Effect("difference", gap, interval, (n,))


def _kinds(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows in order of appearance, which exchanging A and B leaves; how many of each."""
    distinct, where, sizes = np.unique(rows, axis=0, return_index=True, return_counts=True)
    order = np.argsort(where)
    return distinct[order], sizes[order]


def _blocks(rounds: int, width: int) -> Iterator[int]:
    """How many rounds at a time, of so many numbers each."""
    size = max(1, min(_ROUNDS, _MOST_DRAWN // max(width, 1)))
    return (min(size, rounds - begin) for begin in range(0, rounds, size))


def _moved(
    generator: np.random.Generator, kinds: np.ndarray, sizes: np.ndarray, rounds: int
) -> np.ndarray:
    """What random swaps add to A's counts: [rounds, K]."""
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


def _counts(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    expected = "counts: expected [items, kinds of counts] of finite numbers"
    first, second = (floats(values, expected) for values in (a, b))
    if first.shape != second.shape or first.ndim != 2 or not len(first):
        raise DataError(f"{expected}, found shapes {first.shape} and {second.shape}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise DataError(expected)
    return first, second
