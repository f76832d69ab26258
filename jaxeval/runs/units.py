"""The unit of replication: what counts as one independent repetition of a model."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs.flat import FailedRuns, ScoreTable
from jaxeval.runs.imported import collector_paused, listed

Unit = Literal["seed", "split", "dataset", "row"]


@dataclasses.dataclass(frozen=True)
class Sample:
    """One score a unit of one model."""

    labels: tuple[str, ...]  # of the units: which seed, split, data set or row
    scores: np.ndarray


@dataclasses.dataclass(frozen=True)
class Samples:
    """Scores of every model by data set, one a unit of replication.

    Attributes:
      unit: what one score stands for.
      datasets: names; one nameless data set where the table knows of none.
      by_dataset: data set -> model -> sample; models without scores there are absent.
      averaged: fewest and most scores that were averaged into one.
      failed: data set -> model -> units of which no run has a score, as all failed.
    """

    unit: Unit
    datasets: tuple[str, ...]
    by_dataset: Mapping[str, Mapping[str, Sample]]
    averaged: tuple[int, int]
    failed: Mapping[str, Mapping[str, tuple[str, ...]]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Copies:
    """A model that has one score at every seed or split: deterministic, so that it is one run.

    Attributes:
      count: scores that were equal.
    """

    model: str
    dataset: str
    score: float
    count: int


def default_unit(table: ScoreTable) -> Unit:
    """Data set where each has one score of a model, split where splits differ, seed, else row.

    Seeds of one split share its data.
    """
    if "dataset" in table.axes:
        cells = set(zip(table.model.tolist(), table.axes["dataset"], strict=True))
        if len(cells) == len(table.score) and len(set(table.axes["dataset"])) > 1:
            return "dataset"
    axis: Unit
    for axis in ("split", "seed"):
        if axis in table.axes and len(set(table.axes[axis])) > 1:
            return axis
    return "row"


@collector_paused()
def samples(table: ScoreTable, unit: Unit | None = None) -> Samples:
    """The scores of each model, averaged within each unit of replication.

    Raises:
      DataError: the table has no such axis.
    """
    chosen = unit or default_unit(table)
    if chosen != "row" and chosen not in table.axes:
        known = ", ".join([*table.axes, "row"])
        asked = argument("unit", chosen)
        raise DataError(f"{asked}: no such column; expected one of {known}", table.source)
    groups: dict[tuple[str, int], dict[str, list[float]]] = {}
    for place, score in zip(_places(table, chosen), table.score.tolist(), strict=True):
        groups.setdefault(place[:2], {}).setdefault(place[2], []).append(score)
    counts = [len(scores) for cell in groups.values() for scores in cell.values()]
    names = tuple(dict.fromkeys(dataset for dataset, _ in groups))
    return Samples(
        chosen,
        names,
        {name: _of_dataset(table.models, groups, name) for name in names},
        (min(counts, default=0), max(counts, default=0)),
        _failed(table, chosen, groups),
    )


def cells(of: ScoreTable | FailedRuns) -> list[tuple[int, str]]:
    """Model and data set of each row."""
    if not len(of.rows):
        return []
    return [(model, dataset) for dataset, model, _ in _places(of, "row")]


def _places(of: ScoreTable | FailedRuns, unit: Unit) -> Iterator[tuple[str, int, str]]:
    """Data set, model and unit of each row."""
    nameless = np.full(len(of.rows), "", object)
    label = of.rows.astype(str).astype(object) if unit == "row" else of.axes[unit]
    stratum = nameless if unit == "dataset" else of.axes.get("dataset", nameless)
    return zip(stratum, of.model.tolist(), label, strict=True)


def _failed(
    table: ScoreTable, unit: Unit, groups: Mapping[tuple[str, int], Mapping[str, object]]
) -> dict[str, dict[str, tuple[str, ...]]]:
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    places = _places(table.failed, unit) if len(table.failed.rows) else ()
    for dataset, model, label in places:
        if label not in groups.get((dataset, model), {}):
            of = found.setdefault(dataset, {}).setdefault(table.models[model], ())
            found[dataset][table.models[model]] = tuple(dict.fromkeys((*of, label)))
    return found


def with_failed(samples: Samples, higher_is_better: bool) -> Samples:
    """The same with a score below (or above) all others for each unit that failed.

    In claims on how often a run is better: one that failed is worse than every one that did not,
    and as good as another that failed. Of the size of such scores nothing is to be said.
    """
    if not samples.failed:
        return samples
    by_dataset = {
        dataset: {
            model: _extended(of, samples.failed.get(dataset, {}).get(model, ()), worst)
            for model, of in cell.items()
        }
        for dataset, cell in samples.by_dataset.items()
        for worst in [_worst(cell, higher_is_better)]
    }
    return dataclasses.replace(samples, by_dataset=by_dataset)


def _extended(of: Sample, failed: tuple[str, ...], worst: float) -> Sample:
    scores = np.concatenate([of.scores, np.full(len(failed), worst)])
    return Sample((*of.labels, *failed), scores)


def _worst(cell: Mapping[str, Sample], higher_is_better: bool) -> float:
    every = np.concatenate([sample.scores for sample in cell.values()])
    beyond = float(np.ptp(every)) or float(np.abs(every).max()) or 1.0
    return float(every.min()) - beyond if higher_is_better else float(every.max()) + beyond


def without_copies(samples: Samples) -> tuple[Samples, tuple[Copies, ...]]:
    """The same with one score of each model that has equal ones at all its seeds, and which.

    As of logs, scores that are equal by chance are kept: a model whose scores vary on one data set
    has runs that differ, also where they agree on another (all right on an easy one). So are
    those of different data sets.
    """
    if samples.unit == "dataset":
        return samples, ()
    several = [
        (model, sample.scores)
        for cell in samples.by_dataset.values()
        for model, sample in cell.items()
        if len(sample.scores) > 1
    ]
    alike = {model for model, _ in several} - {m for m, of in several if (of != of[0]).any()}
    found = tuple(
        Copies(model, dataset, float(sample.scores[0]), len(sample.scores))
        for dataset, cell in samples.by_dataset.items()
        for model, sample in cell.items()
        if model in alike and len(sample.scores) > 1
    )
    by_dataset = {
        dataset: {
            model: Sample(of.labels[:1], of.scores[:1]) if model in alike else of
            for model, of in cell.items()
        }
        for dataset, cell in samples.by_dataset.items()
    }
    return dataclasses.replace(samples, by_dataset=by_dataset), found


def _of_dataset(
    models: Sequence[str], groups: Mapping[tuple[str, int], Mapping[str, list[float]]], name: str
) -> dict[str, Sample]:
    return {
        model: Sample(tuple(cell), np.array([_mean(s) for s in cell.values()]))
        for k, model in enumerate(models)
        if (cell := groups.get((name, k)))
    }


def _mean(scores: Sequence[float]) -> float:
    return math.fsum(scores) / len(scores)  # the same in any order


def refuse_several(datasets: Sequence[str], source: str) -> None:
    """Refuses scores of several data sets, where they would be taken for one sample.

    Raises:
      DataError: what to do.
    """
    if len(datasets) > 1:
        raise DataError(
            f"several data sets ({listed(datasets)}), whose scores are not one sample; expected a "
            "table, or a runs folder, of one: copy its rows into a file of their own",
            source,
        )


def pools(table: ScoreTable, together: bool) -> dict[str, np.ndarray]:
    """All scores of each model, as a store to draw evaluations from.

    Args:
      together: only units (splits, seeds) that all models have, in one order.

    Raises:
      DataError: several data sets, or no unit in common.
    """
    by_unit = samples(table, None if together else "row")
    refuse_several(by_unit.datasets, table.source)
    cell = by_unit.by_dataset[by_unit.datasets[0]] if by_unit.datasets else {}
    absent = [model for model in table.models if model not in cell]
    if absent:
        raise DataError(f"{', '.join(absent)}: no usable score", table.source)
    if not together:
        return {model: sample.scores for model, sample in cell.items()}
    common = set.intersection(*(set(sample.labels) for sample in cell.values()))
    order = [label for label in next(iter(cell.values())).labels if label in common]
    if not order or by_unit.unit == "row":
        raise DataError(
            "--pairing kept: expected a seed or split that all models have", table.source
        )
    by_label = {
        m: dict(zip(sample.labels, sample.scores, strict=True)) for m, sample in cell.items()
    }
    return {m: np.array([known[label] for label in order]) for m, known in by_label.items()}


def paired(a: Sample, b: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the units that both models have, in the order of A."""
    other = dict(zip(b.labels, b.scores, strict=True))
    common = [k for k, label in enumerate(a.labels) if label in other]
    return a.scores[common], np.array([other[a.labels[k]] for k in common])
