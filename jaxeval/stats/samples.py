"""Scores of whole runs as samples: one score for each unit of replication.

A unit is one independent repetition of a model; scores within a unit are averaged.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs.scores import Scores, Status
from jaxeval.stats import Rules, describe
from jaxeval.stats.describe import Summary

Unit = Literal["seed", "split", "dataset", "row"]
FEWEST = 3  # fewer scores of a model allow no conclusion on location


class _Sample(NamedTuple):
    """Scores [n] of one model, and the label [n] of the unit of each."""

    labels: np.ndarray
    scores: np.ndarray


@dataclasses.dataclass(frozen=True)
class Copies:
    """A model of one run: it has one score, or the same at every seed or split, `count` times."""

    model: str
    data_set: str
    score: float
    count: int


@dataclasses.dataclass(frozen=True, eq=False)
class Samples:
    """Scores of every model by data set, one for each unit of replication."""

    unit: Unit
    # data set -> model -> sample, without models that have no scores there. If data sets are the
    # units there is one data set without a name
    by_data_set: Mapping[str, Mapping[str, _Sample]]
    averaged: tuple[int, int]  # fewest and most scores that were averaged into one
    # data set -> model -> units without a score because all their runs failed
    failed: Mapping[str, Mapping[str, Sequence[str]]] = dataclasses.field(default_factory=dict)

    @property
    def noun(self) -> str:
        """The unit that one score stands for, as a word of a sentence."""
        if self.unit in ("row", "seed") and self.averaged[1] == 1:
            return "run"
        return "data set" if self.unit == "dataset" else self.unit

    def with_failed(self, higher_is_better: bool) -> "Samples":
        """Adds a score worse than all others for each unit that failed.

        It says how often a run is better; the size of such scores means nothing.
        """
        by_data_set = dict(self.by_data_set)
        for data_set, lost in self.failed.items():
            by_model = by_data_set.get(data_set, {})
            if not by_model:
                continue
            every = np.concatenate([sample.scores for sample in by_model.values()])
            beyond = float(np.ptp(every)) or float(np.abs(every).max()) or 1.0
            worst = every.min() - beyond if higher_is_better else every.max() + beyond
            by_data_set[data_set] = {
                model: _Sample(
                    np.array([*of.labels, *lost.get(model, ())], object),
                    np.array([*of.scores, *(worst for _ in lost.get(model, ()))]),
                )
                for model, of in by_model.items()
            }
        return dataclasses.replace(self, by_data_set=by_data_set)

    def without_copies(self) -> tuple["Samples", tuple[Copies, ...]]:
        """Reduces each model with equal scores at all its seeds to one score; says which.

        Models of one score are among them, also on a data set where others have several, unless
        all have one. If the scores of a model vary on one data set its runs differ, even if they
        agree on another.
        """
        every = [
            (model, data_set, of)
            for data_set, by_model in self.by_data_set.items()
            for model, of in by_model.items()
        ]
        if self.unit == "dataset" or all(len(of.scores) == 1 for *_, of in every):
            return self, ()
        varied = {model for model, _, of in every if (of.scores != of.scores[0]).any()}
        several = [[len(of.scores) > 1 for of in by.values()] for by in self.by_data_set.values()]
        tested = any(sum(known) > 1 for known in several)
        copies = [
            Copies(model, data_set, float(of.scores[0]), len(of.scores))
            for model, data_set, of in every
            if model not in varied or (tested and len(of.scores) == 1)
        ]
        by_data_set = {
            data_set: {
                model: of if model in varied else _Sample(of.labels[:1], of.scores[:1])
                for model, of in by_model.items()
            }
            for data_set, by_model in self.by_data_set.items()
        }
        return dataclasses.replace(self, by_data_set=by_data_set), tuple(copies)

    def mean_over_data_sets(self) -> "Samples | None":
        """Averages each unit over the data sets that have all models, without those that failed.

        Models of one run are left out.

        Returns:
          One data set without a name; None if there are fewer than two models, or data sets with
          all of them, or fewer than three units of a model on all of these.
        """
        every = (named for by_model in self.by_data_set.values() for named in by_model.items())
        models = dict.fromkeys(model for model, of in every if len(of.scores) > 1)
        common = [d for d, of in self.by_data_set.items() if models.keys() <= of.keys()]
        if min(len(common), len(models)) < 2 or self.unit not in ("seed", "split"):
            return None
        averaged = self.averaged_over(common).by_data_set[""]
        by_model = {model: averaged[model] for model in models}
        if min(len(of.scores) for of in by_model.values()) < FEWEST:
            return None
        return dataclasses.replace(self, by_data_set={"": by_model}, failed={})

    def averaged_over(self, data_sets: Sequence[str]) -> "Samples":
        """Averages each unit over these data sets, which become one without a name.

        Units with one label on several data sets may be one network or several: their mean is one
        independent score either way. A unit that lacks a score on a data set is left out; one that
        failed on any has failed.
        """
        every = [*self.by_data_set.values(), *self.failed.values()]
        averaged: dict[str, _Sample] = {}
        failed: dict[str, Sequence[str]] = {}
        for model in dict.fromkeys(m for by_model in every for m in by_model):
            found = [self.by_data_set.get(data_set, {}).get(model) for data_set in data_sets]
            each = [
                dict(zip(*map(np.ndarray.tolist, of), strict=True)) if of else {} for of in found
            ]
            labels = [label for label in each[0] if all(label in of for of in each)]
            means = [math.fsum(of[label] for of in each) / len(each) for label in labels]
            averaged[model] = _Sample(np.array(labels, object), np.array(means))
            lost = [self.failed.get(data_set, {}).get(model, ()) for data_set in data_sets]
            failed[model] = [*dict.fromkeys(label for of in lost for label in of)]
        return dataclasses.replace(self, by_data_set={"": averaged}, failed={"": failed})

    def paired(self, data_set: str, a: str, b: str) -> tuple[np.ndarray, np.ndarray]:
        """Returns the scores [n], [n] of the units that both models have, in the order of A."""
        first, second = self.by_data_set[data_set][a], self.by_data_set[data_set][b]
        other = dict(zip(second.labels.tolist(), second.scores.tolist(), strict=True))
        common = [k for k, label in enumerate(first.labels.tolist()) if label in other]
        return first.scores[common], np.array([other[first.labels[k]] for k in common])


def _default_unit(scores: Scores) -> Unit:
    """Data set if each has one score of a model, split if splits differ, seed, else row.

    Seeds of one split share its data.
    """
    every = [of for data in scores.data_sets for of in data.models.values()]
    if len(scores.data_sets) > 1 and max(int(of.finished.sum()) for of in every) <= 1:
        return "dataset"
    axis: Unit
    for axis in ("split", "seed"):
        labels = (of.labels[axis][of.finished].tolist() for of in every if axis in of.labels)
        if len({label for each in labels for label in each}) > 1:
            return axis
    return "row"


def samples(scores: Scores, unit: Unit | None = None) -> Samples:
    """Averages the scores of each model within each unit; by default the unit is the source's."""
    chosen = unit or _default_unit(scores)
    several = any(data.name for data in scores.data_sets)
    known = [*scores.labels, *(["dataset"] if several else []), "row"]
    if chosen not in known:
        asked = argument("unit", chosen)
        names = ", ".join(known)
        raise DataError(f"{asked}: no such unit; expected one of {names}", scores.source)
    found: dict[str, dict[str, list[_Sample]]] = {}
    failed: dict[str, dict[str, Sequence[str]]] = {}
    sizes: list[int] = []
    for data in scores.data_sets:
        data_set = "" if chosen == "dataset" else data.name
        for model, runs in data.models.items():
            labels = runs.rows if chosen == "row" else runs.labels.get(chosen)
            if labels is None:
                labels = np.full(runs.runs, data.name, object)
            sample, counts = _averaged(labels[runs.finished], runs.scores[0, runs.finished, 0])
            sizes += counts
            if counts:
                found.setdefault(data_set, {}).setdefault(model, []).append(sample)
            lost = labels[runs.status[0, :, 0] == Status.FAILED].tolist()
            ended = {*sample.labels.tolist()} if lost else set()
            if lost := [label for label in dict.fromkeys(lost) if label not in ended]:
                of_model = failed.setdefault(data_set, {})
                of_model[model] = [*of_model.get(model, ()), *lost]
    by_data_set = {
        data_set: {
            m: _Sample(*map(np.concatenate, zip(*by_model[m], strict=True)))
            for m in scores.models
            if m in by_model
        }
        for data_set, by_model in found.items()
    }
    averaged = min(sizes, default=0), max(sizes, default=0)
    return Samples(chosen, by_data_set, averaged, failed)


