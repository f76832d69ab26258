"""Where the verdict's tests reject too often, and what they see.

The tables of results/tests_and_intervals.md: Brunner-Munzel at corrected
levels where a small sample is the wider one; tests of spread on pairs
that share a split, and on pairs that share little; looks repeated while seeds are added; random
splits of one corpus that overlap; cross-validations. Equal models, so that every rejection is
false, unless a ratio of sds is named. One JSON line follows; a minute and a half on one idle core.

    python benchmarks/verdict_levels.py --experiments 20000
"""

import argparse
import json
import platform
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy
from scipy import stats as reference

from jaxeval.stats import hypotheses, ranks

LEVELS = (0.05, 0.025, 0.0083)  # of one test, and after the correction for two and for six
POPULATIONS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "normal": lambda g, s: g.normal(size=s),
    "skewed (exponential)": lambda g, s: g.exponential(size=s) - 1,
    "t, 3 degrees of freedom": lambda g, s: g.standard_t(3, size=s),
    "1 of 10 fails (-6 sd)": lambda g, s: g.normal(size=s) - 6 * (g.random(s) < 0.1),
}


def main() -> None:
    """Prints all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=20000)
    count = parser.parse_args().experiments
    tables = {
        "small_and_wide": table("Brunner-Munzel, P(A > B) = .5", _small_and_wide(count)),
        "spread_of_pairs": table("Spread of pairs that correlate by .9", _spread(count)),
        "spread_of_unlike_pairs": table("Pairs that correlate by less, equal sds", _unlike(count)),
        "repeated_looks": table("Looks after every seed", _looks(count)),
        "overlapping_splits": table("Ten splits of one corpus", _splits(count // 10)),
        "cross_validation": table("Cross-validation of two learners", _validated(count // 10)),
    }
    versions = {"numpy": np.__version__, "scipy": scipy.__version__}
    record = {"benchmark": "verdict_levels", "experiments": count, "seed": 0, **tables, **versions}
    print(json.dumps(record | {"python": platform.python_version()}))


def table(title: str, rows: Iterator[dict]) -> list[dict]:
    """Prints rows of the same keys under their title, and keeps them."""
    print(f"\n{title}\n", flush=True)
    kept = list(rows)
    print("| " + " | ".join(kept[0]) + " |\n|" + "---|" * len(kept[0]))
    for row in kept:
        cells = [
            f"{v:.3f}" if isinstance(v, float) and v >= 0.001 else f"{v}" for v in row.values()
        ]
        print("| " + " | ".join(cells) + " |", flush=True)
    return kept


def brunner_munzel(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """P-values [R] of rows of scores without ties: [R, n], [R, m]."""
    n, m = first.shape[1], second.shape[1]
    labels = np.argsort(np.concatenate([first, second], axis=1), axis=1) < n
    return ranks.p_values(ranks.studentized(labels), n, m)[0]


def _shares(p_values: np.ndarray) -> dict[str, float]:
    return {f"at {level:g}": float(np.mean(p_values <= level)) for level in LEVELS}


def _small_and_wide(count: int) -> Iterator[dict]:
    """Normal scores; also how often they lie wholly apart, beside the p that is said then."""
    generator = np.random.default_rng(0)
    for n, m in ((5, 5), (5, 10), (5, 30), (8, 40), (10, 40), (20, 80)):
        for sd in (1, 2, 4):
            a, b = sd * generator.normal(size=(count, n)), generator.normal(size=(count, m))
            apart = (a.min(1) > b.max(1)) | (a.max(1) < b.min(1))
            yield {
                "n of A, B": f"{n}, {m}",
                "sd of A / B": sd,
                **_shares(brunner_munzel(a, b)),
                "apart": float(apart.mean()),
                "p said": float(f"{ranks.separation_p(n, m):.2g}"),
            }


def _spread(count: int) -> Iterator[dict]:
    """At level .025: Brown-Forsythe, and Pitman-Morgan by Pearson's and by rank correlation."""
    generator = np.random.default_rng(1)
    for n in (5, 10, 20):
        for name, draw in POPULATIONS.items():
            for ratio in (1, 1.5, 3):
                split = np.sqrt(0.9) * generator.normal(size=(count, n))
                a, b = (split + np.sqrt(0.1) * draw(generator, (count, n)) for _ in range(2))
                seen = {key: float(np.mean(p <= 0.025)) for key, p in _of_spread(ratio * a, b)}
                yield {"pairs": n, "scores": name, "ratio of sds": ratio, **seen}


