"""Scores of whole runs as samples: one score a unit of replication, data set by data set.

A unit is what counts as one independent repetition of a model; scores within one are averaged.
"""

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs.scores import ModelScores, Scores, Status
from jaxeval.stats import multiple
from jaxeval.stats.rules import Method

Unit = Literal["seed", "split", "dataset", "row"]


class Sample(NamedTuple):
    """One score a unit of one model: [n] which seed, split, data set or row; its score [n]."""

    labels: np.ndarray
    scores: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Samples:
    """Scores of every model by data set, one a unit of replication."""

    unit: Unit
    # data set -> model -> sample; models without scores there lack. One nameless data set where
    # data sets are the units
    by_data_set: Mapping[str, Mapping[str, Sample]]
    averaged: tuple[int, int]  # fewest and most scores that were averaged into one
    # data set -> model -> units of which no run has a score, as all failed
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
    """A model that has one score, `count` times: at every seed or split, so that it is one run."""

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
        labels = (of.labels[axis][of.finished].tolist() for of in every if axis in of.labels)
        if len({label for each in labels for label in each}) > 1:
            return axis
    return "row"


def samples(scores: Scores, unit: Unit | None = None) -> Samples:
    """The scores of each model, averaged within each unit of replication (None: the source's)."""
    chosen = unit or default_unit(scores)
    several = any(data.name for data in scores.data_sets)
    known = [*scores.labels, *(["dataset"] if several else []), "row"]
    if chosen not in known:
        asked, names = argument("unit", chosen), ", ".join(known)
        raise DataError(f"{asked}: no such column; expected one of {names}", scores.source)
    found: dict[str, dict[str, list[Sample]]] = {}
    failed: dict[str, dict[str, Sequence[str]]] = {}
    sizes: list[int] = []
    for data in scores.data_sets:
        place = "" if chosen == "dataset" else data.name
        for model, runs in data.models.items():
            labels = runs.rows if chosen == "row" else runs.labels.get(chosen)
            if labels is None:
                labels = np.full(runs.runs, data.name, object)
            sample, counts = _averaged(labels[runs.finished], runs.scores[0, runs.finished, 0])
            sizes += counts
            if counts:
                found.setdefault(place, {}).setdefault(model, []).append(sample)
            lost = labels[runs.status[0, :, 0] == Status.FAILED].tolist()
            ended = {*sample.labels.tolist()} if lost else set()
            if lost := [label for label in dict.fromkeys(lost) if label not in ended]:
                of_model = failed.setdefault(place, {})
                of_model[model] = [*of_model.get(model, ()), *lost]
    by_data_set = {
        place: {m: _joined(cell[m]) for m in scores.models if m in cell}
        for place, cell in found.items()
    }
    averaged = min(sizes, default=0), max(sizes, default=0)
    return Samples(chosen, by_data_set, averaged, failed)


def _joined(parts: Sequence[Sample]) -> Sample:
    """Several data sets of a model, where these are the units."""
    return Sample(*map(np.concatenate, zip(*parts, strict=True))) if parts[1:] else parts[0]


def _averaged(labels: np.ndarray, scores: np.ndarray) -> tuple[Sample, list[int]]:
    """The mean of each unit, in order of appearance, and the fewest and most scores of one."""
    by_unit: dict[object, list[float]] = {}
    for label, score in zip(labels.tolist(), scores.tolist(), strict=True):
        by_unit.setdefault(label, []).append(score)
    if len(by_unit) == len(scores):
        return Sample(labels, scores), [1] * bool(len(scores))
    means = np.array([math.fsum(of) / len(of) for of in by_unit.values()])  # in any order the same
    counts = [*map(len, by_unit.values())]
    return Sample(np.array([*by_unit], object), means), [min(counts), max(counts)]


