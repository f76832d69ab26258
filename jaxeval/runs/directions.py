"""Whether higher scores are better: as recorded, as asked for, or as a metric's name says."""

from collections.abc import Mapping, Sequence

from jaxeval.errors import DataError
from jaxeval.runs import metrics
from jaxeval.runs.imported import listed


def of_columns(
    columns: Mapping[str, Sequence[object]],
    name: str | None,
    source: str,
    asked: bool | None = None,
    who: str = "the table says",
) -> bool | None:
    """What a table says of its scores, which must not be contradicted; else as asked for; else
    as its metrics' names say, or that of the column of scores.

    Args:
      columns: those of a table; `higher_is_better`, `metric` and `unit` are read.
      name: of the column of scores, where it has one of its own.

    Returns:
      None: not known.

    Raises:
      DataError: the table says neither true nor false, or both; its metrics differ in it; or the
        opposite is asked for.
    """
    if "higher_is_better" in columns:
        said = _said(columns["higher_is_better"], source)
        if asked not in (None, said):
            metric = metric_of(columns, name) or "score"
            raise DataError(metrics.contradicted(said, who, metric), source)
        return said
    return _by_name(columns, name, source) if asked is None else asked


def metric_of(columns: Mapping[str, Sequence[object]], name: str | None) -> str | None:
    """The metric of a table's scores: that of its first row, else the name of their column."""
    return next((str(metric) for metric in columns.get("metric", ())), name)


def _by_name(
    columns: Mapping[str, Sequence[object]], name: str | None, source: str
) -> bool | None:
    unit = next((str(unit) for unit in columns.get("unit", ())), None)
    names = [str(metric) for metric in dict.fromkeys(columns.get("metric", ()))]
    known = {metrics.higher_is_better(metric, unit) for metric in names}
    if len(known) > 1:
        raise DataError(
            f"several metrics ({listed(names)}), and not of all are higher scores known to be "
            "better, or of all lower ones; expected one metric",
            source,
        )
    said = next(iter(known), None)
    if said is not None:
        return said
    return metrics.higher_is_better(name, None if names else unit)  # a unit is the metric's


def _said(column: Sequence[object], source: str) -> bool:
    words = {str(value).lower() for value in dict.fromkeys(column)}
    if words not in ({"true"}, {"false"}):
        raise DataError(
            f"higher_is_better: expected true or false, the same in all rows, found "
            f"{listed(sorted(words))}",
            source,
        )
    return words == {"true"}
