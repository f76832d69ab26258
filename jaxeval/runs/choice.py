"""Which models and metrics of some rows are compared, by the names that are asked for.

Behind a slash stands a filter (lm-evaluation-harness) or the key of a score (Inspect):
`exact_match` means `exact_match/strict-match` too.
"""

import difflib
import re
from collections.abc import Collection, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
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
    absent = [name for name in chosen if name not in {*rows.model.names}]
    if absent:
        expected = f"expected one of {listed(rows.model.names)}"
        raise DataError(f"no model {absent[0]!r}; {expected}", rows.place)
    if len(chosen) > _MOST_MODELS:
        expected = f"expected at most {_MOST_MODELS}: name those to compare"
        raise DataError(f"{len(chosen)} models; {expected}", rows.place)
    names = asked(layout)
    if rows.whole or not names:
        return chosen
    pairs = np.unique(np.stack([rows.model.codes, rows.metric.codes]), axis=1)
    by_model: dict[str, list[str]] = {name: [] for name in rows.model.names}
    for model, metric in pairs[:, pairs[1] >= 0].T.tolist():
        by_model[rows.model.names[model]].append(rows.metric.names[metric])
    known = [*dict.fromkeys(name for model in chosen for name in by_model[model])]
    for name in names:
        if not _meant(name, known):
            raise _unknown(name, known, rows.place, warnings)
    having = [model for model in chosen if meant(by_model[model], layout)]
    if layout.models or len(having) < 2:
        return chosen
    named = " or ".join(names)
    warnings += [f"{m} has no metric {named}; left out" for m in chosen if m not in having]
    return having


def _unknown(
    name: str, metrics: Sequence[str], source: str | None, warnings: Sequence[str]
) -> DataError:
    """The error of a name that no data set has: misspelt, it would leave data sets out."""
    every = [*metrics, *(metric.split("/")[0] for metric in metrics)]
    near = difflib.get_close_matches(name, every, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    why = [said for said in warnings if re.search(f": {re.escape(name)}[ /]", said)]
    return DataError(
        f"{argument('metric')}: no task has a metric {name!r}; expected one of "
        f"{listed(metrics)}{f' ({why[0]})' if why else hint}",
        source,
    )


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
