"""Numbers that describe the scores of an experiment (numpy and scipy only)."""

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from jaxeval.files import Json
from jaxeval.runs import records
from jaxeval.runs.records import MemberRow
from jaxeval.sensitivity import metrics, trials
from jaxeval.stats import describe

_OF_MEMBERS = ("name", "experiment", "metric", "higher_is_better", "unit")  # alike in all
_OF_BEST = ("seed", "split", "dev", "test")


@dataclasses.dataclass(frozen=True)
class _SweepSummary:
    """A random sweep, whose spread of scores is that of settings."""

    setting: Mapping[str, Json] | None  # of the run with the best dev score
    near: int  # runs within the margin of the best dev score, that one included
    margin: float
    missing: int  # planned runs that have not ended


@dataclasses.dataclass(frozen=True)
class ExperimentSummary:
    """An experiment; scores are in the metric's own unit, sd with n - 1.

    A search has no test scores: its settings are chosen by dev, and test is for the best one.
    """

    name: str
    experiment: str
    metric: str
    higher_is_better: bool
    unit: str
    statuses: dict[str, int]
    dev: describe.Summary | None
    test: describe.Summary | None
    best_seed: int | None  # with the best dev score, lowest of equals; None if none learned
    best_split: int | None
    best_dev: float | None
    best_test: float | None  # the test score of that member
    ties: int  # members with the best dev score
    rho: float | None  # Spearman's, of dev and test
    rho_note: str  # why rho is None
    never_learned: int  # members whose dev score stayed 0, which have no best epoch
    best_epochs: tuple[int, float, int] | None  # min, median and max of the others
    wall_seconds: float  # sum over members
    sweep: _SweepSummary | None
    kind: records.Kind  # what the members differ in

    @property
    def parts(self) -> dict[str, describe.Summary | None]:
        """The parts of the data that are shown."""
        dev = {"dev": self.dev}
        return dev if self.kind == "tuning" else {**dev, "test": self.test}


def summarize(rows: Sequence[MemberRow], planned: int | None = None) -> ExperimentSummary:
    """Returns the summary of one experiment's members.

    Args:
      planned: number of runs of a sweep, ended or not.
    """
    first, kind, members = rows[0], records.kind(rows), collapse_repeats(rows)
    if kind == "tuning":
        members = [row._replace(test=None) for row in members]
    scored = [row for row in members if row.dev is not None]
    dev, test = (_known(members, part) for part in ("dev", "test"))
    sign = 1 if first.higher_is_better else -1
    learned = [row for row in scored if row.dev or row.best_epoch is not None]
    best = max(learned, key=lambda r: (sign * (r.dev or 0.0), -r.seed, -r.split), default=None)
    both = [row for row in scored if row.test is not None]
    rho, note = describe.spearman(_known(both, "dev"), _known(both, "test"))
    epochs = [r.best_epoch for r in rows if r.dev is not None and r.best_epoch is not None]
    sweep = None
    if trials.recorded_space(first.config, first.name) is not None:
        near = metrics.near_best(np.array(dev), first.margin, first.higher_is_better).sum()
        setting = json.loads(best.hparams) if best else None
        missing = max(0, (planned or 0) - len(rows))
        sweep = _SweepSummary(setting, int(near), first.margin if best else 0.0, missing)
    of_best: Any = {f"best_{name}": getattr(best, name, None) for name in _OF_BEST}
    return ExperimentSummary(
        **{name: getattr(first, name) for name in _OF_MEMBERS},
        **of_best,
        statuses=dict(sorted(Counter(row.status for row in rows).items())),
        dev=describe.summarize(dev) if dev else None,
        test=describe.summarize(test) if test else None,
        ties=sum(score == best.dev for score in dev) if best else 0,
        rho=rho,
        rho_note=note,
        never_learned=sum(row.never_learned for row in rows),
        best_epochs=(min(epochs), float(np.median(epochs)), max(epochs)) if epochs else None,
        wall_seconds=sum(row.wall_seconds for row in rows),
        sweep=sweep,
        kind=kind,
    )


def _known(rows: Sequence[MemberRow], part: str) -> list[float]:
    return [score for row in rows if (score := getattr(row, part)) is not None]


def collapse_repeats(rows: Sequence[MemberRow]) -> Sequence[MemberRow]:
    """Collapses repeated runs of one seed and split into their mean.

    Repeats share the draws of their seed: counted one by one, they would shorten every interval.
    """
    if records.kind(rows) != "noise":
        return rows
    groups: dict[tuple[int, int], list[MemberRow]] = {}
    for row in rows:
        groups.setdefault((row.seed, row.split), []).append(row)
    once = []
    for group in groups.values():
        each = {part: _known(group, part) for part in ("dev", "test")}
        means: Any = {part: fmean(known) if known else None for part, known in each.items()}
        once.append(group[0]._replace(**means))
    return once
