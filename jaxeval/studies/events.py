"""What happens while trials are trained, for whoever watches: terminal, bandit, tuner, page."""

from collections.abc import Sequence
from typing import NamedTuple

from jaxeval import runs
from jaxeval.population import host
from jaxeval.studies.cohorts import Cohort
from jaxeval.studies.prepared import Trial


class Checked(NamedTuple):
    """All configs are valid and all data is read; nothing has been trained."""

    cohorts: Sequence[Cohort]
    remarks: Sequence[str]
    warnings: Sequence[str]  # of what is odd about the data


class Started(NamedTuple):
    """A cohort begins."""

    number: int  # from 0
    cohort: Cohort
    ended: Sequence[runs.MemberResult]  # of those of its trials that have ended before


class Compiling(NamedTuple):
    """A program is compiled now."""

    program: str


class Compiled(NamedTuple):
    """A program has been compiled."""

    program: str
    seconds: float


class Ready(NamedTuple):
    """All programs of the cohort are compiled: from here on there is something to lose."""


class Epoch(NamedTuple):
    """An epoch of the population has been trained and recorded."""

    report: host.Report


class Ended(NamedTuple):
    """A trial has its scores; of one that had them before, at the cohort's start."""

    trial: Trial
    result: runs.MemberResult


class Finished(NamedTuple):
    """All trials of a cohort have ended."""

    cohort: Cohort


Event = Checked | Started | Compiling | Compiled | Ready | Epoch | Ended | Finished
