"""The cube of scores, built of rows of the normal form: the one place where these are checked.

Notation: N rows; of a data set I items, R runs of a model, K answers of a run to an item.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, choice, directions, matching, metrics
from jaxeval.runs.directions import Key
from jaxeval.runs.imported import collector_paused, listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.rows import Coded, Rows
from jaxeval.runs.scores import DataSetScores, Direction, ModelScores, Scores, Status

_MOST_CELLS = 1 << 27
_FEW = 3  # items that a message names
_ByModel = Mapping[str, np.ndarray]  # places of a data set's rows


@collector_paused()
def scores(rows: Rows, layout: Layout) -> Scores:
    """The cube of some rows.

    Data sets are left out of which the models that have them have no metric in common.

    Raises:
      DataError: no such model or metric; several metrics; scores that are there twice, not finite,
        or on two scales; items that differ between logs; failed runs as 0, where 0 is the best.
    """
    warnings = [*rows.warnings]
    models = choice.models(rows, layout, warnings)
    absent: dict[str, tuple[str, ...]] = dict.fromkeys(models, ())
    found: dict[Key, _ByModel] = {}
    without_metric = []
    for name, by_model in _data_sets(rows, models):
        for model, where in by_model.items():
            if not np.any(rows.status[where] == Status.SCORED):
                absent[model] += (name,)
        every = [_metrics(rows, where) for where in by_model.values() if len(where)]
        known = [metric for metric in every[0] if all(metric in of for of in every)]
        candidates = choice.meant(known, layout)
        if len(candidates) == 1:
            found[name, candidates[0]] = by_model
            continue
        lacking = [model for model, where in by_model.items() if not len(where)]
        if lacking:
            warnings.append(f"{_head(rows, name)}no log of {listed(lacking)}; left out")
            continue
        if candidates:
            expected = f"expected {argument('metric')} with one of them"
            raise _error(rows, name, f"several metrics ({listed(candidates)}); {expected}")
        has = f" (it has {listed(known)})" if known else ""
        asked = f" {' or '.join(choice.asked(layout))}" if layout.metric else ""
        warnings.append(f"{_head(rows, name)}no metric{asked} of all models{has}; left out")
        if any(choice.meant(of, layout) for of in every) or not layout.metric:
            without_metric.append(name)
    if not found:
        said = "; ".join(warnings[:4]) or "there is none"
        raise DataError(f"no metric that {listed(models)} all have: {said}", rows.place)
    better = _directions(rows, layout, found)
    return Scores(
        rows.source,
        tuple(models),
        tuple(
            _data_set(rows, layout, key, by_model, better[key], warnings)
            for key, by_model in found.items()
        ),
        layout.missing,
        warnings=tuple(warnings),
        absent=absent,
        without_metric=tuple(without_metric),
    )


def _head(rows: Rows, name: str) -> str:
    """How a message on a data set begins."""
    return f"task {name}: " if name and not rows.whole else ""


def _error(rows: Rows, name: str, message: str) -> DataError:
    return DataError(f"{_head(rows, name)}{message}", rows.place)


def _data_sets(rows: Rows, models: Sequence[str]) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Each data set that a model has, with the places of each model's rows, in their order."""
    codes = np.array([rows.model.names.index(name) for name in models])
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


def _directions(
    rows: Rows, layout: Layout, keys: Mapping[Key, object]
) -> dict[Key, tuple[bool, Direction]]:
    """Whether higher is better of each metric, and who says so."""
    named = {
        key: directions.named_in_log(key[1]) if rows.named is None else rows.named for key in keys
    }
    asked = layout.higher_is_better
    known: dict[Key, tuple[bool, Direction]] = {}
    source = rows.source if rows.whole else None
    said_of = directions.of_metrics(rows.recorded, named, asked, rows.who, source)
    for key, said in said_of.items():
        recorded = key in rows.recorded or asked is not None
        who: Direction = "assumed" if said is None else "recorded" if recorded else "named"
        known[key] = said is not False, who
    return known


