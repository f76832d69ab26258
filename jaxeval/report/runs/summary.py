"""Numbers that describe the score distribution of an experiment (numpy and scipy only)."""

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxeval import stats
from jaxeval.runs.records import MemberRow
from jaxeval.sensitivity import conventions, metrics, recorded

_FRACTIONS = ("f1", "precision", "recall", "accuracy")
FEW = 5  # fewer scores than this: quartiles say little
ROPE = 0.01  # scores this near to each other are practically the same (Wiemerslage et al. 2024)


@dataclasses.dataclass(frozen=True)
class Distribution:
    """Five-number summary with mean and sd; in the metric's own unit."""

    n: int
    minimum: float
    lower_quartile: float  # linear interpolation between order statistics (R type 7)
    median: float
    upper_quartile: float
    maximum: float
    mean: float
    sd: float | None  # n - 1 in the denominator (ddof=1); None for one score


@dataclasses.dataclass(frozen=True)
class OfSweep:
    """What is said of a random sweep beside its scores, whose spread is that of settings."""

    setting: dict[str, Any] | None  # drawn for the run of the best dev score; None without any
    near: int  # runs as good as that one on dev, itself included
    rope: float
    missing: int  # runs of its plan that have not ended


@dataclasses.dataclass(frozen=True)
class Summary:
    """What is said of one experiment."""

    name: str
    experiment: str
    metric: str
    higher_is_better: bool
    statuses: dict[str, int]
    dev: Distribution | None
    test: Distribution | None
    best_seed: int | None  # of the best dev score, the lowest of equals
    best_split: int | None
    best_dev: float | None
    best_test: float | None  # that member's test score
    ties: int  # members that share the best dev score, itself included
    rho: float | None  # Spearman, dev against test
    rho_note: str  # why there is no rho, or ""
    best_epochs: tuple[int, float, int] | None  # min, median, max
    wall_seconds: float  # summed over members
    sweep: OfSweep | None  # None: members differ in seed or split, not in their settings


def is_fraction(metric: str) -> bool:
    """Whether a metric is shown in percent."""
    return metric in _FRACTIONS


def in_unit(metric: str) -> str:
    """A metric's name with the unit that `shown` has."""
    return f"{metric}, %" if is_fraction(metric) else metric


def distribution(values: Sequence[float]) -> Distribution | None:
    """The summary of scores; None without any."""
    if not len(values):
        return None
    five = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    low, q1, median, q3, high = map(float, five)
    return Distribution(len(values), low, q1, median, q3, high, float(np.mean(values)), sd)


def of_members(rows: Sequence[MemberRow], planned: int | None = None) -> Summary:
    """The summary of one experiment's members.

    Args:
      rows: at least one, all of one experiment. Members without scores are counted, not dropped
        in silence: see `statuses`.
      planned: runs that a sweep has in all, ended or not; None: not known.
    """
    first = rows[0]
    scored = [row for row in rows if row.dev is not None and row.test is not None]
    dev = [row.dev for row in scored if row.dev is not None]
    test = [row.test for row in scored if row.test is not None]
    sign = 1 if first.higher_is_better else -1
    best = max(scored, key=lambda r: (sign * (r.dev or 0.0), -r.seed, -r.split), default=None)
    rho, note = stats.spearman(dev, test)
    epochs = [row.best_epoch for row in scored if row.best_epoch is not None]
    return Summary(
        name=first.name,
        experiment=first.experiment,
        metric=first.metric,
        higher_is_better=first.higher_is_better,
        statuses=dict(sorted(Counter(row.status for row in rows).items())),
        dev=distribution(dev),
        test=distribution(test),
        best_seed=best.seed if best else None,
        best_split=best.split if best else None,
        best_dev=best.dev if best else None,
        best_test=best.test if best else None,
        ties=sum(score == best.dev for score in dev) if best else 0,
        rho=rho,
        rho_note=note,
        best_epochs=(min(epochs), float(np.median(epochs)), max(epochs)) if epochs else None,
        wall_seconds=sum(row.wall_seconds for row in rows),
        sweep=_of_sweep(best, dev, max(0, (planned or 0) - len(rows))) if is_sweep(rows) else None,
    )


def is_sweep(rows: Sequence[MemberRow]) -> bool:
    """Whether an experiment's members are the runs of a random sweep."""
    return recorded.space_of(rows[0].config, rows[0].name) is not None


def _of_sweep(best: MemberRow | None, dev: Sequence[float], missing: int) -> OfSweep:
    if best is None:
        return OfSweep(None, 0, ROPE, missing)
    near = near_best(np.array(dev), is_fraction(best.metric), best.higher_is_better, ROPE)
    return OfSweep(json.loads(best.hparams), int(near.sum()), ROPE, missing)


def near_best(
    scores: np.ndarray, fraction: bool, higher_is_better: bool, rope: float
) -> np.ndarray:
    """Which scores are as good as the best of them, itself included.

    Args:
      scores: [n].
      fraction: those within the ROPE are, by the default convention of sensitivity; else those
        within so large a share of the best score.

    Returns:
      [n] bool.
    """
    if not len(scores):
        return np.zeros(0, bool)
    best = scores.max() if higher_is_better else scores.min()
    reach = rope if fraction else rope * abs(float(best))
    return metrics.within(best, scores, reach, conventions.DEFAULT)


def nearness(fraction: bool, rope: float) -> str:
    """How far `near_best` reaches, in words."""
    if not fraction:
        return f"{100 * rope:g} %"
    return f"{100 * rope:g} " + ("point" if rope == ROPE else "points")


def by_experiment(rows: Sequence[MemberRow]) -> list[list[MemberRow]]:
    """Rows grouped by experiment, in their order."""
    groups: dict[str, list[MemberRow]] = {}
    for row in rows:
        groups.setdefault(row.experiment, []).append(row)
    return list(groups.values())


def to_dict(found: Summary) -> dict[str, Any]:
    """Plain data for JSON; scores in the metric's own unit."""
    return dataclasses.asdict(found) | {"sd": "n - 1 in the denominator"}


def shown(value: float | None, metric: str, digits: int = 2) -> str:
    """A score as people read it: percent for fractions."""
    if value is None:
        return "-"
    return f"{value * 100:.{digits}f}" if is_fraction(metric) else f"{value:.{digits + 2}g}"
