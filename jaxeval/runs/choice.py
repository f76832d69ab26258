"""Which models, data sets and metrics of some rows are compared.

Behind a slash stands a filter (lm-evaluation-harness) or the key of a score (Inspect):
`exact_match` means `exact_match/strict-match` too.
"""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import matching
from jaxeval.runs.directions import Key
from jaxeval.runs.imported import listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.rows import Rows
from jaxeval.runs.scores import Status

_MOST_MODELS = 5000


class Choice(NamedTuple):
    """What is compared, and what becomes of the rest.

    Attributes:
      found: data set and metric -> model -> the places of its rows.
      absent: model -> data sets of others of which it has no score.
      without_metric: data sets of whose metrics none is of all models.
    """

    models: tuple[str, ...]
    found: Mapping[Key, Mapping[str, np.ndarray]]
    warnings: list[str]
    absent: Mapping[str, tuple[str, ...]]
    without_metric: tuple[str, ...]


def chosen(rows: Rows, layout: Layout) -> Choice:
    """The models, data sets and metrics that are compared.

    Raises:
      DataError: no such model, too many, no such metric, or several of a data set.
    """
    warnings = [*rows.warnings]
    models = _models(rows, layout, warnings)
    absent: dict[str, tuple[str, ...]] = dict.fromkeys(models, ())
    found: dict[Key, Mapping[str, np.ndarray]] = {}
    without_metric = []
    for name, by_model in _data_sets(rows, models):
        for model, where in by_model.items():
            if not np.any(rows.status[where] == Status.SCORED):
                absent[model] += (name,)
        every = [_metrics(rows, where) for where in by_model.values() if len(where)]
        known = [metric for metric in every[0] if all(metric in of for of in every)]
        candidates = _meant_of(known, layout)
        lacking = [model for model, where in by_model.items() if not len(where)]
        if len(candidates) == 1:
            found[name, candidates[0]] = by_model
        elif lacking:
            warnings.append(f"{rows.head(name)}no log of {listed(lacking)}; left out")
        elif candidates:
            expected = f"expected {argument('metric')} with one of them"
            raise rows.error(name, f"several metrics ({listed(candidates)}); {expected}")
        else:
            has = f" (it has {listed(known)})" if known else ""
            asked = f" {' or '.join(_asked(layout))}" if layout.metric else ""
            warnings.append(f"{rows.head(name)}no metric{asked} of all models{has}; left out")
            if any(_meant_of(of, layout) for of in every) or not layout.metric:
                without_metric.append(name)
    if not found:
        said = "; ".join(warnings[:4]) or "there is none"
        raise DataError(f"no metric that {listed(models)} all have: {said}", rows.place)
    return Choice(tuple(models), found, warnings, absent, tuple(without_metric))


def _data_sets(rows: Rows, models: Sequence[str]) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Each data set that a model has, with the places of each model's rows, in their order."""
    places = {name: k for k, name in enumerate(rows.model.names)}
    codes = np.array([places[name] for name in models])
    keys = matching.pairs(rows.dataset.codes, rows.model.codes)
    order = np.argsort(keys, kind="stable")
    width = int(rows.model.codes.max(initial=0)) + 1
    for code, name in enumerate(rows.dataset.names):
        begin, end = (np.searchsorted(keys[order], code * width + codes + k) for k in (0, 1))
        if np.any(end > begin):
            spans = zip(models, begin.tolist(), end.tolist(), strict=True)
            yield name, {model: order[first:last] for model, first, last in spans}


def _metrics(rows: Rows, where: np.ndarray) -> list[str]:
    """Metrics of some rows, in the order of their codes."""
    codes = np.unique(rows.metric.codes[where]).tolist()
    return [rows.metric.names[code] for code in codes if code >= 0]


def _models(rows: Rows, layout: Layout, warnings: list[str]) -> list[str]:
    """Those that are asked for, else all that have the metric; the others are noted.

    Raises:
      DataError: no such model, too many, or a metric that no data set of theirs has.
    """
    models = [*dict.fromkeys(layout.models or rows.model.names)]
    known = {*rows.model.names}
    absent = [name for name in models if name not in known]
    if absent:
        expected = f"expected one of {listed(rows.model.names)}"
        raise DataError(f"no model {absent[0]!r}; {expected}", rows.place)
    if len(models) > _MOST_MODELS:
        expected = f"expected at most {_MOST_MODELS}: name those to compare"
        raise DataError(f"{len(models)} models; {expected}", rows.place)
    names = _asked(layout)
    if rows.whole or not names:
        return models
    keys = matching.pairs(rows.model.codes, rows.metric.codes + 1)
    first = np.unique(keys, return_index=True)[1]
    by_model: dict[str, list[str]] = {name: [] for name in rows.model.names}
    for k in first.tolist():
        if rows.metric.named(k):  # else an answer that failed
            by_model[rows.model.named(k)].append(rows.metric.named(k))
    metrics = [*dict.fromkeys(name for model in models for name in by_model[model])]
    for name in names:
        if not _meant(name, metrics):
            near = difflib.get_close_matches(name, metrics, 1)
            why = [said for said in warnings if re.search(f": {re.escape(name)}[ /]", said)]
            hint = f"; did you mean {near[0]!r}?" if near else f" ({why[0]})" if why else ""
            message = f"no task has a metric {name!r}; expected one of {listed(metrics)}{hint}"
            raise DataError(f"{argument('metric')}: {message}", rows.place)
    having = [model for model in models if _meant_of(by_model[model], layout)]
    if layout.models or len(having) < 2:
        return models
    named = " or ".join(names)
    warnings += [f"{m} has no metric {named}; left out" for m in models if m not in having]
    return having


def _meant_of(metrics: Collection[str], layout: Layout) -> list[str]:
    """What the first name means that is asked for and there; all where none is asked for."""
    names = _asked(layout)
    found = (_meant(name, metrics) for name in names)
    return next(filter(None, found), []) if names else [*metrics]


def _asked(layout: Layout) -> list[str]:
    """Metrics by name: of each data set the first that it has."""
    return [name for name in (layout.metric or "").split(",") if name]


def _meant(name: str, metrics: Collection[str]) -> list[str]:
    """Those that a name means: one if it is the name of one, else those with it before a slash."""
    return [name] if name in metrics else [of for of in metrics if of.startswith(f"{name}/")]
