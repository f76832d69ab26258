"""Records of runs, and scores of any program; imports no jax."""

from jaxeval.runs.records import (
    CurveRow,
    EpochScore,
    Experiment,
    MemberResult,
    MemberRow,
    Outcomes,
)
from jaxeval.runs.store import Store, load, load_curves, open_store

__all__ = ["CurveRow", "EpochScore", "Experiment", "MemberResult", "MemberRow", "Outcomes"]
__all__ += ["Store", "load", "load_curves", "open_store"]
