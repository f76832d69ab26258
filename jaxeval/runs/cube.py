"""The cube of scores, built of rows of the normal form: the one place where these are checked.

Notation: N rows; of a data set I items, R runs of a model, K answers of a run to an item.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, directions, matching, metrics
from jaxeval.runs import choice as choices
from jaxeval.runs.directions import Key
from jaxeval.runs.imported import collector_paused, listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.rows import Rows
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
    choice = choices.chosen(rows, layout)
    better = _directions(rows, layout, choice.found)
    return Scores(
        rows.source,
        choice.models,
        tuple(
            _data_set(rows, layout, key, by_model, better[key], choice.warnings)
            for key, by_model in choice.found.items()
        ),
        layout.missing,
        warnings=tuple(choice.warnings),
        absent=choice.absent,
        without_metric=choice.without_metric,
    )


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
    ids, unknown = rows.item.codes[where], np.full(len(where), -1)
    content, prompt = (
        unknown if of is None else of.codes[where] for of in (rows.content, rows.prompt)
    )
    if layout.mismatched == "pair" or max(content.max(), prompt.max()) < 0:
        return ids, np.zeros(len(where), bool)
    model, run = rows.model.codes[where], rows.run[where]
    keys, wrong = matching.matched(ids, content, prompt, model, matching.pairs(run, model))
    if wrong.any():
        names = list(dict.fromkeys(rows.item.named(k) for k in where[wrong].tolist()))
        count = f"{len(names)} of {len({*ids.tolist()})} items"
        if rows.file is None:
            found = f"{count} have several golds or prompts ({listed(names, _FEW)})"
            raise rows.error(name, f"{found}; expected one of each item")
        why = f"by their content or prompt ({listed(names, _FEW)})"
        said = f"{count} are not the same in all logs, {why}"
        if layout.mismatched == "error":
            drop, pair = (argument("mismatched", word) for word in ("drop", "pair"))
            why = "such as where only chat templates differ"
            advice = f"{drop} leaves them out, {pair} takes equal ids for equal items, {why}"
            raise rows.error(name, f"{said}; {advice}")
        warnings.append(f"{rows.head(name)}{said}; they are left out")
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
        count = int(np.sum(rows.model.codes[where[bad]] == rows.model.codes[k]))
        drop, zero = (argument("missing", word) for word in ("drop", "zero"))
        found = f"scores of {rows.model.named(k)} that are not finite: {count}, the first"
        of = f"{rows.score[k]} of item {rows.item.named(k):.60}"
        advice = f"{drop} leaves them out, {zero} counts them as 0"
        raise rows.error(name, f"{found} {of}; {advice}")
    status[bad] = Status.UNSCORED
    lost = status != Status.SCORED
    known = score[~lost]
    if np.abs(known).max(initial=0.0) > checks.LARGEST:
        k = int(where[~lost][np.abs(known).argmax()])
        found = f"model {rows.model.named(k)}, item {rows.item.named(k):.60}: {rows.score[k]:g}"
        raise rows.error(name, f"{found}; expected an absolute value up to {checks.LARGEST:g}")
    as_zero = layout.missing == "zero"
    best = not higher or (known.size and known.min() < 0 and known.max() <= 0)
    if as_zero and lost.any() and best:
        found = f"{int(lost.sum())} scores are missing, and 0 would be the best"
        asked, drop = (argument("missing", word) for word in ("zero", "drop"))
        raise rows.error(name, f"{asked}: {found}; expected {drop}")
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
            raise rows.error(self.name, f"no item that {listed(models)} all have a score of")
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
            raise rows.error(self.name, found)
        place = item[order], run[order], np.arange(len(cell)) - np.repeat(starts, sizes)
        scores, status = np.full(shape, np.nan), np.full(shape, Status.ABSENT, np.uint8)
        scores[place], status[place] = self.values[mine][order], self.status[mine][order]
        if not rows.whole and matching.apart(~np.isnan(scores).all(2)):
            found = f"a run of {model} has no item in common with its other runs"
            advice = "parts of one run belong into one file, or have one key run"
            raise rows.error(self.name, f"{found}; {advice}")
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
            found = f"a score is there twice: {said}; expected one score of each answer in a log"
            return DataError(found, rows.file.named(one))
        found = (
            f"rows {rows.number[one]} and {rows.number[other]} are both {said}; keep one, or name"
        )
        axes = f"{argument('column', {'split': 'NAME'})} (or seed, dataset)"
        advice = f"the column that tells them apart with {axes}; no epoch or step of a run does"
        return DataError(f"{found} {advice}", rows.source)

    def clusters(self) -> np.ndarray | None:
        """[I] labels of items that belong together; None: not known.

        A log without labels says nothing against one that has them.

        Raises:
          DataError: an item in two clusters; one without, beside others.
        """
        cluster = self.rows.cluster
        codes = np.zeros(0) if cluster is None else cluster.codes[self.where]
        if cluster is None or codes.max() < 0:
            return None
        of_item = np.full(self.items, -1)
        of_item[self.item[codes >= 0]] = codes[codes >= 0]
        wrong = np.flatnonzero(
            (of_item[self.item] != codes) & (codes >= 0) | (of_item[self.item] < 0)
        )
        if len(wrong):
            k, other = int(self.where[wrong[0]]), int(of_item[self.item[wrong[0]]])
            item, labels = self.rows.item.named(k), [cluster.named(k), cluster.names[other]]
            found = (
                f"is in two clusters, {' and '.join(labels)}" if other >= 0 else "is in no cluster"
            )
            expected = "one label in all logs" if other >= 0 else "all to be, or none"
            raise self.rows.error(self.name, f"item {item:.60} {found}; expected {expected}")
        return np.array(cluster.names, object)[of_item]
