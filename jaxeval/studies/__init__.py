"""A question becomes trials, trials become cohorts, cohorts are trained.

A verb parses, makes `Trial`s, trains them with `run`, which yields `running.Event`s, and reports.
"""

from jaxeval.studies.launching import run
from jaxeval.studies.prepared import Prepared, Study, Trial, prepare, read
from jaxeval.studies.running import Session, rows

__all__ = ["Prepared", "Session", "Study", "Trial", "prepare", "read", "rows", "run"]
