"""Word vectors judged by tasks: comparisons over seeds, relative error reduction of a baseline.

Notation: s and b scores of a file and of the baseline, fractions; T tasks, S seeds.

    RER = ((1 - b) - (1 - s)) / (1 - b) = (s - b) / (1 - b)

0 is the baseline, 1 no error left; it has no lower end (b = .9 and s = 0: -9). s and b are means
over seeds; the mean over tasks has no weights (Nayak, Angeli & Manning 2016).
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs.scores import DataSetScores, ModelScores, Scores, Status
from jaxeval.stats import study
from jaxeval.stats.results import Effect, Interval, fraction, no_interval
from jaxeval.stats.rules import Rules
from jaxeval.stats.study import RunStudy

MEAN = "mean of tasks"
_FEWEST = 5  # seeds of an interval, as of any conclusion
_TINY = 1e-12  # a standard error below it is rounding
_NAME = "relative error reduction"


@dataclasses.dataclass(frozen=True, eq=False)
class Judgement:
    """Files of vectors in one mode: fixed, or trained with the models ("tuned").

    Attributes:
      scores: file -> [T, S], NaN of trainings that failed; best mean over tasks first.
      reductions: file -> task, and "mean" of all tasks in which the baseline makes errors -> RER,
        of the seeds without a failure; empty without a baseline.
      overall, by_task: comparisons of the means over tasks, and task by task; None for one file,
        and where one has a single score.
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
    """Compares files by their scores, fractions of which higher is better.

    Args:
      scores: file -> [T, S], NaN where a training failed.
      baseline: one of the files.
    """
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
        {} if baseline is None else _of_baseline(scores, tasks, baseline, rules),
        _study({name: means[name] for name in order}, [MEAN], seeds, rules),
        _study(scores, tasks, seeds, rules),
    )


def _study(
    arrays: Mapping[str, np.ndarray], tasks: Sequence[str], seeds: Sequence[int], rules: Rules
) -> RunStudy | None:
    """The comparison of scores [T, S] of each file."""
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


def _of_baseline(
    scores: Mapping[str, np.ndarray], tasks: Sequence[str], baseline: str, rules: Rules
) -> dict[str, dict[str, Effect]]:
    """RER of all other files, of the seeds that all files and tasks have."""
    whole = ~np.any([np.isnan(of).any(axis=0) for of in scores.values()], axis=0)
    if not whole.any():
        return {}
    b = scores[baseline][:, whole]
    wrong = b.mean(axis=1) < 1
    names = [*(task for task, some in zip(tasks, wrong, strict=True) if some), "mean"]
    others = (name for name in scores if name != baseline and len(names) > 1)
    return {
        name: dict(
            zip(
                names,
                reductions(scores[name][wrong][:, whole], b[wrong], confidence=rules.confidence),
                strict=True,
            )
        )
        for name in others
    }


def reductions(
    scores: np.ndarray, baseline: np.ndarray, *, confidence: float = 0.95
) -> list[Effect]:
    """RER of each task, then the mean of all, with intervals over seeds.

    t intervals of the logarithm of the error left, log(1 - RER), so that none goes beyond 1. Its
    standard error is linearised (delta method, Casella & Berger 2002, section 5.5.4), from what
    each seed contributes by the model, the baseline and all tasks together:
    d(1 - RER) = -ds / (1 - b) + db (1 - s) / (1 - b)^2.

    Args:
      scores, baseline: [T, S] of the same tasks and seeds.

    Returns:
      Ends of intervals are NaN with fewer than five seeds, where the model makes no error, and
      where nothing varies over seeds.

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
    """1 - left, with the interval that the seeds' influence [S] leaves."""
    from scipy import stats

    seeds = len(influence)
    error = np.sqrt(np.sum(influence**2) / (max(seeds - 1, 1) * seeds))
    absent = f"fewer than {_FEWEST} seeds" if seeds < _FEWEST else ""
    absent = absent or ("no error is left" if left <= _TINY else "")
    absent = absent or ("nothing varies over seeds" if error <= _TINY else "")
    if absent:
        return Effect(name, float(1 - left), no_interval(confidence, absent), (seeds,))
    half = float(stats.t.ppf((1 + confidence) / 2, seeds - 1)) * error / left
    with np.errstate(over="ignore"):
        low, high = (float(1 - left * np.exp(side)) for side in (half, -half))
    method = "t of log(1 - RER) over seeds, linearised"
    return Effect(name, float(1 - left), Interval(low, high, confidence, method), (seeds,))
