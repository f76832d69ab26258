"""Tests on the predictions of two single runs, example by example.

They say whether these two trained networks differ on such examples; they say nothing of other
seeds of the same models. For that compare distributions over seeds.
"""

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
    floats,
    pairs,
    percentile_interval,
    sign,
)

_BLOCK = 20_000  # shuffles or resamples at a time, fewer of many examples: bounds memory
_MOST_DRAWN = 4_000_000  # numbers at a time
_ROUNDING = 1e-12  # of the scores: equal gaps of counts that were added in another order
_MOST_EXACT = 2**24  # whole numbers up to which sums of float32 are exact
_AS_BITS = 32  # groups up to this size are drawn as single bits


def mcnemar(a: Sample, b: Sample) -> HypothesisTest:
    """McNemar's exact test on two vectors [N] of right (1) and wrong (0) answers.

    Raises:
      DataError: other answers, or not as many of both.
    """
    from scipy import stats

    first, second = pairs(a, b, at_least=1)
    if not np.isin(np.concatenate([first, second]), (0.0, 1.0)).all():
        raise DataError("McNemar: expected 1 for right and 0 for wrong answers")
    only_a, only_b = int(np.sum(first > second)), int(np.sum(first < second))
    p_value = stats.binomtest(only_a, only_a + only_b).pvalue if only_a + only_b else 1.0
    return HypothesisTest(
        "McNemar",
        float(only_a - only_b),
        float(p_value),
        (len(first),),
        "both runs are right equally often",
        f"exact binomial, {only_a} and {only_b} answers right in one run only",
        sign(only_a - only_b),
    )


def approximate_randomization(
    a: np.ndarray,
    b: np.ndarray,
    *,
    score: Score = counted.f1,
    iterations: int = 1_000_000,
    seed: int = 0,
) -> HypothesisTest:
    """Approximate randomisation (Noreen 1989; Yeh 2000): swaps the two runs' answers at random.

    The score is recomputed from the summed counts of each shuffle. Examples with the same
    difference of counts are alike: of m such ones a binomial number is swapped, so the time does
    not depend on how many examples there are but on how many kinds. p = (1 + hits) / (1 +
    iterations), two-sided.

    Args:
      a: [N, K] additive counts of run A, a row an example; b: the same of run B.
      score: summed counts [..., K] -> [...]; of `jaxeval.runs.counts` f1 (K = 3, the default),
        ratio (K = 2: accuracy), macro_f1, or one's own.
      iterations: shuffles, at least 1; the smallest p-value is 1 / (1 + iterations).

    Raises:
      DataError: counts of another shape, or no shuffle.
    """
    iterations = count(iterations, "iterations")
    first, second = _of_both(a, b)
    start, both = first.sum(0), first.sum(0) + second.sum(0)
    scores = float(score(start)), float(score(both - start))
    observed = scores[0] - scores[1]
    least = abs(observed) - _ROUNDING * max(map(abs, scores))
    hits = 0
    for moved in _swaps(second - first, iterations, seed):
        swapped = start + moved
        gaps = score(swapped) - score(both - swapped)
        hits += int(np.sum(np.abs(gaps) >= least))
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
    """The difference of two runs' scores, with the interval that other such examples leave open.

    Examples are drawn with replacement, the same for both runs (Koehn 2004); the interval is that
    of percentiles. Arguments and errors as of `approximate_randomization`.
    """
    resamples = count(resamples, "resamples")
    first, second = _of_both(a, b)
    kinds, sizes = _kinds(np.concatenate([first, second], axis=1))
    generator, block = np.random.default_rng(seed), _block(len(kinds))
    drawn = []
    for begin in range(0, resamples, block):
        rounds = min(block, resamples - begin)
        sums = generator.multinomial(len(first), sizes / len(first), rounds) @ kinds
        drawn.append(score(sums[:, : first.shape[1]]) - score(sums[:, first.shape[1] :]))
    method = f"paired bootstrap of examples, {resamples} resamples, seed {seed}"
    return Effect(
        "difference",
        float(score(first.sum(0)) - score(second.sum(0))),
        percentile_interval(np.concatenate(drawn), confidence, method),
        (len(first),),
    )


def _swaps(differences: np.ndarray, iterations: int, seed: int) -> Iterator[np.ndarray]:
    """What random swaps add to A's counts, [rounds, K] at a time. differences: B - A, [N, K]."""
    kinds, sizes = _kinds(differences)
    differ = kinds.any(axis=1)
    kinds, sizes = kinds[differ], sizes[differ]
    block = _block(int(np.minimum(sizes, _AS_BITS).sum()))
    generator = np.random.default_rng(seed)
    for begin in range(0, iterations, block):
        yield _moved(generator, kinds, sizes, min(block, iterations - begin))


def _kinds(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows in order of appearance, which exchanging A and B leaves; how many of each."""
    distinct, where, sizes = np.unique(rows, axis=0, return_index=True, return_counts=True)
    order = np.argsort(where)
    return distinct[order], sizes[order]


def _block(width: int) -> int:
    """Rounds at a time, of so many numbers each."""
    return max(1, min(_BLOCK, _MOST_DRAWN // max(width, 1)))


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


def _of_both(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second = _counts(a, "counts of A"), _counts(b, "counts of B")
    if first.shape != second.shape:
        raise DataError(f"counts: expected the same shape, found {first.shape} and {second.shape}")
    return first, second


def _counts(values: np.ndarray, name: str) -> np.ndarray:
    array = floats(values, f"{name}: expected [examples, kinds of counts]")
    if array.ndim != 2 or not len(array):
        raise DataError(f"{name}: expected [examples, kinds of counts], found shape {array.shape}")
    if not np.isfinite(array).all():
        raise DataError(f"{name}: expected finite numbers")
    return array
