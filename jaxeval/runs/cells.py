"""The runs of each model on a data set, made of rows of the normal form.

Notation: of a data set n rows, I items, R runs of a model, K answers of a run to an item.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs.imported import listed
from jaxeval.runs.rows import Rows
from jaxeval.runs.scores import ModelScores, Status

_MOST_CELLS = 1 << 27


@dataclasses.dataclass(frozen=True)
class Cells:
    """Rows [n] of a data set; the item (from 0), score, status and counts [n, C] of each."""

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
        alone = len(first) == len(mine)  # one answer a run: a sort by one key
        order = np.argsort(run, kind="stable") if alone else np.lexsort((sample, item, run))
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
        if not rows.whole and _apart(~np.isnan(scores).all(2)):
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
        found = f"rows {rows.number[one]} and {rows.number[other]} are both {said}; keep one"
        axes = f"{argument('column', {'split': 'NAME'})} (or seed, dataset)"
        advice = f"or name the column that tells them apart with {axes}; no epoch or step does"
        return DataError(f"{found}, {advice}", rows.source)

    def clusters(self) -> np.ndarray | None:
        """[I] labels of items that belong together; None: not known.

        A log without labels says nothing against one that has them.
        Raises DataError: an item in two clusters; one without, beside others.
        """
        cluster = self.rows.cluster
        codes = np.zeros(0) if cluster is None else cluster.codes[self.where]
        if cluster is None or codes.max() < 0:
            return None
        of_item = np.full(self.items, -1)
        of_item[self.item[codes >= 0]] = codes[codes >= 0]
        mine = of_item[self.item]
        wrong = np.flatnonzero((mine != codes) & (codes >= 0) | (mine < 0))
        if len(wrong):
            k, other = int(self.where[wrong[0]]), int(mine[wrong[0]])
            both = f"two clusters, {cluster.named(k)} and {cluster.names[other]}"
            found = f"is in {both if other >= 0 else 'no cluster'}; expected one label of each"
            raise self.rows.error(self.name, f"item {self.rows.item.named(k):.60} {found}")
        return np.array(cluster.names, object)[of_item]


def _apart(present: np.ndarray) -> bool:
    """Whether one of several runs, [I, R] by item, has no item in common with any other."""
    answers = present[:, present.any(0)].astype(np.float64)
    shared = answers.T @ answers
    np.fill_diagonal(shared, 0)
    return len(shared) > 1 and not bool(shared.any(0).all())
