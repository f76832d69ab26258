"""Whether higher scores are better: as recorded, as asked for, or as a metric's name says.

One rule for tables, runs and logs, `decided`; `of_columns` and `of_metrics` read what it needs.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import metrics
from jaxeval.runs.imported import listed

Key = tuple[str, str]  # task and metric


def asked_for(higher_is_better: object) -> bool | None:
    """A direction as who calls gives it; None: not known, so that higher is better.

    Raises:
      DataError: it is neither None nor a bool, of Python or numpy: 0 and "no" are none.
    """
    if higher_is_better is None:
        return None
    if not isinstance(higher_is_better, bool | np.bool_):
        found = f"found {higher_is_better!r:.60}"
        raise DataError(f"higher_is_better: expected True or False, {found}")
    return bool(higher_is_better)


def decided(
    recorded: bool | None,
    asked: bool | None,
    named: bool | None,
    metric: str,
    who: str,
    source: str | None = None,
) -> bool | None:
    """What is recorded, which must not be contradicted; else as asked for; else as the name says.

    Args:
      metric, who: of the message, and who has recorded it: "the table says".

    Returns:
      None: not known.

    Raises:
      DataError: the opposite of what is recorded is asked for, or no direction.
    """
    asked = asked_for(asked)
    if recorded is None:
        return named if asked is None else asked
    if asked not in (None, recorded):
        raise DataError(metrics.contradicted(recorded, who, metric), source)
    return recorded


def of_metrics(
    recorded: Mapping[Key, bool],
    named: Mapping[Key, bool | None],
    asked: bool | None,
    who: str = "the logs say",
    source: str | None = None,
) -> dict[Key, bool | None]:
    """The direction of each metric that is compared; None: not known.

    Args:
      recorded: by logs, of some.
      named: all that are compared, and what their names say.
      asked: overrules the name where one metric is compared. Of several it is of those whose
        direction is not known: one word on accuracy and a loss would turn one of them round.
      who: has recorded them, and the source where it is no log of a task.

    Raises:
      DataError: as `decided`; of several metrics, all known, the opposite of one.
    """
    asked = asked_for(asked)
    names = list(dict.fromkeys(metric for _, metric in named))
    of_one = asked if len(names) == 1 else None
    known = {}
    for (task, metric), said in named.items():
        of_log = recorded.get((task, metric))
        where = source or (f"task {task}" if task else None)
        known[task, metric] = decided(of_log, of_one, said, metric or "score", who, where)
    if asked is not None and (not asked) in known.values() and None not in known.values():
        flag = argument("lower_is_better", not asked)
        raise DataError(
            f"{flag}: of several metrics it is of those whose direction is not known, and that of "
            f"{listed(names)} is; {argument('metric', 'NAME')} chooses one"
        )
    return {key: asked if said is None else said for key, said in known.items()}


def named_in_log(metric: str) -> bool | None:
    """What a log's metric is called says: of exact_match/strict-match what is before the slash."""
    known = metrics.higher_is_better(metric.split("/")[0])
    return metrics.higher_is_better(metric) if known is None else known


def of_columns(
    columns: Mapping[str, Sequence[object]],
    name: str | None,
    source: str,
    asked: bool | None = None,
    who: str = "the table says",
) -> bool | None:
    """The direction of a table's scores; None: not known.

    Args:
      columns: those of a table; `higher_is_better`, `metric` and `unit` are read.
      name: of the column of scores, where it has one of its own.

    Raises:
      DataError: the table says neither true nor false, or both; its metrics differ in it; or the
        opposite is asked for.
    """
    said = recorded(columns, source)
    named = named_by(columns, name, source, asked) if said is None else None
    return decided(said, asked, named, metric_of(columns, name) or "score", who, source)


def recorded(columns: Mapping[str, Sequence[object]], source: str) -> bool | None:
    """What a column `higher_is_better` says; None: there is none."""
    if "higher_is_better" not in columns:
        return None
    words = {str(value).lower() for value in dict.fromkeys(columns["higher_is_better"])}
    if words not in ({"true"}, {"false"}):
        raise DataError(
            f"higher_is_better: expected true or false, the same in all rows, found "
            f"{listed(sorted(words))}",
            source,
        )
    return words == {"true"}


def metric_of(columns: Mapping[str, Sequence[object]], name: str | None) -> str | None:
    """The metric of a table's scores: that of its first row, else the name of their column."""
    return next((str(metric) for metric in columns.get("metric", ())), name)


def named_by(
    columns: Mapping[str, Sequence[object]], name: str | None, source: str, asked: bool | None
) -> bool | None:
    """The one direction of all metrics; that of the column of scores where none is known.

    Args:
      asked: is that of metrics that are not known, beside others that are.
    """
    unit = next((str(unit) for unit in columns.get("unit", ())), None)
    names = [str(metric) for metric in dict.fromkeys(columns.get("metric", ()))]
    known = {metrics.higher_is_better(metric, unit) for metric in names}
    if len(known) > 1:
        known = {asked if said is None else said for said in known}
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
