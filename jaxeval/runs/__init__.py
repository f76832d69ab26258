"""The table of what every member scored; imports no jax.

The store is imported at its first use: SQLAlchemy takes half a second, which `--help` should not.
"""

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

__all__ = [
    "CurveRow",
    "EpochScore",
    "Experiment",
    "MemberResult",
    "MemberRow",
    "Outcomes",
    "Store",
    "load",
    "load_curves",
    "open_store",
    "shown",
]


def __getattr__(name: str) -> object:
    if name == "shown":
        from jaxeval.runs import database

        return database.shown
    if name in ("Store", "load", "load_curves", "open_store"):
        import jaxeval.runs.store as store

        return getattr(store, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
