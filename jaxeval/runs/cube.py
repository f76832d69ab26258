"""The cube of scores, built of rows of the normal form: the one place where these are checked.

Notation: N rows; of a data set I items, R runs of a model, K answers of a run to an item.
Behind a slash of a metric stands a filter (lm-evaluation-harness) or the key of a score (Inspect):
`exact_match` means `exact_match/strict-match` too.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, directions, metrics
from jaxeval.runs import rows as normal
from jaxeval.runs.cells import Cells
from jaxeval.runs.imported import collector_paused, listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.rows import Rows
from jaxeval.runs.scores import DataSetScores, Direction, Scores, Status

_MOST_MODELS = 5000
_ByModel = Mapping[str, np.ndarray]  # places of a data set's rows


@collector_paused()
def scores(rows: Rows, layout: Layout) -> Scores:
    """The cube of some rows; raises DataError for what cannot be compared as it is meant.

    Data sets are left out of which the models that have them have no metric in common.
    """
    warnings = [*rows.warnings]
    models = _models(rows, layout, warnings)
    absent: dict[str, tuple[str, ...]] = dict.fromkeys(models, ())
    found, without_metric = dict[directions.Key, _ByModel](), list[str]()
    for name, by_model in _data_sets(rows, models):
        for model, where in by_model.items():
            if not np.any(rows.status[where] == Status.SCORED):
                absent[model] += (name,)
        every = [_metrics(rows, where) for where in by_model.values() if len(where)]
        known = [metric for metric in every[0] if all(metric in of for of in every)]
        candidates = _meant(known, layout)
        lacking = [model for model, where in by_model.items() if not len(where)]
        if lacking and (rows.file or len(candidates) != 1):
            warnings.append(f"{rows.head(name)}no log of {listed(lacking)}; left out")
        elif len(candidates) == 1:
            found[name, candidates[0]] = by_model
        elif candidates:
            expected = f"expected {argument('metric')} with one of them"
            raise rows.error(name, f"several metrics ({listed(candidates)}); {expected}")
        else:
            has = f" (it has {listed(known)})" if known else ""
            named = f"no metric {layout.metric or ''}".strip()
            warnings.append(f"{rows.head(name)}{named} of all models{has}; left out")
            if not layout.metric or any(_meant(of, layout) for of in every):
                without_metric.append(name)
    if not found:
        said = "; ".join(warnings[:4]) or "there is none"
        raise DataError(f"no metric that {listed(models)} all have: {said}", rows.place)
    data_sets = tuple(_of_keys(rows, layout, found, warnings))
    return Scores(
        *(rows.source, tuple(models), data_sets, layout.missing),
        warnings=tuple(warnings),
        absent=absent,
        without_metric=tuple(without_metric),
    )


def _models(rows: Rows, layout: Layout, warnings: list[str]) -> list[str]:
    """Those that are asked for, else all that have the metric; the others are noted."""
    models = [*dict.fromkeys(layout.models or rows.model.names)]
    known = {*rows.model.names}
    for name in models:
        if name not in known:
            expected = f"expected one of {listed(rows.model.names)}"
            raise DataError(f"no model {name!r}; {expected}", rows.place)
    if len(models) > _MOST_MODELS:
        expected = f"expected at most {_MOST_MODELS}: name those to compare"
        raise DataError(f"{len(models)} models; {expected}", rows.place)
    if rows.whole or not layout.metric:
        return models
    of_these = np.isin(rows.model.codes, [rows.model.names.index(name) for name in models])
    of_all = _metrics(rows, np.flatnonzero(of_these))
    called = [name for name in layout.metric.split(",") if name]
    for name in called:
        if not _called(name, of_all):
            message = f"no task has a metric {name!r}; expected one of {listed(of_all)}"
            raise DataError(f"{argument('metric')}: {message}", rows.place)
    codes = [rows.metric.names.index(of) for name in called for of in _called(name, of_all)]
    known = {rows.model.names[k] for k in {*rows.model.codes[np.isin(rows.metric.codes, codes)]}}
    if layout.models or len(known) < 2:
        return models
    lacking = [name for name in models if name not in known]
    warnings += [f"{name} has no metric {' or '.join(called)}; left out" for name in lacking]
    return [name for name in models if name in known]


def _data_sets(rows: Rows, models: Sequence[str]) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Each data set that a model has, with the places of each model's rows, in their order."""
    places = {name: k for k, name in enumerate(rows.model.names)}
    codes = np.array([places[name] for name in models])
    keys = normal.pairs(rows.dataset.codes, rows.model.codes)
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


def _meant(metrics: Collection[str], layout: Layout) -> list[str]:
    """What the first name means that is asked for and there; all where none is asked for."""
    names = [name for name in (layout.metric or "").split(",") if name]
    found = (_called(name, metrics) for name in names)
    return next(filter(None, found), []) if names else [*metrics]


def _called(name: str, metrics: Collection[str]) -> list[str]:
    """Those that a name means: one if it is the name of one, else those with it before a slash."""
    return [name] if name in metrics else [of for of in metrics if of.startswith(f"{name}/")]


