"""Scores of models on data sets, by item and run: what every reader gives, and every study takes.

Notation: I items, R runs of a model, K answers of one run to one item, C kinds of counts.

Two slices of one cube: scores of whole runs (I = K = 1), and of items. A reader leaves nothing out
but what the user asks to leave out: items and runs that some model lacks, copies of runs and runs
that failed are all in the cube, marked by their status. What becomes of them is a rule of the
comparison (`stats`).
"""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs import checks, metrics
from jaxeval.runs.imported import listed
from jaxeval.runs.layout import Missing

# who says whether higher is better: the file (or the user), the metric's name, or no one
Direction = Literal["recorded", "named", "assumed"]


class Status(enum.IntEnum):
    """What became of an answer, or of a whole run.

    SCORED ones have a finite score; that of all others is NaN, or 0 where missing scores count as
    0 (`Scores.missing` is "zero"; ABSENT ones stay NaN).
    """

    SCORED = 0
    UNSCORED = 1  # it ended, and has no finite score
    FAILED = 2  # it ended in an error; of a run: it diverged, crashed, was killed ...
    ABSENT = 3  # it was never asked for: another run or model has this item or answer


@dataclasses.dataclass(frozen=True, eq=False)
class ModelScores:
    """The runs of one model on one data set.

    Attributes:
      scores: [I, R, K] float64; NaN where there is no score.
      status: [I, R, K] uint8 of `Status`.
      labels: "seed", "split" or "name" -> [R] texts (dtype object); the same keys for all models.
        "name" is what a user calls a run of logs. Equal labels on several data sets are one run.
      rows: [R] row numbers in the file, from 1; of logs the number of the run.
      dev: [R] dev scores, NaN where one lacks; None: none are known. The run of the best one
        stands for its model, else the first.
      counts: [I, R, C] additive counts of each item, which `DataSetScores.counts` names and from
        whose sums the metric follows (F1 is no mean over items); None: not known.
    """

    scores: np.ndarray
    status: np.ndarray
    labels: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    rows: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, int))
    dev: np.ndarray | None = None
    counts: np.ndarray | None = None

    @property
    def runs(self) -> int:
        """How many, failed ones too."""
        return int(self.scores.shape[1])

    @property
    def finished(self) -> np.ndarray:
        """[R] bool: runs with any score, which are compared."""
        return np.asarray(~np.isnan(self.scores).all((0, 2)))

    def chosen(self, runs: np.ndarray) -> "ModelScores":
        """Some runs: [R] bool, or their places."""
        return ModelScores(
            self.scores[:, runs],
            self.status[:, runs],
            {name: of[runs] for name, of in self.labels.items()},
            self.rows[runs] if len(self.rows) else self.rows,
            None if self.dev is None else self.dev[runs],
            None if self.counts is None else self.counts[:, runs],
        )


@dataclasses.dataclass(frozen=True, eq=False)
class DataSetScores:
    """The scores of models on one data set (a task of logs), in one metric.

    Attributes:
      name: "" where the source knows of no data sets.
      metric: its name; "" where the source has none.
      direction: who says `higher_is_better`; a user may overrule what is "named" or "assumed".
      models: model -> its runs, in the order of `Scores.models`; those without any row here lack.
      items: [I] ids, row i of all models; ("",) of whole runs.
      unit: of the metric, where the source records it (`metrics.UNITS`).
      clusters: [I] labels of items that belong together (texts of one passage); None: not known.
      counts: names of the C kinds of counts.
      part: of the data that the items are of, such as "test"; "" of whole runs.
    """

    name: str
    metric: str
    higher_is_better: bool
    direction: Direction
    models: Mapping[str, ModelScores]
    items: tuple[str, ...] = ("",)
    unit: str | None = None
    clusters: np.ndarray | None = None
    counts: tuple[str, ...] = ()
    part: str = ""

    def only(self, models: Sequence[str]) -> "DataSetScores":
        """Some models, in this order, as far as they are here."""
        here = {name: self.models[name] for name in models if name in self.models}
        return dataclasses.replace(self, models=here)

    @property
    def known(self) -> np.ndarray:
        """All scores that there are, one vector."""
        whole = np.concatenate([np.zeros(0), *(of.scores.ravel() for of in self.models.values())])
        return whole[~np.isnan(whole)]

    @property
    def stored_unit(self) -> str:
        """The unit of the scores as they are stored, by the metric's name before any slash."""
        largest = float(np.abs(self.known).max(initial=0.0))
        return metrics.stored_unit(self.metric.split("/")[0], largest, self.unit)


