"""A question becomes trials, trials become cohorts, cohorts are trained.

A verb is: parse -> a proposer makes `Trial`s -> `run` trains them and tells of `events` -> report.
"""

from jaxeval.studies.prepared import Prepared, Study, Trial, prepare, read
from jaxeval.studies.running import Session, rows, run, run_cohorts

__all__ = ["Prepared", "Session", "Study", "Trial", "prepare", "read", "rows"]
__all__ += ["run", "run_cohorts"]
