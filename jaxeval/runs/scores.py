"""Scores of models on data sets, by item and run: readers return them, studies take them.

Notation: I items, R runs of a model, K answers of one run to one item, C kinds of counts.

Scores of whole runs (I = K = 1) and scores of items have the same type. A reader keeps everything
that the user does not leave out: failed runs, copies, and items that a model lacks are marked by
their status. The comparison (`stats`) decides how to treat them.
"""

import dataclasses
import enum
import functools
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs import metrics
from jaxeval.runs.columns import meant
from jaxeval.runs.layout import Missing
from jaxeval.runs.metrics import Direction
from jaxeval.runs.normal import Unusable

OVERLAPPING = "expected independent runs, found splits of several cross-validations, which overlap"


class Status(enum.IntEnum):
    """The outcome of an answer, or of a whole run.

    Only SCORED answers have a score. The others are NaN, or 0 if `Scores.missing` is "zero"
    (ABSENT ones stay NaN).
    """

    SCORED = 0
    UNSCORED = 1  # ended without a finite score
    FAILED = 2  # ended in an error; a run that diverged, crashed or was killed
    ABSENT = 3  # never recorded, but another run or model has this item or answer


@dataclasses.dataclass(frozen=True, eq=False)
class ModelScores:
    """The runs of one model on one data set."""

    scores: np.ndarray  # [I, R, K] float64; NaN without a score
    status: np.ndarray  # [I, R, K] uint8 of `Status`
    # "seed", "split" or "name" -> [R] texts (dtype object), the same keys for all models. Equal
    # labels on several data sets mark the same run
    labels: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    # [R] row numbers in the file from 1, or numbers of the runs of logs
    rows: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, int))
    # [R] dev scores, NaN if unknown. The run with the best one represents its model
    dev: np.ndarray | None = None
    # [I, R, C] counts of each item (`DataSetScores.counts`), whose sums give the metric
    counts: np.ndarray | None = None

    @property
    def runs(self) -> int:
        """Number of runs, failed ones included."""
        return int(self.scores.shape[1])

    @property
    def finished(self) -> np.ndarray:
        """[R] bool: runs that have a score, and so are compared."""
        return np.asarray(~np.isnan(self.scores).all((0, 2)))

    def chosen(self, runs: np.ndarray) -> "ModelScores":
        """Returns some of the runs: a [R] bool mask, or their indices."""
        return ModelScores(
            self.scores[:, runs],
            self.status[:, runs],
            {name: labels[runs] for name, labels in self.labels.items()},
            self.rows[runs] if len(self.rows) else self.rows,
            None if self.dev is None else self.dev[runs],
            None if self.counts is None else self.counts[:, runs],
        )


@dataclasses.dataclass(frozen=True, eq=False)
class DataSetScores:
    """The scores of models on one data set (a task of logs), in one metric."""

    name: str  # "" if the source has no data sets
    metric: str  # "" if the source names none
    higher_is_better: bool
    # where `higher_is_better` comes from; a user may override "named" and "assumed"
    direction: Direction
    # model -> its runs, in the order of `Scores.models`; models without rows are left out
    models: Mapping[str, ModelScores]
    items: tuple[str, ...] = ("",)  # [I] ids; ("",) for whole runs
    unit: str | None = None  # unit of the metric, such as "fraction", if the source records it
    clusters: np.ndarray | None = None  # [I] cluster labels of the items; None if unknown
    counts: tuple[str, ...] = ()  # names of the C kinds of counts
    part: str = ""  # part of the data that the items belong to, such as "test"; "" for whole runs

    def only(self, models: Sequence[str]) -> "DataSetScores":
        """Returns the scores of some models, in this order; absent ones are left out."""
        here = {name: self.models[name] for name in models if name in self.models}
        return dataclasses.replace(self, models=here)

    def chosen(self, items: np.ndarray) -> "DataSetScores":
        """Returns the scores of some of the items, by a [I] bool mask."""
        models = {
            name: dataclasses.replace(of, scores=of.scores[items], status=of.status[items])
            for name, of in self.models.items()
        }
        clusters = None if self.clusters is None else self.clusters[items]
        names = tuple(itertools.compress(self.items, items))
        return dataclasses.replace(self, models=models, items=names, clusters=clusters)

    @property
    def known(self) -> np.ndarray:
        """All scores, as one vector."""
        whole = np.concatenate([np.zeros(0), *(m.scores.ravel() for m in self.models.values())])
        return whole[~np.isnan(whole)]

    @property
    def stored_unit(self) -> str:
        """Unit of the scores as stored, by the metric's name before any slash."""
        largest = float(np.abs(self.known).max(initial=0.0))
        return metrics.stored_unit(self.metric.split("/")[0], largest, self.unit)