def _averaged(labels: np.ndarray, scores: np.ndarray) -> tuple[_Sample, list[int]]:
    """The mean of each unit, in order of appearance; the fewest and most scores of a unit."""
    by_unit: dict[object, list[float]] = {}
    for label, score in zip(labels.tolist(), scores.tolist(), strict=True):
        by_unit.setdefault(label, []).append(score)
    if len(by_unit) == len(scores):
        return _Sample(labels, scores), [1] * bool(len(scores))
    means = np.array([math.fsum(of) / len(of) for of in by_unit.values()])  # in any order the same
    counts = [*map(len, by_unit.values())]
    return _Sample(np.array([*by_unit], object), means), [min(counts), max(counts)]


def pools(scores: Scores) -> dict[str, np.ndarray]:
    """Returns all scores of each model on the one data set, to draw evaluations from."""
    if len(scores.data_sets) > 1:
        names = ", ".join(data.name for data in scores.data_sets)
        raise DataError(
            f"several data sets ({names}); expected a table or a runs folder with one: copy its "
            "rows into a separate file",
            scores.source,
        )
    found = {model: scores.scores_of(model) for model in scores.models}
    if absent := [model for model, of in found.items() if not len(of)]:
        remedy = "; name the models that have one" if len(absent) < len(found) else ""
        raise DataError(f"{', '.join(absent)}: no usable score{remedy}", scores.source)
    return found


def summaries(units: Samples, rules: Rules, scores: Scores) -> dict[str, dict[str, Summary]]:
    """Returns data set -> model -> summary; intervals of means lie within the bounds."""
    overlap = scores.overlap if units.unit == "split" else 0.0
    summarize = functools.partial(
        describe.summarize, confidence=rules.confidence, bounds=scores.bounds, overlap=overlap
    )
    return {
        data_set: {model: summarize(of.scores) for model, of in by_model.items()}
        for data_set, by_model in units.by_data_set.items()
        if by_model
    }
