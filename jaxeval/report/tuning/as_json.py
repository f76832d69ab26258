"""A search as JSON; docs/tuning.md describes it."""

import collections
import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np
from scipy import special

from jaxeval.files import Json
from jaxeval.report import text
from jaxeval.report.plain import record
from jaxeval.report.scores import limits
from jaxeval.runs import metrics
from jaxeval.stats import describe
from jaxeval.stats.results import within
from jaxeval.tuning import history as histories
from jaxeval.tuning import retraining
from jaxeval.tuning.history import Evaluation, History, Setting
from jaxeval.tuning.search import Search

LEAST_DF = 4  # of the noise, below which little is said by it


class Metric(NamedTuple):
    """What scores are of.

    Attributes:
      margin: a difference that does not matter, in the unit.
    """

    name: str = "score"
    unit: str = "number"
    margin: float = 0.0


class Noise(NamedTuple):
    """Standard deviation of one seed's score about its setting, and its degrees of freedom."""

    sd: float
    df: int


class Retrained(NamedTuple):
    """The best setting with fresh seeds.

    Attributes:
      parts: of the data -> the scores of seeds that have one; the first is what was searched by.
      failures: causes, of the other seeds.
    """

    parts: Mapping[str, Sequence[float]]
    failures: Sequence[str] = ()


class Best(TypedDict):
    """The setting that was taken, as the search saw it.

    Attributes:
      stopped: epochs that it had, of how many, where halving stopped every setting; else None.
    """

    numbers: Sequence[int]
    values: Mapping[str, Json]
    scores: Sequence[float]
    mean: float
    stopped: Sequence[int] | None


class Result(TypedDict):
    """The outcome of a search; scores as they are stored."""

    best: Best | None
    reason: str
    trials: int
    failures: Mapping[str, int]
    seconds: float
    metric: str
    unit: str
    higher_is_better: bool
    noise: float | None
    noise_df: int
    retrained: Mapping[str, Json] | None
    seeded: bool
    posterior: Mapping[str, Any] | None
    best_so_far: Sequence[float | None]
    evaluations: Sequence[Mapping[str, Json]]
    search: Mapping[str, Json]
    signature: str


def result(
    search: Search,
    history: History,
    best: Setting | None,
    reason: str,
    seconds: float,
    metric: Metric,
    retrained: Retrained | None = None,
    *,
    seeded: bool = True,
) -> Result:
    """The outcome.

    Args:
      reason: why nothing more was proposed.
      retrained: None: not asked for.
      seeded: whether what is evaluated is told its seed; if not, it cannot be trained again.
    """
    ended = histories.ended(history)
    spread = noise(history, retrained)
    causes = [e.result.failure for e in ended if e.result is not None and e.result.failure]
    return {
        "best": None if best is None else _best(best),
        "reason": reason,
        "trials": len(ended),
        "failures": dict(collections.Counter(causes).most_common()),
        "seconds": seconds,
        "metric": metric.name,
        "unit": metric.unit,
        "higher_is_better": history.higher_is_better,
        "noise": None if spread is None else spread.sd,
        "noise_df": 0 if spread is None else spread.df,
        "retrained": _retrained(history, best, retrained, metric),
        "seeded": seeded,
        "posterior": posterior(search, history, best, metric),
        "best_so_far": best_so_far(history),
        "evaluations": [_evaluation(evaluation) for evaluation in history.evaluations],
        "search": search.to_dict(),
        "signature": text.versions(),
    }


def posterior(
    search: Search, history: History, best: Setting | None, metric: Metric
) -> dict[str, Any] | None:
    """What the process says of hyperparameters and of the best setting's surroundings.

    None of methods without a process, and before scores differ.
    """
    if search.method != "gp" or best is None:
        return None
    from jaxeval.tuning import importance, slices, threads
    from jaxeval.tuning import posterior as posteriors

    with threads.one():
        each = importance.importance(search.space, history, search.seed)
        if not each:
            return None
        rows = posteriors.describe(search.space, history, search.seed, metric.margin)
        along = slices.slices(search.space, history, best, metric.margin, search.seed)
    able = [row for row in rows if row.setting.whole] or rows
    return {
        "margin": metric.margin,
        "noise_known": posteriors.noise_known(history),
        "importance": [record(of) for of in each],
        "alike": [row.setting.numbers[0] for row in able if row.worse < slices.TOLD_APART],
        "neighbourhood": [
            {
                "name": name,
                "value": best.values[name],
                "alike": slices.alike(of, best.values[name]),
                "values": of.values,
                "median": possible(of.median, metric.unit).tolist(),
                "low": possible(of.low, metric.unit).tolist(),
                "high": possible(of.high, metric.unit).tolist(),
                "worse": of.worse.tolist(),
            }
            for name, of in along.items()
        ],
    }


