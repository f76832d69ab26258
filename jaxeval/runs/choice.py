"""Which models and metrics of some rows are compared, by the names that are asked for.

Behind a slash stands a filter (lm-evaluation-harness) or the key of a score (Inspect):
`exact_match` means `exact_match/strict-match` too.
"""

import difflib
import re
from collections.abc import Collection

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import matching
from jaxeval.runs.imported import listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.rows import Rows

_MOST_MODELS = 5000


def models(rows: Rows, layout: Layout, warnings: list[str]) -> list[str]:
    """Those that are asked for, else all that have the metric; the others are noted.

    Raises:
      DataError: no such model, too many, or a metric that no data set of theirs has.
    """
    chosen = [*dict.fromkeys(layout.models or rows.model.names)]
    known = {*rows.model.names}
    absent = [name for name in chosen if name not in known]
    if absent:
        expected = f"expected one of {listed(rows.model.names)}"
        raise DataError(f"no model {absent[0]!r}; {expected}", rows.place)
    if len(chosen) > _MOST_MODELS:
        expected = f"expected at most {_MOST_MODELS}: name those to compare"
        raise DataError(f"{len(chosen)} models; {expected}", rows.place)
    names = asked(layout)
    if rows.whole or not names:
        return chosen
    first = np.unique(matching.pairs(rows.model.codes, rows.metric.codes + 1), return_index=True)[
        1
    ]
    by_model: dict[str, list[str]] = {name: [] for name in rows.model.names}
    for k in first.tolist():
        if rows.metric.named(k):  # else an answer that failed
            by_model[rows.model.named(k)].append(rows.metric.named(k))
    metrics = [*dict.fromkeys(name for model in chosen for name in by_model[model])]
    for name in names:
        if not _meant(name, metrics):
            near = difflib.get_close_matches(name, metrics, 1)
            why = [said for said in warnings if re.search(f": {re.escape(name)}[ /]", said)]
            hint = f"; did you mean {near[0]!r}?" if near else f" ({why[0]})" if why else ""
            message = f"no task has a metric {name!r}; expected one of {listed(metrics)}{hint}"
            raise DataError(f"{argument('metric')}: {message}", rows.place)
    having = [model for model in chosen if meant(by_model[model], layout)]
    if layout.models or len(having) < 2:
        return chosen
    named = " or ".join(names)
    warnings += [f"{m} has no metric {named}; left out" for m in chosen if m not in having]
    return having


def meant(metrics: Collection[str], layout: Layout) -> list[str]:
    """What the first name means that is asked for and there; all where none is asked for."""
    names = asked(layout)
    found = (_meant(name, metrics) for name in names)
    return next(filter(None, found), []) if names else [*metrics]


def asked(layout: Layout) -> list[str]:
    """Metrics by name: of each data set the first that it has."""
    return [name for name in (layout.metric or "").split(",") if name]


def _meant(name: str, metrics: Collection[str]) -> list[str]:
    """Those that a name means: one if it is the name of one, else those with it before a slash."""
    return [name] if name in metrics else [of for of in metrics if of.startswith(f"{name}/")]
