"""Scores of models on one data set, filled from rows of the normal form.

Notation: n rows, I items, R runs of a model, K answers of a run to an item, C kinds of counts.
"""

import re
from collections.abc import Mapping

import numpy as np

from jaxeval.errors import DataError, argument, counted
from jaxeval.runs import texts
from jaxeval.runs.columns import listed
from jaxeval.runs.layout import Layout, words_of
from jaxeval.runs.metrics import GAINS, LOWER_UNITS, PERCENT, Direction, Key, unit_of
from jaxeval.runs.normal import LARGEST, Rows
from jaxeval.runs.scores import DataSetScores, ModelScores, Status
from jaxeval.runs.texts import Coded

_MOST_CELLS = 1 << 27
_APART = 10  # least factor between percent and fractions that may be those of one model
# metrics without an upper end, on any scale
_UNBOUNDED = re.compile(
    "rewards?|returns?|throughput|speed|speedup|second|time|psnr|snr|elbo|ratio|" + GAINS.pattern
)


def build(
    rows: Rows,
    layout: Layout,
    key: Key,
    by_model: Mapping[str, np.ndarray],
    direction: tuple[bool, Direction],
    warnings: list[str],
) -> DataSetScores:
    """Returns the scores of a metric on the items that any model has.

    Raises DataError: a score is there twice or out of range, or models have no item in common.

    Args:
      key: name of the data set, and the metric.
      by_model: model -> places of its rows of the data set.
      warnings: receives a sentence on items that are left out.
    """
    name, metric = key
    code, codes = rows.metric.names.index(metric), rows.metric.codes
    each = [w[(codes[w] == code) | (codes[w] < 0)] for w in by_model.values()]  # -1: of all
    where, bounds = np.concatenate(each), np.cumsum([0, *map(len, each)])
    del each
    if rows.content is not None:
        kept = ~disagreeing(rows, layout, name, where, warnings)
        bounds = np.append(0, np.cumsum(kept))[bounds]
        where = where[kept]
    item = texts.dense(rows.item.codes[where])
    first = texts.first_of(item)
    values, status = _values(rows, layout, name, where, direction[0])
    kinds, counts = rows.count(where) if rows.count else ((), None)
    here = [model for model, places in by_model.items() if len(places)]
    models = {}
    for model, begin, end in zip(by_model, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if model not in here:
            continue
        if begin == end:
            raise rows.error(name, f"{listed(here)} have no scored item in common")
        mine = slice(begin, end)
        own = where[mine], item[mine], values[mine], status[mine]
        of_items = None if counts is None else counts[mine]
        models[model] = _model(rows, name, len(first), own, of_items)
    if direction[0]:
        known = {model: m.scores[~np.isnan(m.scores)] for model, m in models.items()}
        known = {model: x for model, x in known.items() if len(x) > 2 or not rows.whole}
        source = None if rows.file else rows.source
        refuse_two_scales(known, metric, rows.unit, source, items=not rows.whole)
    items = tuple(rows.item.name(k) for k in where[first].tolist())
    clusters = None
    if rows.cluster is not None:
        clusters = _clusters(rows, rows.cluster, name, where, item)
    return DataSetScores(name, metric, *direction, models, items, rows.unit, clusters, kinds)


def disagreeing(
    rows: Rows, layout: Layout, name: str, where: np.ndarray, warnings: list[str]
) -> np.ndarray:
    """Returns [n] bool: a row is left out, since logs disagree on the content of its item.

    Raises DataError: they do, and the layout does not say what to do.
    """
    content = np.zeros(0, int) if rows.content is None else rows.content.codes[where]
    if layout.mismatched == "pair" or content.max(initial=-1) < 0:
        return np.zeros(len(where), bool)
    item = texts.dense(rows.item.codes[where])
    known = content >= 0
    pairs = texts.pair_codes(item[known], content[known])
    of_each = item[known][texts.first_of(texts.dense(pairs))]  # the item of each content
    wrong = np.asarray(np.bincount(of_each, minlength=len(where))[item] > 1)
    if wrong.any():
        names = list(dict.fromkeys(rows.item.name(k) for k in where[wrong].tolist()))
        count = f"{len(names)} of {item.max() + 1} items"
        if rows.file is None:
            found = f"{count} have several gold answers ({listed(names, 3)})"
            raise rows.error(name, f"{found}; expected one of each item")
        found = f"{count} are not the same in all logs, by their content or prompt"
        found += f" ({listed(names, 3)})"
        if layout.mismatched == "error":
            drop, pair = (argument("mismatched", how) for how in ("drop", "pair"))
            advice = f"{drop} leaves them out, {pair} takes equal ids for equal items"
            raise rows.error(name, f"{found}; {advice}")
        warnings.append(f"{rows.head(name)}{found}; they are left out")
    return wrong


def _values(
    rows: Rows, layout: Layout, name: str, where: np.ndarray, higher: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Returns [n] scores (NaN or 0 for missing ones) and [n] statuses; refuses bad scores."""
    score, status = rows.score[where], rows.status[where]
    bad = np.flatnonzero((status == Status.SCORED) & ~np.isfinite(score))
    drop, zero = (argument("missing", how) for how in ("drop", "zero"))
    if len(bad) and layout.missing == "error":
        found = f"{counted(len(bad), 'score')} not finite, the first {score[bad[0]]}"
        advice = f"{drop} leaves them out, {zero} counts them as 0"
        raise rows.error(name, f"{found} of {_place(rows, int(where[bad[0]]))}; {advice}")
    status[bad] = Status.UNSCORED
    lost = status != Status.SCORED
    size = np.abs(score)
    size[lost] = 0.0
    least = 1 / LARGEST if rows.whole else 0.0
    for k in where[(size > LARGEST) | ((size > 0) & (size < least))][:1].tolist():
        bound = f"0, or an absolute value from {least:g}" if rows.whole else "an absolute value up"
        found = f"{_place(rows, k)}: {rows.score[k]:g}"
        raise rows.error(name, f"{found}; expected {bound} to {LARGEST:g}")
    if layout.missing == "zero" and lost.any():
        known = score[~lost]
        if not higher or (known.size and known.min() < 0 and known.max() <= 0):
            found = f"{counted(int(lost.sum()), 'score')} missing, and 0 would be the best"
            raise rows.error(name, f"{zero}: {found}; expected {drop}")
    score[lost] = 0.0 if layout.missing == "zero" else np.nan
    return score, status


def _place(rows: Rows, k: int) -> str:
    """Returns where a score stands, for messages."""
    if rows.whole:
        return f"row {rows.number[k]}"
    return f"{rows.model.name(k)}, item {rows.item.name(k):.60}"


def _model(
    rows: Rows,
    name: str,
    items: int,
    cells: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    counts: np.ndarray | None,
) -> ModelScores:
    """Returns the scores of a model.

    Args:
      cells: [n] place, item, score and status of each of its rows.
      counts: [n, C] counts of its rows.
    """
    where, item, values, answered = cells
    first, run, labels = _runs(rows, where)
    sample = np.zeros(len(where), np.int8) if rows.sample is None else rows.sample[where]
    cell = texts.pair_codes(run, item)
    order = np.lexsort((sample, cell))
    new = np.diff(cell[order], prepend=-1) > 0
    twice = np.flatnonzero(~new[1:] & (np.diff(sample[order]) == 0))
    if len(twice):
        raise _twice(rows, *sorted(where[order[[twice[0], twice[0] + 1]]].tolist()))
    answer = np.arange(len(order)) - np.flatnonzero(new)[np.cumsum(new) - 1]  # of its cell
    shape = items, len(first), int(answer.max()) + 1
    if np.prod(shape, dtype=float) > _MOST_CELLS:
        found = f"{' x '.join(map(str, shape))} (items, runs, answers) are too many"
        raise rows.error(name, found)
    place = item[order], run[order], answer
    scores = np.full(shape, np.nan)
    status = np.full(shape, Status.ABSENT, np.uint8)
    scores[place], status[place] = values[order], answered[order]
    if not rows.whole and _is_disjoint(~np.isnan(scores).all(2)):
        found = f"a run of {rows.model.name(int(where[0]))} has no item in common with its other"
        advice = "put the parts of one run into one file"
        raise rows.error(name, f"{found} runs; {advice}")
    kinds = None
    if counts is not None:
        kinds = np.zeros((*shape[:2], counts.shape[1]), counts.dtype)
        kinds[item, run] = counts
    dev = None if rows.dev is None else rows.dev[where[first]]
    return ModelScores(scores, status, labels, rows.number[where[first]], dev, kinds)


def _runs(rows: Rows, where: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Returns [R] a row of each run, [n] the run of each row, and label -> [R] texts.

    Named runs are sorted by name, and so have one order on all data sets.
    """
    run = texts.dense(rows.run[where])
    first = texts.first_of(run)
    labels = {}
    for name, coded in rows.labels.items():
        codes = coded.codes[where[first]]
        if name != "name" or (codes.min() >= 0 and len({*codes.tolist()}) == len(codes)):
            labels[name] = np.array(coded.names, object)[codes]
    if "name" in labels:
        order = np.argsort(labels["name"].astype(str))
        labels = {name: values[order] for name, values in labels.items()}
        first = first[order]
        run = np.argsort(order)[run]
    return first, run, labels


def _twice(rows: Rows, one: int, other: int) -> DataError:
    """Returns the error of two scores of one answer, or of one run."""
    named = {"model": rows.model, "task" if rows.file else "dataset": rows.dataset}
    named |= {**({} if rows.file else rows.labels), "item": rows.item}
    known = ", ".join(f"{k} {of.name(one):.60}" for k, of in named.items() if of.name(one))
    if rows.file is not None:
        found = f"a score occurs twice: {known}; expected one score of each answer in a log"
        return DataError(found, rows.file.name(one))
    found = f"rows {rows.number[one]} and {rows.number[other]} are both {known}; keep one"
    axes = f"{argument('column', {'split': 'NAME'})} (or seed, dataset)"
    axes += f"; not read: {listed(rows.unread)}" if rows.unread else ""
    advice = f"or name the column (not an epoch or step) that tells them apart with {axes}"
    return DataError(f"{found}, {advice}", rows.source)


def _clusters(
    rows: Rows, clusters: Coded, name: str, where: np.ndarray, item: np.ndarray
) -> np.ndarray | None:
    """Returns [I] clusters of items; None if unknown. A log without labels does not contradict.

    Raises DataError: an item is in two clusters, or in none beside others.
    """
    codes = clusters.codes[where]
    if codes.max() < 0:
        return None
    of_item = np.full(item.max() + 1, -1)
    of_item[item[codes >= 0]] = codes[codes >= 0]
    mine = of_item[item]
    for k in np.flatnonzero((mine != codes) & (codes >= 0) | (mine < 0))[:1].tolist():
        both = f"two clusters, {clusters.name(where[k])} and {clusters.names[mine[k]]}"
        found = f"is in {both if mine[k] >= 0 else 'no cluster'}; expected one label of each"
        raise rows.error(name, f"item {rows.item.name(where[k]):.60} {found}")
    return np.array(clusters.names, object)[of_item]


def _is_disjoint(present: np.ndarray) -> bool:
    """True if one of several runs, [I, R] by item, shares no item with any other."""
    answers = present[:, present.any(0)].astype(np.float64)
    shared = answers.T @ answers
    np.fill_diagonal(shared, 0)
    return len(shared) > 1 and not bool(shared.any(0).all())


def refuse_two_scales(
    scores: Mapping[str, np.ndarray],
    metric: str | None,
    unit: str | None,
    source: str | None,
    *,
    items: bool = False,
) -> None:
    """Raises DataError if one model's scores are fractions and another's are percent.

    Fractions: all scores lie in [0, 1], one strictly between. Percent: all lie in (1, 100]; far
    above the fractions, if the metric may be any. Scores of 0 are ignored. Only metrics of which
    higher is better are checked.

    Args:
      scores: model -> its scores.
      unit: the unit that the source records; "number" switches the check off.
      items: the scores are of items: 0 and 1 are fractions, and only well-known fractions count.
    """
    known_unit = unit_of(metric)
    open_ended = _UNBOUNDED.search("_".join(words_of(metric or ""))) or known_unit in LOWER_UNITS
    if open_ended or unit not in (None, "", *PERCENT) or (items and known_unit != "fraction"):
        return
    known = {model: values[values != 0] for model, values in scores.items() if np.any(values)}
    low = [m for m, x in known.items() if x.max() <= 1 and (items or 0 < x.min() < 1)]
    high = [m for m, x in known.items() if x.max() > 1]
    high = [m for m in high if items or (known[m].min() > 1 and known[m].max() <= 100)]
    if known_unit == "fraction" and not items:  # both within a model, most of them fractions
        mixed = [m for m, x in known.items() if 0 < np.median(x) < 1 and 10 < x.max() <= 100]
        low, high = mixed or low, mixed or high
    middle = {model: float(np.median(of)) for model, of in known.items()}
    low, high = sorted(low, key=middle.__getitem__), sorted(high, key=middle.__getitem__)
    least = 0 if known_unit == "fraction" else _APART
    if low and high and middle[high[-1]] >= least * middle[low[0]]:
        raise DataError(
            f"the scores of {low[0]} look like fractions ({known[low[0]].min():g}), those of "
            f"{high[-1]} like percent ({known[high[-1]].max():g}); expected one scale: multiply "
            "or divide by 100, or, if they are on one scale, add a column unit with the value "
            "number",
            source,
        )
