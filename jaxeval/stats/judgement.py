"""Files of word vectors compared by the scores of models trained with them.

Relative error reduction over a baseline (Nayak, Angeli & Manning 2016) is RER = (s - b) / (1 - b),
with s and b the scores of a file and of the baseline, as fractions and means over seeds. 0 is the
baseline, 1 no error left; b = .9 and s = 0 give -9. The mean over tasks has no weights.

Notation: T tasks, S seeds.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from jaxeval.runs.scores import DataSetScores, ModelScores, Scores, Status
from jaxeval.stats import Effect, Interval, Rules, study
from jaxeval.stats.study import Study

MEAN = "mean of tasks"
_FEWEST = 5  # seeds of an interval, as of any conclusion
_TINY = 1e-12  # a standard error below it is rounding


@dataclasses.dataclass(frozen=True, eq=False)
class Judgement:
    """Files of vectors in one mode: fixed, or trained with the models ("tuned")."""

    mode: str
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    # file -> [T, S], NaN for a failed training; best mean over tasks first
    scores: Mapping[str, np.ndarray]
    baseline: str | None
    # file -> task, and "mean" of all tasks in which the baseline makes errors -> RER, of the seeds
    # without a failure; empty without a baseline
    reductions: Mapping[str, Mapping[str, Effect]]
    # the comparison of the files, with tasks as data sets; None for one file, and if one has a
    # single score of a task
    study: Study | None


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
    means = {name: of.mean(axis=0) for name, of in scores.items()}
    known = {name: of[~np.isnan(of)] for name, of in means.items()}
    order = sorted(scores, key=lambda name: -known[name].mean() if len(known[name]) else np.inf)
    scores = {name: scores[name] for name in order}
    reduced: dict[str, dict[str, Effect]] = {}
    if baseline is not None:  # from the seeds that all files and tasks have
        whole = ~np.any([np.isnan(of).any(axis=0) for of in scores.values()], axis=0)
        b = scores[baseline][:, whole]
        wrong = b.mean(axis=1) < 1 if whole.any() else np.zeros(len(b), bool)
        named = [*itertools.compress(tasks, wrong), "mean"]
        for name in (name for name in order if wrong.any() and name != baseline):
            each = reductions(scores[name][wrong][:, whole], b[wrong], confidence=rules.confidence)
            reduced[name] = dict(zip(named, each, strict=True))
    return Judgement(
        mode,
        tuple(tasks),
        tuple(seeds),
        scores,
        baseline,
        reduced,
        _study(scores, tasks, seeds, rules),
    )


def _study(
    arrays: Mapping[str, np.ndarray], tasks: Sequence[str], seeds: Sequence[int], rules: Rules
) -> Study | None:
    if len(arrays) < 2 or min((~np.isnan(of)).sum(axis=1).min() for of in arrays.values()) < 2:
        return None
    labels = {"seed": np.array([*map(str, seeds)], object)}
    rows = np.arange(1, len(seeds) + 1)
    data_sets = []
    for k, task in enumerate(tasks):
        models = {}
        for name, of in arrays.items():
            status = np.where(np.isnan(of[k]), Status.FAILED, Status.SCORED).astype(np.uint8)
            models[name] = ModelScores(of[k][None, :, None], status[None, :, None], labels, rows)
        data_sets.append(DataSetScores(task, "", True, "recorded", models, unit="fraction"))
    ended = {name: {"finished": int((~np.isnan(of)).sum())} for name, of in arrays.items()}
    cube = Scores("trainings", tuple(arrays), tuple(data_sets), statuses=ended, noun="task")
    return study.study(cube, rules, "seed")


def reductions(
    scores: np.ndarray, baseline: np.ndarray, *, confidence: float = 0.95
) -> list[Effect]:
    """RER of each task, then their mean, from scores [T, S] of the same tasks and seeds.

    The t interval is of log(1 - RER), the error left, so that it stays below 1. Its standard error
    is linearised (delta method, Casella & Berger 2002, section 5.5.4), from what each seed
    contributes through the model, the baseline and all tasks together:
    d(1 - RER) = -ds / (1 - b) + db (1 - s) / (1 - b)^2. There is no interval for fewer than five
    seeds, for a model without errors, and if nothing varies over seeds.
    """
    s, b = np.asarray(scores, float), np.asarray(baseline, float)
    mean_s, mean_b = s.mean(axis=1, keepdims=True), b.mean(axis=1, keepdims=True)
    left = 1 - (mean_s - mean_b) / (1 - mean_b)
    influence = ((b - mean_b) * left - (s - mean_s)) / (1 - mean_b)
    each = [*zip(left[:, 0], influence, strict=True)]
    mean = left[:, 0].mean(), influence.mean(axis=0)
    return [_effect(*of, confidence) for of in (*each, mean)]


def _effect(left: float, influence: np.ndarray, confidence: float) -> Effect:
    """1 - left, with the interval from the influence [S] of each seed."""
    seeds = len(influence)
    error = np.sqrt(np.sum(influence**2) / (max(seeds - 1, 1) * seeds))
    absent = f"fewer than {_FEWEST} seeds" if seeds < _FEWEST else ""
    absent = absent or ("no error is left" if left <= _TINY else "")
    absent = absent or ("nothing varies over seeds" if error <= _TINY else "")
    if absent:
        return Effect(float(1 - left), Interval.none(confidence, absent), (seeds,))
    half = float(scipy.stats.t.ppf((1 + confidence) / 2, seeds - 1)) * error / left
    with np.errstate(over="ignore"):
        low, high = (float(1 - left * np.exp(side)) for side in (half, -half))
    method = "t of log(1 - RER) over seeds, linearised"
    return Effect(float(1 - left), Interval(low, high, confidence, method), (seeds,))