@dataclasses.dataclass(frozen=True, eq=False)
class Scores:
    """All scores of a source.

    Attributes:
      source: file, folder, database or logs, for messages.
      models: printable names, in order of appearance or of the request.
      data_sets: in order of appearance.
      unusable: scores that are missing or not finite, left out or counted as 0.
      statuses: model -> how its runs ended, in the source's words -> count.
      warnings, notes: sentences about the scores, and about the models.
      absent: model -> data sets of other models without a score of this one.
      without_metric: data sets that were left out, because no metric is known of all models.
      folds: the splits are folds of a cross-validation, which share no test item.
      overlap: test items by training items, if the splits are folds of several ones; else 0.
      ids: experiment id -> model, of our own runs.
      noun: what a data set is called.
    """

    source: str
    models: tuple[str, ...]
    data_sets: tuple[DataSetScores, ...]
    missing: Missing = "error"
    unusable: tuple[Unusable, ...] = ()
    statuses: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    absent: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    without_metric: tuple[str, ...] = ()
    folds: bool = False
    overlap: float = 0.0
    ids: Mapping[str, str] = dataclasses.field(default_factory=dict)
    noun: str = "data set"

    @property
    def whole(self) -> bool:
        """True if scores are of whole runs, not of items."""
        return all(data.items == ("",) for data in self.data_sets)

    @property
    def metric(self) -> str:
        """Metric of the first data set; a table of runs has one metric."""
        return self.data_sets[0].metric if self.data_sets else ""

    @property
    def higher_is_better(self) -> bool:
        """True if higher scores of that metric are better."""
        return self.data_sets[0].higher_is_better if self.data_sets else True

    @property
    def direction(self) -> Direction:
        """Where `higher_is_better` comes from."""
        return self.data_sets[0].direction if self.data_sets else "assumed"

    @property
    def unit(self) -> str | None:
        """Recorded unit of that metric."""
        return self.data_sets[0].unit if self.data_sets else None

    @property
    def known(self) -> np.ndarray:
        """All scores of all models on all data sets, as one vector."""
        return np.concatenate([np.zeros(0), *(data.known for data in self.data_sets)])

    @property
    def stored_unit(self) -> str:
        """Unit of the scores as stored."""
        return metrics.stored_unit(self.metric, self.largest, self.unit)

    @functools.cached_property
    def largest(self) -> float:
        """The largest absolute score."""
        return float(np.abs(self.known).max(initial=0.0))

    @functools.cached_property
    def bounds(self) -> tuple[float, float] | None:
        """Range of that metric, as `metrics.bounds`."""
        return metrics.bounds(self.metric, self.known, self.unit)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the labels of runs."""
        every = (m.labels for data in self.data_sets for m in data.models.values())
        return tuple(dict.fromkeys(name for labels in every for name in labels))

    def scores_of(self, model: str) -> np.ndarray:
        """Returns all scores of a model, as one vector; raises DataError for an unknown one."""
        return self.only([model]).known

    def only(self, models: Sequence[str]) -> "Scores":
        """Returns the scores of some models, in this order; no names: of all models.

        Raises DataError: there is no such model.
        """
        for model in models:
            if model not in self.models:
                raise DataError(f"no model {model!r}; {meant(model, self.models)}", self.source)
        if not models:
            return self
        data_sets = (data.only(models) for data in self.data_sets)
        return dataclasses.replace(
            self,
            models=tuple(models),
            data_sets=tuple(data for data in data_sets if data.models),
            statuses={name: self.statuses[name] for name in models if name in self.statuses},
            absent={name: self.absent[name] for name in models if name in self.absent},
        )


def from_arrays(
    arrays: Mapping[str, Sequence | np.ndarray],
    name: str = "",
    metric: str = "",
    higher_is_better: bool = True,
    direction: Direction = "recorded",
    clusters: Sequence | np.ndarray | None = None,
    runs: Mapping[str, Sequence[str]] | None = None,
    zero: bool = False,
) -> DataSetScores:
    """Returns scores of items from arrays in memory.

    Raises DataError: the arrays have other shapes, an infinite score, or no score at all.

    Args:
      arrays: model -> [I], [I, R] or [I, R, K], NaN without a score; row i is the same item for
        all models.
      clusters: [I] cluster labels of the items.
      runs: model -> names of its runs.
      zero: counts a missing score as 0.
    """
    models = {}
    for model, given in arrays.items():
        scores = np.nan_to_num(_cube(given, model)) if zero else _cube(given, model)
        status = np.where(np.isnan(scores), Status.UNSCORED, Status.SCORED).astype(np.uint8)
        names = (runs or {}).get(model)
        labels = {"name": np.array(names, object)} if names else {}
        models[model] = ModelScores(scores, status, labels, np.arange(scores.shape[1]))
    sizes = {model: len(of.scores) for model, of in models.items()}
    sizes |= {} if clusters is None else {"clusters": len(clusters)}
    if len({*sizes.values()}) > 1:
        found = ", ".join(f"{size} of {model}" for model, size in sizes.items())
        raise DataError(f"items: expected the same of all, found {found}")
    named = [] if clusters is None else [*clusters]
    if missing := [label for label in named if label is None or label != label]:
        raise DataError(f"clusters: expected a label of every item, found {missing[0]}")
    groups = None if clusters is None else np.array([*map(str, named)], object)
    items = tuple(map(str, range(max(sizes.values()))))
    return DataSetScores(name, metric, higher_is_better, direction, models, items, clusters=groups)


def _cube(scores: Sequence | np.ndarray, name: str) -> np.ndarray:
    """Converts scores to [I, R, K] float64, NaN where one is missing or masked; none infinite."""
    expected = f"{name}: expected [items], [items, runs] or [items, runs, samples]"
    try:
        masked = isinstance(scores, np.ma.MaskedArray)
        values = np.ma.filled(np.ma.asarray(scores, float), np.nan) if masked else scores
        values = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{expected} of numbers, NaN where one is missing") from None
    if not 1 <= values.ndim <= 3 or not values.size:
        raise DataError(f"{expected}, found shape {list(values.shape)}")
    values = values.reshape(*values.shape, *[1] * (3 - values.ndim))
    if np.isinf(values).any():
        item, run, _ = np.argwhere(np.isinf(values))[0]
        raise DataError(f"{name}: the score of item {item} in run {run} is infinite")
    if np.isnan(values).all():
        raise DataError(f"{name}: every score is missing")
    return values
