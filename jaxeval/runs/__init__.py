"""Records of runs, and scores of any program; imports no jax.

The store is imported at its first use: SQLAlchemy takes half a second, which `--help` should not.
"""

import importlib
from typing import TYPE_CHECKING

from jaxeval.runs.records import (
    CurveRow,
    EpochScore,
    Experiment,
    MemberResult,
    MemberRow,
    Outcomes,
)

if TYPE_CHECKING:
    from jaxeval.runs.database import shown
    from jaxeval.runs.store import Store, load, load_curves, open_store

_LATER = ("Store", "load", "load_curves", "open_store", "shown")
__all__ = ["CurveRow", "EpochScore", "Experiment", "MemberResult", "MemberRow", "Outcomes"]
__all__ += ["Store", "load", "load_curves", "open_store", "shown"]


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "database" if name == "shown" else "store"
    return getattr(importlib.import_module(f"jaxeval.runs.{module}"), name)
