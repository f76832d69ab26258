"""How long runs of sweeps took beside what the cost model says of them.

The plan of a sweep records, for each run, the seconds that an epoch should take; the runs database
has those that its epochs took. Their ratio corrects the estimate of the next plan. It does not
change which runs share a program: the same command would else give other cohorts, which differ in
rounding, with every run that has ended.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxeval.runs.records import MemberRow
from jaxeval.studies.costs import Estimate


class Measured(NamedTuple):
    """Seconds that ended runs took, over those that the cost model says of their epochs."""

    ratio: float
    runs: int


def by_run(cohorts: Sequence[Estimate]) -> list[float]:
    """Estimated seconds an epoch of all runs, in the order of their numbers; 0: not known."""
    seconds = {
        number: an_epoch if cohort.operations else 0.0
        for cohort in cohorts
        for number, an_epoch in zip(cohort.jobs, cohort.an_epoch, strict=True)
    }
    return [seconds[number] for number in sorted(seconds)]


def recorded(folder: Path) -> dict[str, list[float]]:
    """Sweep -> estimated seconds an epoch of its runs, of all plans in a folder that say so."""
    seconds = {}
    for path in sorted((folder / "sweeps").glob("*.json")):
        try:
            tree = json.loads(path.read_text(encoding="utf-8"))
            seconds[str(tree["sweep"])] = [float(s) for s in tree["estimated_seconds_an_epoch"]]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # of an earlier version, or damaged: the sweep itself refuses that
    return seconds


def measured(
    rows: Iterable[MemberRow], estimates: Mapping[str, Sequence[float]], device: str
) -> Measured | None:
    """The ratio of the sums over runs that ended on a device; None without any.

    Args:
      rows: of a runs database; run k of a sweep has seed k.
      estimates: as `recorded`.
      device: as the rows say it.
    """
    ended = [
        (row.wall_seconds, row.epochs * estimates[row.experiment][row.seed - 1])
        for row in rows
        if row.device == device
        and 1 <= row.seed <= len(estimates.get(row.experiment, ()))
        and estimates[row.experiment][row.seed - 1] > 0
    ]
    took, said = (sum(column) for column in zip(*ended, strict=True)) if ended else (0.0, 0.0)
    return Measured(took / said, len(ended)) if took > 0 and said > 0 else None


def corrected(cohorts: Sequence[Estimate], ratio: Measured | None) -> list[Estimate]:
    """The cohorts with the seconds that they should take by what was measured."""
    if ratio is None:
        return list(cohorts)
    return [cohort._replace(seconds=cohort.seconds * ratio.ratio) for cohort in cohorts]
