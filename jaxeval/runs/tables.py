"""Score tables: model -> scores, with the seed, split and data set of each where known."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument, printable
from jaxeval.runs import checks, directions, headers, imported, metrics
from jaxeval.runs import failed as failures
from jaxeval.runs import layout as layouts
from jaxeval.runs.failed import NONE as NO_FAILURES
from jaxeval.runs.failed import FailedRuns
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import AXES, Layout, Missing
from jaxeval.runs.names import are_folds, is_fold


@dataclasses.dataclass(frozen=True)
class ScoreTable:
    """Scores with what is known of each; all arrays have one length.

    Attributes:
      models: names, in order of appearance.
      model: places in `models`.
      axes: those of seed, split and dataset that the table has, as text.
      rows: row numbers in the file.
      unusable: scores that were left out or counted as 0, as `missing` says.
      statuses: model -> how its runs ended -> how many, where the table says so.
      failed: runs that failed, by their statuses.
      direction_assumed: nothing says whether higher is better.
      direction_named: the metric's name alone says it, which who compares may overrule.
      warnings: what a reader of the scores should know.
      notes: what is known of the models beside their scores.
      folds: the splits are called folds, by the column's name or its values; such share no test
        item.
      ids: of experiments of our own runs -> model.
    """

    source: str
    models: tuple[str, ...]
    model: np.ndarray
    score: np.ndarray
    axes: Mapping[str, np.ndarray]
    rows: np.ndarray
    missing: Missing
    unusable: tuple[checks.Unusable, ...]
    statuses: Mapping[str, Mapping[str, int]]
    failed: FailedRuns = NO_FAILURES
    dev: np.ndarray | None = None  # dev score of each row, NaN where there is none
    metric: str | None = None
    unit: str | None = None  # of the metric, where the table says so
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
        """[rows] whether a score is of this model.

        Raises:
          DataError: no such model.
        """
        if model not in self.models:
            raise DataError(
                f"no model {model!r}; expected one of {listed(self.models)}", self.source
            )
        mine: np.ndarray = self.model == self.models.index(model)
        return mine


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
        model=coded(names, models)[1],
        score=table.score[rows],
        axes={axis: values[rows] for axis, values in table.axes.items()},
        rows=table.rows[rows],
        statuses={name: table.statuses[name] for name in models if name in table.statuses},
        failed=table.failed.of([table.models.index(name) for name in models]),
        dev=None if table.dev is None else table.dev[rows],
    )


def read(path: str, layout: Layout, rows: int | None = None) -> ScoreTable:
    """The score table in a file; see `imported.read` for the formats."""
    return of_program(imported.read(path, rows), layout)


def of_program(table: Columns, layout: Layout) -> ScoreTable:
    """The same of a table whose columns may have any names."""
    table, whole, notes = headers.completed(table, layout)
    scores = of_columns(table, whole)
    return dataclasses.replace(scores, warnings=(*notes, *scores.warnings))


@imported.collector_paused()
def of_columns(table: Columns, layout: Layout) -> ScoreTable:
    """A score table of a tidy table (one row per score) or a wide one (one column per model).

    Raises:
      DataError: naming row and column.
    """
    return _checked(layouts.tidied(table, layout), table, layout)


def _checked(tidy: layouts.Tidy, table: Columns, layout: Layout) -> ScoreTable:
    checks.refuse_nameless(tidy.columns["model"], tidy.rows, table.source)
    models, model = coded(tidy.columns["model"], layout.models)
    checks.refuse_many(models, table.source)
    _refuse_absent(model, table, layout)
    axes = {
        role: np.array([printable(str(value)) for value in tidy.columns[role]], object)
        for role in AXES
        if role in tidy.columns
    }
    statuses, rows = tidy.columns.get("status"), np.asarray(tidy.rows)
    score, unusable = checks.numbers(
        tidy.columns["score"], tidy.score_columns, tidy.rows, table.source
    )
    finite, failed = np.isfinite(score), failures.are_failed(statuses, len(score))
    checks.refuse(unusable, failed, layout.missing, table.source)
    keep = finite & ~failed | (layout.missing == "zero")
    scores = ScoreTable(
        source=table.source,
        models=tuple(models),
        model=model[keep],
        score=np.where(finite & ~failed, score, 0.0)[keep],
        axes={role: values[keep] for role, values in axes.items()},
        rows=rows[keep],
        missing=layout.missing,
        unusable=tuple(unusable[k] for k in sorted(unusable)),
        statuses=_counted(models, model, statuses),
        failed=FailedRuns(
            model[failed], {role: of[failed] for role, of in axes.items()}, rows[failed]
        ),
        dev=checks.floats(tidy.columns["dev"])[keep] if "dev" in tidy.columns else None,
        metric=layout.metric or directions.metric_of(tidy.columns, layout.columns.get("score")),
        unit=_first(tidy.columns.get("unit")),
        folds=_are_folds(axes, layout),
    )
    checks.refuse_sizes(scores.score, scores.rows.tolist(), table.source)
    _refuse_duplicates(scores)
    return _explained(scores, tidy, finite, layout)


def _are_folds(axes: Mapping[str, np.ndarray], layout: Layout) -> bool:
    named = is_fold(layout.columns.get("split", ""))
    return named or ("split" in axes and are_folds(set(axes["split"])))


def _explained(
    scores: ScoreTable, tidy: layouts.Tidy, finite: np.ndarray, layout: Layout
) -> ScoreTable:
    """The table with its direction, who says it, and warnings on runs that count unfinished.

    Args:
      finite: [rows of `tidy`] whether the file has a score.
    """
    column, asked = layout.columns.get("score"), layout.higher_is_better
    said = directions.of_columns(tidy.columns, column, scores.source, asked)
    whole = directed(scores, said)
    recorded = "higher_is_better" in tidy.columns or asked is not None
    statuses = tidy.columns.get("status")
    counted = failures.warnings(tidy.columns["model"], statuses, finite)
    return dataclasses.replace(
        whole,
        direction_named=said is not None and not recorded,
        warnings=(*whole.warnings, *counted),
    )


def _refuse_absent(model: np.ndarray, table: Columns, layout: Layout) -> None:
    """Raises DataError if a model that is asked for has no score."""
    absent = [name for k, name in enumerate(layout.models) if not np.any(model == k)]
    if absent:
        names = list(dict.fromkeys(table.texts(layout.columns.get("model", "model"))))
        raise DataError(f"no model {absent[0]!r}; expected one of {listed(names)}", table.source)


def directed(table: ScoreTable, said: bool | None) -> ScoreTable:
    """The table with its direction, and what to know of its scores.

    Args:
      said: whether higher is better; None: not known, so that it is assumed.

    Raises:
      DataError: failed runs count as 0, the best of losses; fractions of one model beside percent
        of another.
    """
    higher = said is not False
    if higher:
        _refuse_scales(table)
    if table.unusable and table.missing == "zero" and not higher:
        raise DataError(
            f"{argument('missing', 'zero')}: {len(table.unusable)} scores are missing, and 0 "
            f"would be the best loss; expected {argument('missing', 'drop')}",
            table.source,
        )
    warnings = tuple(checks.unit_warnings(table.models, table.model, table.score))
    return dataclasses.replace(
        table,
        higher_is_better=higher,
        direction_assumed=said is None,
        direction_named=False,
        warnings=warnings,
    )


def coded(values: Sequence[object], first: Sequence[str] = ()) -> tuple[list[str], np.ndarray]:
    """Distinct values, some first, then in order of appearance, and the place of each.

    Control characters are escaped: names reach terminals, pages and figures.
    """
    places = {name: k for k, name in enumerate(first)}
    codes = [places.setdefault(str(value), len(places)) for value in values]
    return [printable(name) for name in places], np.array(codes, int)


def _counted(
    models: Sequence[str], model: np.ndarray, statuses: Sequence[object] | None
) -> dict[str, dict[str, int]]:
    if statuses is None:
        return {}
    known = zip(model.tolist(), statuses, strict=True)
    pairs = Counter((of, str(status)) for of, status in known if status not in (None, ""))
    return {
        name: {status: n for (k, status), n in sorted(pairs.items()) if k == number}
        for number, name in enumerate(models)
    }


def _first(names: Sequence[object] | None) -> str | None:
    return str(names[0]) if names else None


def _refuse_duplicates(table: ScoreTable) -> None:
    """Two scores of one model, data set, split and seed: an axis is missing or a row is twice."""
    if not {"seed", "split"} & set(table.axes):
        return
    keys = zip(table.model.tolist(), *table.axes.values(), strict=True)
    first: dict[tuple, int] = {}
    for k, key in enumerate(keys):
        before = first.setdefault(key, k)
        if before != k:
            named = ", ".join(f"{a} {v}" for a, v in zip(table.axes, key[1:], strict=True))
            raise DataError(
                f"rows {table.rows[before]} and {table.rows[k]} are both model "
                f"{table.models[key[0]]}, {named}; keep one, or name the column that tells them "
                f"apart with {argument('column', {'split': 'NAME'})} (or seed, dataset); no epoch "
                "or step of a run does",
                table.source,
            )


def _refuse_scales(table: ScoreTable) -> None:
    """Models in fractions and in percent, on all data sets or on one with scores enough to say.

    A whole data set on another scale changes no verdict on it.
    """
    every = np.ones(len(table.score), bool)
    places = table.axes.get("dataset")
    parts = [] if places is None else [places == name for name in dict.fromkeys(places)]
    for part in (every, *parts):
        of = {m: table.score[part & (table.model == k)] for k, m in enumerate(table.models)}
        several = {m: scores for m, scores in of.items() if part is every or len(scores) > 2}
        metrics.refuse_scales(several, table.metric, table.unit, table.source)
