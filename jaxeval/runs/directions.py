"""Whether higher scores are better: as recorded, as asked for, or as a metric's name says."""

from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import metrics
from jaxeval.runs.imported import listed

Key = tuple[str, str]  # data set and metric


def asked_for(higher_is_better: object) -> bool | None:
    """A direction as who calls gives it; None: not known, so that higher is better.

    Raises DataError: it is neither None nor a bool, of Python or numpy: 0 and "no" are none.
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
    """What is recorded; else as asked for; else as the name says; None: not known.

    Raises DataError: the opposite of what is recorded is asked for, or no direction.

    Args:
      metric, who: of the message, and who has recorded it: "the table says".
    """
    asked = asked_for(asked)
    if recorded is None:
        return named if asked is None else asked
    if asked not in (None, recorded):
        better = "higher" if recorded else "lower"
        found = f"{argument('lower_is_better', recorded)}: {who} that {better} {metric} is better"
        raise DataError(found, source)
    return recorded


def of_metrics(
    recorded: Mapping[Key, bool],
    named: Mapping[Key, bool | None],
    asked: bool | None,
    who: str,
    source: str | None,
) -> dict[Key, bool | None]:
    """The direction of each metric that is compared; None: not known.

    Raises DataError: as `decided`; of several metrics, all known, the opposite of one.

    Args:
      recorded: of some.
      named: all that are compared, and what their names say.
      asked: overrules the name where one metric is compared. Of several it is of those whose
        direction is not known: one word on accuracy and a loss would turn one of them round.
      source: None: a task of logs.
    """
    names = list(dict.fromkeys(metric for _, metric in named))
    of_one = asked if len(names) == 1 else None
    known = {}
    for (task, metric), said in named.items():
        where = source or (f"task {task}" if task else None)
        of_log = recorded.get((task, metric))
        known[task, metric] = decided(of_log, of_one, said, metric or "score", who, where)
    if asked is not None and (not asked) in known.values() and None not in known.values():
        flag = argument("lower_is_better", not asked)
        raise DataError(
            f"{flag}: of several metrics it is of those whose direction is not known, and that of "
            f"{listed(names)} is; {argument('metric', 'NAME')} chooses one"
        )
    return {key: asked if said is None else said for key, said in known.items()}


def of_columns(
    columns: Mapping[str, Sequence[object]],
    name: str | None,
    source: str,
    asked: bool | None = None,
    who: str = "the table says",
) -> bool | None:
    """The direction of a table's scores, whose column has a name; None: not known.

    Raises DataError: the table contradicts itself, or what is asked for.
    """
    said, named = known(columns, name, source, asked)
    return decided(said, asked, named, metric_of(columns, name) or "score", who, source)


def metric_of(columns: Mapping[str, Sequence[object]], name: str | None) -> str | None:
    """The metric of a table's scores: that of its first row, else the name of their column."""
    return next((str(metric) for metric in columns.get("metric", ())), name)


def known(
    columns: Mapping[str, Sequence[object]], name: str | None, source: str, asked: bool | None
) -> tuple[bool | None, bool | None]:
    """What a column `higher_is_better` says; and what the metrics' names do, or their column's.

    Raises DataError: the column says neither true nor false, or both; metrics differ in it.

    Args:
      asked: is that of metrics that are not known, beside others that are.
    """
    recorded = None
    if "higher_is_better" in columns:
        words = {str(value).lower() for value in dict.fromkeys(columns["higher_is_better"])}
        if words not in ({"true"}, {"false"}):
            expected = "expected true or false, the same in all rows"
            raise DataError(f"higher_is_better: {expected}, found {listed(sorted(words))}", source)
        recorded = words == {"true"}
    unit = next((str(unit) for unit in columns.get("unit", ())), None)
    names = [str(metric) for metric in dict.fromkeys(columns.get("metric", ()))]
    named = {metrics.higher_is_better(metric, unit) for metric in names}
    if len(named) > 1:
        named = {asked if said is None else said for said in named}
    if len(named) > 1 and recorded is None:
        expected = "expected one metric, as higher scores are not better of all of them"
        raise DataError(f"several metrics ({listed(names)}); {expected}", source)
    said = next(iter(named), None)
    if said is None:  # a unit is the metric's
        said = metrics.higher_is_better(name, None if names else unit)
    return recorded, said
