"""Word vectors compared by scores of trained models, and by similarity and analogies.

Relative error reduction over a baseline (Nayak, Angeli & Manning 2016) is RER = (s - b) / (1 - b),
with s and b the scores of a file and of the baseline, as fractions and means over seeds. 0 is the
baseline, 1 no error left; b = .9 and s = 0 give -9. The mean over tasks has no weights.

Notation: T tasks, S seeds, V files, B resamples, n items. All files share one set of resamples, so
that their differences are paired.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import scipy

from jaxeval.errors import DataError
from jaxeval.runs.scores import DataSetScores, ModelScores, Scores, Status
from jaxeval.stats import study
from jaxeval.stats.results import (
    Effect,
    HypothesisTest,
    Interval,
    Rules,
    Sample,
    count,
    fraction,
    percentile_interval,
    sample,
    sign,
)
from jaxeval.stats.study import RunStudy

MEAN = "mean of tasks"
_FEWEST = 5  # seeds of an interval, as of any conclusion
_TINY = 1e-12  # a standard error below it is rounding
_NAME = "relative error reduction"
_AT_ONCE = 2_000_000  # weights of resamples in memory
_MOST_UNDEFINED = 0.05  # share of resamples without a value; with more the others are biased


@dataclasses.dataclass(frozen=True, eq=False)
class Judgement:
    """Files of vectors in one mode: fixed, or trained with the models ("tuned").

    Attributes:
      scores: file -> [T, S], NaN for a failed training; best mean over tasks first.
      reductions: file -> task, and "mean" of all tasks in which the baseline makes errors -> RER,
        of the seeds without a failure; empty without a baseline.
      overall, by_task: comparisons of the means over tasks, and task by task; None for one file,
        and if one has a single score.
    """

    mode: str
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    scores: Mapping[str, np.ndarray]
    baseline: str | None
    reductions: Mapping[str, Mapping[str, Effect]]
    overall: RunStudy | None
    by_task: RunStudy | None


def judge(
    mode: str,
    tasks: Sequence[str],
    seeds: Sequence[int],
    scores: Mapping[str, np.ndarray],
    baseline: str | None = None,
    rules: Rules | None = None,
) -> Judgement:
    """Compares files by their scores: file -> fractions [T, S], NaN for a failed training."""
    rules = rules or Rules()
    means = {name: of.mean(axis=0)[None] for name, of in scores.items()}
    known = {name: of[~np.isnan(of)] for name, of in means.items()}
    order = sorted(scores, key=lambda name: -known[name].mean() if len(known[name]) else np.inf)
    scores = {name: scores[name] for name in order}
    return Judgement(
        mode,
        tuple(tasks),
        tuple(seeds),
        scores,
        baseline,
        {} if baseline is None else _reductions(scores, tasks, baseline, rules.confidence),
        _study({name: means[name] for name in order}, [MEAN], seeds, rules),
        _study(scores, tasks, seeds, rules),
    )


def _study(
    arrays: Mapping[str, np.ndarray], tasks: Sequence[str], seeds: Sequence[int], rules: Rules
) -> RunStudy | None:
    if len(arrays) < 2 or min((~np.isnan(of)).sum(axis=1).min() for of in arrays.values()) < 2:
        return None
    labels, rows = {"seed": np.array([*map(str, seeds)], object)}, np.arange(1, len(seeds) + 1)
    data_sets = []
    for k, task in enumerate(tasks):
        models = {}
        for name, of in arrays.items():
            status = np.where(np.isnan(of[k]), Status.FAILED, Status.SCORED).astype(np.uint8)
            values = of[k][None, :, None], status[None, :, None]
            models[name] = ModelScores(*values, labels, rows)
        data_sets.append(DataSetScores(task, "", True, "recorded", models, unit="fraction"))
    return study.study(Scores("trainings", tuple(arrays), tuple(data_sets)), rules, "seed")


def _reductions(
    scores: Mapping[str, np.ndarray], tasks: Sequence[str], baseline: str, confidence: float
) -> dict[str, dict[str, Effect]]:
    """RER of all other files, from the seeds that all files and tasks have."""
    whole = ~np.any([np.isnan(of).any(axis=0) for of in scores.values()], axis=0)
    b = scores[baseline][:, whole]
    wrong = b.mean(axis=1) < 1 if whole.any() else np.zeros(len(b), bool)
    if not wrong.any():
        return {}
    names = [*(task for task, some in zip(tasks, wrong, strict=True) if some), "mean"]
    found = {}
    for name, of in scores.items():
        if name != baseline:
            each = reductions(of[wrong][:, whole], b[wrong], confidence=confidence)
            found[name] = dict(zip(names, each, strict=True))
    return found


def reductions(
    scores: np.ndarray, baseline: np.ndarray, *, confidence: float = 0.95
) -> list[Effect]:
    """RER of each task, then their mean, from scores [T, S] of the same tasks and seeds.

    The t interval is of log(1 - RER), the error left, so that it stays below 1. Its standard error
    is linearised (delta method, Casella & Berger 2002, section 5.5.4), from what each seed
    contributes through the model, the baseline and all tasks together:
    d(1 - RER) = -ds / (1 - b) + db (1 - s) / (1 - b)^2. There is no interval for fewer than five
    seeds, for a model without errors, and if nothing varies over seeds.

    Raises:
      DataError: a baseline without errors, scores that are no fractions, other shapes.
    """
    s, b = np.asarray(scores, float), np.asarray(baseline, float)
    confidence = fraction(confidence, "confidence")
    if s.shape != b.shape or s.ndim != 2 or not s.size:
        raise DataError(f"{_NAME}: expected as many tasks and seeds of both")
    if not all(np.all((of >= 0) & (of <= 1)) for of in (s, b)):
        raise DataError(f"{_NAME}: expected scores from 0 to 1")
    mean_s, mean_b = s.mean(axis=1, keepdims=True), b.mean(axis=1, keepdims=True)
    if np.any(mean_b == 1):
        raise DataError(f"{_NAME}: the baseline makes no error (score 1): none to reduce")
    left = 1 - (mean_s - mean_b) / (1 - mean_b)
    influence = ((b - mean_b) * left - (s - mean_s)) / (1 - mean_b)
    each = zip(left[:, 0], influence, strict=True)
    mean = _effect(f"mean {_NAME}", left[:, 0].mean(), influence.mean(axis=0), confidence)
    return [*(_effect(_NAME, *task, confidence) for task in each), mean]


def _effect(name: str, left: float, influence: np.ndarray, confidence: float) -> Effect:
    """1 - left, with the interval from the influence [S] of each seed."""
    seeds = len(influence)
    error = np.sqrt(np.sum(influence**2) / (max(seeds - 1, 1) * seeds))
    absent = f"fewer than {_FEWEST} seeds" if seeds < _FEWEST else ""
    absent = absent or ("no error is left" if left <= _TINY else "")
    absent = absent or ("nothing varies over seeds" if error <= _TINY else "")
    if absent:
        return Effect(name, float(1 - left), Interval.none(confidence, absent), (seeds,))
    half = float(scipy.stats.t.ppf((1 + confidence) / 2, seeds - 1)) * error / left
    with np.errstate(over="ignore"):
        low, high = (float(1 - left * np.exp(side)) for side in (half, -half))
    method = "t of log(1 - RER) over seeds, linearised"
    return Effect(name, float(1 - left), Interval(low, high, confidence, method), (seeds,))


def difference(
    estimates: tuple[float, float],
    draws: tuple[np.ndarray, np.ndarray],
    n: int,
    *,
    method: str,
    confidence: float = 0.95,
) -> tuple[Effect, HypothesisTest]:
    """Score A minus score B of n items, and the test whether they are equal.

    p = 2 (1 + k) / (1 + B), with k of the B draws on the rarer side of 0, or at 0. Draws without a
    value do not count; p is NaN if there are many.
    """
    gap, gaps = estimates[0] - estimates[1], draws[0] - draws[1]
    effect = Effect("difference", gap, interval(gaps, confidence, method), (n,))
    p_value, direction = math.nan, 0
    if np.isnan(gaps).mean() <= _MOST_UNDEFINED:
        gaps = gaps[~np.isnan(gaps)]
        rarer = min(int(np.sum(gaps <= 0)), int(np.sum(gaps >= 0)))
        p_value = min(1.0, 2 * (1 + rarer) / (1 + len(gaps)))
        direction = sign(float(np.median(gaps)))
    null = "both scores are equal on all such items"
    return effect, HypothesisTest("paired bootstrap", gap, p_value, (n,), null, method, direction)


def interval(draws: np.ndarray, confidence: float, method: str) -> Interval:
    """Percentile interval of draws [B]; NaN is a draw without a value, of which few may be."""
    share = float(np.isnan(draws).mean())
    if share > _MOST_UNDEFINED:
        reason = f"{100 * share:.0f} % of the resamples draw too few different items for a score"
        return Interval.none(confidence, reason)
    return percentile_interval(draws[~np.isnan(draws)], confidence, method)


def spearman(gold: Sample, scores: np.ndarray) -> np.ndarray:
    """Spearman's correlation [V] of each row of scores [V, n] with the gold scores [n]."""
    rows = _rows(gold, scores)
    return _correlations(rows, np.ones((1, len(rows[0])), np.int64))[0]