def with_failed(samples: Samples, higher_is_better: bool) -> Samples:
    """The same with a score below (or above) all others for each unit that failed.

    For how often a run is better: of the size of such scores nothing is to be said.
    """
    by_data_set = dict(samples.by_data_set)
    for place, lost in samples.failed.items():
        cell = by_data_set.get(place, {})
        if not cell:
            continue
        every = np.concatenate([sample.scores for sample in cell.values()])
        beyond = float(np.ptp(every)) or float(np.abs(every).max()) or 1.0
        worst = float(every.min()) - beyond if higher_is_better else float(every.max()) + beyond
        by_data_set[place] = {
            model: Sample(
                np.array([*of.labels, *lost.get(model, ())], object),
                np.concatenate([of.scores, np.full(len(lost.get(model, ())), worst)]),
            )
            for model, of in cell.items()
        }
    return dataclasses.replace(samples, by_data_set=by_data_set)


def without_copies(samples: Samples) -> tuple[Samples, tuple[Copies, ...]]:
    """The same with one score of each model that has equal ones at all its seeds, and which.

    A model whose scores vary on one data set has runs that differ, also where they agree on
    another.
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
    """All scores of each model on the one data set, as a store to draw evaluations from."""
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


class Counts(NamedTuple):
    """Runs of one model on one data set."""

    failed: int
    finished: int

    @property
    def runs(self) -> int:
        """All of them."""
        return self.failed + self.finished


class FailureTest(NamedTuple):
    """Fisher's exact test, two-sided, of equal probabilities to fail."""

    a: str
    b: str
    data_set: str
    higher: int  # 1: A fails more often, -1: B does, 0: equally often
    p_value: float
    p_adjusted: float  # over all pairs of models and data sets


@dataclasses.dataclass(frozen=True)
class Failures:
    """Runs that failed: counts by model and data set; tests, a family of their own."""

    counts: Mapping[tuple[str, str], Counts]
    tests: tuple[FailureTest, ...]

    def of(self, model: str, dataset: str = "") -> Counts:
        """On a data set; over all of them for none."""
        each = self.counts.items()
        mine = [of for (name, on), of in each if name == model and dataset in ("", on)]
        return Counts(sum(of.failed for of in mine), sum(of.finished for of in mine))


def _failed(of: ModelScores) -> np.ndarray:
    return np.asarray(of.status[0, :, 0] == Status.FAILED)


def of_runs(
    scores: Scores, control: str | None = None, correction: Method = "holm"
) -> Failures | None:
    """The runs of models on data sets, pairs with the control alone; None where none failed."""
    counts = {}
    for model in scores.models:
        for data in sorted(scores.data_sets, key=lambda data: data.name):
            if of := data.models.get(model):
                failed = _failed(of)
                finished = int(np.sum(of.finished & ~failed))
                counts[model, data.name] = Counts(int(failed.sum()), finished)
    pairs = itertools.combinations(scores.models, 2)
    return failures(counts, [pair for pair in pairs if control in (None, *pair)], correction)


def failed_of(scores: Scores) -> dict[str, int]:
    """Model -> its runs that failed, of those that have some."""
    counts = Counter[str]()
    for data in scores.data_sets:
        for model, of in data.models.items():
            counts[model] += int(_failed(of).sum())
    return {model: count for model, count in counts.items() if count}


def rows_of(scores: Scores) -> set[int]:
    """Rows of the file that hold runs that failed."""
    every = (of for data in scores.data_sets for of in data.models.values())
    return {row for of in every for row in of.rows[_failed(of)].tolist()}


def failures(
    counts: Mapping[tuple[str, str], Counts],
    pairs: Sequence[tuple[str, str]],
    correction: Method = "holm",
) -> Failures | None:
    """The tests of these pairs of models on all data sets; None where no run failed."""
    from scipy import stats

    if not any(of.failed for of in counts.values()):
        return None
    found = []
    for dataset in dict.fromkeys(dataset for _, dataset in counts):
        for a, b in pairs:
            x, y = counts.get((a, dataset)), counts.get((b, dataset))
            if x and y and x.runs and y.runs:
                p = min(1.0, float(stats.fisher_exact([x, y]).pvalue))
                more = x.failed * y.runs - y.failed * x.runs
                found.append(FailureTest(a, b, dataset, (more > 0) - (more < 0), p, p))
    adjusted = multiple.adjust_p_values([test.p_value for test in found], correction).tolist()
    tests = (test._replace(p_adjusted=p) for test, p in zip(found, adjusted, strict=True))
    return Failures(counts, tuple(tests))
