"""Compares scores of any origin."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxeval import errors

if TYPE_CHECKING:
    from jaxeval.results import Comparison, Runs
    from jaxeval.runs.flat import ScoreTable
    from jaxeval.runs.layout import Missing
    from jaxeval.runs.units import Unit
    from jaxeval.stats.multiple import Method

    Table = Sequence[Mapping[str, object]] | Any  # records, or a data frame


@errors.in_python(
    column="table=read_scores(PATH, columns{})",
    metric="table=read_scores(PATH, metric{})",
    missing="table=read_scores(PATH, missing{})",
    lower_is_better="higher_is_better=False",
)
def compare(
    *models: "Runs | str | Path | Sequence[float] | Mapping[str, Sequence[float]] | Table",
    table: "str | Path | ScoreTable | Runs | Table | None" = None,
    paired: bool = False,
    higher_is_better: bool | None = None,
    unit: "Unit | None" = None,
    alpha: float = 0.05,
    correction: "Method" = "holm",
    margin: float | None = None,
    control: str | None = None,
    gamma: float | None = None,
    resamples: int = 9999,
    seed: int = 0,
) -> "Comparison":
    """Is model A really better than B? By the distributions of their scores.

    Args:
      models: sequences of scores (which are called A, B ...), or one dict of them by name; runs;
        one table, of which all models are compared; or names of models in `table`.
      table: a file of scores, a runs folder or a database URL, or what was read of one; a list of
        records ({"model": "A", "seed": 1, "score": 0.9}); a data frame, as of pandas.
      paired: the k-th scores of all sequences belong together (one split); as many of each.
      higher_is_better: of sequences, and of tables that do not say it, which must not be
        contradicted; None: as the table or the metric's name says, else so. Runs know it.
      unit: of replication; scores within one are averaged (docs/compare.md).
      alpha: level, after the `correction` over all tests looked at.
      margin: smallest difference that matters, in the scores' unit.
      control: compare all others with this model only.
      gamma: score of a data set that is solved.
      resamples, seed: of permutations and bootstraps.

    Raises:
      ConfigError, DataError, RunError: no such model, or scores that cannot be compared.
    """
    from jaxeval import results
    from jaxeval.compare import sources, studying
    from jaxeval.stats import pairwise

    rules = pairwise.Rules(alpha, correction, margin, resamples=resamples, seed=seed)
    scores = sources.table(models, table, paired=paired, higher_is_better=higher_is_better)
    return results.Comparison(studying.study(scores, rules, unit, control=control, gamma=gamma))


@errors.in_python(column="columns{}", lower_is_better="higher_is_better=False")
def read_scores(
    path: "str | Path | Table",
    models: Sequence[str] = (),
    *,
    columns: Mapping[str, str] | None = None,
    metric: str | None = None,
    missing: "Missing" = "error",
    higher_is_better: bool | None = None,
) -> "ScoreTable":
    """Scores of any program, from a file (CSV, TSV, JSON, Parquet) or a runs folder.

    Args:
      path: of these, or records or a data frame, as of `compare`.
      models: only these.
      columns: role (model, score, seed, split, dataset ...) -> its column, where that has another
        name; "last": the column of epochs of which each run's last counts; "best": of dev scores.
      metric: only rows of this one.
      missing: what to do with a score that is missing: error, drop, or zero.
      higher_is_better: None: as the file or the metric's name says, else so.

    Raises:
      DataError, RunError: naming file, row and column.
    """
    from jaxeval.compare import sources
    from jaxeval.runs import layout

    table_layout = layout.Layout(
        {} if columns is None else columns,
        [*models] if isinstance(models, Iterable) and not isinstance(models, str) else models,
        metric,
        missing,
        higher_is_better,
    )
    return sources.read(path, table_layout)
