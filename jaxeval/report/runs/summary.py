"""Numbers that describe the score distribution of an experiment (numpy and scipy only)."""

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from jaxeval.files import Json
from jaxeval.runs import records
from jaxeval.runs.records import MemberRow
from jaxeval.sensitivity import metrics, trials
from jaxeval.stats import describe


@dataclasses.dataclass(frozen=True)
class SweepSummary:
    """What is said of a random sweep beside its scores, whose spread is that of settings."""

    setting: Mapping[str, Json] | None  # drawn for the run of the best dev score; None without any
    near: int  # runs within the equivalence margin of that one on dev, itself included
    margin: float
    missing: int  # runs of its plan that have not ended


@dataclasses.dataclass(frozen=True)
class ExperimentSummary:
    """What is said of one experiment; scores in the metric's own unit, sd with n - 1.

    Of a search nothing is said of test: its settings are chosen by dev, and test is for the best.
    """

    name: str
    experiment: str
    metric: str
    higher_is_better: bool
    unit: str  # of the scores
    statuses: dict[str, int]
    dev: describe.Summary | None
    test: describe.Summary | None
    best_seed: int | None  # of the best dev score, the lowest of equals
    best_split: int | None
    best_dev: float | None
    best_test: float | None  # that member's test score
    ties: int  # members that share the best dev score, itself included
    rho: float | None  # Spearman, dev against test
    rho_note: str  # why there is no rho, or ""
    never_learned: int  # members whose dev score stayed 0, which have no best epoch
    best_epochs: tuple[int, float, int] | None  # min, median, max of the others
    wall_seconds: float  # summed over members
    sweep: SweepSummary | None  # None: no random sweep
    kind: records.Kind  # what the members differ in

    @property
    def parts(self) -> dict[str, describe.Summary | None]:
        """What is shown of each part of the data: of a search dev alone."""
        dev = {"dev": self.dev}
        return dev if self.kind == "tuning" else {**dev, "test": self.test}


def of_members(rows: Sequence[MemberRow], planned: int | None = None) -> ExperimentSummary:
    """The summary of one experiment's members; each part is that of members with its score.

    `planned`: runs that a sweep has in all, ended or not; None: not known.
    """
    first, kind = rows[0], records.kind(rows)
    shown = independent(rows)
    if kind == "tuning":
        shown = [row._replace(test=None) for row in shown]
    dev = [row.dev for row in shown if row.dev is not None]
    test = [row.test for row in shown if row.test is not None]
    sign = 1 if first.higher_is_better else -1
    scored = [row for row in shown if row.dev is not None]
    best = max(scored, key=lambda r: (sign * (r.dev or 0.0), -r.seed, -r.split), default=None)
    both = [(row.dev or 0.0, row.test) for row in scored if row.test is not None]
    rho, note = describe.spearman([dev for dev, _ in both], [test for _, test in both])
    epochs = [r.best_epoch for r in rows if r.dev is not None and r.best_epoch is not None]
    sweep = None
    if trials.space_of(first.config, first.name) is not None:
        near = metrics.near_best(np.array(dev), first.margin, first.higher_is_better).sum()
        setting = json.loads(best.hparams) if best else None
        missing = max(0, (planned or 0) - len(rows))
        sweep = SweepSummary(setting, int(near), first.margin if best else 0.0, missing)
    return ExperimentSummary(
        name=first.name,
        experiment=first.experiment,
        metric=first.metric,
        higher_is_better=first.higher_is_better,
        unit=first.unit,
        statuses=dict(sorted(Counter(row.status for row in rows).items())),
        dev=describe.summarize(dev) if dev else None,
        test=describe.summarize(test) if test else None,
        best_seed=best.seed if best else None,
        best_split=best.split if best else None,
        best_dev=best.dev if best else None,
        best_test=best.test if best else None,
        ties=sum(score == best.dev for score in dev) if best else 0,
        rho=rho,
        rho_note=note,
        never_learned=sum(row.never_learned for row in rows),
        best_epochs=(min(epochs), float(np.median(epochs)), max(epochs)) if epochs else None,
        wall_seconds=sum(row.wall_seconds for row in rows),
        sweep=sweep,
        kind=kind,
    )


def independent(rows: Sequence[MemberRow]) -> Sequence[MemberRow]:
    """Members of which each counts once: of repeated runs one a seed and split, with their means.

    Repeats share their seed's draws: counted one by one they would shorten every interval.
    """
    if records.kind(rows) != "noise":
        return rows
    groups: dict[tuple[int, int], list[MemberRow]] = {}
    for row in rows:
        groups.setdefault((row.seed, row.split), []).append(row)
    once = []
    for group in groups.values():
        dev = [row.dev for row in group if row.dev is not None]
        test = [row.test for row in group if row.test is not None]
        means = [fmean(known) if known else None for known in (dev, test)]
        once.append(group[0]._replace(dev=means[0], test=means[1]))
    return once