def _of_keys(
    rows: Rows, layout: Layout, keys: Mapping[directions.Key, _ByModel], warnings: list[str]
) -> list[DataSetScores]:
    """The scores of each data set and metric, and whether higher ones are better."""
    named: dict[directions.Key, bool | None] = dict.fromkeys(keys, rows.named)
    for name, metric in keys if rows.named is None else ():
        said = metrics.higher_is_better(metric.split("/")[0])
        named[name, metric] = metrics.higher_is_better(metric) if said is None else said
    asked, source = layout.higher_is_better, rows.source if rows.whole else None
    better = directions.of_metrics(rows.recorded, named, asked, rows.who, source)
    data_sets = []
    for key, by_model in keys.items():
        recorded = key in rows.recorded or asked is not None
        who: Direction = "recorded" if recorded else "named"
        direction = better[key] is not False, "assumed" if better[key] is None else who
        data_sets.append(_data_set(rows, layout, key, by_model, direction, warnings))
    return data_sets


def _data_set(
    rows: Rows,
    layout: Layout,
    key: directions.Key,
    by_model: _ByModel,
    direction: tuple[bool, Direction],
    warnings: list[str],
) -> DataSetScores:
    """The scores of a metric, of the items that any model has."""
    name, metric = key
    codes = (rows.metric.names.index(metric), -1)  # failed answers are of all metrics
    where = np.concatenate([of[np.isin(rows.metric.codes[of], codes)] for of in by_model.values()])
    keys, wrong = _same_items(rows, layout, name, where, warnings)
    where, keys = where[~wrong], keys[~wrong]
    _, first, item = np.unique(keys, return_index=True, return_inverse=True)
    values, status = _values(rows, layout, name, where, direction[0])
    counted, counts = rows.count(where) if rows.count else ((), None)
    cells = Cells(rows, name, where, item, len(first), values, status, counts)
    here = [model for model, of in by_model.items() if len(of)]
    models = {model: cells.of_model(model, here) for model in here}
    if direction[0]:
        known = {model: of.scores[~np.isnan(of.scores)] for model, of in models.items()}
        known = {model: of for model, of in known.items() if len(of) > 2 or not rows.whole}
        metrics.refuse_scales(known, metric, rows.unit, rows.place, items=not rows.whole)
    items = tuple(rows.item.named(k) for k in where[first].tolist())
    return DataSetScores(
        *(name, metric, *direction, models, items, rows.unit, cells.clusters(), counted)
    )


def _same_items(
    rows: Rows, layout: Layout, name: str, where: np.ndarray, warnings: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """[n] keys of items, and which rows are left out as logs differ on their items."""
    ids, unknown = rows.item.codes[where], np.full(len(where), -1)
    content, prompt = (
        unknown if of is None else of.codes[where] for of in (rows.content, rows.prompt)
    )
    if layout.mismatched == "pair" or max(content.max(), prompt.max()) < 0:
        return ids, np.zeros(len(where), bool)
    model, run = rows.model.codes[where], rows.run[where]
    keys, wrong = normal.same_items(ids, content, prompt, model, normal.pairs(run, model))
    if wrong.any():
        names = list(dict.fromkeys(rows.item.named(k) for k in where[wrong].tolist()))
        count = f"{len(names)} of {len({*ids.tolist()})} items"
        if rows.file is None:
            found = f"{count} have several golds or prompts ({listed(names, 3)})"
            raise rows.error(name, f"{found}; expected one of each item")
        why = f"by their content or prompt ({listed(names, 3)})"
        said = f"{count} are not the same in all logs, {why}"
        if layout.mismatched == "error":
            drop, pair = (argument("mismatched", word) for word in ("drop", "pair"))
            advice = f"{drop} leaves them out, {pair} takes equal ids for equal items"
            raise rows.error(name, f"{said}; {advice}")
        warnings.append(f"{rows.head(name)}{said}; they are left out")
    return keys, wrong


def _values(
    rows: Rows, layout: Layout, name: str, where: np.ndarray, higher: bool
) -> tuple[np.ndarray, np.ndarray]:
    """[n] scores, NaN (or 0, as is asked for) where there is none, and what became of each."""
    score, status = rows.score[where], rows.status[where]
    bad = np.flatnonzero((status == Status.SCORED) & ~np.isfinite(score))
    if len(bad) and layout.missing == "error":
        k = int(where[bad[0]])
        found = f"{len(bad)} scores are not finite, the first {rows.score[k]}"
        of = f"of {rows.model.named(k)}, item {rows.item.named(k):.60}"
        drop, zero = (argument("missing", word) for word in ("drop", "zero"))
        advice = f"{drop} leaves them out, {zero} counts them as 0"
        raise rows.error(name, f"{found} {of}; {advice}")
    status[bad] = Status.UNSCORED
    lost = status != Status.SCORED
    known = score[~lost]
    if np.abs(known).max(initial=0.0) > checks.LARGEST:
        k = int(where[~lost][np.abs(known).argmax()])
        found = f"model {rows.model.named(k)}, item {rows.item.named(k):.60}: {rows.score[k]:g}"
        raise rows.error(name, f"{found}; expected an absolute value up to {checks.LARGEST:g}")
    best = not higher or (known.size and known.min() < 0 and known.max() <= 0)
    if layout.missing == "zero" and lost.any() and best:
        found = f"{int(lost.sum())} scores are missing, and 0 would be the best"
        asked, drop = (argument("missing", word) for word in ("zero", "drop"))
        raise rows.error(name, f"{asked}: {found}; expected {drop}")
    return np.where(lost, 0.0 if layout.missing == "zero" else np.nan, score), status
