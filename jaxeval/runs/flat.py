"""A cube of whole runs as rows: what verbs read until they take `Scores`."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, metrics, tables
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import AXES, Layout, Missing
from jaxeval.runs.rows import coded
from jaxeval.runs.scores import Scores, Status


@dataclasses.dataclass(frozen=True)
class FailedRuns:
    """Rows of a table; all arrays have one length."""

    model: np.ndarray
    axes: Mapping[str, np.ndarray]
    rows: np.ndarray

    def of(self, models: Sequence[int]) -> "FailedRuns":
        """Those of some models, by their places, which are numbered anew in this order."""
        keep = np.flatnonzero(np.isin(self.model, models))
        number = {place: k for k, place in enumerate(models)}
        return FailedRuns(
            np.array([number[place] for place in self.model[keep].tolist()], int),
            {axis: values[keep] for axis, values in self.axes.items()},
            self.rows[keep],
        )


@dataclasses.dataclass(frozen=True)
class ScoreTable:
    """Scores with what is known of each; all arrays have one length."""

    source: str
    models: tuple[str, ...]
    model: np.ndarray
    score: np.ndarray
    axes: Mapping[str, np.ndarray]
    rows: np.ndarray
    missing: Missing
    unusable: tuple[checks.Unusable, ...]
    statuses: Mapping[str, Mapping[str, int]]
    failed: FailedRuns
    dev: np.ndarray | None = None
    metric: str | None = None
    unit: str | None = None
    higher_is_better: bool = True
    direction_assumed: bool = False
    direction_named: bool = False
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    folds: bool = False
    ids: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def stored_unit(self) -> str:
        """The unit of the scores, by what the table says of it, else by the metric's name."""
        largest = float(np.abs(self.score).max(initial=0.0))
        return metrics.stored_unit(self.metric, largest, self.unit)

    def scores_of(self, model: str) -> np.ndarray:
        """All scores of a model, in the order of the table."""
        return self.score[self.of(model)]

    def of(self, model: str) -> np.ndarray:
        """[rows] whether a score is of this model."""
        if model not in self.models:
            raise DataError(
                f"no model {model!r}; expected one of {listed(self.models)}", self.source
            )
        mine: np.ndarray = self.model == self.models.index(model)
        return mine


def table(scores: Scores) -> ScoreTable:
    """The rows of a cube of whole runs."""
    parts = [
        (scores.models.index(model), data.name, of)
        for data in scores.data_sets
        for model, of in data.models.items()
    ]
    sizes = [of.runs for _, _, of in parts]
    model = np.repeat([code for code, _, _ in parts], sizes)
    score = np.concatenate([of.scores[0, :, 0] for _, _, of in parts])
    status = np.concatenate([of.status[0, :, 0] for _, _, of in parts])
    rows = np.concatenate([of.rows for _, _, of in parts])
    axes: dict[str, np.ndarray] = {}
    for axis in scores.labels:
        axes[axis] = np.concatenate([of.labels[axis] for _, _, of in parts])
    if scores.data_sets[0].name:
        axes["dataset"] = np.repeat(np.array([name for _, name, _ in parts], object), sizes)
    axes = {axis: axes[axis] for axis in AXES if axis in axes}
    dev = None
    if parts[0][2].dev is not None:
        dev = np.concatenate([of.dev for _, _, of in parts if of.dev is not None])
    order = np.argsort(rows, kind="stable")
    keep = order[~np.isnan(score[order])]
    lost = order[status[order] == Status.FAILED]

    def of_rows(places: np.ndarray) -> dict[str, np.ndarray]:
        return {axis: values[places] for axis, values in axes.items()}

    return ScoreTable(
        scores.source,
        scores.models,
        model[keep],
        score[keep],
        of_rows(keep),
        rows[keep],
        scores.missing,
        scores.unusable,
        scores.statuses,
        FailedRuns(model[lost], of_rows(lost), rows[lost]),
        None if dev is None else dev[keep],
        scores.metric or None,
        scores.unit,
        scores.higher_is_better,
        scores.direction == "assumed",
        scores.direction == "named",
        scores.warnings,
        scores.notes,
        scores.folds,
        scores.ids,
    )


def read(path: str, layout: Layout) -> ScoreTable:
    """The score table in a file."""
    return table(tables.read(path, layout))


def of_program(columns: Columns, layout: Layout) -> ScoreTable:
    """The same of a table whose columns may have any names."""
    return table(tables.of_program(columns, layout))


def of_columns(columns: Columns, layout: Layout, who: str = "the table says") -> ScoreTable:
    """The same of a tidy or wide table."""
    return table(tables.of_columns(columns, layout, who))


def only(table: ScoreTable, models: Sequence[str]) -> ScoreTable:
    """Some models of a table, in this order; all of it for none.

    Raises:
      DataError: no such model.
    """
    if not models:
        return table
    rows = np.concatenate([np.flatnonzero(table.of(model)) for model in models])
    names = np.array(table.models, object)[table.model[rows]]
    return dataclasses.replace(
        table,
        models=tuple(models),
        model=coded(names, models).codes,
        score=table.score[rows],
        axes={axis: values[rows] for axis, values in table.axes.items()},
        rows=table.rows[rows],
        statuses={name: table.statuses[name] for name in models if name in table.statuses},
        failed=table.failed.of([table.models.index(name) for name in models]),
        dev=None if table.dev is None else table.dev[rows],
    )


def directed(table: ScoreTable, said: bool | None) -> ScoreTable:
    """The table with its direction, and what to know of its scores.

    Args:
      said: whether higher is better; None: not known, so that it is assumed.

    Raises:
      DataError: failed runs count as 0, the best of losses; fractions of one model beside percent
        of another.
    """
    higher = said is not False
    if table.unusable and table.missing == "zero" and not higher:
        raise DataError(
            f"{argument('missing', 'zero')}: {len(table.unusable)} scores are missing, and 0 "
            f"would be the best loss; expected {argument('missing', 'drop')}",
            table.source,
        )
    return dataclasses.replace(
        table,
        higher_is_better=higher,
        direction_assumed=said is None,
        direction_named=False,
    )
