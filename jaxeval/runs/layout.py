"""How a table is laid out: which column is what; tidy and wide tables become one form."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from jaxeval.errors import DataError, argument
from jaxeval.runs.imported import Columns, listed, pick

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
        if not _are_names(self.columns.values() if isinstance(self.columns, Mapping) else None):
            raise DataError(f"columns: expected role -> column, found {self.columns!r:.60}")
        if isinstance(self.models, str):
            raise DataError(f"models: expected names, as [{self.models!r}], found one text")
        if not _are_names(self.models):
            raise DataError(f"models: expected names, found {self.models!r:.60}")
        for role, name in self.columns.items():
            if role not in (*ROLES, *PICKS, *_OF_ITEMS):
                asked = argument("column", {role: name})
                raise DataError(f"{asked}: expected one of {', '.join((*ROLES, *PICKS))}")
        if self.missing not in ("error", "drop", "zero"):
            raise DataError(f"missing: expected error, drop or zero, found {self.missing}")

    def having(self, columns: Mapping[str, str]) -> "Layout":
        """The same with more columns by role; those that it has stay."""
        return dataclasses.replace(self, columns={**columns, **self.columns})


def _are_names(values: object) -> bool:
    return isinstance(values, Collection) and all(isinstance(value, str) for value in values)


def is_tidy(table: Columns, layout: Layout) -> bool:
    """Whether a table has one row per score, not one column per model."""
    return layout.columns.get("model", "model") in table.values


def present(table: Columns, layout: Layout) -> dict[str, str]:
    """Role -> column, for the roles that the table has."""
    columns = {role: layout.columns.get(role, role) for role in ROLES}
    return {role: column for role, column in columns.items() if column in table.values}


def score_columns(table: Columns, layout: Layout) -> Sequence[str]:
    """The columns of a wide table that hold the scores of a model each."""
    taken = set(present(table, layout).values())
    return layout.models or [c for c in table.values if c and c not in taken]


def tidied(table: Columns, layout: Layout) -> Columns:
    """Any table with a row a score, columns named by roles, and `column`, which the score is of.

    In a wide table `number` counts the rows, from 1.

    Raises:
      DataError: a column that is needed or was named is missing; no such metric, or several.
    """
    tidy, roles = is_tidy(table, layout), present(table, layout)
    if not tidy and "number" in layout.columns.values() and "number" not in table.values:
        counted = {"number": range(1, len(table) + 1), **table.values}
        return tidied(dataclasses.replace(table, values=counted), layout)
    for role, column in layout.columns.items():
        table[column]  # one that was named must exist
        if role not in ROLES:
            asked = argument("column", {role: column})
            message = f"{asked}: of scores of runs, expected one of {', '.join((*ROLES, *PICKS))}"
            raise DataError(message, table.source)
    if not tidy:
        return _melted(table, layout)
    score = layout.columns.get("score", "score")
    table[score]
    values = {role: table.values[column] for role, column in roles.items()}
    found = Columns(table.source, {**values, "column": [score] * len(table)}, table.rows)
    if layout.models:
        models = set(layout.models)
        found = pick(found, [k for k, of in enumerate(found.texts("model")) if of in models])
    metric = layout.metric
    if "metric" not in roles:
        if metric is None:
            return found
        named = argument("column", {"metric": "NAME"})
        message = f"{argument('metric')}: expected a column metric, or {named}"
        raise DataError(message, table.source)
    known = dict.fromkeys(found.texts("metric"))
    if metric is None and len(known) > 1:
        advice = f"choose one with {argument('metric', 'NAME')}"
        raise DataError(f"several metrics ({listed(known)}); {advice}", table.source)
    if metric is not None and known and metric not in known:
        raise DataError(f"no metric {metric!r}; expected one of {listed(known)}", table.source)
    return pick(found, [k for k, of in enumerate(found.texts("metric")) if metric in (None, of)])


def _melted(table: Columns, layout: Layout) -> Columns:
    """A wide table as a tidy one."""
    roles, columns = present(table, layout), score_columns(table, layout)
    if "score" in roles:
        named = argument("column", {"model": "NAME"})
        found = f"column {roles['score']} holds the scores, but there is no column model"
        raise DataError(f"{found}; name it with {named}", table.source)
    if not columns:
        message = "expected columns model and score, or a column for each model"
        raise DataError(message, table.source)
    scores = [table[name] for name in columns]
    models = [name for name in columns for _ in range(len(table))]
    values: dict[str, Sequence[object]] = {
        **{role: [*table.values[column]] * len(columns) for role, column in roles.items()},
        "model": models,
        "column": models,
        "score": [value for column in scores for value in column],
    }
    return Columns(table.source, values, [*table.rows] * len(columns))
