"""Scores of the items of our own runs, whose outcomes `train --outputs` keeps.

Notation: I items, R runs of a model, C kinds of counts.
"""

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import argument
from jaxeval.runs import counts as counted
from jaxeval.runs import native, records, store
from jaxeval.runs.layout import Layout
from jaxeval.runs.records import MemberRow, Outcomes
from jaxeval.runs.scores import DataSetScores, ModelScores, Scores, Status

# what the truth alone says of an item: equal where items are the same
_OF_TRUTH = re.compile("words|gold_spans|tokens|items|symbols|targets|gold_[0-9]+")


class _Run(NamedTuple):
    member: MemberRow
    outcomes: Outcomes


def scores(location: str, of: Scores, layout: Layout) -> Scores:
    """The scores of the items behind those of whole runs.

    All runs of a data set are of one split, the first that all its models have. A data set whose
    models have no such split, no outcomes, or those of other items is left out; a note says why.
    """
    members, part = native.members(location, layout), layout.columns.get("score", "test")
    data_sets, notes, unkept = list[DataSetScores](), list[str](), dict[str, None]()
    with store.open_existing(location) as opened:
        for data in of.data_sets:
            of_models = {}
            for model, chosen in _of_one_split(data, members).items():
                runs = [*_with_outcomes(opened, chosen, part)]
                if len(runs) < len(chosen):
                    unkept[model] = None
                of_models[model] = runs
            if of_models and not unkept:
                same, why = _alike(of_models)
                notes += why
                if len(same) > 1:
                    data_sets.append(_data_set(data, same, part))
    if unkept:
        keeping, again = argument("outputs", True), argument("again", True)
        keep = f"train with {keeping} keeps them (with {again}, of members that have ended)"
        notes = [f"No tests on single items: {', '.join(unkept)} without outcomes; {keep}."]
        data_sets = []
    return Scores(of.source, of.models, tuple(data_sets), notes=tuple(notes), ids=of.ids)


def _of_one_split(data: DataSetScores, members: Sequence[MemberRow]) -> dict[str, list[MemberRow]]:
    """The members of each model on a split that all have, that of the best dev score first."""
    by_model = {
        model: [members[row - 1] for row in of.rows[of.finished].tolist()]
        for model, of in data.models.items()
    }
    splits = [{member.split for member in of} for of in by_model.values()]
    shared = set.intersection(*splits) if splits else set()
    found = {}
    for model, of in by_model.items() if shared else ():
        mine = sorted((m for m in of if m.split == min(shared)), key=lambda m: (m.seed, m.repeat))
        best = min(mine, key=_rank)
        found[model] = [best, *(member for member in mine if member is not best)]
    return found


def _rank(member: MemberRow) -> tuple[float, int]:
    if member.dev is None:
        return math.inf, member.seed
    return (-member.dev if member.higher_is_better else member.dev), member.seed


def _with_outcomes(opened: store.Store, members: Sequence[MemberRow], part: str) -> Iterator[_Run]:
    """The members of which something was kept, with that."""
    kept: dict[tuple, Outcomes] = {}
    for experiment in dict.fromkeys(member.experiment for member in members):
        kept |= {records.key(each): each for each in opened.outcomes(experiment, part)}
    for member in members:
        if records.key(member) in kept:
            yield _Run(member, kept[records.key(member)])


def _alike(
    of_models: Mapping[str, Sequence[_Run]],
) -> tuple[dict[str, Sequence[_Run]], list[str]]:
    """The models whose runs were scored on the items of the first; why others were not."""
    name, (first, *_) = next(iter(of_models.items()))
    same, notes = {}, []
    for model, runs in of_models.items():
        reason = next(filter(None, (_differing(first, run) for run in runs)), "")
        if reason:
            notes.append(f"No tests on single items of {name} and {model}: {reason}.")
        else:
            same[model] = runs
    return same, notes


def _differing(a: _Run, b: _Run) -> str:
    """Why two runs cannot be compared item by item; "" if they can."""
    names = [of.outcomes.names for of in (a, b)]
    truth = [sorted(filter(_OF_TRUTH.fullmatch, of)) for of in names]
    if a.member.data_hash != b.member.data_hash or truth[0] != truth[1]:
        return "they were scored on different data"
    first, second = (
        of.outcomes.counts[:, [of.outcomes.names.index(name) for name in truth[0]]]
        for of in (a, b)
    )
    if not np.array_equal(first, second):
        return "their items differ (texts cut into other windows, or other random splits)"
    if names[0] != names[1] or counted.scoring(a.member.metric, names[0]) is None:
        return f"what was kept does not give {a.member.metric}"
    if not all(np.isfinite(of.outcomes.counts).all() for of in (a, b)):
        return "a model's log-likelihood is not finite"
    return ""


def _data_set(
    data: DataSetScores, of_models: Mapping[str, Sequence[_Run]], part: str
) -> DataSetScores:
    models, names = {}, next(iter(of_models.values()))[0].outcomes.names
    for model, runs in of_models.items():
        every = np.stack([run.outcomes.counts for run in runs], axis=1)
        values = counted.values(every.astype(np.float64), names, data.metric)
        assert values is not None  # those of the same items have a scoring
        devs = [math.nan if run.member.dev is None else run.member.dev for run in runs]
        models[model] = ModelScores(
            values,
            np.full(values.shape, Status.SCORED, np.uint8),
            {
                axis: np.array([str(getattr(run.member, axis)) for run in runs], object)
                for axis in ("seed", "split")
            },
            np.arange(1, len(runs) + 1),
            None if np.isnan(devs).all() else np.array(devs),
            every,
        )
    items = tuple(map(str, range(len(next(iter(models.values())).scores))))
    return dataclasses.replace(data, models=models, items=items, counts=names, part=part)
