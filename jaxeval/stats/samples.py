"""Scores of whole runs as samples: one score a unit of replication, data set by data set.

A unit is what counts as one independent repetition of a model; scores within one are averaged.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs.scores import ModelScores, Scores, Status

Unit = Literal["seed", "split", "dataset", "row"]


@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """One score a unit of one model.

    Attributes:
      labels: [n] which seed, split, data set or row each unit is.
      scores: [n]
    """

    labels: np.ndarray
    scores: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Samples:
    """Scores of every model by data set, one a unit of replication.

    Attributes:
      unit: what one score stands for.
      by_data_set: data set -> model -> sample; models without scores there lack. One nameless data
        set where data sets are the units.
      averaged: fewest and most scores that were averaged into one.
      failed: data set -> model -> units of which no run has a score, as all failed.
    """

    unit: Unit
    by_data_set: Mapping[str, Mapping[str, Sample]]
    averaged: tuple[int, int]
    failed: Mapping[str, Mapping[str, Sequence[str]]] = dataclasses.field(default_factory=dict)

    @property
    def data_sets(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.by_data_set)

    @property
    def noun(self) -> str:
        """What one score stands for, in the words of a sentence."""
        if self.unit in ("row", "seed") and self.averaged[1] == 1:
            return "run"
        return "data set" if self.unit == "dataset" else self.unit


@dataclasses.dataclass(frozen=True)
class Copies:
    """A model that has one score at every seed or split: deterministic, so that it is one run.

    Attributes:
      count: scores that were equal.
    """

    model: str
    data_set: str
    score: float
    count: int


def default_unit(scores: Scores) -> Unit:
    """Data set where each has one score of a model, split where splits differ, seed, else row.

    Seeds of one split share its data.
    """
    every = [of for data in scores.data_sets for of in data.models.values()]
    if len(scores.data_sets) > 1 and max(int(of.finished.sum()) for of in every) <= 1:
        return "dataset"
    axis: Unit
    for axis in ("split", "seed"):
        if len({label for of in every for label in _finished(of, axis)}) > 1:
            return axis
    return "row"


def _finished(of: ModelScores, axis: Unit) -> list[str]:
    """The labels of runs that have a score."""
    return of.labels[axis][of.finished].tolist() if axis in of.labels else []


def samples(scores: Scores, unit: Unit | None = None) -> Samples:
    """The scores of each model, averaged within each unit of replication.

    Raises:
      DataError: the source has no such axis.
    """
    chosen = unit or default_unit(scores)
    several = any(data.name for data in scores.data_sets)
    known = [*scores.labels, *(["dataset"] if several else []), "row"]
    if chosen not in known:
        asked, names = argument("unit", chosen), ", ".join(known)
        raise DataError(f"{asked}: no such column; expected one of {names}", scores.source)
    found: dict[str, dict[str, Sample]] = {}
    failed: dict[str, dict[str, Sequence[str]]] = {}
    counts = [0]
    for data in scores.data_sets:
        for model, runs in data.models.items():
            place = "" if chosen == "dataset" else data.name
            labels = _labels(runs, chosen, data.name)
            sample, most = _averaged(labels[runs.finished], runs.scores[0, runs.finished, 0])
            if len(sample.scores):
                _add(found.setdefault(place, {}), model, sample)
                counts += most
            lost = labels[runs.status[0, :, 0] == Status.FAILED].tolist()
            ended = {*sample.labels.tolist()} if lost else set()
            if lost := [label for label in dict.fromkeys(lost) if label not in ended]:
                of_model = failed.setdefault(place, {})
                of_model[model] = [*of_model.get(model, ()), *lost]
    ordered = {
        place: {model: cell[model] for model in scores.models if model in cell}
        for place, cell in found.items()
    }
    counts = counts[1:] or [0]
    return Samples(chosen, ordered, (min(counts), max(counts)), failed)


def _labels(runs: ModelScores, unit: Unit, data_set: str) -> np.ndarray:
    """[R] the unit that each run belongs to."""
    if unit == "dataset":
        return np.full(runs.runs, data_set, object)
    return runs.rows if unit == "row" else runs.labels[unit]


def _averaged(labels: np.ndarray, scores: np.ndarray) -> tuple[Sample, list[int]]:
    """The mean of each unit, in order of appearance, and the fewest and most scores of one."""
    places: dict[object, int] = {}
    unit = [places.setdefault(label, len(places)) for label in labels.tolist()]
    if len(places) == len(scores):
        return Sample(labels, scores), [1] * bool(len(scores))
    of: list[list[float]] = [[] for _ in places]
    for place, score in zip(unit, scores.tolist(), strict=True):
        of[place].append(score)
    means = np.array([math.fsum(each) / len(each) for each in of])  # the same in any order
    sizes = [len(each) for each in of]
    return Sample(np.array([*places], object), means), [min(sizes), max(sizes)]


def _add(cell: dict[str, Sample], model: str, sample: Sample) -> None:
    """A further data set of a model, where data sets are the units."""
    if before := cell.get(model):
        labels = np.concatenate([before.labels, sample.labels])
        sample = Sample(labels, np.concatenate([before.scores, sample.scores]))
    cell[model] = sample


def with_failed(samples: Samples, higher_is_better: bool) -> Samples:
    """The same with a score below (or above) all others for each unit that failed.

    For how often a run is better: one that failed is worse than every one that did not, and as
    good as another that failed. Of the size of such scores nothing is to be said.
    """
    if not samples.failed:
        return samples
    by_data_set = {}
    for place, cell in samples.by_data_set.items():
        worst, lost = _worst(cell, higher_is_better), samples.failed.get(place, {})
        by_data_set[place] = {
            model: Sample(
                np.array([*of.labels, *lost.get(model, ())], object),
                np.concatenate([of.scores, np.full(len(lost.get(model, ())), worst)]),
            )
            for model, of in cell.items()
        }
    return dataclasses.replace(samples, by_data_set=by_data_set)


def _worst(cell: Mapping[str, Sample], higher_is_better: bool) -> float:
    every = np.concatenate([sample.scores for sample in cell.values()])
    beyond = float(np.ptp(every)) or float(np.abs(every).max()) or 1.0
    return float(every.min()) - beyond if higher_is_better else float(every.max()) + beyond


def without_copies(samples: Samples) -> tuple[Samples, tuple[Copies, ...]]:
    """The same with one score of each model that has equal ones at all its seeds, and which.

    As of items, scores that are equal by chance stay: a model whose scores vary on one data set
    has runs that differ, also where they agree on another. So do those of different data sets.
    """
    if samples.unit == "dataset":
        return samples, ()
    several = [
        (model, place, of.scores)
        for place, cell in samples.by_data_set.items()
        for model, of in cell.items()
        if len(of.scores) > 1
    ]
    alike = {m for m, *_ in several} - {m for m, _, of in several if (of != of[0]).any()}
    copies = [Copies(m, place, float(of[0]), len(of)) for m, place, of in several if m in alike]
    by_data_set = {
        place: {
            model: Sample(of.labels[:1], of.scores[:1]) if model in alike else of
            for model, of in cell.items()
        }
        for place, cell in samples.by_data_set.items()
    }
    return dataclasses.replace(samples, by_data_set=by_data_set), tuple(copies)


def paired(a: Sample, b: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the units that both models have, in the order of A."""
    other = dict(zip(b.labels.tolist(), b.scores.tolist(), strict=True))
    common = [k for k, label in enumerate(a.labels.tolist()) if label in other]
    return a.scores[common], np.array([other[a.labels[k]] for k in common])


def pools(scores: Scores) -> dict[str, np.ndarray]:
    """All scores of each model, as a store to draw evaluations from.

    Raises:
      DataError: several data sets, or a model without a score.
    """
    by_unit = samples(scores, "row").by_data_set
    if len(by_unit) > 1:
        raise DataError(
            f"several data sets ({', '.join(by_unit)}), whose scores are not one sample; expected "
            "a table, or a runs folder, of one: copy its rows into a file of their own",
            scores.source,
        )
    cell = next(iter(by_unit.values()), {})
    if absent := [model for model in scores.models if model not in cell]:
        raise DataError(f"{', '.join(absent)}: no usable score", scores.source)
    return {model: sample.scores for model, sample in cell.items()}