def spearman_draws(
    gold: Sample, scores: np.ndarray, *, resamples: int = 9999, seed: int = 0
) -> np.ndarray:
    """The correlations on resamples of the items, drawn with replacement: [B, V].

    Ranks are those within each resample; NaN if all scores of a resample are equal.
    """
    rows, generator = _rows(gold, scores), np.random.default_rng(seed)
    items = len(rows[0])
    drawn = (
        generator.multinomial(items, np.full(items, 1 / items), size)
        for size in _blocks(count(resamples, "resamples"), items)
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


def crossed_draws(
    right: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    strata: np.ndarray,
    *,
    resamples: int = 9999,
    seed: int = 0,
) -> np.ndarray:
    """Accuracies [B, V] on resamples of Q questions that combine two units each; NaN: none drawn.

    Units are drawn with replacement within their stratum; a question counts as the product of the
    counts of its units (Owen 2007, "The pigeonhole bootstrap").

    Args:
      right: [V, Q] bool; first, second: [Q] numbers of the units of each question.
      strata: [units] number of each unit's stratum.
    """
    starts = np.flatnonzero(np.concatenate([[True], strata[1:] != strata[:-1]]))
    sizes = np.diff(np.append(starts, len(strata)))
    generator, answers, draws = np.random.default_rng(seed), right.T.astype(np.float64), []
    for rounds in _blocks(count(resamples, "resamples"), len(first)):
        drawn = [generator.multinomial(size, np.full(size, 1 / size), rounds) for size in sizes]
        units = np.concatenate(drawn, axis=1).astype(np.float64)
        weights = units[:, first] * units[:, second]
        total = weights.sum(axis=1, keepdims=True)
        draws.append(weights @ answers / np.where(total > 0, total, np.nan))
    return np.concatenate(draws)


def _blocks(resamples: int, width: int) -> Iterator[int]:
    """Numbers of resamples at a time: bounds memory."""
    size = max(1, _AT_ONCE // width)
    return (min(size, resamples - begin) for begin in range(0, resamples, size))
