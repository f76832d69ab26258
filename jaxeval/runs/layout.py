"""How to read a table or logs: which column is what, and which scores are compared."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from jaxeval.errors import DataError, argument

Missing = Literal["error", "drop", "zero"]
Mismatched = Literal["error", "drop", "pair"]
AXES = ("seed", "split", "dataset")
ROLES = ("model", "score", "dev", *AXES, "metric", "unit", "status", "higher_is_better")
PICKS = ("last", "best")  # columns that choose a row of each run
_OF_ITEMS = ("item", "correct", "gold", "predicted", "task", "run", "sample", "cluster", "prompt")


@dataclasses.dataclass(frozen=True)
class Layout:
    """How to read a table or logs.

    Attributes:
      columns: role -> column name, for columns that are not named as their role. "last" is the
        column of epochs whose last row is read of each run, "best" the column of dev scores.
      models: the models to read, none for all; in a wide table, the columns of scores.
      metric: the metric to read; of items several names, separated by commas: the first that a
        data set has.
      missing: what to do with a score that is missing, not a number or not finite.
      higher_is_better: None: as the source or the metric's name says.
      cluster: key of an item's data that names its cluster (logs).
      tasks: names or patterns of the tasks to read, none for all (logs).
      mismatched: what to do with items whose content or prompt differs between logs.
    """

    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    models: Sequence[str] = ()
    metric: str | None = None
    missing: Missing = "error"
    higher_is_better: bool | None = None
    cluster: str = ""
    tasks: Sequence[str] = ()
    mismatched: Mismatched = "error"

    def __post_init__(self) -> None:
        named = self.columns.values() if isinstance(self.columns, Mapping) else None
        for names, expected, found in (
            (named, "columns: expected role -> column", self.columns),
            (self.models, "models: expected names", self.models),
        ):
            texts = isinstance(names, Collection) and all(isinstance(name, str) for name in names)
            if not texts or isinstance(names, str):
                raise DataError(f"{expected}, found {found!r:.60}")
        for role, name in self.columns.items():
            if role not in (*ROLES, *PICKS, *_OF_ITEMS):
                asked = argument("column", {role: name})
                raise DataError(f"{asked}: expected one of {', '.join((*ROLES, *PICKS))}")
        if self.missing not in ("error", "drop", "zero"):
            raise DataError(f"missing: expected error, drop or zero, found {self.missing}")
