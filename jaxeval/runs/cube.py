"""Builds the scores of all models and data sets from rows of the normal form.

After a slash a metric has a filter (lm-evaluation-harness) or a key of a score (Inspect):
`exact_match` also means `exact_match/strict-match`.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import cells, metrics, normal, texts
from jaxeval.runs.columns import listed, meant
from jaxeval.runs.layout import Layout
from jaxeval.runs.metrics import Direction, Key
from jaxeval.runs.normal import Rows
from jaxeval.runs.scores import Scores, Status

_MOST_MODELS = 5000
# how runs end, beside `normal.FAILED`
_UNFINISHED = ("running", "preempted", "preempting", "pruned")
_FINISHED = ("finished", "complete", "completed", "success", "succeeded", "done", "ok")
_ByModel = Mapping[str, np.ndarray]  # places of a data set's rows


def build(rows: Rows, layout: Layout) -> Scores:
    """Returns the scores of some rows; data sets without a metric of all models are left out.

    Raises DataError: the rows cannot be compared as requested.
    """
    statuses, unfinished = _count_statuses(rows)
    warnings = [*rows.warnings, *unfinished]
    models = _select_models(rows, layout)
    absent: dict[str, list[str]] = {model: [] for model in models}
    found: dict[Key, _ByModel] = {}
    without_metric: list[str] = []
    for name, by_model in _data_sets(rows, models):
        for model, where in by_model.items():
            if not np.any(rows.status[where] == Status.SCORED):
                absent[model].append(name)
        metric, lacks_metric = _common_metric(rows, layout, name, by_model, warnings)
        without_metric += [name] if lacks_metric else []
        if metric is not None:
            found[name, metric] = by_model
    if not found:
        reason = "; ".join(warnings[:4]) or "there is none"
        raise rows.error("", f"{listed(models)} have no metric in common: {reason}")
    directions = _directions(rows, layout, found)
    data_sets = tuple(
        cells.build(rows, layout, key, by_model, directions[key], warnings)
        for key, by_model in found.items()
    )
    scores = Scores(
        rows.source,
        tuple(models),
        data_sets,
        missing=layout.missing,
        unusable=rows.unusable,
        statuses=statuses,
        warnings=tuple(warnings),
        absent={model: tuple(names) for model, names in absent.items()},
        without_metric=tuple(without_metric),
    )
    if rows.whole and scores.higher_is_better:
        by_name = {model: scores.scores_of(model) for model in models}
        cells.refuse_two_scales(by_name, scores.metric, scores.unit, rows.source)
    return scores


def _count_statuses(rows: Rows) -> tuple[dict[str, Counter[str]], list[str]]:
    """Returns model -> status -> number of runs, and warnings of scores of unfinished ones."""
    counts: dict[str, Counter[str]] = {}
    warnings: list[str] = []
    if rows.ended is None or {*rows.ended.names} <= {"", "None"}:
        return counts, warnings
    firsts = np.arange(len(rows)) if rows.whole else np.unique(texts.first_place(rows.run))
    width = len(rows.ended.names)
    pairs = rows.model.codes[firsts].astype(np.int64) * width + rows.ended.codes[firsts]
    every = np.bincount(pairs).tolist()
    of_scored = np.bincount(pairs[np.isfinite(rows.score[firsts])], minlength=len(every)).tolist()
    known = ((k // width, rows.ended.names[k % width], k) for k, n in enumerate(every) if n)
    for model, status, k in sorted(known):
        name = rows.model.names[model]
        if status not in ("", "None"):
            counts.setdefault(name, Counter())[status] = every[k]
        rule = "not finished; it counts, unless the table leaves it empty"
        word = normal.word(status)
        if word in normal.FAILED:
            rule = "failed runs have no score; without the column of statuses it would count"
        elif word not in _UNFINISHED:
            rule = f"it counts; the statuses of failed runs are {', '.join(normal.FAILED)}"
        if of_scored[k] and word not in ("", "none", "early_stopped", *_FINISHED):
            runs = f"{of_scored[k]} {'run' if of_scored[k] == 1 else 'runs'} with status {status}"
            warnings.append(f"{name}: {runs} and a score; {rule}")
    return counts, warnings


def _common_metric(
    rows: Rows, layout: Layout, name: str, by_model: _ByModel, warnings: list[str]
) -> tuple[str | None, bool]:
    """Returns the metric of all models on a data set, and whether the models lack a common one.

    The metric is None if the data set is left out; a warning says why.
    """
    codes = (np.unique(rows.metric.codes[w]).tolist() for w in by_model.values() if len(w))
    every = [[rows.metric.names[code] for code in of if code >= 0] for of in codes]
    common = [metric for metric in every[0] if all(metric in each for each in every)]
    candidates = _requested(common, layout)
    lacking = [model for model, where in by_model.items() if not len(where)]
    if lacking and (rows.file or len(candidates) != 1):
        warnings.append(f"{rows.head(name)}no log of {listed(lacking)}; left out")
        return None, False
    if len(candidates) > 1:
        expected = f"expected {argument('metric')} with one of them"
        raise rows.error(name, f"several metrics ({listed(candidates)}); {expected}")
    if candidates:
        return candidates[0], False
    has = f" (it has {listed(common)})" if common else ""
    named = f"no metric {layout.metric or ''}".strip()
    warnings.append(f"{rows.head(name)}{named} of all models{has}; left out")
    return None, not layout.metric or any(_requested(each, layout) for each in every)


def _select_models(rows: Rows, layout: Layout) -> list[str]:
    """Returns the requested models, or all; raises DataError for an unknown model or metric."""
    models = [*dict.fromkeys(layout.models or rows.model.names)]
    for name in models if layout.models else ():
        if name not in rows.model:
            raise rows.error("", f"no model {name!r}; {meant(name, rows.model.names)}")
    plain: dict[str, str] = {}
    for name in models:
        if (other := plain.setdefault(name.strip(), name)) != name:
            raise rows.error("", f"models {other!r} and {name!r} differ only in blanks")
    if len(models) > _MOST_MODELS:
        expected = f"expected at most {_MOST_MODELS}: name those to compare"
        raise rows.error("", f"{len(models)} models; {expected}")
    for name in filter(None, ("" if rows.whole else layout.metric or "").split(",")):
        if not _matching(name, rows.metric.names):
            message = f"no task has a metric {name!r}; {meant(name, rows.metric.names)}"
            raise rows.error("", f"{argument('metric')}: {message}")
    return models


def _data_sets(rows: Rows, models: Sequence[str]) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Yields each data set that a model has, with the places of each model's rows."""
    places = {name: k for k, name in enumerate(rows.model.names)}
    codes = np.array([places[name] for name in models])
    keys = texts.pair_codes(rows.dataset.codes, rows.model.codes)
    order = np.argsort(keys, kind="stable")
    width = int(rows.model.codes.max(initial=0)) + 1
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    keys = keys[order[starts]]
    starts = np.append(starts, len(order))
    for code, name in enumerate(rows.dataset.names):
        begin, end = (starts[np.searchsorted(keys, code * width + codes + k)] for k in (0, 1))
        if np.any(end > begin):
            spans = zip(models, begin.tolist(), end.tolist(), strict=True)
            yield name, {model: order[first:last] for model, first, last in spans}