def possible(values: np.ndarray | float, unit: str) -> np.ndarray:
    """Posterior scores cut to what a score can be: above the best one the process has no end."""
    return np.clip(values, *limits(unit))


def _best(setting: Setting) -> Best:
    return {
        "numbers": list(setting.numbers),
        "values": dict(setting.values),
        "scores": list(setting.scores),
        "mean": statistics.fmean(setting.scores),
        "stopped": setting.stopped and [*setting.stopped],
    }


def _evaluation(evaluation: Evaluation) -> dict[str, Json]:
    ended = evaluation.result
    fields: dict[str, Json] = {}
    if ended is not None:
        fields = {"failure": ended.failure} if ended.failure else {"scores": list(ended.scores)}
        fields |= {} if ended.stopped is None else {"stopped": list(ended.stopped)}
    return {
        "number": evaluation.number,
        "values": dict(evaluation.values),
        "seeds": list(evaluation.seeds),
        **fields,
    }


def _summary(scores: Sequence[float], metric: Metric) -> describe.Summary:
    summary = describe.summarize(scores)
    bounds = metrics.bounds(metric.name, np.array(scores), metric.unit)
    if bounds is None or summary.mean_interval is None:
        return summary
    return dataclasses.replace(summary, mean_interval=within(summary.mean_interval, *bounds))


def _retrained(
    history: History, best: Setting | None, retrained: Retrained | None, metric: Metric
) -> dict[str, Json] | None:
    if retrained is None:
        return None
    parts = {name: scores for name, scores in retrained.parts.items() if scores}
    searched = next(iter(retrained.parts.values()))
    return {
        "scores": {name: list(scores) for name, scores in retrained.parts.items()},
        "parts": {name: record(_summary(of, metric)) for name, of in parts.items()},
        "failures": list(retrained.failures),
        "optimism": _optimism(history, _highest(history), searched),
        "optimism_of_taken": _optimism(history, best, searched),
    }


def _highest(history: History) -> Setting | None:
    """The setting of the best mean score, though evaluations of it failed; None before a score.

    One that was stopped counts only where all were: its score is of fewer epochs than fresh ones.
    """
    scored = [setting for setting in histories.settings(history) if setting.scores]
    whole = [setting for setting in scored if setting.stopped is None] or scored
    better = max if history.higher_is_better else min
    return better(whole, key=lambda setting: statistics.fmean(setting.scores), default=None)


def _optimism(
    history: History, setting: Setting | None, fresh: Sequence[float]
) -> dict[str, Json] | None:
    """That of one setting's score in the search, with its number and seeds."""
    if setting is None or not fresh:
        return None
    seen = statistics.fmean(setting.scores)
    optimism = retraining.optimism(seen, fresh, history.higher_is_better)
    return {**record(optimism), "setting": setting.numbers[0], "seeds": len(setting.scores)}


def two_sided(df: int) -> float:
    """Student's t quantile that 95 % of |t| are below."""
    return float(special.stdtrit(df, 0.975))


def best_so_far(history: History) -> list[float | None]:
    """The best mean score of one evaluation up to each, in the order of proposal.

    Trainings that were stopped count only where all were.
    """
    better = max if history.higher_is_better else min
    so_far: list[float | None] = []
    whole = any(_whole(evaluation) for evaluation in history.evaluations)
    for evaluation in history.evaluations:
        scores = evaluation.result.scores if evaluation.result is not None else ()
        known = [value for value in so_far[-1:] if value is not None]
        if scores and (_whole(evaluation) or not whole):
            known.append(statistics.fmean(scores))
        so_far.append(better(known) if known else None)
    return so_far


def _whole(evaluation: Evaluation) -> bool:
    """Whether it has scores of a whole training."""
    result = evaluation.result
    return result is not None and bool(result.scores) and result.stopped is None


def noise(history: History, retrained: Retrained | None = None) -> Noise | None:
    """Of one seed's score, pooled over settings; None where no setting has two different scores.

    From settings with two or more scores, and from the fresh seeds.
    """
    samples = [setting.scores for setting in histories.settings(history)]
    if retrained is not None:
        samples.append(tuple(next(iter(retrained.parts.values()))))
    several = [np.asarray(scores, np.float64) for scores in samples if len(scores) > 1]
    freedom = sum(len(scores) - 1 for scores in several)
    if not any(np.ptp(scores) for scores in several):
        return None
    squares = sum(float(np.sum((s - s.mean()) ** 2)) for s in several)
    return Noise(math.sqrt(squares / freedom), freedom)
