"""The trained model of each method that is compared item by item: that of the best dev score."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.runs import native, store
from jaxeval.runs.layout import Layout
from jaxeval.runs.records import MemberRow, Outcomes
from jaxeval.runs.tables import ScoreTable


class Run(NamedTuple):
    """What is known of a run; of our own members, as recorded."""

    seed: int | str
    split: int
    metric: str
    task: str
    data_hash: str


@dataclasses.dataclass(frozen=True)
class TrainedModel:
    """A run with what it gets right or wrong.

    Attributes:
      model, dataset: as the score table names them.
      member: the run that stands for the model.
      part: of the data, whose items are counted.
      names: of the counts.
      counts: [items, names] in the order of the data; None: they were not kept.
      chosen: why this run, for people.
    """

    model: str
    dataset: str
    member: Run
    part: str
    names: tuple[str, ...]
    counts: np.ndarray | None
    chosen: str = "of its model's best dev score"  # the first seed of several


def of_table(location: str, table: ScoreTable, layout: Layout) -> list[TrainedModel]:
    """One trained model of each model and data set of a score table of our own runs.

    All of a data set are of one split, the first that all its models have; none without such.
    """
    part = layout.columns.get("score", "test")
    with store.open_existing(location) as opened:
        return [
            _with_outcomes(opened, model, dataset, best, part)
            for dataset, by_model in _members(location, table, layout).items()
            for model, best in _best(by_model)
        ]


def _members(
    location: str, table: ScoreTable, layout: Layout
) -> dict[str, dict[str, list[MemberRow]]]:
    """Data set -> model -> the members behind a table's scores."""
    members = native.members(location, layout)
    datasets = table.axes.get("dataset", [""] * len(table.rows))
    grouped: dict[str, dict[str, list[MemberRow]]] = {}
    for row, model, dataset in zip(table.rows, table.model, datasets, strict=True):
        of_model = grouped.setdefault(dataset, {}).setdefault(table.models[model], [])
        of_model.append(members[row - 1])
    return grouped


def _best(by_model: dict[str, list[MemberRow]]) -> Iterator[tuple[str, MemberRow]]:
    """The member of the best dev score of each model, on a split that all have."""
    splits = [{member.split for member in members} for members in by_model.values()]
    shared = set.intersection(*splits)
    if not shared:
        return
    for model, members in by_model.items():
        yield model, min((m for m in members if m.split == min(shared)), key=_rank)


def _rank(member: MemberRow) -> tuple[float, int]:
    if member.dev is None:
        return math.inf, member.seed
    return (-member.dev if member.higher_is_better else member.dev), member.seed


def _with_outcomes(
    opened: store.Store, model: str, dataset: str, member: MemberRow, part: str
) -> TrainedModel:
    kept = _of_member(opened.outcomes(member.experiment, part), member)
    run = Run(member.seed, member.split, member.metric, member.task, member.data_hash)
    if kept is None:
        return TrainedModel(model, dataset, run, part, (), None)
    return TrainedModel(model, dataset, run, part, kept.names, kept.counts)


def _of_member(kept: Sequence[Outcomes], member: MemberRow) -> Outcomes | None:
    def key(of: MemberRow | Outcomes) -> tuple[int, int, int, str]:
        return of.seed, of.split, of.repeat, of.hparams

    return next((outcomes for outcomes in kept if key(outcomes) == key(member)), None)