def _requested(metrics: Collection[str], layout: Layout) -> list[str]:
    """Returns the metrics that the first matching requested name means; all without a request."""
    names = [name for name in (layout.metric or "").split(",") if name]
    found = (_matching(name, metrics) for name in names)
    return next(filter(None, found), []) if names else [*metrics]


def _matching(name: str, metrics: Collection[str]) -> list[str]:
    """Returns the metric of this name, else those that have it before a slash."""
    return [name] if name in metrics else [m for m in metrics if m.startswith(f"{name}/")]


def _directions(
    rows: Rows, layout: Layout, keys: Mapping[Key, _ByModel]
) -> dict[Key, tuple[bool, Direction]]:
    """Returns whether higher is better of each data set and metric, and who says so.

    With one metric, a request overrules the name. With several, it sets those that are unknown:
    one flag for accuracy and a loss would turn one of them round.
    """
    if rows.direction:
        return dict.fromkeys(keys, rows.direction)
    asked = layout.higher_is_better
    names = list(dict.fromkeys(metric for _, metric in keys))
    better: dict[Key, bool | None] = {}
    for task, metric in keys:
        plain = metrics.higher_is_better(metric.split("/")[0])
        named = metrics.higher_is_better(metric) if plain is None else plain
        better[task, metric] = metrics.resolve_direction(
            rows.recorded.get((task, metric)),
            asked if len(names) == 1 else None,
            named,
            metric,
            "the logs say",
            f"task {task}" if task else None,
        )
    if asked is not None and (not asked) in better.values() and None not in better.values():
        raise DataError(
            f"{argument('lower_is_better', not asked)}: with several metrics it applies to those "
            f"of unknown direction, but that of {listed(names)} is known; "
            f"{argument('metric', 'NAME')} chooses one"
        )
    directions: dict[Key, tuple[bool, Direction]] = {}
    for key, higher in better.items():
        higher = asked if higher is None else higher
        who: Direction = "recorded" if key in rows.recorded or asked is not None else "named"
        directions[key] = higher is not False, "assumed" if higher is None else who
    return directions
