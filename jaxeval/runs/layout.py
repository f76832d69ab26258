"""How a table or logs are to be read: which column is what, and which scores are compared."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from jaxeval.errors import DataError, argument

Missing = Literal["error", "drop", "zero"]
Mismatched = Literal["error", "drop", "pair"]
AXES = ("seed", "split", "dataset")
ROLES = ("model", "score", "dev", *AXES, "metric", "unit", "status", "higher_is_better")
_OF_ITEMS = ("item", "correct", "gold", "predicted", "task", "run", "sample", "cluster", "prompt")
PICKS = ("last", "best")  # of the rows of a run: that of its last epoch, or the best by dev


@dataclasses.dataclass(frozen=True)
class Layout:
    """How to read a table.

    Attributes:
      columns: role -> column name, where it is not named as its role ("model": "arch"); "last":
        the column of epochs or steps, of which each run's last row is read; "best": of dev scores.
      models: only these; in a wide table, the columns that hold scores.
      metric: only rows of this metric; of items several, parted by commas: of each data set the
        first that it has.
      missing: what to do with a score that is missing, no number or not finite.
      higher_is_better: None: as the table or the metric's name says, else so.
      cluster: of logs, the key of an item's data that says to which cluster it belongs.
      tasks: of logs, only these, or of these patterns; none: all.
      mismatched: of logs, what to do with items whose content or prompt differs.
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
        for of, expected, found in (
            (named, "columns: expected role -> column", self.columns),
            (self.models, "models: expected names", self.models),
        ):
            texts = isinstance(of, Collection) and all(isinstance(value, str) for value in of)
            if not texts or isinstance(of, str):
                raise DataError(f"{expected}, found {found!r:.60}")
        for role, name in self.columns.items():
            if role not in (*ROLES, *PICKS, *_OF_ITEMS):
                asked = argument("column", {role: name})
                raise DataError(f"{asked}: expected one of {', '.join((*ROLES, *PICKS))}")
        if self.missing not in ("error", "drop", "zero"):
            raise DataError(f"missing: expected error, drop or zero, found {self.missing}")