@dataclasses.dataclass(frozen=True, eq=False)
class Scores:
    """All scores of a source.

    Attributes:
      source: the file, folder, database or logs, for messages.
      models: names, in order of appearance or as they were asked for; printable.
      data_sets: in order of appearance; one nameless where the source knows of none.
      unusable: scores that are missing or not finite and were left out or counted as 0.
      statuses: model -> how its runs ended, in the source's words -> how many.
      warnings: what a reader of the scores should know of them, a sentence each.
      notes: what is known of the models beside their scores, such as how their configs differ.
      absent: model -> data sets of others of which it has no score.
      without_metric: data sets that were left out, since not all models have a metric of them.
      folds: the splits are called folds; such share no test item.
      ids: of experiments of our own runs -> model.
    """

    source: str
    models: tuple[str, ...]
    data_sets: tuple[DataSetScores, ...]
    missing: Missing = "error"
    unusable: tuple[checks.Unusable, ...] = ()
    statuses: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    absent: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    without_metric: tuple[str, ...] = ()
    folds: bool = False
    ids: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def metric(self) -> str:
        """That of the first data set; a table of scores of runs has one metric."""
        return self.data_sets[0].metric if self.data_sets else ""

    @property
    def higher_is_better(self) -> bool:
        """Of that metric."""
        return self.data_sets[0].higher_is_better if self.data_sets else True

    @property
    def direction(self) -> Direction:
        """Who says so."""
        return self.data_sets[0].direction if self.data_sets else "assumed"

    @property
    def unit(self) -> str | None:
        """Of that metric, where it is recorded."""
        return self.data_sets[0].unit if self.data_sets else None

    @property
    def known(self) -> np.ndarray:
        """All scores of all models on all data sets, one vector."""
        return np.concatenate([np.zeros(0), *(of.known for of in self.data_sets)])

    @property
    def stored_unit(self) -> str:
        """The unit of the scores, by what the source says of it, else by the metric's name."""
        largest = float(np.abs(self.known).max(initial=0.0))
        return metrics.stored_unit(self.metric, largest, self.unit)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the labels that runs have."""
        every = (of.labels for data in self.data_sets for of in data.models.values())
        return tuple(dict.fromkeys(name for labels in every for name in labels))

    def scores_of(self, model: str) -> np.ndarray:
        """All scores of whole runs of a model, one vector; raises DataError for an unknown one."""
        of_model = [of.models[model] for of in self.only([model]).data_sets]
        whole = np.concatenate([np.zeros(0), *(of.scores[0, :, 0] for of in of_model)])
        return whole[~np.isnan(whole)]

    def only(self, models: Sequence[str]) -> "Scores":
        """Some models, in this order; all for none. Raises DataError for an unknown one."""
        for model in models:
            if model not in self.models:
                expected = f"expected one of {listed(self.models)}"
                raise DataError(f"no model {model!r}; {expected}", self.source)
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


def of_arrays(
    arrays: Mapping[str, np.ndarray],
    name: str = "",
    metric: str = "",
    higher_is_better: bool = True,
    direction: Direction = "recorded",
    clusters: np.ndarray | None = None,
    runs: Mapping[str, Sequence[str]] | None = None,
) -> DataSetScores:
    """Scores that a program has: those that are NaN have no score.

    Args:
      arrays: model -> [I, R, K], row i the same item of all.
      runs: model -> names of its runs.
    """
    models = {}
    for model, array in arrays.items():
        status = np.where(np.isnan(array), Status.UNSCORED, Status.SCORED).astype(np.uint8)
        named = (runs or {}).get(model)
        labels = {"name": np.array(named, object)} if named else {}
        models[model] = ModelScores(array, status, labels, np.arange(array.shape[1]))
    items = tuple(map(str, range(max(map(len, arrays.values())))))
    return DataSetScores(
        name, metric, higher_is_better, direction, models, items, clusters=clusters
    )