def _unlike(count: int) -> Iterator[dict]:
    """False verdicts on spread at level .025, of scores that share less with their pair."""
    generator = np.random.default_rng(5)
    for n in (5, 10, 20, 50):
        for name, draw in {**POPULATIONS, "Cauchy": _cauchy}.items():
            for correlation in (0.0, 0.5):
                split = np.sqrt(correlation) * generator.normal(size=(count, n))
                own = np.sqrt(1 - correlation)
                a, b = (split + own * draw(generator, (count, n)) for _ in range(2))
                seen = {key: float(np.mean(p <= 0.025)) for key, p in _of_spread(a, b)}
                yield {"pairs": n, "scores": name, "correlation": correlation, **seen}


def _cauchy(generator: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    return generator.standard_cauchy(size)


def _of_spread(a: np.ndarray, b: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    away = (np.abs(v - np.median(v, axis=1, keepdims=True)) for v in (a, b))
    yield "Brown-Forsythe", reference.f_oneway(*away, axis=1).pvalue
    n, both = a.shape[1], (a + b, a - b)
    r = np.array([np.corrcoef(x, y)[0, 1] for x, y in zip(*both, strict=True)])
    t = np.abs(r) * np.sqrt((n - 2) / (1 - r**2))
    yield "Pitman-Morgan, Pearson", 2 * reference.t.sf(t, n - 2)
    yield "by ranks (used)", np.array([ranks.spearman(*of)[1] for of in zip(*both, strict=True)])


def _looks(count: int) -> Iterator[dict]:
    """Equal normal scores: the share of which p is at most .05 at some look, and at the last."""
    generator = np.random.default_rng(2)
    a, b = generator.normal(size=(2, count, 40))
    for last in (10, 20, 40):
        p_values = [brunner_munzel(a[:, :n], b[:, :n]) for n in range(5, last + 1)]
        yield {
            "seeds each": f"5, 6 ... {last}",
            "at some look": float(np.mean(np.min(p_values, axis=0) <= 0.05)),
            "at the last": float(np.mean(p_values[-1] <= 0.05)),
        }


def _splits(count: int) -> Iterator[dict]:
    """Wilcoxon at .05 on ten splits; items of which no model is better, nothing else varies."""
    generator, splits = np.random.default_rng(3), 10
    for items, share in ((300, 0.3), (300, 0.1), (2000, 0.1)):
        gaps = generator.normal(size=(count, items))
        tested = int(items * share)
        drawn = [_drawn(generator, row, splits, tested) for row in gaps]
        yield {"items": items, "in test": share, "random splits": _rejected(np.array(drawn))}


def _validated(count: int) -> Iterator[dict]:
    """Wilcoxon and the corrected t at .05 on folds; nearest-mean classifiers.

    Each of the two sees its own half of the features, which are equally good.
    """
    generator = np.random.default_rng(6)
    for folds, times in ((10, 1), (5, 2), (5, 5), (10, 10)):
        gaps = [_of_folds(generator, folds, times) for _ in range(count)]
        pairs = [(np.array(row), np.zeros(len(row))) for row in gaps]
        by_ranks = [hypotheses.wilcoxon_signed_rank(*pair).p_value for pair in pairs]
        each = (hypotheses.t_test(*pair, overlap=1 / (folds - 1), paired=True) for pair in pairs)
        corrected = [test.p_value for test in each]
        rejected = (float(np.mean(np.array(p) <= 0.05)) for p in (by_ranks, corrected))
        of = "folds", "repeated", "Wilcoxon", "corrected t"
        yield dict(zip(of, (folds, times, *rejected), strict=True))


def _of_folds(generator: np.random.Generator, folds: int, times: int) -> list[float]:
    """Difference of two learners' accuracies on each fold of each cross-validation."""
    items, width = 100, 20  # features of each
    truth = generator.permutation(np.arange(items) % 2).astype(bool)
    seen = generator.normal(size=(2, items, width)) + np.where(truth, 0.1, -0.1)[:, None]
    gaps = []
    for _ in range(times):
        fold = generator.permutation(items) % folds
        for k in range(folds):
            right = [_right(features, truth, fold == k) for features in seen]
            gaps.append(right[0] - right[1])
    return gaps


def _right(features: np.ndarray, truth: np.ndarray, tested: np.ndarray) -> float:
    """Accuracy on the tested items of the nearest class mean of all others."""
    one, other = features[~tested & truth].mean(axis=0), features[~tested & ~truth].mean(axis=0)
    said = (features[tested] - (one + other) / 2) @ (one - other) > 0
    return float(np.mean(said == truth[tested]))


def _drawn(
    generator: np.random.Generator, gaps: np.ndarray, splits: int, tested: int
) -> Sequence[float]:
    """The mean difference on the test items of each of so many random splits."""
    return [float(generator.permutation(gaps)[:tested].mean()) for _ in range(splits)]


def _rejected(gaps: np.ndarray) -> float:
    return float(np.mean(ranks.signed_ranks(gaps)[2] <= 0.05))


if __name__ == "__main__":
    main()
