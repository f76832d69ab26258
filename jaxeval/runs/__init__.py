"""The table of what every member scored; imports no jax."""

from jaxeval.runs.records import CurveRow, EpochScore, Experiment, MemberResult, MemberRow
from jaxeval.runs.store import Store, load, load_curves, open_store

__all__ = [
    "CurveRow",
    "EpochScore",
    "Experiment",
    "MemberResult",
    "MemberRow",
    "Store",
    "load",
    "load_curves",
    "open_store",
]
