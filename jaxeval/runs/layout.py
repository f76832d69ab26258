"""How a table is laid out: which column is what; tidy and wide tables become one form."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from jaxeval.errors import DataError, argument
from jaxeval.runs.imported import Columns, listed

Missing = Literal["error", "drop", "zero"]
Mismatched = Literal["error", "drop", "pair"]
AXES = ("seed", "split", "dataset")
ROLES = ("model", "score", "dev", *AXES, "metric", "unit", "status", "higher_is_better")
OF_ITEMS = ("item", "correct", "gold", "predicted", "task", "run", "sample", "cluster", "prompt")
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
            if role not in (*ROLES, *PICKS, *OF_ITEMS):
                asked = argument("column", {role: name})
                raise DataError(f"{asked}: expected one of {', '.join((*ROLES, *PICKS))}")
        if self.missing not in ("error", "drop", "zero"):
            raise DataError(f"missing: expected error, drop or zero, found {self.missing}")

    def having(self, columns: Mapping[str, str]) -> "Layout":
        """The same with more columns by role; those that it has stay."""
        return dataclasses.replace(self, columns={**columns, **self.columns})


def _are_names(values: object) -> bool:
    return isinstance(values, Collection) and all(isinstance(value, str) for value in values)


class Tidy(NamedTuple):
    """One row per score; columns of roles that the table lacks are absent."""

    columns: Mapping[str, Sequence[object]]
    score_columns: Sequence[str]  # the column that each score stands in
    rows: Sequence[int]


def is_tidy(table: Columns, layout: Layout) -> bool:
    """Whether a table has one row per score, not one column per model."""
    return layout.columns.get("model", "model") in table.values


def present(table: Columns, layout: Layout) -> dict[str, str]:
    """Role -> column, for the roles that the table has."""
    columns = {role: layout.columns.get(role, role) for role in ROLES}
    return {role: column for role, column in columns.items() if column in table.values}


def tidied(table: Columns, layout: Layout) -> Tidy:
    """Any table in tidy form. In a wide table `number` counts the rows, from 1.

    Raises:
      DataError: a column that is needed or was named is missing.
    """
    tidy = is_tidy(table, layout)
    if not tidy and "number" in layout.columns.values() and "number" not in table.values:
        counted = {"number": range(1, len(table) + 1), **table.values}
        table = dataclasses.replace(table, values=counted)
    for column in layout.columns.values():
        table[column]  # one that was named must exist
    return _tidy(table, layout) if tidy else _melted(table, layout)


def _tidy(table: Columns, layout: Layout) -> Tidy:
    score = layout.columns.get("score", "score")
    scores = table[score]
    columns = {role: table.values[c] for role, c in present(table, layout).items()}
    keep: Sequence[int] = range(len(scores))
    if layout.models:
        models = set(layout.models)
        keep = [k for k in keep if str(columns["model"][k]) in models]
    if "metric" in columns:
        keep = _of_metric(columns["metric"], keep, table.source, layout.metric)
    elif layout.metric is not None:
        named = argument("column", {"metric": "NAME"})
        message = f"{argument('metric')}: expected a column metric, or {named}"
        raise DataError(message, table.source)
    if len(keep) == len(scores):
        return Tidy(columns, [score] * len(scores), table.rows)
    columns = {role: [values[k] for k in keep] for role, values in columns.items()}
    return Tidy(columns, [score] * len(keep), [table.rows[k] for k in keep])


def _of_metric(
    metrics: Sequence[object], keep: Sequence[int], source: str, metric: str | None
) -> Sequence[int]:
    known = list(dict.fromkeys(str(metrics[k]) for k in keep))
    if metric is None and len(known) > 1:
        raise DataError(
            f"several metrics ({listed(known)}); choose one with {argument('metric', 'NAME')}",
            source,
        )
    if metric is not None and known and metric not in known:
        raise DataError(f"no metric {metric!r}; expected one of {listed(known)}", source)
    return [k for k in keep if metric in (None, str(metrics[k]))]


def score_columns(table: Columns, layout: Layout) -> Sequence[str]:
    """The columns of a wide table that hold the scores of a model each."""
    taken = set(present(table, layout).values())
    return layout.models or [c for c in table.values if c and c not in taken]


def _melted(table: Columns, layout: Layout) -> Tidy:
    """A wide table as a tidy one."""
    roles = present(table, layout)
    if "score" in roles:
        named = argument("column", {"model": "NAME"})
        found = f"column {roles['score']} holds the scores, but there is no column model"
        raise DataError(f"{found}; name it with {named}", table.source)
    columns = score_columns(table, layout)
    if not columns:
        message = "expected columns model and score, or a column for each model"
        raise DataError(message, table.source)
    scores = [table[name] for name in columns]
    models = [name for name in columns for _ in range(len(table))]
    tidy: dict[str, Sequence[object]] = {
        "model": models,
        "score": [value for column in scores for value in column],
        **{role: [*table.values[column]] * len(columns) for role, column in roles.items()},
    }
    return Tidy(tidy, models, [*table.rows] * len(columns))
