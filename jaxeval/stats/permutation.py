"""Permutation tests: of the difference of two samples' means or medians, and of paired items."""

import math

import numpy as np

from jaxeval.stats.results import (
    HypothesisTest,
    Location,
    Sample,
    count,
    exchanged,
    location,
    location_gap,
    pairs,
    rounding_unit,
    sample,
    sign,
    two_samples,
    typical_size,
)

_LIMB = 2.0**44  # above 1e13, the most that a score of typical size has of its twelfth digit
_LARGEST = 1e300  # in that unit
PERMUTATIONS = 1_000_000
_BITS = 16  # signs of a table of sums
_BLOCK = 1_000_000  # permutations at a time
_ROUNDING = 1e-12  # of the sum of all sizes: equal sums in another order


def permutation_test(
    a: Sample,
    b: Sample,
    *,
    statistic: Location = "mean",
    paired: bool = False,
    resamples: int = 99_999,
    seed: int = 0,
) -> HypothesisTest:
    """Permutation test on the difference of means or medians.

    All permutations where there are at most `resamples` of them (exact), else random ones, where
    a side has the p-value (1 + hits) / (1 + resamples). p is twice that of the smaller side, so at
    least 2 / (1 + resamples). Paired scores swap within pairs only. Which of the two is called A
    changes nothing: random draws begin with the same one.
    """
    resamples = count(resamples, "resamples")
    first, second = pairs(a, b) if paired else two_samples(a, b)
    locate, turned = location(statistic), exchanged(first, second)
    samples = _whole(*((second, first) if turned else (first, second)))
    p_value, exact = _permuted(samples, statistic, paired, resamples, seed)
    observed = float(locate(first) - locate(second))
    return HypothesisTest(
        f"permutation of {statistic}s" + (", paired" if paired else ""),
        observed,
        p_value,
        (len(first),) if paired else (len(first), len(second)),
        "the labels A and B are exchangeable" + (" within pairs" if paired else ""),
        "exact" if exact else f"{resamples} random permutations, seed {seed}",
        sign(location_gap(first, second, statistic)),
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


def _total(values: np.ndarray, axis: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Sums of whole numbers, of their multiples of _LIMB and of what is left.

    A diverged score takes no digit from the others so.
    """
    below = np.fmod(values, _LIMB)
    return (values - below).sum(axis=axis), below.sum(axis=axis)


def _permuted(
    samples: tuple[np.ndarray, np.ndarray],
    statistic: Location,
    paired: bool,
    resamples: int,
    seed: int,
) -> tuple[float, bool]:
    """P-value of whole scores, and whether it is exact.

    Means go by the first's sum: as the sum of both is fixed, it puts labellings into their order.
    Both are less what was observed: SciPy takes for ties what differs by 2e-14 of the observed.
    """
    from scipy import stats

    of_large, of_small = _total(samples[0])
    median = np.median(samples[0]) - np.median(samples[1])

    def difference(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
        of_medians: np.ndarray = np.median(x, axis=axis) - np.median(y, axis=axis)
        return of_medians - median

    def total(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
        large, small = _total(x, axis)
        return (large - of_large) + (small - of_small)

    result = stats.permutation_test(
        samples,
        total if statistic == "mean" else difference,
        permutation_type="samples" if paired else "independent",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, 5_000_000 // sum(map(len, samples))),
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue), len(result.null_distribution) != resamples


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