def _data_set(
    rows: Rows,
    layout: Layout,
    key: Key,
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
    cells = _Cells(rows, name, where, item, len(first), values, status, counts)
    here = [model for model, of in by_model.items() if len(of)]
    models = {model: cells.of_model(model, here) for model in here}
    if direction[0]:
        known = {model: of.scores[~np.isnan(of.scores)] for model, of in models.items()}
        known = {model: of for model, of in known.items() if len(of) > 2 or not rows.whole}
        metrics.refuse_scales(known, metric, rows.unit, rows.place, items=not rows.whole)
    return DataSetScores(
        name,
        metric,
        *direction,
        models,
        tuple(rows.item.named(k) for k in where[first].tolist()),
        rows.unit,
        cells.clusters(),
        counted,
    )


def _same_items(
    rows: Rows, layout: Layout, name: str, where: np.ndarray, warnings: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """[n] keys of items, and which rows are left out as logs differ on their items.

    Raises:
      DataError: logs differ on items, and nothing is asked for.
    """
    ids, none = rows.item.codes[where], np.zeros(len(where), bool)
    if rows.content is None or rows.prompt is None or layout.mismatched == "pair":
        return ids, none
    model, run = rows.model.codes[where], rows.run[where]
    keys, wrong = matching.matched(
        ids, rows.content[where], rows.prompt[where], model, matching.pairs(run, model)
    )
    if wrong.any():
        names = list(dict.fromkeys(rows.item.named(k) for k in where[wrong].tolist()))
        said = (
            f"{len(names)} of {len({*ids.tolist()})} items are not the same in all logs, by their "
            f"content or prompt ({listed(names, _FEW)})"
        )
        if layout.mismatched == "error":
            drop, pair = (argument("mismatched", word) for word in ("drop", "pair"))
            why = "such as where only chat templates differ"
            advice = f"{drop} leaves them out, {pair} takes equal ids for equal items, {why}"
            raise _error(rows, name, f"{said}; {advice}")
        warnings.append(f"{_head(rows, name)}{said}; they are left out")
    return keys, wrong


def _values(
    rows: Rows, layout: Layout, name: str, where: np.ndarray, higher: bool
) -> tuple[np.ndarray, np.ndarray]:
    """[n] scores, NaN (or 0, as is asked for) where there is none, and what became of each.

    Raises:
      DataError: a score that is not finite without a reason, or too large; 0 would be the best.
    """
    score, status = rows.score[where], rows.status[where]
    ended = status == Status.SCORED
    bad = np.flatnonzero(ended & ~np.isfinite(score))
    if len(bad) and layout.missing == "error":
        k = int(where[bad[0]])
        drop, zero = (argument("missing", word) for word in ("drop", "zero"))
        found = f"scores of {rows.model.named(k)} that are not finite: {len(bad)}, the first"
        of = f"{rows.score[k]} of item {rows.item.named(k):.60}"
        advice = f"{drop} leaves them out, {zero} counts them as 0"
        raise _error(rows, name, f"{found} {of}; {advice}")
    status[bad] = Status.UNSCORED
    lost = status != Status.SCORED
    known = score[~lost]
    if np.abs(known).max(initial=0.0) > checks.LARGEST:
        k = int(where[~lost][np.abs(known).argmax()])
        found = f"model {rows.model.named(k)}, item {rows.item.named(k):.60}: {rows.score[k]:g}"
        raise _error(rows, name, f"{found}; expected an absolute value up to {checks.LARGEST:g}")
    as_zero = layout.missing == "zero"
    best = not higher or (known.size and known.min() < 0 and known.max() <= 0)
    if as_zero and lost.any() and best:
        found = f"{int(lost.sum())} scores are missing, and 0 would be the best"
        asked, drop = (argument("missing", word) for word in ("zero", "drop"))
        raise _error(rows, name, f"{asked}: {found}; expected {drop}")
    return np.where(lost, 0.0 if as_zero else np.nan, score), status


@dataclasses.dataclass(frozen=True)
class _Cells:
    """Rows of a data set, [n], and what is written into the cell of each.

    Attributes:
      item: [n] from 0.
      counts: [n, C].
    """

    rows: Rows
    name: str
    where: np.ndarray
    item: np.ndarray
    items: int
    values: np.ndarray
    status: np.ndarray
    counts: np.ndarray | None

    def of_model(self, model: str, models: Sequence[str]) -> ModelScores:
        """The scores of a model, one of these."""
        rows = self.rows
        mine = np.flatnonzero(rows.model.codes[self.where] == rows.model.names.index(model))
        if not len(mine):
            raise _error(rows, self.name, f"no item that {listed(models)} all have a score of")
        where, item = self.where[mine], self.item[mine]
        first, run, labels = self._runs(where)
        sample = np.zeros(len(mine), int) if rows.sample is None else rows.sample[where]
        order = np.lexsort((sample, item, run))
        cell = (run * self.items + item)[order]
        twice = np.flatnonzero((np.diff(cell) == 0) & (np.diff(sample[order]) == 0))
        if len(twice):
            raise self._twice(*sorted(where[order[[twice[0], twice[0] + 1]]].tolist()))
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        sizes = np.diff(np.append(starts, len(cell)))
        shape = self.items, len(first), int(sizes.max())
        if np.prod(shape, dtype=float) > _MOST_CELLS:
            found = f"{' x '.join(map(str, shape))} (items, runs, answers) are too many"
            raise _error(rows, self.name, found)
        place = item[order], run[order], np.arange(len(cell)) - np.repeat(starts, sizes)
        scores, status = np.full(shape, np.nan), np.full(shape, Status.ABSENT, np.uint8)
        scores[place], status[place] = self.values[mine][order], self.status[mine][order]
        if not rows.whole and matching.apart(~np.isnan(scores).all(2)):
            found = f"a run of {model} has no item in common with its other runs"
            advice = "parts of one run belong into one file, or have one key run"
            raise _error(rows, self.name, f"{found}; {advice}")
        counts = None
        if self.counts is not None:
            counts = np.zeros((*shape[:2], self.counts.shape[1]), self.counts.dtype)
            counts[item, run] = self.counts[mine]
        dev = None if rows.dev is None else rows.dev[where[first]]
        return ModelScores(scores, status, labels, rows.number[where[first]], dev, counts)

    def _runs(self, where: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Of rows [n] of a model: [R] a row of each run, [n] its run from 0, and labels of runs.

        Runs with names stand in the order of these, and so in the same one on all data sets.
        """
        _, first, run = np.unique(self.rows.run[where], return_index=True, return_inverse=True)
        labels = {}
        for name, of in self.rows.labels.items():
            codes = of.codes[where[first]]
            if name != "name" or (codes.min() >= 0 and len({*codes.tolist()}) == len(codes)):
                labels[name] = np.array(of.names, object)[codes]
        if "name" in labels:
            order = np.argsort(labels["name"].astype(str))
            labels = {name: of[order] for name, of in labels.items()}
            first, run = first[order], np.argsort(order)[run]
        return first, run, labels

    def _twice(self, one: int, other: int) -> DataError:
        """The error of two scores of one answer, or of one run."""
        rows = self.rows
        named = {"model": rows.model, "task" if rows.file else "dataset": rows.dataset}
        named |= {**({} if rows.file else rows.labels), "item": rows.item}
        said = ", ".join(f"{w} {of.named(one):.60}" for w, of in named.items() if of.named(one))
        if rows.file is not None:
            sample = 1 if rows.sample is None else rows.sample[one]
            found = f"a score is there twice: {said}, sample {sample}"
            message = f"{found}; expected one score of each answer in a log"
            return DataError(message, rows.file.named(one))
        axes = f"{argument('column', {'split': 'NAME'})} (or seed, dataset)"
        return DataError(
            f"rows {rows.number[one]} and {rows.number[other]} are both {said}; keep one, or name "
            f"the column that tells them apart with {axes}; no epoch or step of a run does",
            rows.source,
        )

    def clusters(self) -> np.ndarray | None:
        """[I] labels of items that belong together; None: not known."""
        cluster = self.rows.cluster
        if cluster is None:
            return None

        def named(kind: str, k: int) -> str:
            of: Coded = getattr(self.rows, kind)
            return f"{of.named(int(self.where[k])):.60}"

        head = _head(self.rows, self.name)
        codes = matching.clusters(self.item, cluster.codes[self.where], named, head)
        return None if codes is None else np.array(cluster.names, object)[codes]
