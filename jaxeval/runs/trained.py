"""The trained models of each method that are compared item by item, that of the best dev score
first."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.runs import native, store
from jaxeval.runs.flat import ScoreTable
from jaxeval.runs.layout import Layout
from jaxeval.runs.records import MemberRow, Outcomes


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
    """The trained models of each model and data set of a score table of our own runs.

    All of a data set are of one split, the first that all its models have; none without such. The
    first of a model is that of the best dev score; the others follow by seed.
    """
    part = layout.columns.get("score", "test")
    with store.open_existing(location) as opened:
        return [
            of
            for dataset, by_model in _members(location, table, layout).items()
            for model, members in _of_one_split(by_model)
            for of in _with_outcomes(opened, model, dataset, members, part)
        ]


def _members(
    location: str, table: ScoreTable, layout: Layout
) -> dict[str, dict[str, list[MemberRow]]]:
    """Data set -> model, in the order of the table's models -> the members behind its scores."""
    members = native.members(location, layout)
    datasets = table.axes.get("dataset", [""] * len(table.rows))
    grouped: dict[str, dict[str, list[MemberRow]]] = {}
    for row, model, dataset in zip(table.rows, table.model, datasets, strict=True):
        of_model = grouped.setdefault(dataset, {}).setdefault(table.models[model], [])
        of_model.append(members[row - 1])
    return {
        dataset: {model: by_model[model] for model in table.models if model in by_model}
        for dataset, by_model in grouped.items()
    }


def _of_one_split(
    by_model: dict[str, list[MemberRow]],
) -> Iterator[tuple[str, list[MemberRow]]]:
    """The members of each model on a split that all have, that of the best dev score first."""
    splits = [{member.split for member in members} for members in by_model.values()]
    shared = set.intersection(*splits)
    if not shared:
        return
    for model, members in by_model.items():
        of_split = sorted((m for m in members if m.split == min(shared)), key=_order)
        best = min(of_split, key=_rank)
        yield model, [best, *(member for member in of_split if member is not best)]


def _order(member: MemberRow) -> tuple[int, int]:
    return member.seed, member.repeat


def _rank(member: MemberRow) -> tuple[float, int]:
    if member.dev is None:
        return math.inf, member.seed
    return (-member.dev if member.higher_is_better else member.dev), member.seed


def _with_outcomes(
    opened: store.Store, model: str, dataset: str, members: Sequence[MemberRow], part: str
) -> Iterator[TrainedModel]:
    """Members with what was kept of each."""
    kept: dict[tuple, Outcomes] = {}
    for experiment in dict.fromkeys(member.experiment for member in members):
        kept |= {_key(outcomes): outcomes for outcomes in opened.outcomes(experiment, part)}
    for member in members:
        run = Run(member.seed, member.split, member.metric, member.task, member.data_hash)
        of = kept.get(_key(member))
        names, counts = ((), None) if of is None else (of.names, of.counts)
        yield TrainedModel(model, dataset, run, part, names, counts)


def _key(of: MemberRow | Outcomes) -> tuple[str, int, int, int, str]:
    return of.experiment, of.seed, of.split, of.repeat, of.hparams
